"""The handle behind the ``fakellm`` fixture: one fake server as a test sees it.

It owns a house (scenario, layout, journal) that is made anew for every test, and plays it on a server that may outlive
it. The server's thread and the test's thread meet only under the house's lock. What is right is decided by the suite's
checks (``captured``), what is left over by the scripts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ..errors import ScenarioError, UsageError
from ..faults.registry import parse as parse_fault
from ..house import Choices, House, ScriptSource
from ..journal import Exchange
from ..scenario.load import default_of, from_data, load_set
from ..scenario.model import Scenario
from ..scenario.plain import plain_auto
from ..stage import Stage
from .captured import capture_from, complaints
from .front import Front, SharedFake
from .loop import LoopThread, Site
from .scripting import LayeredSource, Saying, TestScript
from .seen import Seen, Truth
from .settings import Settings

if TYPE_CHECKING:
    from aiohttp import web

__tracebackhide__ = True
"""A failing test shows its own line, not ours."""

SHOWN_EXCHANGES = 20
NOTHING = Scenario(name="test", replies=())


class Server:
    """A server with a stable address, on which one handle after another plays. It listens when its address is first
    asked for."""

    def __init__(self, thread: LoopThread | None = None) -> None:
        self._thread = thread or LoopThread()
        self._owns_thread = thread is None
        self._site = Site(self._thread)
        self.front = Front(House({}, plain_auto()))

    @property
    def address(self) -> str:
        """The root where it listens already, else ""."""
        return self._site.url

    @property
    def root_url(self) -> str:
        """The root, without ``/v1``."""
        return self._site.url or self._site.start(self.app())

    @property
    def base_url(self) -> str:
        """What OpenAI clients call ``base_url``: the root and ``/v1``."""
        return f"{self.root_url}/v1"

    def app(self) -> web.Application:
        """A fresh application that serves whatever is playing; it may run on any event loop."""
        from ..server.app import make_app

        return make_app(self.front)

    def stop(self) -> None:
        """Close the port."""
        self._site.stop()
        if self._owns_thread:
            self._thread.stop()


class Fakellm:
    """One fake server in the hands of one test. A context manager where no fixture makes and ends it."""

    def __init__(self, settings: Settings | None = None, server: Server | None = None, **words: Any) -> None:
        """``words``: settings by name (``layout="sglang"``); raises what a scenario, layout or fault raises."""
        self.settings = (settings or Settings()).updated(words, where="Fakellm")
        self.server = server or Server()
        self._owns_server = server is None
        self.house = self._open()
        self.fake = SharedFake(self.house)
        self.house.fake = self.fake
        self._script = self._scripted()
        self.server.front.playing = self.fake

    # ------------------------------------------------------------ where it is

    @property
    def base_url(self) -> str:
        """The address for OpenAI clients, ending in ``/v1``."""
        return self.server.base_url

    @property
    def root_url(self) -> str:
        """The address without ``/v1``, for native APIs such as ``/generate``."""
        return self.server.root_url

    @property
    def layout(self) -> str:
        """The layout that is played, as ``vllm-0.32.0``."""
        return self.fake.default.layout.name

    def app(self) -> web.Application:
        """The same fake as an aiohttp application: ``client = await aiohttp_client(fakellm.app())``."""
        return self.server.app()

    # ----------------------------------------------------------- what it says

    def say(self, what: Any = None, /, **options: Any) -> Saying:
        """Answer with this. A text, or what ``say:`` takes in a file (``tokens=[...]``, ``content=``, ``choices=``
        ...); nothing at all = plausible text. The first reply that fits answers, and goes on answering unless it is
        told how many ``times``."""
        return self._script.say(what, options)

    # ------------------------------------------------------- what it has seen

    @property
    def requests(self) -> tuple[Seen, ...]:
        """Every exchange so far, oldest first."""
        with self.fake.lock:
            return tuple(self._seen(exchange) for exchange in self.fake.journal)

    @property
    def last(self) -> Seen:
        """The newest exchange; raises UsageError when no request came yet."""
        requests = self.requests
        if not requests:
            raise UsageError("no request has reached fakellm yet", hint=f"send it to {self.base_url}")
        return requests[-1]

    @property
    def truth(self) -> Truth:
        """What the engine said in the newest exchange that asked one."""
        asked = [seen for seen in self.requests if seen.played() is not None]
        return (asked[-1] if asked else self.last).truth

    def find(self, response_id: str) -> Seen:
        """The exchange whose answer shows this id; raises UsageError when there is none."""
        with self.fake.lock:
            exchange = self.fake.journal.by_response_id(response_id)
        if exchange is None:
            raise UsageError(f"no answer of this test shows the id {response_id!r}")
        return self._seen(exchange)

    def assert_captured(
        self, capture: Any = None, /, *, response_id: str | None = None, choice: int | None = None, **values: Any
    ) -> None:
        """Fail with an alignment table unless the capture is what a careful client has of the last answer.

        ``capture``: a choice or a list of choices, each a mapping or an object with any of ``prompt_token_ids``,
        ``completion_token_ids``, ``logprobs``, ``text``, ``finish_reason``; or give these as keyword arguments. A
        value that is None is one the client does not have, which is right only where the wire had none. ``choice``:
        the capture is of this choice alone. ``response_id``: of this answer instead of the last.
        """
        read, names = capture_from(capture, values)
        asked = [seen for seen in self.requests if seen.played() is not None or seen.unmatched]
        seen = self.find(response_id) if response_id is not None else (asked[-1] if asked else self.last)
        wrong = complaints(seen, read, names, choice)
        if wrong is not None:
            raise AssertionError(wrong)

    # --------------------------------------------------------------- its end

    def reset(self) -> None:
        """A clean journal, and every reply unplayed; what was said stays."""
        with self.fake.lock:
            self.house.reset()
            self._script.script.reset()

    def problems(self) -> list[str]:
        """What a strict test does not let pass: unmatched requests, replies that were to be played and were not, and
        what fakellm itself could not do (a fault that does not apply to the answer)."""
        found: list[str] = []
        with self.fake.lock:
            found += [self._seen(one).line() for one in self.fake.journal if one.problem is not None]
            if self.settings.unmatched == "fail":
                found += [_unmatched(self._seen(one)) for one in self.fake.journal if one.unmatched]
            if self.settings.unused == "fail":
                found += [f"{row.where} was played {row.played} of {row.due} times" for row in self._unused()]
        return found

    def verify(self) -> None:
        """Raise AssertionError for ``problems``."""
        found = self.problems()
        if found:
            raise AssertionError("\n".join(found))

    def report(self) -> str:
        """The journal in lines, for a failing test."""
        seen = self.requests
        lines = [one.line() for one in seen[-SHOWN_EXCHANGES:]]
        left = len(seen) - len(lines)
        head = [f"{self.layout} at {self.server.address or 'no address yet'}"]
        notes = [f"note: {note}" for note in self.house.notes]
        return "\n".join([*head, *notes, *([f"... {left} earlier exchanges"] if left else []), *lines, *_none(lines)])

    def close(self) -> None:
        """Stop playing; later requests are refused in clear words."""
        if self.server.front.playing is self.fake:
            self.server.front.playing = None
        if self._owns_server:
            self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --------------------------------------------------------------- details

    def _open(self) -> House:
        settings = self.settings
        choices = Choices(
            layout=settings.layout,
            model=settings.model,
            tokenizer=settings.tokenizer,
            options=settings.options,
            env=settings.env,
            seed=settings.seed,
            faults=settings.faults,
            plans=False,
        )
        scenarios, default = _scenarios(settings.scenario, settings.folder)
        return House(scenarios, default, choices, now=time.time)

    def _scripted(self) -> TestScript:
        """Put the test's own script before the scenario of the default stage."""
        stage = self.fake.default
        script = TestScript(self.fake.lock, self.settings.folder)
        tokenizer = cast(Any, stage.tokenizer)
        said = ScriptSource(script.script, stage.station, tokenizer, self.settings.seed)
        layered = _layered(stage, LayeredSource(said, stage.source))
        self.fake.default = layered
        self.fake.stages = {name: layered if one is stage else one for name, one in self.fake.stages.items()}
        return script

    def _seen(self, exchange: Exchange) -> Seen:
        tokenizer = exchange.stage_object.tokenizer if exchange.stage_object is not None else None
        piece: Callable[[int], bytes] | None = None if tokenizer is None else tokenizer.piece
        return Seen(exchange, self.fake.lock, piece)

    def _unused(self) -> list[Any]:
        rows = [*self._script.script.unused()]
        for row in self.house.unused():
            rows.append(row if row.where else replace(row, where=f"replies[{row.index}] of {row.scenario}"))
        return rows


def _layered(stage: Stage, source: LayeredSource) -> Stage:
    stage.source = source
    return stage


def _scenarios(given: Any, folder: Path) -> tuple[Mapping[str, Scenario], Scenario]:
    """Scenarios by name and the one that answers without an address."""
    if given is None:
        return {}, NOTHING
    if isinstance(given, str | Path):
        path = folder / given
        scenarios = load_set(path, read_fault=parse_fault)
        chosen = default_of(path, scenarios)
        if chosen is None:
            names = ", ".join(sorted(scenarios))
            raise ScenarioError(
                "the folder has no default.yaml", where=str(path), hint=f"it has {names}; name one file"
            )
        return scenarios, chosen
    data: Any = {"replies": cast("list[Any]", given)} if isinstance(given, list) else given
    return {}, from_data(data, "test", read_fault=parse_fault, folder=folder)


def _unmatched(seen: Seen) -> str:
    """An unmatched request with the replies that came closest."""
    misses = _near_misses(json.loads(seen.response_body))
    head = f"{seen.method} {seen.path} found no reply"
    return "\n".join([head, *(f"  {line}" for line in misses or ["nothing was said: fakellm.say(...) comes first"])])


def _near_misses(body: Mapping[str, Any]) -> list[str]:
    """The near misses of a 501 body, a line per condition."""
    lines: list[str] = []
    for miss in body["fakellm"]["near_misses"]:
        lines.append(f"{miss['where'] or miss['reply']}:")
        for field in miss["fields"]:
            word = "ok  " if field["holds"] else "FAIL"
            lines.append(f"  {word} {field['field']} {field['rule']}; the request has {field['got']}")
    return lines


def _none(lines: list[str]) -> list[str]:
    return [] if lines else ["no request came"]
