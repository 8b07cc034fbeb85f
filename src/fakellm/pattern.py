"""Regular expressions that cannot hang: Python's syntax without backtracking.

A pattern becomes an automaton whose states are worked out as texts need them and then kept; a text is read once,
character by character, whatever the pattern. What an automaton cannot do (backreferences, look-around, atomic groups)
is refused with its name. Python's ``re`` is only asked whether the syntax is right, never to search: its search can
take exponential time, and quadratic time even on harmless looking patterns. Only "is it found somewhere" is answered.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

from .errors import ScenarioError
from .pattern_syntax import Alternatives, Anchor, CharSet, Node, Parser, Repeat, Sequence

MAX_PATTERN = 1_000
MAX_PROGRAM = 2_000
"""Instructions; ``{500}`` of a long group would be more."""
MAX_TEXT = 2_000_000
"""Characters that are searched; a known transition costs some 50 ns, so this is a tenth of a second."""
MAX_WORK = 1_000_000
"""Instructions looked at for transitions that are not known yet, in one search: some 0.3 s."""
MAX_STATES = 1_000

_Instruction = CharSet | Anchor | tuple[int, int] | None
"""A character to read, a place to be at, a choice of two ways, or None: found."""


class _State:
    """Places in the program, and what kind of character was read last: start, newline, word or other."""

    __slots__ = ("after", "next", "places")

    def __init__(self, places: frozenset[int], after: str) -> None:
        self.places = places
        self.after = after
        self.next: dict[str, _State] = {}


_FOUND = _State(frozenset(), "")


class Pattern:
    """A compiled pattern; equal when written equally. Raises ScenarioError for what is no pattern or not supported."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._program: list[_Instruction] = []
        try:
            self._compile(_parse(source))
            self._program.append(None)
        except RecursionError:
            raise ScenarioError("the regex is nested too deeply", hint="make it simpler") from None
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._transitions = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.source == other.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return f"Pattern({self.source!r})"

    def found_in(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text; raises ScenarioError when that is too much work."""
        state = self._state(frozenset((0,)), "start")
        work = 0
        for character in _symbols(text):
            following = state.next.get(character)
            if following is None:
                following, cost = self._step(state, character)
                work += cost
                if work > MAX_WORK:
                    raise ScenarioError(
                        f"the regex {self.source!r} is too much work on a text of {len(text)} characters",
                        hint="make it simpler, or use contains or equals",
                    )
            if following is _FOUND:
                return True
            state = following
        return False

    def _step(self, state: _State, symbol: str) -> tuple[_State, int]:
        """Follow every way that reads no character, then read one. The symbol "" is the end of the text, "\\n$" a
        newline at its end."""
        character = symbol[:1]
        reached: set[int] = {0} if symbol else set()
        seen: set[int] = set()
        stack = list(state.places)
        found = False
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self._program[place]
            if instruction is None:
                found = True
                break
            if isinstance(instruction, tuple):
                stack += instruction
            elif isinstance(instruction, Anchor):
                if instruction.holds(state.after, symbol):
                    stack.append(place + 1)
            elif character and instruction.has(character):
                reached.add(place + 1)
        following = _FOUND if found else self._state(frozenset(reached), kind_of(character))
        state.next[symbol] = following
        return following, len(seen) + 1

    def _state(self, places: frozenset[int], after: str) -> _State:
        if len(self._states) > MAX_STATES or self._transitions > 20 * MAX_STATES:
            self._states.clear()
            self._transitions = 0
        self._transitions += 1
        state = self._states.get((places, after))
        if state is None:
            state = self._states[places, after] = _State(places, after)
        return state

    def _compile(self, node: Node) -> None:
        program = self._program
        if len(program) > MAX_PROGRAM:
            raise ScenarioError("the regex is too large", hint="make its repetitions smaller")
        if isinstance(node, CharSet | Anchor):
            program.append(node)
        elif isinstance(node, Sequence):
            for part in node.parts:
                self._compile(part)
        elif isinstance(node, Alternatives):
            self._alternatives(node)
        else:
            self._repeat(node)

    def _alternatives(self, node: Alternatives) -> None:
        program = self._program
        exits: list[int] = []
        for number, way in enumerate(node.ways):
            split = len(program)
            last = number == len(node.ways) - 1
            if not last:
                program.append((0, 0))
            self._compile(way)
            if not last:
                exits.append(len(program))
                program.append((0, 0))
                program[split] = (split + 1, len(program))
        for place in exits:
            program[place] = (len(program), len(program))

    def _repeat(self, node: Repeat) -> None:
        program = self._program
        for _ in range(node.least):
            self._compile(node.part)
        if node.most is None:
            split = len(program)
            program.append((0, 0))
            self._compile(node.part)
            program.append((split, split))
            program[split] = (split + 1, len(program))
            return
        splits: list[int] = []
        for _ in range(node.most - node.least):
            splits.append(len(program))
            program.append((0, 0))
            self._compile(node.part)
        for split in splits:
            program[split] = (split + 1, len(program))


def kind_of(character: str) -> str:
    """What a place right after this character is next to: newline, word or other."""
    if character == "\n":
        return "newline"
    return "word" if character == "_" or character.isalnum() else "other"


def _symbols(text: str) -> Iterator[str]:
    body = text[:MAX_TEXT]
    final = body.endswith("\n")
    yield from body[:-1] if final else body
    if final:
        yield "\n$"
    yield ""


def _parse(source: str) -> Node:
    if len(source) > MAX_PATTERN:
        raise ScenarioError(f"the regex has {len(source)} characters, more than {MAX_PATTERN}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(source)
    except (re.error, OverflowError) as wrong:
        raise ScenarioError(f"this is not a regex: {wrong}") from None
    return Parser(source).read()
