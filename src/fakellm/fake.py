"""The whole fake without a socket: scenarios on stages, found by address, every exchange in the journal.

Addressing, in this order: path prefix ``/s/<scenario>/`` (``/c/<token>/`` for conformance runs), header
``x-fakellm-scenario``, model name ``<scenario>@<model>``, else the default. The server hands requests to ``answer`` and
sends what comes back; tests and ``fakellm play`` use it directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

from .ask import Request
from .flight import Carrier, Flight
from .journal import Exchange, Journal
from .message import Wire
from .problem import problem_wire
from .stage import Answer, Stage

SCENARIO_HEADER = "x-fakellm-scenario"


@dataclass(frozen=True, slots=True)
class Addressed:
    """A request and where it goes; ``problem`` when the address names nothing."""

    request: Request
    stage: Stage | None
    token: str | None = None
    problem: str | None = None


class Fake:
    """Stages by name and by token, a default, a journal. Not thread-safe: one event loop owns it."""

    def __init__(
        self,
        stages: Mapping[str, Stage],
        default: Stage,
        *,
        now: Callable[[], float],
        journal: Journal | None = None,
    ) -> None:
        self.stages = dict(stages)
        self.default = default
        self.mounted: dict[str, Stage] = {}
        self.journal = journal if journal is not None else Journal()  # an empty journal is false
        self.now = now
        self.in_flight = 0

    def mount(self, token: str, stage: Stage) -> None:
        """Serve ``/c/<token>/...`` from this stage until ``unmount``."""
        self.mounted[token] = stage

    def unmount(self, token: str) -> None:
        self.mounted.pop(token, None)

    def answer(self, request: Request) -> tuple[Answer, Exchange]:
        """Answer one request and open its record in the journal (the caller ends it with ``ended``)."""
        addressed = self.address(request)
        stage = addressed.stage
        exchange = self.journal.begin(
            self.now(), "" if stage is None else stage.name, addressed.request, addressed.token
        )
        if stage is None:
            problem = addressed.problem or "no such scenario"
            answer = Answer(problem_wire(404, problem, "unknown_scenario"), problem=problem)
        else:
            answer = stage.answer(addressed.request)
        self.in_flight += 1
        if isinstance(stage, Stage):
            stage.in_flight(1)
        exchange.wire = answer.wire
        exchange.unmatched = answer.unmatched
        exchange.problem = answer.problem
        exchange.behind = answer.behind
        exchange.stage_object = stage
        exchange.served = answer.served
        self.journal.answered(exchange)
        return answer, exchange

    def departs(self, answer: Answer, exchange: Exchange, carrier: Carrier) -> None:
        """An answer takes its time: until ``ended`` the server's own routes can abort it."""
        stage = exchange.stage_object
        if isinstance(stage, Stage) and answer.making is not None:
            exchange.flight = Flight(stage, answer, exchange, self.journal, carrier)
            stage.flights.add(exchange.flight)

    def ended(self, exchange: Exchange, finished_ms: float | None) -> None:
        """The last byte of an answer left (None: the peer went away before)."""
        self.in_flight -= 1
        stage = exchange.stage_object
        if isinstance(stage, Stage):
            stage.in_flight(-1)
            stage.count(exchange.served)
            if exchange.flight is not None:
                stage.flights.discard(exchange.flight)
                exchange.flight = None
        self.journal.finish(exchange, finished_ms)

    def address(self, request: Request) -> Addressed:
        """Find the stage of a request and take the address off it."""
        prefix = request.path[:3]
        if prefix in ("/s/", "/c/"):
            name, slash, rest = request.path[3:].partition("/")
            known = self.stages if prefix == "/s/" else self.mounted
            bare = replace(request, path=slash + rest or "/")
            stage = known.get(name)
            if stage is None:
                return Addressed(bare, None, name if prefix == "/c/" else None, self._unknown(prefix, name))
            return Addressed(bare, stage, name if prefix == "/c/" else None)
        name = request.headers.get(SCENARIO_HEADER)
        if name is not None:
            stage = self.stages.get(name)
            return Addressed(request, stage, None, None if stage else self._unknown("/s/", name))
        if b"@" in request.body:
            found = self._by_model(request)
            if found is not None:
                return found
        return Addressed(request, self.default)

    def _by_model(self, request: Request) -> Addressed | None:
        try:
            body = orjson.loads(request.body)
        except ValueError:
            return None
        if not isinstance(body, dict):
            return None
        document = cast(dict[str, Any], body)
        model = document.get("model")
        if not isinstance(model, str) or "@" not in model:
            return None
        name, _, rest = model.rpartition("@")
        stage = self.stages.get(name)
        if stage is None:
            return None
        document["model"] = rest
        return Addressed(replace(request, body=orjson.dumps(document)), stage)

    def _unknown(self, prefix: str, name: str) -> str:
        if prefix == "/c/":
            return f"no conformance case is running under the token {name!r}"
        known = ", ".join(sorted(self.stages)) or "none"
        return f"there is no scenario {name!r}; loaded: {known}"

    def reset(self) -> None:
        """A clean journal, and every stage as freshly started."""
        self.journal.clear()
        for stage in {id(stage): stage for stage in (*self.stages.values(), self.default)}.values():
            stage.reset()


def silent_wire(status: int) -> Wire:
    """An empty answer (admin and probes)."""
    return Wire(status, (), ())
