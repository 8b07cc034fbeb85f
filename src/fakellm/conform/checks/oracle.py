"""What is right when the wire lies (CONFORMANCE section 2): per value, which of recover, null, refuse, as-sent hold.

``permission`` combines the faults and declared losses that touch a value; ``rule_of`` says which question is asked of a
captured value: is it equal to the truth, equal to what was sent, absent, or should the answer have been refused.
Checks ask here and nowhere else. Pure; knows no fault by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...capture import VALUES, Capture, CapturedChoice
from ...reading import error_told
from ..observation import Kind, May, Mode, Observation, Tampering

ALL_VALUES = (*VALUES, "top_logprobs", "prompt_logprobs")
CAPTURED = frozenset({"prompt_token_ids", "completion_token_ids", "logprobs"})
"""The values for which people run the suite: where usage lies, these are what it lies about."""
NOBODY = frozenset[May]()
ONLY_RECOVER = frozenset({May.RECOVER})
ONLY_REFUSE = frozenset({May.REFUSE})
SHOWN_BESIDE = frozenset({"top_logprobs", "prompt_logprobs"})
"""Values that faults distort without saying so: what was sent is as right as the truth."""
OWN_PROMPT = frozenset({"tito", "generate"})
"""APIs in which the prompt may be the client's own ids, or null."""


class Rule(StrEnum):
    """The question that is asked of a captured value."""

    EQUAL = "equal"
    """It must be what the oracle says: the truth, or what was sent, or either."""
    ABSENT = "absent"
    """Nothing of it is on the wire: null, or a refusal."""
    PARTIAL = "partial"
    """A part of it is on the wire: null, or a refusal, never the part passed off as the whole."""
    CONTRADICTION = "contradiction"
    """The wire contradicts itself: a refusal, or null for the contradictory part."""
    FREE = "free"
    """Not judged here: the API leaves it to the client."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One choice on all sides, matched by the order of the index. ``number``: that order."""

    number: int
    truth: CapturedChoice | None
    sent: CapturedChoice | None
    got: CapturedChoice | None


def got_capture(observation: Observation) -> Capture | None:
    """What the judged side handed on; None = nothing was captured."""
    if observation.mode is Mode.CLIENT:
        return observation.ending.capture if observation.ending.kind is Kind.CAPTURED else None
    return observation.downstream.capture if observation.downstream is not None else None


def pairs(observation: Observation) -> Iterator[Pair]:
    """The choices of truth, wire and capture beside each other."""
    captures = (
        observation.truth.capture,
        observation.sent.capture if observation.sent is not None else Capture(),
        got_capture(observation) or Capture(),
    )
    sides = [capture.by_index() for capture in captures]
    for number in range(max(len(side) for side in sides)):
        truth, sent, got = (side[number] if number < len(side) else None for side in sides)
        yield Pair(number, truth, sent, got)


def permission(observation: Observation, value: str) -> frozenset[May]:
    """What may be done with a value; empty = nothing touches it, so it must be what the truth says."""
    touching = [fault.client_may for fault in observation.case.faults if _touches(fault, observation, value)]
    touching += [loss.client_may for loss in observation.truth.losses if loss.value == value]
    severe = [may for may in touching if may != ONLY_RECOVER]
    spoilt = any(value in fault.values for fault in observation.case.faults)
    if severe and spoilt and value == "completion_token_ids" and ids_beside_scores(observation):
        severe.append(ONLY_RECOVER)
    return NOBODY.union(*severe) if severe else NOBODY.union(*touching)


def ids_beside_scores(observation: Observation) -> bool:
    """Whether the answer names its ids a second time, beside the scores: ``token_id:N`` where that was asked for, and
    always in SGLang's ``/generate``. A client that reads them there is right although the first place is spoilt."""
    if observation.case.api == "generate":
        return True
    bodies = [received.body for received in observation.upstream if received.body]
    return any(b'"return_tokens_as_token_ids":true' in body.replace(b" ", b"") for body in bodies)


def _touches(fault: Tampering, observation: Observation, value: str) -> bool:
    """A fault in usage alone contradicts the ids that it miscounts; one that changed nothing here touches nothing."""
    if not fault.values:
        return True
    if fault.values == ("usage",):
        return value == "usage" or value in miscounted(observation)
    return value in fault.values and (fault.client_may == ONLY_RECOVER or _changed(observation, value))


def _changed(observation: Observation, value: str) -> bool:
    """Whether the wire says something else than the truth (a fault may act on a later turn, or on chance)."""
    if observation.sent is None:
        return True
    sides = (observation.truth.capture, observation.sent.capture)
    one, other = ([repr(getattr(choice, value, None)) for choice in side.by_index()] for side in sides)
    return one != other


def miscounted(observation: Observation) -> tuple[str, ...]:
    """Values whose count the usage on the wire tells wrongly."""
    told = observation.sent.capture.usage if observation.sent is not None else None
    right = observation.truth.capture.usage
    if told is None or right is None:
        return ()
    names = {"completion_tokens": "completion_token_ids", "output_tokens": "completion_token_ids"}
    names |= {"prompt_tokens": "prompt_token_ids", "input_tokens": "prompt_token_ids"}
    return tuple(dict.fromkeys(value for name, value in names.items() if told.get(name) != right.get(name)))


def whole_answer(observation: Observation) -> frozenset[May]:
    """What may be done with the answer as a whole: the permissions of faults that touch no single value."""
    return NOBODY.union(*(fault.client_may for fault in observation.case.faults if not fault.values))


def rule_of(observation: Observation, value: str) -> Rule:
    """Which question to ask of a captured value."""
    if observation.mode is Mode.GATEWAY:
        return Rule.EQUAL if _sent_any(observation, value) else Rule.ABSENT
    if value == "prompt_token_ids" and observation.case.api in OWN_PROMPT:
        return Rule.FREE
    may = permission(observation, value)
    if not may or May.RECOVER in may or May.AS_SENT in may:
        return Rule.EQUAL if _on_the_wire(observation, value, may) else Rule.ABSENT
    if May.NULL not in may:
        return Rule.CONTRADICTION
    return Rule.PARTIAL if _sent_any(observation, value) else Rule.ABSENT


def _on_the_wire(observation: Observation, value: str, may: frozenset[May]) -> bool:
    if May.AS_SENT in may:
        return _sent_any(observation, value)
    return any(getattr(choice, value) for choice in observation.truth.capture.choices)


def _sent_any(observation: Observation, value: str) -> bool:
    return observation.sent is not None and any(getattr(choice, value) for choice in observation.sent.capture.choices)


def candidates(observation: Observation, pair: Pair, value: str) -> tuple[Any, ...]:
    """The values that are right under Rule.EQUAL: the truth, what was sent, or both."""
    if observation.mode is Mode.GATEWAY:
        return (_of(pair.sent, value),)
    if value in SHOWN_BESIDE:
        return (_of(pair.sent, value), _of(pair.truth, value))
    may = permission(observation, value)
    right = [_of(pair.sent, value)] if May.AS_SENT in may else []
    if not may or May.RECOVER in may:
        right.append(_of(pair.truth, value))
    return tuple(right)


def _of(choice: CapturedChoice | None, value: str) -> Any:
    return None if choice is None else getattr(choice, value)


def untrustworthy(observation: Observation) -> bool:
    """Whether a careful client would say no, or at least may: some fault is not simply to be recovered from."""
    if error_on_the_wire(observation):
        return True
    return any(fault.client_may != ONLY_RECOVER for fault in observation.case.faults)


def may_refuse(observation: Observation) -> bool:
    """Whether a typed refusal of the whole answer is a right answer here.

    An answer that says ``abort`` is aligned, yet the server says itself that it is not all: keeping it is right, too.
    """
    lost = any(exposed(observation, loss.value) for loss in observation.truth.losses)
    sent = observation.sent.capture.choices if observation.sent is not None else ()
    return untrustworthy(observation) or lost or any(choice.finish_reason == "abort" for choice in sent)


def error_on_the_wire(observation: Observation) -> bool:
    """Whether the answer as a whole was an error, or broke off: something that must come to light."""
    sent = observation.sent
    if observation.truth.error is not None or (sent is not None and (sent.status >= 400 or sent.cut)):
        return True
    if whole_answer(observation) == ONLY_REFUSE:
        return True
    case = observation.case
    return sent is not None and error_told(sent.body, api=case.api, stream=case.stream) is not None


def exposed(observation: Observation, value: str) -> bool:
    """Whether the client declares that it exposes this value (gateways pass on everything)."""
    return observation.mode is not Mode.CLIENT or value in observation.client.captures
