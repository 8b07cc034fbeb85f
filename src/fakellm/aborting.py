"""What is left to send when an answer is aborted on its way: pure functions of the truth, the schedule and the moment.

The truth stays as it is; an abort is an event of the server. ``cut`` makes the truth that the engine then has: every
aborted choice ends after the steps that were due, the others go on. The station tells and renders it as it told the
first one, with the same ids and time, and ``remaining`` takes off what has already left. Knows no clock and no socket.

>>> CutTiming(Timing(first_token_ms=40, between_ms=20), 50.0).due(3)
50.0
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .ask import Ask
from .generation import Choice, Generation
from .layouts.base import Which
from .message import Frame, Wire
from .told import Told

Leave = Callable[[Choice, int], Choice]
"""What an engine leaves of a choice that it gives up after so many steps."""


@dataclass(frozen=True, slots=True)
class CutTiming:
    """A schedule that ends ``at_ms``: what would have been due later is due then."""

    timing: Any
    at_ms: float

    def due(self, step_index: int) -> float:
        """Milliseconds from the request to this step."""
        return min(self.timing.due(step_index), self.at_ms)

    @property
    def dribble(self) -> Any:
        """Packets of a slow link stay as they were."""
        return getattr(self.timing, "dribble", None)


def unfinished(told: Told, at_ms: float) -> frozenset[int]:
    """The choices (by index) whose last step is still to come."""
    return frozenset(choice.index for choice in told.choices if choice.steps and choice.steps[-1].due_ms > at_ms)


def cut(
    generations: Sequence[Generation], n: int, aborts: Mapping[int, float], due: Callable[[int], float], leave: Leave
) -> tuple[Generation, ...]:
    """The truth with some choices aborted. ``aborts``: choice index -> milliseconds after the request; ``due``: step ->
    milliseconds; ``n``: choices per prompt."""
    cut_ones: list[Generation] = []
    for number, generation in enumerate(generations):
        choices = list(generation.choices)
        for place, choice in enumerate(choices[:n]):
            at_ms = aborts.get(number * n + place)
            if at_ms is not None:
                choices[place] = leave(choice, steps_due(choice, due, at_ms))
        cut_ones.append(replace(generation, choices=tuple(choices)))
    return tuple(cut_ones)


def steps_due(choice: Choice, due: Callable[[int], float], at_ms: float) -> int:
    """How many steps of a choice the engine has made by then."""
    return next((step for step in range(len(choice.steps)) if due(step) > at_ms), len(choice.steps))


def remaining(before: Wire, sent: int, after: Wire, latest_ms: float | None) -> tuple[Frame, ...]:
    """The frames of ``after`` that are still to send when ``sent`` bytes of ``before`` have left.

    Both usually begin alike. Where they do not (a fault drew otherwise, the server's state changed), as many frames are
    taken off as had left. ``latest_ms``: all of it leaves then; None = when it is due.
    """
    left = b"".join(frame.data for frame in before.frames)[:sent]
    frames = after.frames
    if b"".join(frame.data for frame in frames).startswith(left):
        rest = tuple(_without(frames, sent))
    else:
        rest = frames[_whole_frames(before.frames, sent) :]
    if latest_ms is None:
        return rest
    return tuple(Frame(frame.data, latest_ms) for frame in rest)


def sent_frames(frames: Sequence[Frame], sent: int) -> tuple[Frame, ...]:
    """The first ``sent`` bytes, as the frames in which they left."""
    out: list[Frame] = []
    for frame in frames:
        if sent <= 0:
            break
        out.append(frame if len(frame.data) <= sent else Frame(frame.data[:sent], frame.due_ms))
        sent -= len(frame.data)
    return tuple(out)


def _without(frames: Sequence[Frame], sent: int) -> Iterator[Frame]:
    for frame in frames:
        if sent < len(frame.data):
            yield frame if sent <= 0 else Frame(frame.data[sent:], frame.due_ms)
        sent -= min(sent, len(frame.data))


def _whole_frames(frames: Sequence[Frame], sent: int) -> int:
    """How many frames have left, those that left in part included."""
    count = 0
    for frame in frames:
        if sent <= 0:
            break
        sent -= len(frame.data)
        count += 1
    return count


class Abortable(Protocol):
    """One answer on its way. ``ids``: the engine's id of every choice, in choice order."""

    @property
    def ask(self) -> Ask: ...

    @property
    def ids(self) -> Sequence[str]: ...

    def abort(self, choices: Collection[int]) -> int:
        """End these choices now; how many were still going."""
        ...


class Elsewhere(Protocol):
    """Other processes that serve the same scenario."""

    def have(self, requests: int) -> None:
        """So many requests are in hand here."""
        ...

    def requests(self) -> int:
        """How many the others have, as far as they said."""
        ...

    def abort(self, which: Which) -> None:
        """Let them end what is meant; they are not waited for."""
        ...


class Board:
    """The answers of one stage that are on their way (``layouts.base.Flights``). ``weigh``: as how many requests the
    engine counts one; ``elsewhere``: other processes that serve the same scenario, None = there are none."""

    def __init__(self, weigh: Callable[[Ask], int] = lambda ask: 1, elsewhere: Elsewhere | None = None) -> None:
        self._flights: dict[int, Abortable] = {}
        self._weigh = weigh
        self._requests = 0
        self.elsewhere = elsewhere

    def __len__(self) -> int:
        return len(self._flights)

    def add(self, flight: Abortable) -> None:
        """It has begun."""
        self._flights[id(flight)] = flight
        self._count(self._weigh(flight.ask))

    def discard(self, flight: Abortable) -> None:
        """It is over."""
        if self._flights.pop(id(flight), None) is not None:
            self._count(-self._weigh(flight.ask))

    def requests(self) -> int:
        """Of all processes."""
        return self._requests + (0 if self.elsewhere is None else self.elsewhere.requests())

    def abort(self, which: Which) -> int:
        """End what is meant, here and elsewhere; how many choices that were here."""
        if self.elsewhere is not None:
            self.elsewhere.abort(which)
        return self.abort_here(which)

    def abort_here(self, which: Which) -> int:
        """The same for this process alone."""
        flights = tuple(self._flights.values())
        if which.ids is None:
            return sum(flight.abort(range(len(flight.ids))) for flight in flights)
        names = frozenset(which.ids)
        if which.prefix:
            known = {name for flight in flights for name in flight.ids}
            names = frozenset(name for name in known if name.startswith(tuple(names & known)))
        chosen = [(flight, [at for at, name in enumerate(flight.ids) if name in names]) for flight in flights]
        return sum(flight.abort(choices) for flight, choices in chosen if choices)

    def _count(self, change: int) -> None:
        self._requests += change
        if self.elsewhere is not None:
            self.elsewhere.have(self._requests)
