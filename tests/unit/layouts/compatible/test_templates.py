"""Bodies as a server's own models write them: members in their order, those without a value as null."""

from __future__ import annotations

import json

from fakellm.layouts.compatible.templates import filled
from support.stages import Spoken, body_of, chat, post, spoken, stage

TEMPLATE = {"id": None, "choices": [{"index": 0, "message": {"role": None, "content": None}}], "tier": "none"}


def test_members_come_in_the_templates_order_and_what_is_missing_is_there() -> None:
    value = {"choices": [{"message": {"content": "Hi"}, "own": 1}], "id": "x"}

    made = filled(value, TEMPLATE, sparse=False)

    expected = {
        "id": "x",
        "choices": [{"index": 0, "message": {"role": None, "content": "Hi"}, "own": 1}],
        "tier": "none",
    }
    assert json.dumps(expected) == json.dumps(made)


def test_a_sparse_body_has_only_what_it_has() -> None:
    assert '{"id": "x", "choices": [{"message": {}}]}' == json.dumps(
        filled({"choices": [{"message": {}}], "id": "x"}, TEMPLATE, sparse=True)
    )


def test_an_object_that_is_not_there_is_null() -> None:
    assert {"id": None, "choices": None, "tier": "none"} == filled({}, TEMPLATE, sparse=False)


def test_lmdeploys_whole_answers_name_every_member_and_its_chunks_only_those_with_a_value() -> None:
    playing = stage(Spoken(spoken("Hello you")), "lmdeploy")

    whole = json.loads(body_of(playing.answer(chat())))
    chunks = body_of(playing.answer(chat(stream=True)))

    assert [
        "index",
        "message",
        "logprobs",
        "output_token_logprobs",
        "finish_reason",
        "output_ids",
        "routed_experts",
    ] == list(whole["choices"][0])
    assert whole["service_tier"] is None
    assert "null" not in str(chunks)


def test_lmdeploys_errors_are_flat_and_typed_by_status() -> None:
    answer = stage(Spoken(spoken("x")), "lmdeploy").answer(post("/v1/nowhere", {}))

    assert ["message", "type", "code", "param", "object"] == list(json.loads(body_of(answer)))
    assert "not_found_error" == json.loads(body_of(answer))["type"]
