"""Checks on several choices: all there, none made up, none mixed with another. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..finding import Finding
from ..observation import Kind, May, Mode, Observation
from .base import BOTH, NOTHING, exchange_check, failed, passed
from .oracle import error_on_the_wire, got_capture, pairs, whole_answer

MERGED = (
    "https://github.com/ai-dynamo/dynamo/pull/11563",
    "https://github.com/BerriAI/litellm/issues/3276",
    "https://github.com/huggingface/text-generation-inference/pull/1648",
)


@exchange_check("choices.complete", modes=BOTH, sources=MERGED)
def complete(observation: Observation) -> Sequence[Finding]:
    """As many choices MUST be captured as were sent: none lost, none made up.

    Reading ``choices[0]`` alone throws away n - 1 samples of a group; a grouped advantage over one sample is zero.
    """
    capture = got_capture(observation)
    sent = len(observation.sent.capture.choices) if observation.sent is not None else 0
    truth = len(observation.truth.capture.choices)
    may = whole_answer(observation)
    if capture is None or error_on_the_wire(observation) or not (sent or truth):
        return NOTHING
    if May.REFUSE in may and not (May.RECOVER in may or May.AS_SENT in may):
        return NOTHING
    right = {sent} if May.AS_SENT in may or observation.mode is Mode.GATEWAY else {truth or sent}
    if May.AS_SENT in may and May.RECOVER in may:
        right.add(truth)
    if len(capture.choices) in right:
        return [passed()]
    got = len(capture.choices)
    verb = "lost" if got < max(right) else "made up"
    return [
        failed(f"{got} choices instead of {max(right)}", where="choices", expected=max(right), got=got, diagnosis=verb)
    ]


@exchange_check("choices.apart", modes=BOTH, sources=MERGED)
def apart(observation: Observation) -> Sequence[Finding]:
    """With n > 1 no choice MUST hold anything of another: neither merged nor swapped, whatever the order on the wire.

    Streams interleave choices as they like; only ``index`` tells them apart. rllm-model-gateway 0.1.0 merges the ids
    of all choices into one list.
    """
    sides = [pair for pair in pairs(observation) if pair.sent is not None]
    if len(sides) < 2 or got_capture(observation) is None or _foreign_by_fault(observation):
        return NOTHING
    if observation.mode is Mode.CLIENT and observation.ending.kind is not Kind.CAPTURED:
        return NOTHING
    tried = False
    for pair in sides:
        for value in ("logprobs", "completion_token_ids", "text"):
            got = getattr(pair.got, value, None)
            if not got:
                continue
            tried = True
            own = getattr(pair.sent, value) or getattr(pair.truth, value, None) or ()
            for other in sides:
                if other.number != pair.number and _holds(got, own, getattr(other.sent, value) or (), value):
                    where = f"choices[{pair.number}].{value}"
                    words = f"{value} of choice {pair.number} holds those of choice {other.number}"
                    swapped = tuple(got) == tuple(getattr(other.sent, value) or ())
                    diagnosis = "swapped" if swapped else "merged"
                    return [failed(words, where=where, choice=pair.number, expected=own, got=got, diagnosis=diagnosis)]
    return [passed()] if tried else NOTHING


def _foreign_by_fault(observation: Observation) -> bool:
    """A fault that sends another choice's values makes them right as sent."""
    return any(May.AS_SENT in fault.client_may for fault in observation.case.faults)


def _holds(got: Sequence[Any], own: Sequence[Any], foreign: Sequence[Any], value: str) -> bool:
    """Whether something of ``foreign`` stands in ``got`` that is not ``own``."""
    if not foreign or tuple(got) == tuple(own) or tuple(foreign) == tuple(own):
        return False
    if tuple(got) == tuple(foreign):
        return True
    if value == "logprobs":
        mine = set(map(repr, own))
        return any(repr(score) not in mine and repr(score) in set(map(repr, foreign)) for score in got)
    return len(got) > len(own) and _within(foreign, got) and _within(own, got)


def _within(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    """Whether ``part`` stands in ``whole`` in its order, perhaps with other elements between."""
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in part)
