"""``conform recording``: exchanges that somebody recorded, held to their own word without any server.

Whoever has kept requests and answers of a real server (or of a gateway before one) has its ids and scores already; what
is missing is somebody who counts them. Reads ``exchanges.jsonl`` of ``fakellm record``, a folder or a packed
library, makes an observation of every call that an engine answered, and lets the checks of server mode judge it.
Opens files; sends nothing, plays nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import CaptureError, UsageError, did_you_mean
from ..fidelity.library import Library
from ..fidelity.recorded import Exchange
from ..layouts import registry
from ..layouts.base import Layout
from ..record import file as recordings
from ..record.pack import NOT_ANSWERED, exchange_of
from ..record.session import facts_beside
from . import globs
from .case import Case
from .drivers.http import HttpAnswer
from .host import Host
from .judging import Run, judge_case
from .observation import Mode, Observation, Supports
from .protocol import RunnerError
from .report.records import Writer
from .request import PATHS, Body, choices_asked
from .run_server import given_by, observed
from .select import Selection
from .session import USUAL, Options, Result, Setup, Subject, conduct

_EXCHANGE = TypeAdapter(Exchange)
BROKEN_OFF = frozenset({"error-body", "error-event", "aborted", "truncated", "unreadable"})
"""Refusals of the reader after which nothing of an answer can be expected."""
GATEWAY_HINT = "a gateway answers as the server behind it: give --layout, for example vllm-0.32.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingTarget:
    """What to judge: files (``.jsonl``, ``.tar.xz``) and folders. ``say``: is told what was left out, and why."""

    paths: tuple[Path, ...]
    say: Callable[[str], None] = field(default=lambda words: None)

    def words(self) -> tuple[str, ...]:
        """How it stands on a command line."""
        return tuple(map(str, self.paths))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One recorded call: the case it stands for, what was asked, what came back."""

    case: Case
    layout: Layout
    body: Body
    answer: HttpAnswer


@dataclass(slots=True)
class Taken:
    """``calls`` to judge, and how many exchanges of another kind were left out, by the reason."""

    calls: list[Call] = field(default_factory=list[Call])
    left_out: dict[str, int] = field(default_factory=dict[str, int])

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


async def conform_recording(
    target: RecordingTarget, options: Options, writers: Sequence[Writer] = (), setup: Setup = USUAL
) -> Result:
    """Hold recorded answers to their own word; raises UsageError and CaptureError for what cannot be read."""
    if len(options.layouts) > 1:
        raise UsageError("a recording has one layout", hint="--layout vllm-0.32.0")
    named = registry.find(options.layouts[0]).layout if options.layouts else None
    taken = read(target.paths, named)
    for reason, count in taken.left_out.items():
        target.say(f"{count} exchanges left out: {reason}")
    calls = {call.case.id: call for call in taken.calls}
    chosen = chosen_of(taken.calls, options)
    supports = Supports(name=_name(target, taken), apis=frozenset(call.case.api for call in taken.calls))

    async def run(run: Run, cases: Sequence[Case]) -> None:
        for case in cases:
            call = calls[case.id]
            observation = whole_or_nothing(observed(call.layout, supports, case, call.body, call.answer))
            run.given |= given_by(observation)
            judge_case(run, case, [observation], [], "", 0.0)

    async def stop() -> Sequence[RunnerError]:
        return []

    subject = Subject(
        mode=Mode.SERVER, supports=supports, words=target.words(), run=run, stop=stop, command="recording",
        selection=chosen,
    )  # fmt: skip
    layouts = tuple(dict.fromkeys(call.layout.name for call in taken.calls))
    return await conduct(subject, Host(seed=options.seed), replace(options, layouts=layouts), writers, setup)


def whole_or_nothing(observation: Observation) -> Observation:
    """An answer that broke off without its values: that it did is one finding (``server.readable``), not ten."""
    down = observation.downstream
    broken = down is not None and down.problem is not None and down.problem.partition(":")[0] in BROKEN_OFF
    return replace(observation, downstream=replace(down, capture=None)) if down is not None and broken else observation


def chosen_of(calls: Sequence[Call], options: Options) -> Selection:
    """The calls that ``--only`` and ``--shard`` leave; raises UsageError for a pattern that names none of them."""
    cases = [call.case for call in calls]
    for pattern in options.only:
        if not any(globs.matches(pattern, case.id) for case in cases):
            names = [case.id for case in cases]
            raise UsageError(f"--only {pattern!r} names no exchange", hint=did_you_mean(pattern, names))
    kept = [case for case in cases if not options.only or any(globs.matches(one, case.id) for one in options.only)]
    if options.shard is not None:
        part, parts = options.shard
        kept = kept[part - 1 :: parts]
    return Selection(cases=tuple(kept), catalogue=tuple(cases), filtered=len(cases) - len(kept))


def read(paths: Sequence[Path], layout: Layout | None = None) -> Taken:
    """Every call in these files that an engine answered; ``layout``: whose table to read them by."""
    taken = Taken()
    for path in paths:
        for folder, own, exchange in _exchanges(path, layout, taken):
            _take(taken, f"{folder}/{exchange.name}", own, exchange)
    return taken


def _exchanges(path: Path, layout: Layout | None, taken: Taken) -> Iterator[tuple[str, Layout, Exchange]]:
    if path.suffix == ".jsonl":
        yield from _lines(path, layout, taken)
        return
    with Library([path]) as library:
        for folder in library.folders:
            if layout is None and folder.server.gateway:
                raise UsageError(f"{folder.name} was recorded from a gateway", where=str(path), hint=GATEWAY_HINT)
            own = layout or registry.find(folder.server.layout).layout
            for exchange in folder.exchanges.values():
                yield folder.name, own, exchange


def _lines(path: Path, layout: Layout | None, taken: Taken) -> Iterator[tuple[str, Layout, Exchange]]:
    recording = recordings.read(path)
    for _ in recording.broken:
        taken.leave_out("a line without its end: the recorder was killed there")
    own = layout or registry.find(facts_beside(path, None, None, ()).layout).layout
    for number, line in enumerate(recording.lines, 1):
        if line["response"].get("status") == NOT_ANSWERED:
            taken.leave_out("never answered")
            continue
        try:
            yield path.stem, own, _EXCHANGE.validate_python(exchange_of(line, {}))
        except (KeyError, TypeError, ValidationError) as wrong:
            raise CaptureError(f"exchange {number} is not one of fakellm record: {wrong}", where=str(path)) from None


def _take(taken: Taken, name: str, layout: Layout, exchange: Exchange) -> None:
    api = api_of(exchange.request.path)
    request: Any = exchange.request.body
    if api is None or exchange.request.method != "POST" or not isinstance(request, dict):
        taken.leave_out("no call of an engine")
        return
    if exchange.response.status >= 400:
        taken.leave_out("refused by the server")
        return
    body = cast("dict[str, Any]", request)
    stream = body.get("stream") is True
    if body.get("echo"):
        taken.leave_out("the prompt is echoed among the answer's tokens")
        return
    if body.get("background"):
        taken.leave_out("answered before it was made (background)")
        return
    if not layout.accessors.get((api, stream)):
        taken.leave_out(f"{layout.name} has no table for {api}, {'streamed' if stream else 'whole'}")
        return
    response = exchange.response
    answer = HttpAnswer(
        status=response.status,
        headers=tuple(response.headers.items()),
        body=response.body.encode("utf-8", "surrogatepass"),
        cut=response.truncated,
        error="the connection was closed before the answer's end" if response.truncated else None,
        sent_body=json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"),
    )
    case = Case(
        id=name, area=name.partition("/")[0], title=exchange.family or exchange.name, why="", api=api, stream=stream,
        layout=layout.name, axes={}, call={"n": choices_asked(body)}, scenario={},
    )  # fmt: skip
    taken.calls.append(Call(case=case, layout=layout, body=Body(body, {}), answer=answer))


def api_of(path: str) -> str | None:
    """The API of a path, whatever stands before it (a gateway's prefix); the longest name wins."""
    plain = path.partition("?")[0].rstrip("/")
    found = [api for api, suffix in PATHS.items() if plain.endswith(suffix)]
    return max(found, key=lambda api: len(PATHS[api]), default=None)


def _name(target: RecordingTarget, taken: Taken) -> str:
    if not taken.calls:
        raise CaptureError("no exchange here is an answered call of an engine", where=", ".join(target.words()))
    return ", ".join(path.name for path in target.paths)
