"""The answers of /v1/completions, whole and streamed. Reads only the Told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice, ToldPrompt, ToldStep
from . import answers, openai_parts
from .completions import CompletionsRoute
from .native_render import in_order
from .openai_parts import Facts
from .scores import Speller
from .traits import Trait


@dataclass(frozen=True, slots=True)
class CompletionsRenderer:
    """Renders one completions answer."""

    facts: Facts
    route: CompletionsRoute
    speller: Speller

    def whole(self, told: Told) -> Rendering:
        """A JSON answer."""
        for choice in told.choices:
            failed = choice.failure
            if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
                return (
                    answers.error(failed.message)
                    if failed.code == 400
                    else answers.failure(failed.message, failed.code)
                )
        facts = self.facts
        body = {
            "id": facts.call.rid(0),
            "object": "text_completion",
            "created": facts.created,
            "model": facts.model,
            "choices": [self._choice(told, choice) for choice in told.choices],
            "usage": openai_parts.usage(told, facts),
            "metadata": openai_parts.metadata(told, openai_parts.first_count(told), facts.traits),
        }
        extension = openai_parts.sglext(told, self.route.values, facts.traits)
        if extension:
            body["sglext"] = extension
        return answers.json_answer(body, spelling=facts.spelling)

    def stream(self, told: Told) -> Rendering:
        """Server-sent events."""
        return answers.events(tuple(self._events(told)))

    def _choice(self, told: Told, choice: ToldChoice) -> dict[str, Any]:
        prompt = told.prompt_of(choice)
        made: dict[str, Any] = {
            "index": choice.index,
            "text": self._echoed(choice) + choice.text,
            "logprobs": self._logprobs(prompt, choice.index, choice.scores, with_prompt=True),
            "finish_reason": choice.finish_reason,
            "matched_stop": choice.stop_reason,
        }
        if self.route.values["return_token_ids"]:
            if choice.ids is not None:
                made["token_ids"] = list(choice.ids)
            if prompt.token_ids is not None:
                made["prompt_token_ids"] = list(prompt.token_ids)
        return made

    def _echoed(self, choice: ToldChoice) -> str:
        echoes = self.route.echoes
        return "" if echoes is None else echoes[min(choice.index // self.facts.call.n, len(echoes) - 1)]

    def _logprobs(
        self, prompt: ToldPrompt, index: int, scores: Sequence[Score | None] | None, *, with_prompt: bool
    ) -> dict[str, Any] | None:
        if self.route.values["logprobs"] is None or scores is None:
            return None
        item = self.facts.call.item(index)
        texts: list[Any] = []
        numbers: list[Any] = []
        tops: list[Any] = []
        if with_prompt and item.start_len == 0:
            known = prompt.scores or ()
            for place, token_id in enumerate(prompt.token_ids or ()):
                score = known[place] if place < len(known) else None
                texts.append(self._text(score) if score is not None else self.speller.text(token_id))
                numbers.append(None if score is None else score.logprob)
                tops.append(None if score is None else self._tops(score))
        for score in scores:
            texts.append(None if score is None else self._text(score))
            numbers.append(None if score is None else score.logprob)
            if item.top > 0:
                tops.append(None if score is None else self._tops(score))
        return {"text_offset": [-1] * len(texts), "token_logprobs": numbers, "tokens": texts, "top_logprobs": tops}

    def _tops(self, score: Score) -> dict[str, Any] | None:
        return {self._text(each): each.logprob for each in score.top} if score.top else None

    def _text(self, score: Score) -> str:
        """The token's text; a piece of a character, from 0.5.21 on, one Latin-1 character per byte."""
        if "\ufffd" not in score.token or not self.facts.traits.has(Trait.TRUE_BYTES) or score.bytes is None:
            return score.token
        piece = bytes(score.bytes)
        try:
            piece.decode()
        except UnicodeDecodeError:
            return piece.decode("latin-1")
        return score.token

    def _events(self, told: Told) -> Iterator[Message]:
        last, due = told.choices[0].index, 0.0
        pieces = _Pieces(self.facts.traits.has(Trait.ECHO_SWALLOWS))
        for choice, number in in_order(told.choices):
            step = choice.steps[number]
            last, due = choice.index, step.due_ms
            failed = choice.failure
            told_as_error = self.facts.traits.has(Trait.STREAM_ERRORS) and step.finish_reason == "abort"
            if told_as_error and failed is not None and failed.code is not None:
                yield answers.stream_error(failed.message, answers.status_name(failed.code), failed.code, due)
                break
            text = pieces.next(choice.index, step.text, self._echoed(choice) if number == 0 else "")
            yield self._step(told, choice, step, text, first=number == 0)
        extension = openai_parts.sglext(told, self.route.values, self.facts.traits)
        if extension:
            yield self._late(last, due, {"usage": None, "sglext": extension}, "meta")
        include, _ = openai_parts.includes_usage(self.route.values, self.facts.settings, self.facts.traits)
        if include:
            yield self._late(last, due, {"usage": _without_nulls(openai_parts.usage(told, self.facts))}, "usage")

    def _step(self, told: Told, choice: ToldChoice, step: ToldStep, text: str, *, first: bool) -> Message:
        prompt = told.prompt_of(choice)
        rows = None if choice.scores is None else choice.scores[step.scores[0] : step.scores[1]]
        with_prompt = first and self.facts.call.item(choice.index).start_len == 0
        logprobs = self._logprobs(prompt, choice.index, rows, with_prompt=first) if rows or with_prompt else None
        made: dict[str, Any] = {
            "index": choice.index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": step.finish_reason,
            "matched_stop": step.stop_reason,
        }
        if self.route.values["return_token_ids"]:
            if choice.ids is not None:
                made["token_ids"] = list(choice.ids[step.ids[0] : step.ids[1]])
            if first and prompt.token_ids is not None:
                made["prompt_token_ids"] = list(prompt.token_ids)
        _, continuous = openai_parts.includes_usage(self.route.values, self.facts.settings, self.facts.traits)
        counted = openai_parts.step_usage(told, choice.index, step.tokens[1], self.facts, details=False)
        body = {**self._head(choice.index), "choices": [made], "usage": counted if continuous else None}
        kind = "finish" if step.finish_reason is not None else "delta"
        return Message(kind, body, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _late(self, last: int, due: float, members: dict[str, Any], kind: str) -> Message:
        return Message(kind, {**self._head(last), "choices": [], **members}, due_ms=due, spelling="serde")

    def _head(self, index: int) -> dict[str, Any]:
        return {
            "id": self.facts.call.rid(index),
            "object": "text_completion",
            "created": self.facts.created,
            "model": self.facts.model,
        }


def _without_nulls(counts: Mapping[str, Any]) -> dict[str, Any]:
    members: Iterable[tuple[str, Any]] = counts.items()
    return {name: value for name, value in members if value is not None}


class _Pieces:
    """What a stream tells of its text. ``swallows``: it measures the text alone against echo and text, so that as many
    characters as the echo had are missing."""

    def __init__(self, swallows: bool) -> None:
        self._swallows = swallows
        self._told: dict[int, int] = {}
        self._made: dict[int, int] = {}

    def next(self, choice: int, text: str, echo: str) -> str:
        made, told = self._made.get(choice, 0), self._told.get(choice, 0)
        self._made[choice] = made + len(text)
        piece = echo + text[max(told - made, 0) :] if self._swallows else echo + text
        self._told[choice] = told + len(piece)
        return piece
