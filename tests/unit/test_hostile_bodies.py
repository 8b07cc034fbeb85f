"""No body, however odd, makes the fake break down: every layout answers in its own words."""

from __future__ import annotations

import json

import pytest

from fakellm.ask import Request
from fakellm.layouts.registry import all_layouts
from support.stages import Spoken, body_of, spoken, stage

PATHS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/generate",
    "/inference/v1/generate",
    "/tokenize",
    "/detokenize",
    "/v1/chat/completions/batch",
    "/v1/chat/completions/render",
)


def _nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {"a": 1}
    for _ in range(depth):
        value = {"x": value}
    return value


BODIES: dict[str, bytes] = {
    "endless brackets": b"[" * 100_000,
    "endless brackets in a field": b'{"model":' + b"[" * 50_000,
    "not UTF-8": b"\xff\xfe{}",
    "half a surrogate": b'{"model":"tiny","prompt":"\\ud800","messages":[{"role":"user","content":"\\ud800"}]}',
    "a number of 5,000 digits": b'{"model":"tiny","max_tokens":1' + b"0" * 5000 + b',"messages":[]}',
    "NaN": b'{"model":NaN}',
    "null": b"null",
    "a list": b"[1]",
    "a number": b"1",
    "nothing": b"",
    "an empty object": b"{}",
    "messages that are none": b'{"model":"tiny","messages":[1,2],"prompt":{},"input":7,"text":[[]],"token_ids":"x"}',
    "a template that divides by zero": json.dumps(
        {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "chat_template": "{{ 1 / 0 }}"}
    ).encode(),
    "nesting": json.dumps(
        {"model": "tiny", "messages": [], "tools": [_nested(400)], "metadata": _nested(400)}
    ).encode(),
    "duplicate keys": b'{"model":"tiny","model":"other","messages":[{"role":"user","content":"x"}],"prompt":"x"}',
}


@pytest.mark.parametrize("name", [layout.name for layout in all_layouts()])
def test_every_layout_survives_every_body(name: str) -> None:
    playing = stage(Spoken(spoken("Hello")), name)

    for path in PATHS:
        for words, body in BODIES.items():
            answer = playing.answer(Request("POST", path, {}, {"content-type": "application/json"}, body))

            assert answer.problem is None, (name, path, words, body_of(answer)[:300])
            assert 100 <= answer.wire.status < 600
