"""Mutant clients that read well and then spoil what they read. The docstring says how, and who was seen to do it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ... import tokenizer
from ...capture import Capture, CapturedChoice
from .reference import Message, Reference


class Editing(Reference):
    """Reads well and then spoils each choice on its own."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        return [self.edit(choice) for choice in capture.choices]

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        raise NotImplementedError


class DropLastLogprob(Editing):
    """Loses the score of the last token (openai-agents 0.24 in streams)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, logprobs=_part(choice.logprobs, slice(None, -1)))


class ShiftByOne(Editing):
    """Every score stands one token too late."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        scores = choice.logprobs
        return choice if not scores else replace(choice, logprobs=(scores[0], *scores[:-1]))


class RetokeniseText(Editing):
    """Encodes the text again instead of reading ids (rllm's OpenAIEngine)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        if choice.completion_token_ids is None or choice.text is None:
            return choice
        encoder = tokenizer.load()
        return replace(choice, completion_token_ids=(*encoder.encode(choice.text), encoder.eos_ids[0]))


class PromptAsCompletion(Editing):
    """Takes prompt and completion together for the completion."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        if choice.completion_token_ids is None or choice.prompt_token_ids is None:
            return choice
        return replace(choice, completion_token_ids=choice.prompt_token_ids + choice.completion_token_ids)


class InventPromptIds(Reference):
    """Makes up prompt ids from the message text when the server sends none."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        ids = tuple(tokenizer.load().encode(json.dumps(message["request"].get("messages", ""))))
        return [
            choice if choice.prompt_token_ids is not None else replace(choice, prompt_token_ids=ids)
            for choice in capture.choices
        ]


class NullAsEmptyList(Editing):
    """Writes [] for what is not there (rllm-model-gateway 0.1.0)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(
            choice,
            prompt_token_ids=choice.prompt_token_ids or (),
            completion_token_ids=choice.completion_token_ids or (),
            logprobs=choice.logprobs or (),
        )


class DropEos(Editing):
    """Cuts the end token off ids and scores (LMDeploy's habit, made a client's)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        if choice.finish_reason not in ("stop", "completed"):
            return choice
        ids, scores = (_part(one, slice(None, -1)) for one in (choice.completion_token_ids, choice.logprobs))
        return replace(choice, completion_token_ids=ids, logprobs=scores)


class ChoiceZeroOnly(Reference):
    """Reads choices[0] (nearly everybody)."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        return capture.by_index()[:1]


class MergeChoices(Reference):
    """Puts the ids and scores of all choices into one list (rllm-model-gateway 0.1.0 streams)."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        first = capture.by_index()[0]
        for other in capture.by_index()[1:]:
            first = replace(
                first,
                completion_token_ids=_sum(first.completion_token_ids, other.completion_token_ids),
                logprobs=_sum(first.logprobs, other.logprobs),
            )
        return [first, *capture.by_index()[1:]]


class SwapChoices(Reference):
    """Matches choices by arrival instead of index."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        ordered = capture.by_index()
        swapped = [*ordered[1:], ordered[0]]
        return [replace(choice, index=place) for place, choice in enumerate(swapped)]


class StringIds(Editing):
    """Hands on ids as strings."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, completion_token_ids=_each(choice.completion_token_ids, str))


class FloatIds(Editing):
    """Hands on ids as floats."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, completion_token_ids=_each(choice.completion_token_ids, float))


class IgnoreFinish(Editing):
    """Says "stop" whatever the reason (OpenPipe ART's assembler for a missing one)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, finish_reason="stop")


class Float16(Editing):
    """Rounds scores to half precision."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, logprobs=_each(choice.logprobs, _half))


class StripText(Editing):
    """Strips blanks off the text."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return replace(choice, text=None if choice.text is None else choice.text.strip().removesuffix("."))


class CaptureNothing(Editing):
    """Reports null for everything but text (cooperbench 0.0.20: 816 of 816 calls)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return CapturedChoice(index=choice.index, text=choice.text)


class SortPromptLogprobs(Editing):
    """Sorts the alternatives of a prompt token by their id."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        rows = choice.prompt_logprobs
        if rows is None:
            return choice
        ordered = (None if row is None else tuple(sorted(row, key=lambda one: str(one.id))) for row in rows)
        return replace(choice, prompt_logprobs=tuple(ordered))


class ForgetWeights(Editing):
    """Takes one weight version for the whole answer."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return choice if choice.weight_versions is None else replace(choice, weight_versions=("latest",))


class FabricateUsage(Reference):
    """Counts words where it should hand on the server's counts (litellm 1.110.2 without usage)."""

    async def run(self, message: Message) -> Mapping[str, Any]:
        answer = dict(await super().run(message))
        if "captured" in answer:
            words = sum(len((row["text"] or "").split()) for row in answer["captured"])
            answer["usage"] = {"prompt_tokens": 8, "completion_tokens": words}
        return answer


def _part(values: tuple[Any, ...] | None, part: slice) -> tuple[Any, ...] | None:
    return None if values is None else values[part]


def _each(values: tuple[Any, ...] | None, change: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    return None if values is None else tuple(change(value) for value in values)


def _sum(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if one is None and other is None else (one or ()) + (other or ())


def _half(score: Any) -> Any:
    return struct.unpack("<e", struct.pack("<e", score))[0] if isinstance(score, float) else score
