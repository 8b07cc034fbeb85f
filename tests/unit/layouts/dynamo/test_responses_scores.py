"""Scores of Dynamo's Responses, line by line: which event tells which, and what becomes of those without a place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from fakellm.generation import Choice
from support.stages import EOS, TOKENIZER, Spoken, body_of, post, stage, token

INCLUDE = ["message.output_text.logprobs"]
SCORED = "dynamo-responses-logprobs"
PARSERS = ("--dyn-reasoning-parser", "qwen3", "--dyn-tool-call-parser", "hermes")
THINK, END_THINK = TOKENIZER.encode("<think>")[0], TOKENIZER.encode("</think>")[0]
CALL, END_CALL = TOKENIZER.encode("<tool_call>")[0], TOKENIZER.encode("</tool_call>")[0]
A, B, C = (TOKENIZER.encode(letter)[0] for letter in "ABC")
TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]


def sampled(ids: Sequence[int], steps: Sequence[int] = (), finish: str = "stop") -> Choice:
    """These ids with scores -1, -2, ... so that an event's scores say which tokens they are of."""
    tokens = tuple(token(token_id, -1.0 - place, top=[(token_id, -1.0 - place)]) for place, token_id in enumerate(ids))
    return Choice(tokens, tuple(steps), finish)


def answered(choice: Choice, layout: str = SCORED, **body: Any) -> tuple[int, bytes]:
    request = post("/v1/responses", {"model": "tiny", "input": "Hi", "include": INCLUDE, "top_logprobs": 1, **body})
    answer = stage(Spoken(choice), layout, *PARSERS).answer(request)
    return answer.wire.status, body_of(answer)


def events(choice: Choice, layout: str = SCORED, **body: Any) -> list[dict[str, Any]]:
    status, data = answered(choice, layout, stream=True, **body)
    assert 200 == status, data
    lines = [line[6:] for line in data.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def numbers(entries: Sequence[dict[str, Any]]) -> list[int]:
    """Entries as the ordinals of their tokens, from 1."""
    return [round(-entry["logprob"]) for entry in entries]


def told(stream: Sequence[dict[str, Any]], kind: str) -> list[list[int]]:
    return [numbers(event["logprobs"]) for event in stream if event["type"] == f"response.output_text.{kind}"]


def final(stream: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return stream[-1]["response"]


def part_of(response: dict[str, Any]) -> dict[str, Any]:
    return next(item for item in response["output"] if item["type"] == "message")["content"][0]


REASONED = sampled([THINK, A, END_THINK, B, C, EOS])
"""Tokens 1 to 3 are reasoning and its marks, 4 and 5 text, 6 the end."""


def test_reasoning_rides_on_the_first_delta_and_the_end_on_done() -> None:
    stream = events(REASONED)

    assert [[1, 2, 3, 4], [5]] == told(stream, "delta")
    assert [[1, 2, 3, 4, 5, 6]] == told(stream, "done")


def test_a_score_that_comes_after_the_finish_is_on_done_and_completed() -> None:
    stream = events(sampled([THINK, A, END_THINK, B, C, EOS], steps=(1, 1, 1, 1, 1, 0, 1)))

    assert [[1, 2, 3, 4, 5, 6]] == told(stream, "done")
    assert [1, 2, 3, 4, 5, 6] == numbers(part_of(final(stream))["logprobs"])


def test_part_item_and_completed_carry_all_in_order_once() -> None:
    stream = events(REASONED)

    parts = [event["part"] for event in stream if event["type"] == "response.content_part.done"]
    items = [event["item"]["content"][0] for event in stream if event["type"] == "response.output_item.done"]
    assert [[1, 2, 3, 4, 5, 6]] * 3 == [numbers(part["logprobs"]) for part in (*parts, *items, part_of(final(stream)))]


def test_the_whole_answer_carries_all() -> None:
    _, data = answered(REASONED)

    assert [1, 2, 3, 4, 5, 6] == numbers(part_of(json.loads(data))["logprobs"])


def test_without_include_every_list_is_empty() -> None:
    stream = events(REASONED, include=None)

    assert [[], []] == told(stream, "delta")
    assert [[]] == told(stream, "done")
    assert [] == part_of(final(stream))["logprobs"]


def test_top_logprobs_without_include_are_echoed_and_not_forwarded() -> None:
    response = final(events(REASONED, include=None, top_logprobs=25))

    assert 25 == response["top_logprobs"]
    assert [] == part_of(response)["logprobs"]


def test_include_without_top_logprobs_gives_entries_with_empty_lists() -> None:
    stream = events(REASONED, top_logprobs=None)

    deltas = [event for event in stream if event["type"] == "response.output_text.delta"]
    assert [[], [], [], [], []] == [entry["top_logprobs"] for event in deltas for entry in event["logprobs"]]
    assert [[]] * 6 == [entry["top_logprobs"] for entry in part_of(final(stream))["logprobs"]]


def test_entries_of_events_have_no_bytes_and_those_of_parts_do() -> None:
    stream = events(REASONED)

    event = next(event for event in stream if event["type"] == "response.output_text.delta")
    assert {"logprob", "token", "top_logprobs"} == set(event["logprobs"][0])
    assert {"bytes", "logprob", "token", "top_logprobs"} == set(part_of(final(stream))["logprobs"][0])


def test_a_stop_by_max_output_tokens_keeps_every_score() -> None:
    stream = events(sampled([A, B, C, EOS]), max_output_tokens=2)

    assert "incomplete" == final(stream)["status"]
    assert [1, 2] == numbers(part_of(final(stream))["logprobs"])


def test_scores_of_the_messages_last_chunk_leak_past_its_end() -> None:
    """The end token came in the same engine step as the last text: its score is on that text's delta."""
    stream = events(sampled([A, B, EOS], steps=(1, 2)))

    assert [[1], [2, 3]] == told(stream, "delta")


def test_scores_of_a_call_after_text_are_on_done_of_the_text() -> None:
    call = [CALL, *TOKENIZER.encode('{"name": "f", "arguments": {}}'), END_CALL]
    stream = events(sampled([A, *call, EOS]), tools=TOOLS)

    assert [[1]] == told(stream, "delta")
    assert [list(range(1, len(call) + 3))] == told(stream, "done")


def test_an_answer_of_calls_alone_drops_its_scores() -> None:
    call = [CALL, *TOKENIZER.encode('{"name": "f", "arguments": {}}'), END_CALL, EOS]
    stream = events(sampled(call), tools=TOOLS)

    assert ["function_call"] == [item["type"] for item in final(stream)["output"]]
    assert b'logprob":' not in json.dumps(stream).encode()


def test_the_variant_refuses_scores_together_with_tools() -> None:
    status, data = answered(REASONED, f"{SCORED}-tools-refused", tools=TOOLS)

    assert 400 == status
    assert "tools" in json.loads(data)["message"]


def test_more_than_twenty_alternatives_are_refused() -> None:
    status, data = answered(REASONED, top_logprobs=21)

    assert (400, "Validation: Top_logprobs must be between 0 and 20, got 21") == (status, json.loads(data)["message"])


def test_the_capped_variant_serves_twenty_and_echoes_what_was_asked() -> None:
    many = [(token_id, -1.0 - token_id / 8) for token_id in range(300, 330)]
    tokens = (token(A, -1.0, top=many), token(EOS, -2.0, top=many))
    _, data = answered(Choice(tokens), f"{SCORED}-capped", top_logprobs=21)

    response = json.loads(data)
    assert 21 == response["top_logprobs"]
    assert [20, 20] == [len(entry["top_logprobs"]) for entry in part_of(response)["logprobs"]]


@pytest.mark.parametrize("layout", ["dynamo-1.6.1", "dynamo-1.7"])
def test_released_versions_drop_what_was_asked_for(layout: str) -> None:
    stream = events(REASONED, layout)

    assert [[], []] == told(stream, "delta")
    assert (0, []) == (final(stream)["top_logprobs"], part_of(final(stream))["logprobs"])


def test_only_old_streams_end_in_done() -> None:
    _, old = answered(REASONED, "dynamo-1.6.1", stream=True)
    _, new = answered(REASONED, "dynamo-1.7", stream=True)

    assert (True, False) == (b"[DONE]" in old, b"[DONE]" in new)
