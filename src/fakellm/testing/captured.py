"""``assert_captured``: what a client says it captured, held against the truth by the conformance suite's own checks.

A capture comes in many dresses (mappings, objects, keyword arguments, arrays); :func:`capture_from` reads them into
the suite's form. Judging is the suite's: a fault after which a careful client reports null or refuses is judged as
such here too. Pure but for the stage behind an exchange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ..capture import VALUES, Capture, CapturedChoice
from ..conform.check import Check
from ..conform.checks import all_checks
from ..conform.finding import Finding, Level, Outcome
from ..conform.judging import judge_observation
from ..conform.observation import Ending, Kind, Mode, Observation, Sent, Situation, Supports, Truth
from ..conform.strip import strip_of
from ..errors import UsageError, did_you_mean
from .seen import Seen
from .table import table

__tracebackhide__ = True
"""A failing test shows its own line, not ours."""

OPTIONAL = ("index", "top_logprobs", "prompt_logprobs", "token_texts", "weight_versions", "logprobs_exact", "usage")
HEAD = "the capture is not what the server told"
REPEATS_OTHERS = "capture.recovered"
"""A check of whole runs that, of one answer, says again what the others found; it is heard where they found nothing."""


def capture_from(given: Any, values: Mapping[str, Any]) -> tuple[Capture, frozenset[str]]:
    """A capture and which of ``VALUES`` it speaks of; raises UsageError for what cannot be one.

    ``given``: None (then ``values`` are those of one choice), a Capture, one choice or a sequence of them, each a
    mapping or an object with attributes of those names.
    """
    if isinstance(given, Capture):
        spoken = {name for name in VALUES if any(getattr(choice, name) is not None for choice in given.choices)}
        return given, _spoken(spoken)
    if given is not None and values:
        raise UsageError("give a capture or keyword arguments, not both")
    many = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    ones: Sequence[Any] = cast("Sequence[Any]", given) if many else [values if given is None else given]
    rows = [_row(one) for one in ones]
    spoken = {name for row in rows for name in row}
    for name in spoken - {*VALUES, *OPTIONAL}:
        known = [*VALUES, *OPTIONAL]
        raise UsageError(f"a capture has no {name!r}", hint=did_you_mean(name, known) or f"it has {', '.join(VALUES)}")
    return Capture.from_json(rows), _spoken(spoken)


def _spoken(names: set[str]) -> frozenset[str]:
    found = frozenset(names & set(VALUES))
    if not found:
        raise UsageError("the capture says nothing that could be compared", hint=f"give any of {', '.join(VALUES)}")
    return found


def _row(one: Any) -> dict[str, Any]:
    if isinstance(one, Mapping):
        members = dict(cast("Mapping[str, Any]", one))
    else:
        members = {name: getattr(one, name) for name in (*VALUES, *OPTIONAL) if hasattr(one, name)}
        if "index" in members and callable(members["index"]):  # str.index, tuple.index and the like
            del members["index"]
    return {name: _plain(value) for name, value in members.items()}


def _plain(value: Any) -> Any:
    """Arrays and tensors as lists."""
    as_list = getattr(value, "tolist", None)
    return as_list() if callable(as_list) else value


def complaints(seen: Seen, capture: Capture, captures: frozenset[str], choice: int | None = None) -> str | None:
    """Everything that is wrong with a capture, with alignment tables; None when it is right. ``choice``: the capture
    is of this one choice of the answer."""
    if seen.unmatched or seen.problem is not None:
        return f"{HEAD}: there was no answer to capture\n  {seen.line()}"
    observation = _observation(seen, capture, captures)
    if choice is not None:
        observation = _of_choice(observation, choice)
    found = [(check, finding) for check in client_checks() for finding in _failing(check, observation)]
    if not found:
        return None
    wrong = [row for row in found if row[0].id != REPEATS_OTHERS] or found
    case = observation.case
    head = f"{HEAD} ({case.layout}, {case.api}{' stream' if case.stream else ''}, exchange {seen.number}"
    head += "".join(f", fault {fault.id}" for fault in case.faults) + ")"
    return "\n".join([head, *_blocks(wrong, observation)])


def client_checks() -> tuple[Check, ...]:
    """The suite's checks on what a client captured."""
    return tuple(check for check in all_checks() if Mode.CLIENT in check.modes)


def _failing(check: Check, observation: Observation) -> Sequence[Finding]:
    found = check.judge_run([observation]) if check.judge_run is not None else judge_observation(check, observation)
    return [
        one
        for one in found
        if one.outcome is Outcome.ERROR or (one.outcome is Outcome.FAIL and one.level is Level.MUST)
    ]


def _blocks(wrong: Sequence[tuple[Check, Finding]], observation: Observation) -> list[str]:
    """One paragraph per failing check; the table stands under the first finding that it explains."""
    blocks: list[str] = []
    shown: set[str] = set()
    for check, finding in wrong:
        blocks.append(f"\n{check.id} at {finding.where or 'the whole answer'}: {finding.diagnosis or finding.message}")
        strip = strip_of(observation, finding)
        drawn = "" if strip is None else table(strip)
        if drawn and drawn not in shown:
            shown.add(drawn)
            blocks.append(drawn)
    return blocks


def _observation(seen: Seen, capture: Capture, captures: frozenset[str]) -> Observation:
    what = seen.heard()
    played = seen.played()
    if played is None or what.sent is None:
        raise UsageError(
            f"nothing can be captured from exchange {seen.number}: {seen.line()}",
            hint="captures are compared on chat, completions, responses, generate and inference/v1/generate",
        )
    ask = played.ask
    return Observation(
        mode=Mode.CLIENT,
        case=Situation(
            id=f"exchange {seen.number}",
            area="test",
            api=ask.api,
            stream=ask.stream,
            layout=seen.exchange.stage_object.layout.name,
            n=ask.n,
            faults=what.faults,
            request=ask.body,
        ),
        truth=what.truth,
        sent=what.sent,
        ending=Ending(kind=Kind.CAPTURED, capture=capture),
        client=Supports(name="the test", apis=frozenset({ask.api}), captures=captures),
        upstream=what.upstream,
    )


def _of_choice(observation: Observation, index: int) -> Observation:
    """The observation as if the answer had only this choice."""
    truth = observation.truth
    places = [place for place, one in enumerate(truth.capture.by_index()) if one.index == index]
    if not places or observation.sent is None:
        indices = [one.index for one in truth.capture.by_index()]
        raise UsageError(f"the answer has no choice {index}", hint=f"it has {indices}")
    capture = observation.ending.capture
    if capture is not None and len(capture.choices) == 1:
        capture = replace(capture, choices=(replace(capture.choices[0], index=index),))
    return replace(
        observation,
        case=replace(observation.case, n=1),
        truth=_narrowed(truth, index, places[0]),
        sent=replace(observation.sent, capture=_only(observation.sent, index)),
        ending=replace(observation.ending, capture=capture),
    )


def _narrowed(truth: Truth, index: int, place: int) -> Truth:
    choices = tuple(one for one in truth.capture.choices if one.index == index)
    return replace(
        truth,
        capture=replace(truth.capture, choices=choices, usage=None),
        token_bytes=truth.token_bytes[place : place + 1],
    )


def _only(sent: Sent, index: int) -> Capture:
    choices: tuple[CapturedChoice, ...] = tuple(one for one in sent.capture.choices if one.index == index)
    return replace(sent.capture, choices=choices, usage=None)
