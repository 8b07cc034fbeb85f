"""A house of stages: scenarios loaded, each on the server it asks for, ready to answer.

Here the pieces meet: scenario files, layouts, tokenizers, faults. What the command line chose wins over a scenario's
``server:`` section. Files are read here and nowhere deeper; sockets are the server's business.

    house = House.open(Path("scenarios/hello.yaml"), Choices(layout="vllm-0.32.0"))
    answer, exchange = house.fake.answer(request)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from typing import Any

from .armed import Armory
from .ask import Ask
from .errors import FakellmError, ScenarioError, UsageError, did_you_mean
from .fake import Fake
from .faults.registry import parse as parse_fault
from .generation import Generation
from .journal import Exchange, Journal
from .layouts.base import Launch, Layout, Station, Which
from .layouts.registry import Found, find
from .scenario.compose import compose
from .scenario.load import default_of, from_text, load_set
from .scenario.match import NoReply, Script, Unused
from .scenario.model import Scenario, ServerSettings
from .scenario.plain import plain_auto
from .scenario.voice import Voice, voice_of
from .stage import Reply, Stage, Unmatched
from .state import LocalState, State
from .tokenizer import Tokenizer, load

DEFAULT_LAYOUT = "vllm"
MAX_PROBLEMS = 20
"""Problems that a verdict lists."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line (or a test) chose; None and empty leave the choice to the scenario.

    ``options``: the vendor's own launch words. ``faults``: on every answer, before a reply's own. ``plans``: keep
    rendered answers for equal requests (the fast path).
    """

    layout: str | None = None
    model: str | None = None
    tokenizer: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    seed: int = 0
    faults: tuple[Any, ...] = ()
    plans: bool = True


class ScriptSource:
    """A scenario's script as the source of truth of a stage."""

    def __init__(self, script: Script, station: Station, tokenizer: Tokenizer, seed: int) -> None:
        self.script = script
        self._station = station
        self._tokenizer = tokenizer
        self._seed = seed

    def reply(self, ask: Ask) -> Reply:
        """Match the request and make ready to compose; raises stage.Unmatched."""
        try:
            matched = self.script.match(ask)
        except NoReply as missing:
            raise Unmatched(missing.body()) from None

        def generate(heard: Ask) -> tuple[Generation, ...]:
            return compose(matched, heard, self._tokenizer, seed=self._seed, voice=self._voice())

        return Reply(
            generate=generate,
            faults=tuple(use.call or use.to_entry() for use in matched.reply.faults),
            timing=matched.reply.timing,
            key=matched.key if matched.stateless else None,
            ordinal=matched.ordinal,
            name=matched.reply.where or f"replies[{matched.index}]",
        )

    def _voice(self) -> Voice | None:
        """How the model behind the station must write so that the station's parsers find what it says."""
        parsers: tuple[str | None, str | None] | None = getattr(self._station, "parsers", None)
        if parsers is None:
            return None
        forced = bool(getattr(self._station, "forced_json", False))
        array = bool(getattr(self._station, "forced_array", False))
        return voice_of(*parsers, forced_json=forced, forced_array=array)


class House:
    """Everything that a server serves. ``notes``: what the user should know (stand-in layouts, idle options)."""

    def __init__(
        self,
        scenarios: Mapping[str, Scenario],
        default: Scenario,
        choices: Choices = Choices(),
        *,
        now: Callable[[], float] = time.time,
        sink: RawIOBase | None = None,
        state: State | None = None,
    ) -> None:
        self.choices = choices
        self.state = state or LocalState()
        self.notes: list[str] = []
        self.armory = Armory(self.state.armed_counters())
        self._now = now
        self._tokenizers: dict[str | None, Tokenizer] = {}
        self._scripts: dict[str, Script] = {}
        stages = {name: self.stage(scenario) for name, scenario in scenarios.items()}
        default_stage = stages.get(default.name) or self.stage(default)
        tell = self._publish if self.state.publishes else None
        self.fake = Fake(stages, default_stage, now=now, journal=Journal(sink=sink, tell=tell))
        self._first_default = default_stage

    @classmethod
    def open(
        cls,
        path: Path | None,
        choices: Choices = Choices(),
        *,
        now: Callable[[], float] = time.time,
        sink: RawIOBase | None = None,
        state: State | None = None,
    ) -> House:
        """Scenarios of a file or a folder; without a path a plain auto scenario. Raises ScenarioError, LayoutError."""
        scenarios = {} if path is None else load_set(path, read_fault=parse_fault)
        chosen = None if path is None else default_of(path, scenarios)
        return cls(scenarios, chosen or plain_auto(), choices, now=now, sink=sink, state=state)

    def _publish(self, exchange: Exchange) -> None:
        try:
            self.state.publish(exchange.detail())
        except FakellmError as problem:  # the answer stands; our own journal keeps it, and says why nobody else does
            exchange.problem = exchange.problem or f"not published: {problem.message}"

    # ---------------------------------------------------------------- building

    def tokenizer(self, name: str | None) -> Tokenizer:
        """A tokenizer by name or path, loaded once."""
        if name not in self._tokenizers:
            self._tokenizers[name] = load(name)
        return self._tokenizers[name]

    def stage(self, scenario: Scenario, *, layout: str | None = None, faults: Sequence[Any] = ()) -> Stage:
        """A scenario on the server it asks for. ``layout`` wins over everything."""
        server, choices = scenario.server, self.choices
        found = find(layout or choices.layout or server.layout or DEFAULT_LAYOUT)
        if found.note:
            self._note(found.note)
        tokenizer = self.tokenizer(choices.tokenizer or server.tokenizer)
        station = found.layout.start(self._launch(found, scenario, tokenizer))
        for note in getattr(station, "notes", ()):
            self._note(f"{found.layout.name}: {note}")
        script = Script(scenario, self.state.counters(scenario))
        self._scripts[scenario.name] = script
        stage = Stage(
            scenario.name,
            found.layout,
            station,
            ScriptSource(script, station, tokenizer, choices.seed),
            now=self._now,
            seed=choices.seed,
            salt=self.state.salt,
            ordinal=self.state.ordinal,
            faults=(*choices.faults, *faults),
            plans=choices.plans,
            tokenizer=tokenizer,
            armed=self.armory,
        )
        stage.flights.elsewhere = self.state.elsewhere(scenario.name)
        return stage

    def abort_here(self, name: str, which: Which) -> None:
        """Another replica was told to end answers of this scenario."""
        stage = next((stage for stage in self._stages() if stage.name == name), None)
        if stage is not None:
            stage.flights.abort_here(which)

    def _launch(self, found: Found, scenario: Scenario, tokenizer: Tokenizer) -> Launch:
        server, choices = scenario.server, self.choices
        return Launch(
            tokenizer=tokenizer,
            options=(*server.options, *choices.options),
            env={**server.env, **choices.env},
            model=choices.model or server.model,
            engine={"weight_version": "default"},
            extra={} if found.asked_version is None else {"version": found.asked_version},
        )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    # ------------------------------------------------------------------- admin

    def put(self, name: str, text: str) -> None:
        """Load a scenario from text under this name, in place of one of the same name; raises ScenarioError."""
        scenario = from_text(text, name, read_fault=parse_fault)
        stage = self.fake.stages[name] = self.stage(scenario)
        if self.fake.default.name == name:
            self.fake.default = stage
        if self._first_default.name == name:
            self._first_default = stage

    def remove(self, name: str) -> bool:
        """Unload a scenario; False when there is none of that name. Raises UsageError for the default one."""
        if name in (self.fake.default.name, self._first_default.name):
            raise UsageError(f"{name!r} answers whatever has no address", hint="a default can be replaced, not removed")
        self._scripts.pop(name, None)
        return self.fake.stages.pop(name, None) is not None

    def arm(self, name: str) -> None:
        """Let this scenario answer whatever has no address, until ``reset``; raises UsageError."""
        stages = {stage.name: stage for stage in (self._first_default, *self.fake.stages.values())}
        if name not in stages:
            hint = did_you_mean(name, stages) or f"loaded: {', '.join(sorted(stages))}"
            raise UsageError(f"there is no scenario {name!r}", hint=hint)
        self.fake.default = stages[name]

    def reset(self) -> None:
        """Counters, ordinals and journal as freshly started, nothing armed by hand; what was loaded stays."""
        self.fake.default = self._first_default
        self.armory.clear()
        for script in self._scripts.values():
            script.reset()
        self.state.reset()
        self.fake.reset()

    def scenario_rows(self) -> list[dict[str, Any]]:
        """Loaded scenarios, for the admin API."""
        rows: list[dict[str, Any]] = []
        for stage in self._stages():
            script = self._scripts[stage.name]
            rows.append(
                {
                    "name": stage.name,
                    "default": stage is self.fake.default,
                    "layout": stage.layout.name,
                    "title": script.scenario.title,
                    "replies": len(script.scenario.replies),
                    "unused": [str(row) for row in script.unused()],
                }
            )
        return rows

    def _stages(self) -> tuple[Stage, ...]:
        every = (*self.fake.stages.values(), self._first_default, self.fake.default)
        return tuple({id(stage): stage for stage in every}.values())

    def unused(self) -> tuple[Unused, ...]:
        """Replies of every loaded scenario that were to be played and were not."""
        return tuple(row for script in self._scripts.values() for row in script.unused())

    def verdict(self) -> dict[str, Any]:
        """What a run's owner wants to know: unmatched requests, one-shot replies that nobody asked for, and what
        fakellm itself could not do (a fault that does not apply, an address that names nothing)."""
        unused = {name: [str(row) for row in script.unused()] for name, script in self._scripts.items()}
        unused = {name: rows for name, rows in unused.items() if rows}
        journal = self.fake.journal
        problems = [exchange.problem for exchange in journal if exchange.problem is not None and not exchange.unmatched]
        return {
            "exchanges": journal.total,
            "unmatched": journal.unmatched,
            "unused": unused,
            "problems": problems[:MAX_PROBLEMS],
            "ok": journal.total > 0 and not journal.unmatched and not unused and not problems,
        }


def check_server(server: ServerSettings) -> None:
    """Raises a FakellmError for a ``server:`` section that no layout can be started with (``fakellm validate``)."""
    layout = find(server.layout or DEFAULT_LAYOUT).layout
    layout.start(Launch(tokenizer=load(server.tokenizer), options=server.options, env=server.env, model=server.model))


def layout_of(name: str | None) -> Layout:
    """The layout of that name, the newest vLLM without one."""
    return find(name or DEFAULT_LAYOUT).layout


__all__ = ["Choices", "House", "ScenarioError", "ScriptSource", "layout_of"]
