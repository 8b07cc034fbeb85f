"""The truth beside the wire: a strip a choice, red exactly where a fault was at work."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.beside import WINDOW, strips
from fakellm.fake import Fake
from support.stages import NOON, TOKENIZER, Spoken, chat, post, spoken, stage

ASKED = {"return_token_ids": True, "logprobs": True}


def seen(text: str = "Hello", *, faults: tuple[Any, ...] = (), layout: str = "vllm-0.32.0", **body: Any) -> list[Any]:
    playing = stage(Spoken(spoken(text), faults=faults), layout)
    _, exchange = Fake({}, playing, now=lambda: NOON).answer(chat(**body))
    return strips(exchange)


@pytest.mark.parametrize("stream", [False, True])
def test_a_healthy_answer_is_the_truth(stream: bool) -> None:
    prompt, completion = seen(**ASKED, stream=stream)

    assert ("prompt", None) == (prompt["of"], prompt["first"])
    assert ("completion", None, "") == (completion["of"], completion["first"], completion["diagnosis"])
    assert [row["truth"] for row in completion["rows"]] == [row["wire"] for row in completion["rows"]]
    assert "Hello" == "".join(row["piece"] for row in completion["rows"][:-1])
    assert TOKENIZER.piece(prompt["rows"][0]["truth"]["id"]).decode() == prompt["rows"][0]["piece"]


def test_a_value_that_nobody_asked_for_is_absent_and_not_wrong() -> None:
    (completion,) = seen()

    assert completion["first"] is None
    assert {"id": "absent", "logprob": "absent"} == completion["rows"][0]["wire"]
    assert spoken("Hello").tokens[0].id == completion["rows"][0]["truth"]["id"]


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "sglang", "dynamo"])
def test_a_fault_is_red_where_it_is_at_work_and_named(layout: str) -> None:
    strip = seen("one two three four", faults=({"logprobs-one-short": {"at": 2}},), layout=layout, logprobs=True)[-1]

    assert 2 == strip["first"]
    assert [False, False, True] == [row["differs"] for row in strip["rows"][:3]]
    assert "one of the scores is lost: position 2 of" in strip["diagnosis"]


def test_a_long_answer_is_a_window_around_the_first_divergence() -> None:
    fault = {"logprob-null": {"at": 700}}
    strip = seen("x y " * 500, faults=(fault,), **ASKED)[-1]

    assert 700 == strip["first"]
    assert WINDOW == len(strip["rows"])
    assert strip["total"] > 900
    assert 700 in [row["position"] for row in strip["rows"] if row["differs"]]


def test_a_request_that_no_engine_answered_has_none() -> None:
    _, exchange = Fake({}, stage(Spoken(spoken("Hello"))), now=lambda: NOON).answer(post("/tokenize", {"prompt": "Hi"}))

    assert [] == strips(exchange)
