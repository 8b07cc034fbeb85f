"""Checks across exchanges: turns of one conversation, and streams beside whole answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...capture import VALUES, Capture
from ..finding import Finding, Level
from ..observation import Kind, Observation
from .base import NOTHING, exchange_check, failed, passed, run_check
from .oracle import exposed, got_capture


@exchange_check(
    "turns.prefix",
    level=Level.INFO,
    needs=("prompt_token_ids", "completion_token_ids"),
    sources=("https://github.com/PrimeIntellect-ai/prime-rl/issues/1334", "https://github.com/THUDM/slime/issues/2288"),
)
def prefix(observation: Observation) -> Sequence[Finding]:
    """A turn's prompt and completion are usually a prefix of the next turn's prompt; where not, it is worth knowing.

    Templates strip reasoning, tool calls are written anew, contexts are compacted: the prompt that a turn saw is then
    no longer in the list. That is the server's and the template's doing, so clients get a note, never a failure.
    """
    if not observation.siblings:
        return NOTHING
    before, after = got_capture(observation.siblings[-1]), got_capture(observation)
    if before is None or after is None or not before.choices or not after.choices:
        return NOTHING
    earlier, later = before.by_index()[0], after.by_index()[0]
    if not earlier.prompt_token_ids or not earlier.completion_token_ids or not later.prompt_token_ids:
        return NOTHING
    whole = (*earlier.prompt_token_ids, *earlier.completion_token_ids)
    if later.prompt_token_ids[: len(whole)] == whole:
        return [passed()]
    position = next(
        (at for at, (a, b) in enumerate(zip(whole, later.prompt_token_ids, strict=False)) if a != b),
        min(len(whole), len(later.prompt_token_ids)),
    )
    words = f"the next turn's prompt parts from this turn's ids at position {position} of {len(whole)}"
    return [failed(words, where=f"prompt_token_ids[{position}]", position=position)]


@run_check(
    "stream.equals-whole",
    sources=("https://github.com/ml-explore/mlx-lm/pull/1630", "https://github.com/pydantic/pydantic-ai/issues/8642"),
)
def stream_equals_whole(observations: Sequence[Observation]) -> Sequence[Finding]:
    """A streamed answer and a whole answer that say the same MUST be captured as the same.

    Judged for healthy pairs of one case whose truths are equal, over the values that the client shows in both.
    """
    halves: dict[tuple[Any, ...], dict[bool, Observation]] = {}
    for one in observations:
        if not one.case.faults and one.ending.kind is Kind.CAPTURED:
            axes = tuple(sorted((name, str(value)) for name, value in one.case.axes.items() if name != "stream"))
            key = (one.case.id.split("[")[0], one.case.layout, one.case.api, one.case.turn, axes)
            halves.setdefault(key, {})[one.case.stream] = one
    findings: list[Finding] = []
    for pair in halves.values():
        if len(pair) == 2:
            findings.extend(_compared(pair[False], pair[True]))
    return findings


def _compared(whole: Observation, stream: Observation) -> Sequence[Finding]:
    lost = {loss.value for one in (whole, stream) for loss in one.truth.losses}
    values = [value for value in VALUES if exposed(whole, value) and value not in lost]
    values = [value for value in values if _column(whole.truth.capture, value) == _column(stream.truth.capture, value)]
    tried = False
    for value in values:
        one, other = _column(got_capture(whole), value), _column(got_capture(stream), value)
        if None in one or None in other or not one:
            continue
        tried = True
        if one != other:
            words = f"{value} of the stream is not that of the whole answer"
            return [failed(words, observation=stream, where=value, expected=one, got=other)]
    return [passed(stream)] if tried else NOTHING


def _column(capture: Capture | None, value: str) -> tuple[Any, ...]:
    return tuple(getattr(choice, value) for choice in capture.by_index()) if capture is not None else ()
