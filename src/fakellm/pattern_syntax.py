"""The syntax of regex rules: Python's, as far as an automaton can follow it.

:class:`Parser` turns a pattern that Python has found well-formed into nodes: characters, anchors, sequences,
alternatives and repetitions. Greedy and lazy repetition are the same here, and groups only group. Flags i, s, m and u
are understood, for the whole pattern or for a group. What cannot be done is a ScenarioError that names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from .errors import ScenarioError


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character out of a set. ``classes``: d, w, s (capital = not)."""

    singles: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()
    classes: str = ""
    negated: bool = False
    ignore_case: bool = False

    def has(self, character: str) -> bool:
        if self.ignore_case:
            found = any(self._has(form) for form in {character, character.lower(), character.upper()})
        else:
            found = self._has(character)
        return found != self.negated

    def _has(self, character: str) -> bool:
        if character in self.singles or any(low <= character <= high for low, high in self.ranges):
            return True
        return any(_in_class(character, name) for name in self.classes)


def _in_class(character: str, name: str) -> bool:
    kind = name.lower()
    if kind == "d":
        found = character.isdecimal()
    elif kind == "s":
        found = character.isspace()
    else:
        found = character == "_" or character.isalnum()
    return found != name.isupper()


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place. ``kind``: ``^`` ``$`` (whole text), ``<`` ``>`` (line), ``z`` (very end), ``b`` ``B`` (word edge or
    not)."""

    kind: str

    def holds(self, after: str, symbol: str) -> bool:
        """``after``: kind of the character before; ``symbol``: the next one ("" = end, "\\n$" = newline at the end)."""
        if self.kind == "^":
            return after == "start"
        if self.kind == "<":
            return after in ("start", "newline")
        if self.kind == "$":
            return symbol in ("", "\n$")
        if self.kind == ">":
            return symbol in ("", "\n$", "\n")
        if self.kind == "z":
            return symbol == ""
        edge = (after == "word") != (symbol == "_" or symbol.isalnum())
        return edge == (self.kind == "b")


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    ways: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int | None


Node = CharSet | Anchor | Sequence | Alternatives | Repeat


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False
    s: bool = False
    m: bool = False


_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_MOST_REPEATS = 1_000
_OCTAL = re.compile("[0-7]{3}")


class Parser:
    """Reads one pattern, which must have passed ``re.compile``."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._flags = _Flags()

    def read(self) -> Node:
        return self._alternatives()

    def _alternatives(self) -> Node:
        ways = [self._sequence()]
        while self._take("|"):
            ways.append(self._sequence())
        return ways[0] if len(ways) == 1 else Alternatives(tuple(ways))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._source) and self._source[self._at] not in "|)":
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part))
            elif parts:  # a comment: a repetition after it belongs to what stands before it
                parts.append(self._repeated(parts.pop()))
        return Sequence(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        bounds = self._bounds()
        while bounds is not None:
            least, most = bounds
            if max(least, most or 0) > _MOST_REPEATS:
                self._refuse(f"a repetition of more than {_MOST_REPEATS}")
            part = Repeat(part, least, most)
            if self._take("+"):
                self._refuse("a possessive repetition")
            self._take("?")
            bounds = self._bounds()
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        if not self._source.startswith("{", self._at):
            return None
        end = self._source.find("}", self._at)
        least, comma, most = self._source[self._at + 1 : max(end, self._at)].partition(",")
        numbers = [number for number in (least, most) if number]
        if end < 0 or not all(number.isdecimal() and number.isascii() for number in numbers) or not (least or comma):
            return None  # Python reads such a brace as itself
        self._at = end + 1
        return int(least or 0), (int(most) if most else None) if comma else int(least)

    def _atom(self) -> Node | None:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == ".":
            return CharSet(frozenset() if self._flags.s else frozenset("\n"), negated=True)
        if character == "^":
            return Anchor("<" if self._flags.m else "^")
        if character == "$":
            return Anchor(">" if self._flags.m else "$")
        if character == "\\":
            return self._escape()
        return self._literal(character)

    def _literal(self, character: str) -> CharSet:
        return CharSet(frozenset(character), ignore_case=self._flags.i)

    def _group(self) -> Node | None:
        outer = self._flags
        if self._take("?"):
            if self._take("P<"):
                self._at = self._source.index(">", self._at) + 1
            elif self._take("#"):
                self._at = self._source.index(")", self._at) + 1
                return None
            elif not self._take(":") and not self._group_flags():
                return None
        inner = self._alternatives()
        self._take(")")
        self._flags = outer
        return inner

    def _group_flags(self) -> bool:
        """Read ``i-s:`` or ``i)``; False when the flags are for the whole rest and the group is over."""
        on = True
        while True:
            letter = self._next()
            if letter in ":)":
                return letter == ":"
            if letter == "-":
                on = False
            elif letter in "ism":
                self._flags = replace(self._flags, **{letter: on})
            elif letter != "u":
                self._refuse(_SPECIAL_GROUPS.get(letter, f"the group (?{letter}"))

    def _escape(self) -> Node:
        letter = self._next()
        if letter in "bBAZz":
            return Anchor({"A": "^", "Z": "z"}.get(letter, letter))
        if letter in "dDwWsS":
            return CharSet(classes=letter)
        if letter in "123456789" and not _OCTAL.match(self._source, self._at - 1):
            self._refuse("a backreference")
        return self._literal(self._escaped(letter))

    def _escaped(self, letter: str) -> str:
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in _HEX_DIGITS:
            digits = _HEX_DIGITS[letter]
            code = self._source[self._at : self._at + digits]
            self._at += digits
            return chr(int(code, 16))
        if letter in "01234567":
            start = self._at - 1
            while self._at < len(self._source) and self._at < start + 3 and self._source[self._at] in "01234567":
                self._at += 1
            return chr(int(self._source[start : self._at], 8))
        if letter == "N":
            self._refuse("a character by its name")
        return letter

    def _set(self) -> CharSet:
        negated = self._take("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        classes = ""
        first = True
        while first or not self._source.startswith("]", self._at):
            first = False
            low = self._member()
            if len(low) == 2:
                classes += low[1]
            elif self._source.startswith("-", self._at) and not self._source.startswith("-]", self._at):
                self._at += 1
                ranges.append((low, self._member()))
            else:
                singles.add(low)
        self._at += 1
        return CharSet(frozenset(singles), tuple(ranges), classes, negated, self._flags.i)

    def _member(self) -> str:
        """One member of a set: a character, or a backslash and the letter of a class."""
        character = self._next()
        if character != "\\":
            return character
        letter = self._next()
        if letter in "dDwWsS":
            return "\\" + letter
        return "\b" if letter == "b" else self._escaped(letter)

    def _next(self) -> str:
        self._at += 1
        return self._source[self._at - 1]

    def _take(self, text: str) -> bool:
        found = self._source.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _refuse(self, what: str) -> NoReturn:
        raise ScenarioError(
            f"the regex {self._source!r} has {what}, which rules cannot use",
            hint="rules are matched without backtracking, so that none can hang the server",
        )


_SPECIAL_GROUPS = {
    "=": "a look-ahead",
    "!": "a look-ahead",
    "<": "a look-behind",
    ">": "an atomic group",
    "(": "a conditional group",
    "P": "a backreference",
    "x": "the flag x",
    "a": "the flag a",
    "L": "the flag L",
}
