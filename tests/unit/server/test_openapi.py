"""The OpenAPI of every layout: it is valid, and every path in it is answered by the server that it describes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.layouts.registry import all_layouts
from fakellm.server.admin import PREFIX, ROUTES
from fakellm.server.openapi import describe, schema_of
from support.stages import Spoken, spoken, stage

ADMIN = [(method, path, "told") for method, path, _ in ROUTES]
SWITCHED_OFF = {"/metrics"}
"""Paths that are there and say that they are not, until a launch option switches them on."""
METHODS = {"get", "post", "put", "delete", "patch", "options", "head"}


@pytest.mark.parametrize("name", [layout.name for layout in all_layouts()])
def test_every_path_that_is_described_is_served(name: str) -> None:
    playing = stage(Spoken(spoken("Hello")), name)

    found = describe(playing, ADMIN, PREFIX)

    ours = {path: rows for path, rows in found["paths"].items() if not path.startswith(PREFIX)}
    assert len(ours) > 2
    for path, rows in ours.items():
        for method in rows:
            request = Request(method.upper(), path.replace("{", "").replace("}", ""), {}, {}, b"{}")
            answer = playing.answer(request)
            text = b"".join(frame.data for frame in answer.wire.frames)
            assert 405 != answer.wire.status, (method, path)
            assert b"Route not found" not in text, (method, path)
            assert b'{"detail":"Not Found"}' != text or path in SWITCHED_OFF, (method, path)


@pytest.mark.parametrize("name", ["vllm-0.32.0", "sglang", "dynamo", "openai"])
def test_bodies_have_the_members_that_the_server_reads(name: str) -> None:
    found = describe(stage(Spoken(spoken("Hello")), name), ADMIN, PREFIX, "/s/probe")

    schema = found["paths"]["/s/probe/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert {"messages", "model", "stream", "logprobs", "top_logprobs", "n", "max_tokens"} <= set(schema["properties"])
    assert "messages" in schema["required"]


def test_the_document_is_what_openapi_says_one_is() -> None:
    found: Any = json.loads(json.dumps(describe(stage(Spoken(spoken("Hello"))), ADMIN, PREFIX)))

    assert {"openapi", "info", "paths", "servers", "components"} == set(found)
    assert {PREFIX + path for _, path, _ in ROUTES} <= set(found["paths"])
    for path, rows in found["paths"].items():
        assert METHODS >= set(rows), path
        named = {part.strip("{}") for part in path.split("/") if part.startswith("{")}
        for row in rows.values():
            assert named == {one["name"] for one in row.get("parameters", ())}, path
            assert row["responses"]


@pytest.mark.parametrize(
    "word, schema",
    [
        ("int", {"type": "integer"}),
        ("list[dict[str,any]]", {"type": "array", "items": {"type": "object"}}),
        ("nullable[bool]", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ("union[int,str]", {}),
        ("", {}),
    ],
)
def test_words_of_validators_become_types(word: str, schema: Any) -> None:
    assert schema == schema_of(word)
