"""Mutant clients that hand on what cannot be trusted, as it is or mended. The docstring says how, and who does it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ...capture import Capture, CapturedChoice
from ...reading import Refused
from .reference import Message, Reference
from .spoiling import Editing


class Careless(Editing):
    """Hands on whatever stood there when the reason to refuse is one of ``kinds``."""

    kinds: ClassVar[frozenset[str]] = frozenset({"count-mismatch", "score-missing", "usage-mismatch"})

    def forgive(self, refused: Refused, sent: Capture) -> bool:
        return refused.kind in self.kinds and all(self.accepts(score) for score in _scores(sent))

    def accepts(self, score: Any) -> bool:
        return True

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        return choice


class PadWithZero(Careless):
    """Fills missing scores up with 0.0 (rllm's verl transform)."""

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        ids, scores = choice.completion_token_ids, choice.logprobs
        if ids is None or scores is None:
            return choice
        known = tuple(0.0 if score is None else score for score in scores)
        return replace(choice, logprobs=(known + (0.0,) * len(ids))[: len(ids)])


class TruncateToShortest(Careless):
    """Zips ids and scores, and loses the tail of the longer (verifiers NeMoRL client)."""

    kinds: ClassVar[frozenset[str]] = frozenset({"count-mismatch", "usage-mismatch"})

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        ids, scores = choice.completion_token_ids, choice.logprobs
        if ids is None or scores is None:
            return choice
        length = min(len(ids), len(scores))
        return replace(choice, completion_token_ids=ids[:length], logprobs=scores[:length])


class Clamp(Careless):
    """Clips scores into a range instead of refusing the impossible ones (several engines at -100)."""

    kinds: ClassVar[frozenset[str]] = frozenset({"score-impossible"})

    def accepts(self, score: Any) -> bool:
        return isinstance(score, float | int)

    def edit(self, choice: CapturedChoice) -> CapturedChoice:
        scores = choice.logprobs
        return choice if scores is None else replace(choice, logprobs=tuple(_clipped(score) for score in scores))


class AcceptSentinel(Careless):
    """Takes -9999 for a score (verifiers 0.3.0)."""

    kinds: ClassVar[frozenset[str]] = frozenset({"score-impossible"})

    def accepts(self, score: Any) -> bool:
        return isinstance(score, float | int) and score <= 0


class AcceptNaN(Careless):
    """Hands on NaN and null as scores (AReaL, PipelineRL)."""

    kinds: ClassVar[frozenset[str]] = frozenset({"score-impossible", "score-missing"})

    def accepts(self, score: Any) -> bool:
        return score is None or (-9999 < score <= 0) or math.isnan(score)


class AcceptPositive(Careless):
    """Takes positive numbers for logprobs."""

    kinds: ClassVar[frozenset[str]] = frozenset({"score-impossible"})

    def accepts(self, score: Any) -> bool:
        return isinstance(score, float | int) and score > -9999


class SwallowStreamError(Careless):
    """Takes what came before an error event for the whole answer (rllm-model-gateway 0.1.0)."""

    kinds: ClassVar[frozenset[str]] = frozenset({"error-event", "truncated", "aborted"})


class CrashOnUntrusted(Reference):
    """Raises a KeyError where it should refuse (openhands-sdk)."""

    def forgive(self, refused: Refused, sent: Capture) -> bool:
        raise KeyError(refused.kind)


class HollowOnError(Reference):
    """Reports an empty list for an answer that was an error."""

    async def run(self, message: Message) -> Mapping[str, Any]:
        answer = await super().run(message)
        return {"captured": []} if "refused" in answer else answer


class NeverCalls(Reference):
    """Answers out of its own head, without a call."""

    async def run(self, message: Message) -> Mapping[str, Any]:
        return {"captured": [CapturedChoice(text="Hello.", finish_reason="stop").to_json()]}


def _scores(capture: Capture) -> list[Any]:
    return [score for choice in capture.choices for score in choice.logprobs or ()]


def _clipped(score: Any) -> float:
    return 0.0 if math.isnan(score) else max(-1.0, min(float(score), 0.0))
