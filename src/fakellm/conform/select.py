"""Which cases a run means to run: profile, layouts, what the client declared, core or extended, globs, shard.

Pruned is what cannot arise for this client (N/A); filtered is what could have but was not asked for. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..errors import UsageError, did_you_mean
from . import globs
from .case import Case, Template, core_of, expand
from .observation import Supports


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """``cases``: to run, in order. ``catalogue``: every case that these layouts serve, of whatever profile.
    ``filtered``: how many more the options left out (whole templates count once)."""

    cases: tuple[Case, ...]
    catalogue: tuple[Case, ...]
    pruned: tuple[Case, ...] = ()
    filtered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options that select. ``shard``: (i, n), i from 1."""

    profile: str = "capture-client"
    layouts: tuple[str, ...] = ()
    extended: bool = False
    only: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    smoke: bool = False
    apis: frozenset[str] | None = field(default=None)


Served = Callable[[str, str, bool], bool]
"""(layout, api, stream) -> whether the layout serves it."""
Plays = Callable[[Case], str | None]
"""None = every fault of the case applies there; else why not."""


def select(
    templates: Sequence[Template], wanted: Wanted, supports: Supports, served: Served, plays: Plays = lambda case: None
) -> Selection:
    """The run's cases; raises UsageError (exit 4) for a pattern that selects nothing of the catalogue."""
    catalogue: list[Case] = []
    chosen: list[Case] = []
    pruned: list[Case] = []
    filtered = 0
    for template in templates:
        cases = [case for case in expand(template, wanted.layouts) if served(case.layout, case.api, case.stream)]
        catalogue += cases
        if wanted.profile not in template.model.profiles or (wanted.smoke and not template.model.smoke):
            continue
        if not any(_named(case, wanted.only) for case in cases):
            filtered += 1
            continue
        playable = [case for case in cases if plays(case) is None]
        possible = [case for case in playable if _can(case, supports, wanted)]
        pruned += [case for case in playable if case not in possible]
        running = possible if wanted.extended else list(core_of(template, possible))
        named = [case for case in (possible if wanted.only else running) if _named(case, wanted.only)]
        if wanted.only and not wanted.extended:
            named = [case for case in named if case in running] or named
        filtered += len(running) - sum(case in named for case in running)
        chosen += named
    _check_patterns(wanted.only, catalogue)
    if wanted.shard is not None:
        part, parts = wanted.shard
        filtered += len(chosen) - len(chosen[part - 1 :: parts])
        chosen = chosen[part - 1 :: parts]
    return Selection(cases=tuple(chosen), catalogue=tuple(catalogue), pruned=tuple(pruned), filtered=filtered)


def _can(case: Case, supports: Supports, wanted: Wanted) -> bool:
    apis = supports.apis if wanted.apis is None else supports.apis & wanted.apis
    return case.api in apis and case.stream in supports.stream


def _named(case: Case, only: Sequence[str]) -> bool:
    return not only or any(globs.matches(pattern, case.id, case.was) for pattern in only)


def _check_patterns(only: Sequence[str], catalogue: Sequence[Case]) -> None:
    for pattern in only:
        if not any(_named(case, (pattern,)) for case in catalogue):
            slugs = sorted({globs.slug(case.id) for case in catalogue})
            raise UsageError(
                f"no case matches {pattern!r}",
                hint=did_you_mean(pattern, slugs) or "`fakellm conform list` shows them all",
            )
