"""Checks on how a call ended: healthy answers captured, errors told, nothing hanging, crashes counted.

A refusal is a right answer to a wire that cannot be trusted and a wrong one to a healthy wire. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...capture import CapturedChoice
from ..finding import Finding, Level
from ..observation import Kind, Mode, Observation
from .base import NOTHING, exchange_check, failed, passed
from .oracle import error_on_the_wire, may_refuse, untrustworthy

MID_STREAM = "https://github.com/BerriAI/litellm/issues/40578"


@exchange_check("outcome.healthy-captured", sources=("https://github.com/cooperbench/CooperBench/pull/78",))
def healthy_captured(observation: Observation) -> Sequence[Finding]:
    """A healthy answer MUST be captured: not refused, no crash.

    Refusing everything is safe and useless. What a layout itself declares as lost may be refused.
    """
    if observation.case.faults or may_refuse(observation):
        return NOTHING
    if observation.ending.kind is Kind.CAPTURED:
        return [passed()]
    if observation.ending.kind in (Kind.REFUSED, Kind.ERRORED):
        words = f"a healthy answer was {observation.ending.kind.value}: {observation.ending.message}"
        return [failed(words[:300], got=observation.ending.refusal)]
    return NOTHING


@exchange_check(
    "outcome.errors-surfaced",
    sources=(
        MID_STREAM,
        "https://github.com/NousResearch/hermes-agent/pull/65643",
        "https://github.com/exo-explore/exo/pull/1758",
    ),
)
def errors_surfaced(observation: Observation) -> Sequence[Finding]:
    """An error status, an error body or event, and an answer that broke off or cannot be told apart MUST come to light.

    `captured: []`, or a choice without ids, scores, text and finish_reason, is no way of saying so. An error after the
    finish chunk counts: the server itself took its answer back.
    """
    ending = observation.ending
    if ending.kind not in (Kind.CAPTURED, Kind.REFUSED, Kind.ERRORED, Kind.TIMED_OUT):
        return NOTHING
    if error_on_the_wire(observation):
        if ending.kind in (Kind.REFUSED, Kind.ERRORED):
            return [passed()]
        words = "an answer that is an error, or broke off, was handed on as if it were whole"
        return [failed(words, got=ending.kind.value)]
    if ending.kind is not Kind.CAPTURED or ending.capture is None or observation.sent is None:
        return NOTHING
    if not observation.sent.capture.choices:
        return NOTHING
    hollow = [place for place, choice in enumerate(ending.capture.choices) if _hollow(choice)]
    if ending.capture.choices and not (hollow and _could_show(observation)):
        return [passed()]
    words = "nothing was captured, and nothing was said about it"
    return [failed(words, where=f"choices[{hollow[0]}]" if hollow else "choices", got=len(ending.capture.choices))]


def _hollow(choice: CapturedChoice) -> bool:
    return (
        not choice.prompt_token_ids
        and not choice.completion_token_ids
        and not choice.logprobs
        and choice.text is None
        and choice.finish_reason is None
    )


def _could_show(observation: Observation) -> bool:
    return observation.sent is not None and bool(observation.sent.carried & observation.client.captures)


@exchange_check(
    "outcome.crash-on-untrusted", level=Level.SHOULD, sources=("https://github.com/huggingface/trl/issues/6166",)
)
def crash_on_untrusted(observation: Observation) -> Sequence[Finding]:
    """An answer that cannot be trusted SHOULD be refused in so many words rather than crash the client.

    A KeyError ends the step as surely as a refusal, but nobody can tell it from a bug, and one bad answer of a thousand
    ends the run.
    """
    if not untrustworthy(observation):
        return NOTHING
    if observation.ending.kind is Kind.ERRORED:
        return [failed(f"crashed on an answer that cannot be trusted: {observation.ending.message}"[:300])]
    return [passed()] if observation.ending.kind in (Kind.CAPTURED, Kind.REFUSED) else NOTHING


@exchange_check(
    "outcome.cancel-reaches-server",
    given_up=True,
    level=Level.INFO,
    sources=("https://github.com/vllm-project/vllm/pull/47933",),
)
def cancel_reaches_server(observation: Observation) -> Sequence[Finding]:
    """A call that the caller cancels is best cancelled at the server too, so that it stops sampling.

    Seen by the connection being closed before the answer's end.
    """
    if observation.case.cancel_after_ms is None or not observation.upstream or observation.mode is not Mode.CLIENT:
        return NOTHING
    if any(call.disconnected_ms is not None for call in observation.upstream):
        return [passed()]
    return [failed("the call was cancelled, and the server went on to the end")]
