"""Conformance cases inside somebody's own test suite: which ones, one at a time, judged by the suite's checks.

``select_cases`` is what collection asks for; a :class:`CaseHandle` plays one case, lets the client make its calls, and
judges. Runs of the whole suite, with reports and a baseline, are ``fakellm conform client``; this is the same cases
and the same checks where a client's author already has fixtures.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ..capture import VALUES, Capture
from ..conform.baseline import Baseline
from ..conform.case import Case, load
from ..conform.finding import Finding, Outcome
from ..conform.host import Host
from ..conform.judging import Run, judge_case
from ..conform.observation import Ending, Kind, Observation, Supports
from ..conform.observe import heard
from ..conform.report.records import CaseRecord, Footer, Header
from ..conform.request import Body
from ..conform.run_client import observe
from ..conform.select import Wanted, select
from ..conform.session import DEFAULT_LAYOUTS, case_files
from ..conform.verdict import Verdict, is_red, label
from ..errors import UsageError
from ..journal import Exchange
from .captured import capture_from, client_checks
from .loop import LoopThread
from .table import table_of

Refusals = type[Exception] | tuple[type[Exception], ...]
"""Exceptions by which a client says that an answer cannot be trusted."""


__tracebackhide__ = True
"""A failing test shows its own line, not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What ``fakellm_cases`` asks for; hashable, so that collection selects once. See ``marks.fakellm_cases``."""

    profile: str = "capture-client"
    apis: tuple[str, ...] = ("chat",)
    stream: tuple[bool, ...] = (False, True)
    captures: tuple[str, ...] | None = None
    layouts: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    extended: bool = False
    smoke: bool = False

    @property
    def supports(self) -> Supports:
        return Supports(
            name="the test",
            apis=frozenset(self.apis),
            stream=frozenset(self.stream),
            captures=frozenset(VALUES if self.captures is None else self.captures),
        )


@lru_cache(maxsize=16)
def select_cases(wish: Wish) -> tuple[Case, ...]:
    """The cases of a wish, in the suite's order; raises UsageError for a word that nothing has."""
    host = Host()
    wanted = Wanted(
        profile=wish.profile,
        layouts=wish.layouts or DEFAULT_LAYOUTS,
        extended=wish.extended,
        only=wish.only,
        smoke=wish.smoke,
    )
    cases = select(load(case_files()), wanted, wish.supports, host.serves, host.plays).cases
    if not cases:
        words = f"apis {', '.join(wish.apis)}, profile {wish.profile}"
        raise UsageError(f"no conformance case fits {words}", hint="`fakellm conform list` shows what there is")
    return cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that the client is to make. ``request``: the complete body; ``headers``: to send besides;
    ``turn``: of a conversation, from 1; ``cancel_after_ms``: give the call up then, if the client can."""

    case: str
    api: str
    stream: bool
    base_url: str
    root_url: str
    request: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    turn: int = 1
    deadline_ms: int = 10_000
    cancel_after_ms: float | None = None


class CaseServer:
    """The suite's host on a background loop: started once per session, a case is mounted while its test runs."""

    def __init__(self, thread: LoopThread) -> None:
        self.thread = thread
        self.host = Host()
        self._count = 0

    def start(self) -> None:
        self.thread.call(self.host.__aenter__())

    def stop(self) -> None:
        self.thread.call(self.host.__aexit__())

    def mount(self, case: Case) -> str:
        """Play a case under a token of its own."""
        self._count += 1
        token = f"test-{self._count:05d}"

        async def mounted() -> None:
            self.host.mount(token, case)

        self.thread.call(mounted())
        return token

    def unmount(self, token: str) -> None:
        async def unmounted() -> None:
            self.host.unmount(token)

        self.thread.call(unmounted())

    def settled(self, token: str, seen: int) -> Sequence[Exchange]:
        return self.thread.call(self.host.settled(token, seen))


class CaseHandle:
    """One case in the hands of one test: make its calls, then it judges. ``record`` holds the verdicts."""

    def __init__(self, server: CaseServer, case: Case, wish: Wish) -> None:
        self.case = case
        self.record: CaseRecord | None = None
        self._server = server
        self._wish = wish
        self._token = server.mount(case)
        self._observations: list[Observation] = []
        self._began = time.monotonic()

    @property
    def id(self) -> str:
        return self.case.id

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls to make, in order: one, or one per turn of a conversation."""
        return tuple(self._call(turn, words) for turn, words in enumerate([self.case.call, *self.case.turns], 1))

    def run(self, client: Callable[[Call], Any], *, refuses: Refusals = ()) -> None:
        """Make every call with this client and judge; raises AssertionError with the findings.

        ``client``: call -> capture (what ``Fakellm.assert_captured`` takes). An exception of ``refuses`` is the
        client saying that the answer cannot be trusted; any other is a crash.
        """
        for call in self.calls:
            self._one(call, lambda call=call: client(call), refuses)
        self._judge()

    async def arun(self, client: Callable[[Call], Awaitable[Any]], *, refuses: Refusals = ()) -> None:
        """The same for an asynchronous client."""
        for call in self.calls:
            seen, began = self._before()
            try:
                ending = _captured(await client(call))
            except Exception as raised:  # noqa: BLE001 - whatever a client raises is its answer
                ending = _raised(raised, refuses)
            self._after(call, seen, began, ending)
        self._judge()

    def close(self) -> None:
        self._server.unmount(self._token)

    def _one(self, call: Call, make: Callable[[], Any], refuses: Refusals) -> None:
        seen, began = self._before()
        try:
            ending = _captured(make())
        except Exception as raised:  # noqa: BLE001 - whatever a client raises is its answer
            ending = _raised(raised, refuses)
        self._after(call, seen, began, ending)

    def _call(self, turn: int, words: Mapping[str, Any]) -> Call:
        case = self.case
        root = f"{self._server.host.root_url}/c/{self._token}"
        return Call(
            case=case.id,
            api=case.api,
            stream=case.stream,
            base_url=f"{root}/v1",
            root_url=root,
            request=dict(self._body(words).body),
            headers=dict(case.headers),
            turn=turn,
            cancel_after_ms=case.cancel_after_ms,
        )

    def _body(self, words: Mapping[str, Any]) -> Body:
        return self._server.host.body(replace(self.case, call=words))

    def _before(self) -> tuple[int, float]:
        return len(self._server.host.exchanges(self._token)), time.time()

    def _after(self, call: Call, seen: int, began: float, ending: Ending) -> None:
        what = heard(self._server.settled(self._token, seen), self.case.api, began, self._server.host.tokenizer.piece)
        body = self._body([self.case.call, *self.case.turns][call.turn - 1])
        before = tuple(self._observations)
        self._observations.append(observe(self._run([]), self.case, body, what, ending, call.turn, before))

    def _run(self, writers: Sequence[Any]) -> Run:
        checks = [check for check in client_checks() if check.judge is not None]
        return Run(
            supports=self._wish.supports,
            checks=checks,
            baseline=Baseline(),
            writers=writers,
            reproduce=lambda case: f"pytest -k {case!r}",
            profile=self._wish.profile,
        )

    def _judge(self) -> None:
        kept = _Kept()
        elapsed = (time.monotonic() - self._began) * 1000
        judge_case(self._run([kept]), self.case, self._observations, [], "", elapsed)
        self.record = kept.record
        assert self.record is not None
        red = [verdict for verdict in self.record.verdicts if is_red(verdict.finding)]
        if red:
            raise AssertionError(findings_text(self.case, self.record, red))


def findings_text(case: Case, record: CaseRecord, red: Sequence[Verdict]) -> str:
    """What a failing case says: its title, every red finding, and the alignment tables."""
    blocks = [f"{case.id}: {case.title}"]
    blocks += [f"faults: {', '.join(case.faults)}"] if case.faults else []
    blocks += [f"the client {record.ending}: {record.message}".rstrip(": ")]
    drawn: set[str] = set()
    for verdict in red:
        finding = verdict.finding
        words = finding.diagnosis or finding.message
        blocks.append(f"\n{label(finding)} {finding.check} at {finding.where or 'the whole answer'}: {words}")
        strip = record.strips.get(finding.check)
        text = "" if strip is None else table_of(strip)
        if text and text not in drawn:
            drawn.add(text)
            blocks.append(text)
    blocks.append(f"\nwhy: {case.why}\nmore: fakellm explain '{case.id}'")
    return "\n".join(blocks)


def properties_of(record: CaseRecord) -> list[tuple[str, str]]:
    """The findings of a case as properties for ``--junitxml``: ``fakellm.align.logprobs`` -> ``FAIL (MUST)``."""
    rows = [("fakellm.case", record.id), ("fakellm.ending", record.ending)]
    for verdict in record.verdicts:
        finding = verdict.finding
        words = f"{label(finding)} ({finding.level})"
        if finding.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
            words += f" {_place(finding)}"
        rows.append((f"fakellm.{finding.check}", words))
    return rows


def _place(finding: Finding) -> str:
    return ": ".join(part for part in (finding.where, finding.diagnosis or finding.message) if part)[:300]


def _captured(given: Any) -> Ending:
    if isinstance(given, Capture):
        return Ending(kind=Kind.CAPTURED, capture=given)
    capture, _ = capture_from(given, {})
    return Ending(kind=Kind.CAPTURED, capture=capture)


def _raised(raised: Exception, refuses: Refusals) -> Ending:
    if isinstance(raised, UsageError):
        raise raised
    if isinstance(raised, refuses or ()):
        return Ending(kind=Kind.REFUSED, refusal=type(raised).__name__, message=str(raised)[:500])
    text = "".join(traceback.format_exception(raised))
    return Ending(kind=Kind.ERRORED, message=f"{type(raised).__name__}: {raised}"[:500], traceback=text)


class _Kept:
    """A writer that keeps the one record."""

    def __init__(self) -> None:
        self.record: CaseRecord | None = None

    def header(self, header: Header) -> None:
        """Nothing to keep."""

    def case(self, record: CaseRecord) -> None:
        self.record = record

    def footer(self, footer: Footer) -> None:
        """Nothing to keep."""
