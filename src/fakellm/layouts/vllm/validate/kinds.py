"""The kinds of value a field may hold, checked and coerced as pydantic 2.14 does in its lax mode.

Every kind answers three questions: ``label`` (its name when it is a union member), ``exact(value)`` (no coercion
needed) and ``check(value, path, flaws)`` (the coerced value; what is wrong is appended to ``flaws``). The texts are
written out here and never taken from an installed pydantic. Knows nothing of vLLM, versions or HTTP.

    flaws = []
    Whole(at_least=0).check("7", ("body", "n"), flaws)      # 7, no flaws
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .flaws import Flaw, Path

Flaws = list[Flaw]

TRUE_WORDS = frozenset({"1", "t", "true", "y", "yes", "on"})
FALSE_WORDS = frozenset({"0", "f", "false", "n", "no", "off"})
MAX_INT_DIGITS = 4300
_WHOLE = re.compile(r"[+-]?\d+(?:_\d+)*(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?")
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_I64 = 2**63


class Kind(Protocol):
    """What every kind of value answers."""

    @property
    def label(self) -> str: ...

    def exact(self, value: Any) -> bool: ...

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any: ...


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""

    label: str = "any"

    def exact(self, value: Any) -> bool:
        return True

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """A boolean: ``yes``, ``on``, 1, 1.0 count as true."""

    label: str = "bool"

    def exact(self, value: Any) -> bool:
        return isinstance(value, bool)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            word = value.lower()
            if word in TRUE_WORDS or word in FALSE_WORDS:
                return word in TRUE_WORDS
        elif isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        elif not (isinstance(value, int | float) and -_I64 <= value < _I64 and float(value).is_integer()):
            flaws.append(Flaw("bool_type", path, "Input should be a valid boolean", value))
            return value
        message = "Input should be a valid boolean, unable to interpret input"
        flaws.append(Flaw("bool_parsing", path, message, value))
        return value


def bounds_flaw(value: Any, at_least: float | None, at_most: float | None, path: Path) -> Flaw | None:
    """The flaw of a number outside its bounds."""
    if at_most is not None and not value <= at_most:
        message = f"Input should be less than or equal to {_bound(at_most)}"
        return Flaw("less_than_equal", path, message, value, {"le": at_most})
    if at_least is not None and not value >= at_least:
        message = f"Input should be greater than or equal to {_bound(at_least)}"
        return Flaw("greater_than_equal", path, message, value, {"ge": at_least})
    return None


def _bound(value: float) -> str:
    """A bound as the message has it: whole floats without their ``.0``."""
    return str(int(value)) if value == int(value) else str(value)


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer: ``"7"``, ``"7.0"``, 7.0 and true are taken as well."""

    at_least: int | None = None
    at_most: int | None = None

    @property
    def label(self) -> str:
        return "int" if self.at_least is None and self.at_most is None else "constrained-int"

    def exact(self, value: Any) -> bool:
        return type(value) is int

    def bounds_hold(self, values: Sequence[int]) -> bool:
        """Whether all of these integers lie within the bounds."""
        if not values:
            return True
        low = self.at_least is None or min(values) >= self.at_least
        return low and (self.at_most is None or max(values) <= self.at_most)

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        whole = value if type(value) is int else self._coerced(value, path, flaws)
        if whole is None:
            return value
        flaw = bounds_flaw(whole, self.at_least, self.at_most, path)
        if flaw is not None:
            flaws.append(Flaw(flaw.kind, path, flaw.message, value, flaw.context))
        return whole

    def _coerced(self, value: Any, path: Path, flaws: Flaws) -> int | None:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, str):
            text = value.strip()
            if len(text) > MAX_INT_DIGITS:
                message = "Unable to parse input string as an integer, exceeded maximum size"
                flaws.append(Flaw("int_parsing_size", path, message, value))
                return None
            if _WHOLE.fullmatch(text):
                return int(text.partition(".")[0].replace("_", ""))
            message = "Input should be a valid integer, unable to parse string as an integer"
            flaws.append(Flaw("int_parsing", path, message, value))
        elif isinstance(value, float):
            if not math.isfinite(value):
                flaws.append(Flaw("finite_number", path, "Input should be a finite number", value))
            elif value.is_integer():
                return int(value)
            else:
                message = "Input should be a valid integer, got a number with a fractional part"
                flaws.append(Flaw("int_from_float", path, message, value))
        else:
            flaws.append(Flaw("int_type", path, "Input should be a valid integer", value))
        return None


@dataclass(frozen=True, slots=True)
class Number:
    """A float: integers, booleans and numbers in strings are taken as well; so are inf and nan."""

    at_least: float | None = None
    at_most: float | None = None

    @property
    def label(self) -> str:
        return "float" if self.at_least is None and self.at_most is None else "constrained-float"

    def exact(self, value: Any) -> bool:
        return type(value) is float

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        found = len(flaws)
        number = self._coerced(value, path, flaws)
        if len(flaws) == found:
            flaw = bounds_flaw(number, self.at_least, self.at_most, path)
            if flaw is not None:
                flaws.append(Flaw(flaw.kind, path, flaw.message, value, flaw.context))
        return number

    def _coerced(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if type(value) is float:
            return value
        if isinstance(value, int):
            try:
                return float(value)
            except OverflowError:
                pass
        elif isinstance(value, str):
            text = value.strip()
            if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
                return float(text.replace("_", ""))
            message = "Input should be a valid number, unable to parse string as a number"
            flaws.append(Flaw("float_parsing", path, message, value))
            return value
        flaws.append(Flaw("float_type", path, "Input should be a valid number", value))
        return value


def counted(number: int, word: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@dataclass(frozen=True, slots=True)
class Text:
    """A string; nothing else is taken. ``encoded``: a bytes field, which JSON strings fill."""

    at_least: int | None = None
    at_most: int | None = None
    encoded: bool = False

    @property
    def label(self) -> str:
        if self.encoded:
            return "bytes"
        return "str" if self.at_least is None and self.at_most is None else "constrained-str"

    def exact(self, value: Any) -> bool:
        return isinstance(value, str) and not self.encoded

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if not isinstance(value, str):
            kind, noun = ("bytes_type", "bytes") if self.encoded else ("string_type", "string")
            flaws.append(Flaw(kind, path, f"Input should be a valid {noun}", value))
        elif self.at_most is not None and len(value) > self.at_most:
            message = f"String should have at most {counted(self.at_most, 'character')}"
            flaws.append(Flaw("string_too_long", path, message, value, {"max_length": self.at_most}))
        elif self.at_least is not None and len(value) < self.at_least:
            message = f"String should have at least {counted(self.at_least, 'character')}"
            flaws.append(Flaw("string_too_short", path, message, value, {"min_length": self.at_least}))
        return value


def spelled_choices(choices: Sequence[str | bool]) -> str:
    """``'a', 'b' or 'c'``."""
    quoted = [repr(choice) for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words, or one truth value."""

    choices: tuple[str | bool, ...]

    @property
    def label(self) -> str:
        return f"literal[{','.join(repr(choice) for choice in self.choices)}]"

    def exact(self, value: Any) -> bool:
        return isinstance(value, str | bool) and value in self.choices

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if not self.exact(value):
            expected = spelled_choices(self.choices)
            flaws.append(Flaw("literal_error", path, f"Input should be {expected}", value, {"expected": expected}))
        return value


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration of numbers; true and 1.0 are taken for 1."""

    values: tuple[int, ...]
    label: str = "enum"

    def exact(self, value: Any) -> bool:
        return type(value) is int and value in self.values

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        if isinstance(value, int | float) and value in self.values:
            return int(value)
        if isinstance(value, int) and not -_I64 <= value < _I64:
            message = "Unable to parse input string as an integer, exceeded maximum size"
            flaws.append(Flaw("int_parsing_size", path, message, value))
            return value
        words = [str(one) for one in self.values]
        expected = f"{', '.join(words[:-1])} or {words[-1]}"
        flaws.append(Flaw("enum", path, f"Input should be {expected}", value, {"expected": expected}))
        return value


@dataclass(frozen=True, slots=True)
class InstanceOf:
    """An object of the server's own class, which no JSON value ever is."""

    name: str

    @property
    def label(self) -> str:
        return f"is-instance[{self.name}]"

    def exact(self, value: Any) -> bool:
        return False

    def check(self, value: Any, path: Path, flaws: Flaws) -> Any:
        message = f"Input should be an instance of {self.name}"
        flaws.append(Flaw("is_instance_of", path, message, value, {"class": self.name}))
        return value
