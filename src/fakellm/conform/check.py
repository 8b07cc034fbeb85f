"""What a check is: an id, a level, one requirement sentence, and a pure function that judges.

Checks are not owned by cases: every applicable check runs on every observation. A check of scope ``exchange`` judges
one observation and returns exactly one finding, N/A included (several only where it names several places, all with
the same outcome; none = "nothing here for me", counted as N/A); a check of scope ``run`` judges all observations of a
run at once (their bodies of bytes may be trimmed). The registry is ``checks.all_checks()``. This module judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .finding import Finding, Level
from .observation import Mode, Observation

Judge = Callable[[Observation], Sequence[Finding]]
RunJudge = Callable[[Sequence[Observation]], Sequence[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One requirement.

    ``id``: ``align.ids-vs-logprobs``. ``requirement``: one sentence with MUST, SHOULD or MAY. ``page``: the docstring
    that ``explain`` prints. ``needs``: values that must be in ``supports.captures`` for it to arise: any one of them,
    or all of them when it holds them ``together``. ``modes``: where it runs. ``sources``: links. Exactly one of
    ``judge`` and ``judge_run`` is there.
    """

    id: str
    level: Level
    requirement: str
    page: str = ""
    modes: frozenset[Mode] = frozenset({Mode.CLIENT})
    needs: frozenset[str] = field(default_factory=frozenset[str])
    together: bool = False
    sources: tuple[str, ...] = ()
    judge: Judge | None = None
    judge_run: RunJudge | None = None

    def __post_init__(self) -> None:
        if (self.judge is None) == (self.judge_run is None):
            raise ValueError(f"check {self.id} needs exactly one of judge and judge_run")
