"""Requests made from our own OpenAPI: no path of any layout breaks down, whatever its members hold."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.layouts.registry import all_layouts
from fakellm.server.openapi import describe
from fakellm.stage import Stage
from support.examples import FUZZED
from support.odd import ANYTHING
from support.stages import Spoken, body_of, spoken, stage

LAYOUTS = [layout.name for layout in all_layouts()]
RIGHT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hi"}],
    "prompt": "Hi",
    "input": "Hi",
    "text": "Hi",
    "model": "tiny",
    "max_tokens": 4,
    "token_ids": [1, 2],
    "tokens": [1, 2],
}
TYPED: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-5, 40) | st.integers(),
    "number": st.floats(-3, 3) | st.floats(),
    "string": st.text(max_size=10),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.text(max_size=4), ANYTHING, max_size=3),
    "array": st.lists(ANYTHING, max_size=3),
}


@cache
def playing(layout: str) -> tuple[Stage, list[tuple[str, str, dict[str, Any]]]]:
    """The stage, and (method, path, schema of the body) of each operation."""
    made = stage(Spoken(spoken("Hello")), layout)
    rows: list[tuple[str, str, dict[str, Any]]] = []
    for path, operations in describe(made, (), "/_fakellm")["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            rows.append((method.upper(), path, content.get("application/json", {}).get("schema", {})))
    return made, rows


@st.composite
def request(draw: st.DrawFn, layout: str) -> Request:
    method, path, schema = draw(st.sampled_from(playing(layout)[1]))
    members: dict[str, Any] = schema.get("properties", {})
    body = {name: value for name, value in RIGHT.items() if name in members or not members}
    for name in draw(st.lists(st.sampled_from(sorted(members)), max_size=4)) if members else ():
        typed = TYPED.get(members[name].get("type", ""), ANYTHING)
        body[name] = draw(typed | ANYTHING)
    for name in path.split("/"):
        if name.startswith("{"):
            path = path.replace(name, draw(st.text(st.characters(codec="ascii", exclude_characters="/"), max_size=8)))
    query = draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2))
    data = json.dumps(body).encode() if draw(st.integers(0, 9)) else draw(st.binary(max_size=30))
    return Request(method, path, query, {"content-type": "application/json"}, data)


@pytest.mark.parametrize("layout", LAYOUTS)
@FUZZED
@given(data=st.data())
def test_no_described_request_breaks_a_layout(layout: str, data: st.DataObject) -> None:
    answer = playing(layout)[0].answer(data.draw(request(layout)))

    assert answer.problem is None, answer.problem
    assert b"Traceback (most recent" not in body_of(answer)
