"""Checks on what is there and what is not: nothing invented, nothing partial sold as whole, nothing lost.

Null is judged by the client's own declaration and only beside other exchanges, so ``capture.recovered``,
``capture.kept`` and ``capture.yield`` see the whole run; their ids are fixed words. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...capture import VALUES
from ..finding import Finding, Level
from ..observation import Kind, May, Mode, Observation
from .alignment import completion_ids, logprobs, prompt_ids
from .base import BOTH, NOTHING, exchange_check, failed, passed, run_check
from .choices import complete
from .oracle import CAPTURED, ONLY_REFUSE, Rule, error_on_the_wire, exposed, may_refuse, pairs, permission, rule_of
from .values import finish_kept, text_kept

COOPERBENCH = "https://github.com/cooperbench/CooperBench/pull/78"
VERIFIERS = "https://github.com/PrimeIntellect-ai/verifiers/pull/1585"
EMPTY_TRIPLETS = "https://github.com/microsoft/agent-lightning/issues/308"
IMPUTED = "https://github.com/huggingface/trl/pull/6693"

Group = tuple[str, str, bool]
"""Layout, api, stream: the exchanges among which a null is judged."""


@exchange_check(
    "capture.nothing-invented", modes=BOTH, needs=tuple(sorted(CAPTURED)), sources=(VERIFIERS, EMPTY_TRIPLETS)
)
def nothing_invented(observation: Observation) -> Sequence[Finding]:
    """Where the wire had no ids or scores, none MUST be handed on; an empty list counts as invented, null does not.

    `[]` says "the prompt was empty", null says "I do not know". A trainer can skip null; from `[]` it learns.
    """
    return _absent(observation, Rule.ABSENT, "was not on the wire")


@exchange_check("capture.partial-is-not-whole", needs=tuple(sorted(CAPTURED)), sources=(EMPTY_TRIPLETS, IMPUTED))
def partial_is_not_whole(observation: Observation) -> Sequence[Finding]:
    """Where only a part of the ids or scores is on the wire, the part MUST NOT be handed on as the whole.

    The missing side is null: never the part alone, never `[]`, never filled up with zeros.
    """
    return _absent(observation, Rule.PARTIAL, "was on the wire only in part")


def _absent(observation: Observation, rule: Rule, words: str) -> Sequence[Finding]:
    tried = False
    refused = observation.ending.kind in (Kind.REFUSED, Kind.ERRORED) and observation.mode is Mode.CLIENT
    for value in sorted(CAPTURED):
        if not exposed(observation, value) or rule_of(observation, value) is not rule or error_on_the_wire(observation):
            continue
        tried = tried or (refused and may_refuse(observation))
        for pair in pairs(observation):
            if pair.got is None:
                continue
            tried = True
            got = getattr(pair.got, value)
            if got is not None and (pair.sent is not None or pair.truth is not None):
                where = f"choices[{pair.number}].{value}"
                kind = "an empty list instead of null" if not got else "made up" if rule is Rule.ABSENT else "a part"
                return [failed(f"{value} {words}", where=where, choice=pair.number, got=got, diagnosis=kind)]
    return [passed()] if tried else NOTHING


@exchange_check(
    "outcome.contradiction-refused",
    needs=tuple(sorted(CAPTURED)),
    sources=("https://github.com/NVIDIA-NeMo/Gym/pull/1963", "https://github.com/rllm-org/rllm/issues/816"),
)
def contradiction_refused(observation: Observation) -> Sequence[Finding]:
    """Values that contradict each other on the wire MUST be refused, or be null; they are never handed on in silence.

    One score short, a null among them, a string for an id: what to do about it is the trainer's decision, and it can
    only decide about what it is told.
    """
    tried = False
    for value in sorted(CAPTURED):
        by_value = any(value in fault.values for fault in observation.case.faults)
        if not by_value or not exposed(observation, value) or rule_of(observation, value) is not Rule.CONTRADICTION:
            continue
        if observation.ending.kind in (Kind.REFUSED, Kind.ERRORED):
            return [passed()]
        if observation.ending.kind is not Kind.CAPTURED:
            return NOTHING
        tried = True
        for pair in pairs(observation):
            got = getattr(pair.got, value, None)
            if got is not None and _tampered(pair.truth, pair.sent, value):
                where = f"choices[{pair.number}].{value}"
                words = f"{value} was handed on although the answer contradicts itself"
                right = getattr(pair.truth, value, None)
                return [failed(words, where=where, choice=pair.number, expected=right, got=got)]
    return [passed()] if tried else NOTHING


def _tampered(truth: Any, sent: Any, value: str) -> bool:
    """A fault may touch one choice of several; the others are healthy."""
    one, other = getattr(truth, value, None), getattr(sent, value, None)
    return repr(one) != repr(other)


@run_check("capture.recovered", sources=("https://github.com/ai-dynamo/dynamo/issues/14302", COOPERBENCH))
def recovered(observations: Sequence[Observation]) -> Sequence[Finding]:
    """An answer that is odd but complete MUST be captured, and equal to the truth: no refusal, no crash, no null.

    Late scores, ids in another place, CRLF, interleaved choices: everything is on the wire, and some released client
    loses it. A null counts where the client exposes that value elsewhere in the same layout, api and mode.
    """
    shown = {(*group, value) for group, value, _, is_null in _nulls(observations) if not is_null}
    findings: list[Finding] = []
    for observation in observations:
        may = frozenset[May]().union(*(fault.client_may for fault in observation.case.faults))
        if May.RECOVER not in may or may - {May.RECOVER, May.REFUSE} or not _was_called(observation):
            continue
        if any(fault.client_may == ONLY_REFUSE for fault in observation.case.faults):
            continue
        problem = _unrecovered(observation, shown)
        finding = passed(observation) if problem is None else failed(problem, observation=observation)
        findings.append(finding)
    return findings


def _unrecovered(observation: Observation, shown: set[tuple[Any, ...]]) -> str | None:
    kind = observation.ending.kind
    if kind is not Kind.CAPTURED:
        if kind is Kind.REFUSED and may_refuse(observation):
            return None
        return f"the answer is odd but complete, and was {kind.value}: {observation.ending.message}"[:200]
    for check in (prompt_ids, completion_ids, logprobs, text_kept, finish_kept, complete):
        for finding in check.judge(observation) if check.judge is not None else ():
            if finding.outcome == "FAIL":
                return finding.message
    lost = [value for value in _carried(observation) if _is_null(observation, value)]
    lost = [value for value in lost if (*_group(observation), value) in shown]
    return f"{lost[0]} was on the wire and is null" if lost else None


def _was_called(observation: Observation) -> bool:
    return observation.ending.kind in (Kind.CAPTURED, Kind.REFUSED, Kind.ERRORED, Kind.TIMED_OUT)


@dataclass(slots=True)
class _Tally:
    """Exchanges of one group in which a value was on the wire, by what became of it."""

    there: list[Observation] = field(default_factory=list[Observation])
    null: list[Observation] = field(default_factory=list[Observation])


@run_check(
    "capture.kept",
    modes=BOTH,
    needs=VALUES,
    sources=(COOPERBENCH, "https://github.com/microsoft/agent-lightning/issues/262"),
)
def kept(observations: Sequence[Observation]) -> Sequence[Finding]:
    """A declared value that is on the wire MUST NOT be null in some exchanges of a layout, api and mode only.

    Null in all of them means "not exposed there", which is worth a warning; null now and then means that it gets lost.
    Behind a gateway every value that went in comes out.
    """
    findings = list(_kept_by_gateway([one for one in observations if one.mode is Mode.GATEWAY]))
    for (group, value), tally in _tallies(observations).items():
        if not tally.null:
            findings.extend(passed(one) for one in tally.there[:1])
        elif tally.there:
            words = f"{value} is null here, though it was on the wire and other exchanges of {_named(group)} show it"
            findings.extend(failed(words, observation=one, where=value) for one in tally.null)
        else:
            words = (
                f"{value} is not exposed in {_named(group)}: null in all {len(tally.null)} exchanges that carried it"
            )
            findings.append(failed(words, observation=tally.null[0], where=value, level=Level.SHOULD))
    return findings


def _kept_by_gateway(observations: Sequence[Observation]) -> Iterator[Finding]:
    for observation in observations:
        if observation.sent is None or observation.downstream is None or observation.downstream.capture is None:
            continue
        lost = [value for value in (*VALUES, "top_logprobs", "prompt_logprobs") if _lost_between(observation, value)]
        words = f"{', '.join(lost)} went into the gateway and did not come out"
        yield failed(words, observation=observation, where=lost[0]) if lost else passed(observation)


def _lost_between(observation: Observation, value: str) -> bool:
    return any(
        pair.got is not None and getattr(pair.sent, value, None) and getattr(pair.got, value) is None
        for pair in pairs(observation)
    )


@run_check("capture.yield", needs=VALUES, sources=(COOPERBENCH, EMPTY_TRIPLETS))
def yields(observations: Sequence[Observation]) -> Sequence[Finding]:
    """A client that declares a value MUST capture it at least once in a run whose answers carried it.

    Once 816 of 816 calls captured nothing and nobody was told.
    """
    by_value: dict[str, _Tally] = defaultdict(_Tally)
    for _, value, observation, is_null in _nulls(observations, refused_too=True):
        (by_value[value].null if is_null else by_value[value].there).append(observation)
    findings: list[Finding] = []
    for value, tally in sorted(by_value.items()):
        if tally.there:
            findings.append(passed(tally.there[0]))
            continue
        words = f"{value} was captured in none of the {len(tally.null)} exchanges that carried it"
        findings.append(failed(words, observation=tally.null[0], where=value))
    return findings


def usable(observations: Sequence[Observation]) -> tuple[int, int]:
    """(N, M) of the report's first line: of M exchanges whose answer carried ids, N gave a capture with ids."""
    carried = [one for one in observations if _was_called(one) and _sends(one, "completion_token_ids")]
    return sum(not _is_null(one, "completion_token_ids") for one in carried), len(carried)


def _tallies(observations: Sequence[Observation]) -> dict[tuple[Group, str], _Tally]:
    tallies: dict[tuple[Group, str], _Tally] = defaultdict(_Tally)
    for group, value, observation, is_null in _nulls(observations):
        tally = tallies[group, value]
        (tally.null if is_null else tally.there).append(observation)
    return tallies


def _nulls(
    observations: Sequence[Observation], *, refused_too: bool = False
) -> Iterator[tuple[Group, str, Observation, bool]]:
    """For each exchange and each declared value that was on the wire and had to be kept: whether it is null."""
    for observation in observations:
        if observation.mode is not Mode.CLIENT:
            continue
        captured = observation.ending.kind is Kind.CAPTURED
        rightly_refused = observation.ending.kind is Kind.REFUSED and may_refuse(observation)
        if captured or (refused_too and _was_called(observation) and not rightly_refused):
            for value in _carried(observation):
                yield _group(observation), value, observation, not captured or _is_null(observation, value)


def _carried(observation: Observation) -> Iterator[str]:
    for value in VALUES:
        may = permission(observation, value)
        excused = May.NULL in may or (May.REFUSE in may and May.RECOVER not in may)
        excused = excused or _of_two_lengths(observation, value)
        free = rule_of(observation, value) is Rule.FREE
        if exposed(observation, value) and not excused and not free and _sends(observation, value):
            yield value


def _of_two_lengths(observation: Observation, value: str) -> bool:
    """Ids and scores that do not fit each other: null for the contradictory part is right."""
    if value not in ("completion_token_ids", "logprobs"):
        return False
    both = [
        (pair.sent.completion_token_ids, pair.sent.logprobs) for pair in pairs(observation) if pair.sent is not None
    ]
    return any(ids and scores and len(ids) != len(scores) for ids, scores in both)


def _sends(observation: Observation, value: str) -> bool:
    return observation.sent is not None and value in observation.sent.carried


def _is_null(observation: Observation, value: str) -> bool:
    """Null in a choice that was sent with it; a choice that is not there at all is another check's."""
    both = [pair for pair in pairs(observation) if pair.sent is not None]
    there = [pair for pair in both if pair.got is not None]
    return not there or any(getattr(pair.sent, value) and getattr(pair.got, value) is None for pair in there)


def _group(observation: Observation) -> Group:
    return observation.case.layout, observation.case.api, observation.case.stream


def _named(group: Group) -> str:
    layout, api, stream = group
    return f"{layout} {api} {'streams' if stream else 'whole answers'}"
