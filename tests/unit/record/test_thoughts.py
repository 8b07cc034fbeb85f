"""What stands before the text: thoughts that an answer shows apart, or counts without showing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.generation import Generation
from fakellm.record.hidden import thought
from fakellm.record.thoughts import thoughts
from fakellm.record.tokens import steps_by_text
from support.stages import TOKENIZER
from support.taking import asking, expert, house, taken

THINKING = {"say": {"reasoning": "Let me think about it.", "content": "The answer is forty-two."}}
MARKS = (TOKENIZER.id_of(b"<think>"), TOKENIZER.id_of(b"</think>"))


def engine_and_reader(layout: str, *, stream: bool, options: tuple[str, ...] = (), **flags: Any) -> tuple[Any, Any]:
    """The engine's choice, and the one that the recorder reads off an answer without ids."""
    stage = house(layout, THINKING, options=options).fake.default
    body = {**asking(stage, "chat", stream), **flags}
    exchange = taken(stage, "chat", body)
    read = expert(stage).read(exchange)
    assert read.truths is not None, read.note
    said = stage.answer(exchange.request()).behind()
    assert said is not None
    return said.generations[0].choices[0], (Generation.from_truth(read.truths[0]).choices[0], read.truths[0]["source"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "layout, options",
    [
        ("vllm-0.32.0", ("--reasoning-parser", "qwen3")),
        ("vllm-0.16.0", ("--reasoning-parser", "qwen3")),
        ("sglang-0.5.23", ("--reasoning-parser", "qwen3")),
        ("deepseek", ()),
        ("openrouter", ()),
    ],
)
def test_a_shown_thought_is_in_the_truth_as_the_engine_said_it(
    layout: str, options: tuple[str, ...], stream: bool
) -> None:
    engine, (told, source) = engine_and_reader(layout, stream=stream, options=options)

    assert [token.id for token in engine.tokens] == [token.id for token in told.tokens]
    assert "text+thought" == source


def test_a_thought_that_is_kept_back_is_counted() -> None:
    engine, (told, source) = engine_and_reader("openai", stream=False)

    assert len(engine.tokens) == len(told.tokens)
    assert MARKS[0] == told.tokens[0].id
    assert "text+thought" == source


def test_scores_of_the_text_stay_with_the_text_behind_a_hidden_thought() -> None:
    engine, (told, source) = engine_and_reader("openai", stream=False, logprobs=True)

    after = [token.id for token in engine.tokens].index(MARKS[1])
    assert [(token.id, token.logprob) for token in engine.tokens[after + 1 : -1]] == [
        (token.id, token.logprob) for token in told.tokens[after + 1 : -1]
    ]
    assert {None} == {token.logprob for token in told.tokens[: after + 1]}
    assert "scores+thought" == source


@pytest.mark.parametrize(
    "count, ids", [(0, ()), (1, ()), (2, MARKS), (4, (MARKS[0], *TOKENIZER.encode(".") * 2, MARKS[1]))]
)
def test_a_thought_of_so_many_tokens_is_marks_and_placeholders(count: int, ids: tuple[int, ...]) -> None:
    assert ids == thought(TOKENIZER, count)


@pytest.mark.parametrize(
    "body, expected",
    [
        ({"choices": [{"message": {"reasoning_content": "Hm.", "reasoning": "Hm."}}]}, ("Hm.",)),
        ({"output": [{"type": "reasoning", "content": [{"text": "Hm."}]}, {"type": "message"}]}, ("Hm.",)),
        ({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]}, ("Hm.",)),
        ({"message": {"content": "Yes.", "thinking": "Hm."}}, ("Hm.",)),
        ({"choices": [{"message": {"content": "Yes.", "reasoning_content": None}}]}, ()),
        ([1], ()),
    ],
)
def test_vendors_show_thoughts_in_different_places(body: Any, expected: tuple[str, ...]) -> None:
    assert expected == thoughts(json.dumps(body).encode(), stream=False)


def test_a_streamed_thought_comes_in_pieces_and_the_whole_answer_at_its_end_is_no_piece() -> None:
    events = [
        {"type": "response.reasoning_text.delta", "delta": "H"},
        {"type": "response.reasoning_text.delta", "delta": "m."},
        {"type": "response.completed", "response": {"output": [{"type": "reasoning", "content": [{"text": "Hm."}]}]}},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()

    assert ("H", "m.") == thoughts(body, stream=True)


class TestStepsByText:
    """Ids that come in one, with a text that came in pieces."""

    def test_each_piece_takes_the_tokens_that_it_shows(self) -> None:
        ids = TOKENIZER.encode("Hello, world!")
        texts = [TOKENIZER.decode(ids[:2]), TOKENIZER.decode(ids[2:3]), TOKENIZER.decode(ids[3:])]

        assert (2, 1, len(ids) - 3) == steps_by_text(TOKENIZER, (*ids, TOKENIZER.eos_ids[0]), texts)

    def test_a_character_in_two_tokens_shows_with_its_last(self) -> None:
        ids = TOKENIZER.encode("\U00020bb7!")
        assert len(ids) > 2

        assert (len(ids) - 1, 1) == steps_by_text(TOKENIZER, ids, ["\U00020bb7", "!"])

    def test_a_hidden_thought_came_token_by_token(self) -> None:
        ids = (*thought(TOKENIZER, 3), *TOKENIZER.encode("Yes"))

        assert (1, 1, 1, len(TOKENIZER.encode("Yes"))) == steps_by_text(TOKENIZER, ids, ["Yes"])

    @pytest.mark.parametrize("texts", [[], [""], ["No"]])
    def test_another_text_has_no_steps(self, texts: list[str]) -> None:
        assert () == steps_by_text(TOKENIZER, TOKENIZER.encode("Yes"), texts)
