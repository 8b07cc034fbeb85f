"""How a check is written: one function, one decorator, its docstring is its page.

The first paragraph of the docstring is the requirement sentence; the rest says why. The decorator turns the function
into a :class:`Check`; ``checks.all_checks()`` finds it in its module. The makers ``passed``, ``failed`` and ``nothing``
keep findings short. This module judges nothing.

    @exchange_check("choices.complete", level=Level.MUST, sources=(...,))
    def choices_complete(observation: Observation) -> Sequence[Finding]:
        '''Every choice that was sent MUST be captured. ...'''
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..check import Check, Judge, RunJudge
from ..finding import Finding, Level, Outcome
from ..observation import May, Mode, Observation

CLIENT = frozenset({Mode.CLIENT})
GATEWAY = frozenset({Mode.GATEWAY})
SERVER = frozenset({Mode.SERVER})
BOTH = frozenset({Mode.CLIENT, Mode.GATEWAY})
NOTHING: tuple[Finding, ...] = ()
"""The check has nothing to say about this exchange: not applicable."""


def exchange_check(
    id: str,
    *,
    level: Level = Level.MUST,
    modes: frozenset[Mode] = CLIENT,
    needs: Sequence[str] = (),
    together: bool = False,
    given_up: bool = False,
    sources: Sequence[str],
) -> Callable[[Judge], Check]:
    """A check that judges one exchange at a time. ``given_up``: also those that the caller itself cancels, in which
    nothing of an answer can be expected."""

    def wrap(judge: Judge) -> Check:
        requirement, page = _page(judge, id)

        def levelled(observation: Observation) -> Sequence[Finding]:
            if observation.case.cancel_after_ms is not None and not given_up:
                return NOTHING
            weight = Level.INFO if _optional(observation) else level
            return [_at(finding, id, weight, observation.case.id) for finding in judge(observation)]

        return Check(
            id=id,
            level=level,
            requirement=requirement,
            page=page,
            modes=modes,
            needs=frozenset(needs),
            together=together,
            sources=tuple(sources),
            judge=levelled,
        )

    return wrap


def run_check(
    id: str,
    *,
    level: Level = Level.MUST,
    modes: frozenset[Mode] = CLIENT,
    needs: Sequence[str] = (),
    sources: Sequence[str],
) -> Callable[[RunJudge], Check]:
    """A check that needs to see the exchanges of a run beside each other."""

    def wrap(judge: RunJudge) -> Check:
        requirement, page = _page(judge, id)

        def levelled(observations: Sequence[Observation]) -> Sequence[Finding]:
            whole = [one for one in observations if one.case.cancel_after_ms is None]
            return [_at(finding, id, level, "") for finding in judge(whole)]

        return Check(
            id=id,
            level=level,
            requirement=requirement,
            page=page,
            modes=modes,
            needs=frozenset(needs),
            sources=tuple(sources),
            judge_run=levelled,
        )

    return wrap


def passed(observation: Observation | None = None) -> Finding:
    """The requirement was tried and kept."""
    return Finding(check="", level=_UNSET, outcome=Outcome.PASS, case=observation.case.id if observation else "")


def failed(
    message: str,
    *,
    observation: Observation | None = None,
    where: str = "",
    choice: int | None = None,
    position: int | None = None,
    expected: Any = None,
    got: Any = None,
    diagnosis: str | None = None,
    level: Level | None = None,
) -> Finding:
    """The requirement was broken. ``level``: only where this case weighs it otherwise than the check does."""
    return Finding(
        check="",
        level=level or _UNSET,
        outcome=Outcome.FAIL,
        case=observation.case.id if observation else "",
        where=where,
        message=message,
        choice=choice,
        position=position,
        expected=_short(expected),
        got=_short(got),
        diagnosis=diagnosis,
    )


def _optional(observation: Observation) -> bool:
    """Bytes that a client may refuse or recover from: how a gateway takes them is told, and weighs nothing."""
    faults = observation.case.faults
    if observation.mode is not Mode.GATEWAY or not faults:
        return False
    return any(fault.client_may == frozenset({May.RECOVER, May.REFUSE}) for fault in faults)


class _Unset(str):
    """Stands for "the check's own level" until the decorator puts it in."""


_UNSET: Any = _Unset("")


def _at(finding: Finding, check: str, level: Level, case: str) -> Finding:
    return replace(
        finding,
        check=check,
        level=level if isinstance(finding.level, _Unset) else finding.level,
        case=finding.case or case,
    )


def _page(judge: Callable[..., Any], id: str) -> tuple[str, str]:
    text = inspect.getdoc(judge)
    if not text:
        raise ValueError(f"check {id} has no docstring: it is its page")
    first, _, rest = text.partition("\n\n")
    return " ".join(first.split()), rest.strip()


def _short(value: Any) -> Any:
    """At most eight elements of a long value, so that findings stay small."""
    if isinstance(value, tuple | list):
        listed: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return [*listed[:8], f"... {len(listed) - 8} more"] if len(listed) > 9 else listed
    if isinstance(value, str) and len(value) > 200:
        return value[:200] + "..."
    return value
