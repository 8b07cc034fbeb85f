"""The truth: what the engine sampled, born once and never edited.

A :class:`Generation` holds the prompt token ids (and prompt logprobs) and, per choice, every sampled token with id,
bytes, logprob, rank and alternatives, grouped into engine steps. It is what the engine WOULD say: max_tokens, stop
strings and the like cut it later (``emission.py``). This module knows nothing of requests, layouts, faults or wires.

>>> token = Token(id=42, bytes=b"H", logprob=-0.25, rank=1)
>>> Generation(prompt_token_ids=(1, 2), choices=(Choice(tokens=(token,)),)).choices[0].steps
(1,)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from .errors import CaptureError

NO_EXTRAS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One alternative at a position. ``rank`` counts from 1; ``logprob`` may be ``-inf``; None means withheld."""

    id: int | None
    bytes: bytes
    logprob: float | None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """One sampled (or prompt) token.

    ``id``: vocabulary id (None only where a gateway's upstream showed none). ``bytes``: the exact bytes of the piece,
    special tokens literally. ``logprob``: natural log, float32 widened to double; ``-inf`` possible; None = withheld.
    ``rank``: 1 = most likely. ``top``: candidates in rank order, the sampled token among them only if it ranks there.
    ``asked``: scores of ids that a request asked for by number (SGLang ``token_ids_logprob``).
    """

    id: int | None
    bytes: bytes
    logprob: float | None
    rank: int | None = None
    top: tuple[Candidate, ...] = ()
    asked: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineFailure:
    """An engine that failed in mid-generation (SGLang tells message and code; vLLM only that it failed)."""

    message: str
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One sample of the engine.

    ``steps``: tokens per engine step, sum = len(tokens) (0 = a step without token); empty means one token a step.
    ``finish_reason``: what the engine would report at the end: stop | length | abort | error | None (unknown).
    ``stop_reason``: a stop id or string the engine itself reports. ``finish_at``: finish_reason is reported after
    that many tokens (None = at the end).
    """

    tokens: tuple[Token, ...]
    steps: tuple[int, ...] = ()
    finish_reason: str | None = "stop"
    stop_reason: int | str | None = None
    finish_at: int | None = None
    failure: EngineFailure | None = None

    def __post_init__(self) -> None:
        if not self.steps and self.tokens:
            object.__setattr__(self, "steps", (1,) * len(self.tokens))
        if sum(self.steps) != len(self.tokens):
            raise ValueError(f"steps sum to {sum(self.steps)}, but the choice has {len(self.tokens)} tokens")


@dataclass(frozen=True, slots=True)
class Generation:
    """The truth of one prompt: what every layout tells, each in its own way.

    ``prompt_logprobs``: None (not computed) or one entry per prompt token, None where there is no score (always first).
    ``cached_tokens`` / ``weight_version``: what the engine reports besides tokens; None = nothing.
    ``extras``: opaque values that a choice carries (``routed_experts`` ...), by name.
    """

    prompt_token_ids: tuple[int, ...]
    choices: tuple[Choice, ...]
    prompt_logprobs: tuple[Token | None, ...] | None = None
    cached_tokens: int | None = None
    weight_version: str | None = None
    extras: Mapping[str, Any] = field(default_factory=lambda: NO_EXTRAS)

    @classmethod
    def from_truth(cls, truth: Mapping[str, Any], *, where: str = "truth") -> Generation:
        """Read one entry of a golden folder's ``truths.json``; raises CaptureError naming the field that is wrong."""
        try:
            prompt_logprobs = truth.get("prompt_logprobs")
            return cls(
                prompt_token_ids=tuple(truth["prompt_token_ids"]),
                prompt_logprobs=None
                if prompt_logprobs is None
                else tuple(None if row is None else _token_from(row) for row in prompt_logprobs),
                choices=tuple(_choice_from(choice) for choice in truth["choices"]),
                cached_tokens=truth.get("cached_tokens"),
                weight_version=truth.get("weight_version"),
            )
        except KeyError as missing:
            raise CaptureError(f"the truth has no {missing.args[0]!r}", where=where) from None
        except (TypeError, ValueError, AttributeError) as wrong:
            raise CaptureError(f"the truth cannot be read: {wrong}", where=where) from None

    def to_truth(self) -> dict[str, Any]:
        """The same truth in the golden library's format (``from_truth`` reads it back)."""
        truth: dict[str, Any] = {
            "prompt_token_ids": list(self.prompt_token_ids),
            "prompt_logprobs": None
            if self.prompt_logprobs is None
            else [None if row is None else _token_to(row) for row in self.prompt_logprobs],
            "choices": [_choice_to(choice) for choice in self.choices],
        }
        if self.cached_tokens is not None:
            truth["cached_tokens"] = self.cached_tokens
        if self.weight_version is not None:
            truth["weight_version"] = self.weight_version
        return truth

    def with_steps(self, steps_of_choices: tuple[tuple[int, ...], ...]) -> Generation:
        """The same tokens, delivered in other steps (a stream in which queued steps were joined)."""
        choices = tuple(
            replace(choice, steps=steps) for choice, steps in zip(self.choices, steps_of_choices, strict=True)
        )
        return replace(self, choices=choices)


def _number_from(value: Any) -> float | None:
    return float(value) if isinstance(value, str) else value


def _number_to(value: float | None) -> Any:
    return str(value) if value is not None and (value != value or value in (float("inf"), float("-inf"))) else value


def _candidate_from(row: Mapping[str, Any]) -> Candidate:
    return Candidate(row["id"], bytes(row["bytes"]), _number_from(row["logprob"]), row.get("rank"))


def _token_from(row: Mapping[str, Any]) -> Token:
    return Token(
        id=row["id"],
        bytes=bytes(row["bytes"]),
        logprob=_number_from(row["logprob"]),
        rank=row.get("rank"),
        top=tuple(_candidate_from(candidate) for candidate in row.get("top", ())),
        asked=tuple(_candidate_from(candidate) for candidate in row.get("asked", ())),
    )


def _choice_from(row: Mapping[str, Any]) -> Choice:
    failure = row.get("error")
    return Choice(
        tokens=tuple(_token_from(token) for token in row["tokens"]),
        steps=tuple(row.get("chunks") or ()),
        finish_reason=row.get("finish_reason"),
        stop_reason=row.get("stop_reason"),
        finish_at=row.get("finish_at"),
        failure=None if failure is None else EngineFailure(failure["message"], failure.get("code")),
    )


def _candidate_to(candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": candidate.id,
        "bytes": list(candidate.bytes),
        "logprob": _number_to(candidate.logprob),
    }
    if candidate.rank is not None:
        row["rank"] = candidate.rank
    return row


def _token_to(token: Token) -> dict[str, Any]:
    row = _candidate_to(Candidate(token.id, token.bytes, token.logprob, token.rank))
    row["top"] = [_candidate_to(candidate) for candidate in token.top]
    if token.asked:
        row["asked"] = [_candidate_to(candidate) for candidate in token.asked]
    return row


def _choice_to(choice: Choice) -> dict[str, Any]:
    row: dict[str, Any] = {"finish_reason": choice.finish_reason}
    if choice.stop_reason is not None:
        row["stop_reason"] = choice.stop_reason
    if choice.finish_at is not None:
        row["finish_at"] = choice.finish_at
    if choice.failure is not None:
        row["error"] = {"message": choice.failure.message, "code": choice.failure.code}
    row["tokens"] = [_token_to(token) for token in choice.tokens]
    row["chunks"] = list(choice.steps)
    return row
