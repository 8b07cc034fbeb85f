"""Comparing two sequences token by token, and saying in one sentence what the difference looks like.

Ids compare exactly (and must be whole numbers), scores after rounding to float32, everything else exactly. A
:class:`Difference` names the first position that differs and the kind of damage. Pure; knows no exchange.

>>> difference((1, 2, 3), (1, 3), equal_ids).sentence
'1 of 3 is missing, the first at position 1'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...capture import float32

Equal = Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two sequences part, and how. ``position`` counts from 0."""

    position: int
    sentence: str


def equal_ids(one: Any, other: Any) -> bool:
    """Ids are the same number of the same type: ``"5"`` and ``5.0`` are not 5."""
    return type(one) is type(other) and one == other


def equal_scores(one: Any, other: Any) -> bool:
    """Scores are the same after rounding to float32, the precision that every server computes in."""
    if one is None or other is None:
        return one is other
    if any(isinstance(score, bool) or not isinstance(score, int | float) for score in (one, other)):
        return False
    return float32(float(one)) == float32(float(other)) or (one != one and other != other)


def difference(right: Sequence[Any], got: Sequence[Any], equal: Equal) -> Difference | None:
    """The first difference and its kind, or None when both say the same."""
    position = next(
        (place for place, (one, other) in enumerate(zip(right, got, strict=False)) if not equal(one, other)), None
    )
    if position is None:
        if len(right) == len(got):
            return None
        position = min(len(right), len(got))
    return Difference(position, _sentence(right, got, position, equal))


def _same(one: Sequence[Any], other: Sequence[Any], equal: Equal) -> bool:
    return len(one) == len(other) and all(map(equal, one, other))


def _sentence(right: Sequence[Any], got: Sequence[Any], position: int, equal: Equal) -> str:
    short, long = len(got) < len(right), len(got) > len(right)
    if not got:
        return "an empty list stands for what is not known"
    if not right:
        return f"{len(got)} values where there are none"
    if short and position == len(got):
        return f"the last {len(right) - len(got)} of {len(right)} are missing"
    if long and position == len(right):
        extra = got[len(right) :]
        if all(value == extra[0] for value in extra) and extra[0] in (0, 0.0, None):
            return f"padded at the end with {len(extra)} times {extra[0]!r}"
        if _same(right, extra[: len(right)], equal):
            return f"everything {len(got) // len(right)} times over"
        return f"{len(extra)} too many at the end"
    if (kind := _kinds(right, got, position)) is not None:
        return kind
    return _moved(right, got, position, equal) or f"other values from position {position}"


def _kinds(right: Sequence[Any], got: Sequence[Any], position: int) -> str | None:
    """Damage that shows in the values alone."""
    one, other = right[position], got[position]
    if isinstance(other, str) and not isinstance(one, str):
        return f"strings instead of numbers from position {position}"
    if isinstance(one, int) and isinstance(other, float) and int(other) == one:
        return f"floats instead of whole numbers from position {position}"
    if other is None:
        return f"null at position {position}"
    if isinstance(one, float) and isinstance(other, int | float) and len(right) == len(got):
        apart = max(abs(float(a) - float(b)) for a, b in zip(right, got, strict=True) if _numbers(a, b))
        if 0 < apart < 0.01:
            return f"rounded: off by up to {apart:.2g}, from position {position}"
    return None


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _moved(right: Sequence[Any], got: Sequence[Any], position: int, equal: Equal) -> str | None:
    """Damage that shows in the order: shifted, dropped, doubled."""
    rest, after = right[position:], got[position:]
    for step in (1, 2):
        tail = len(rest) - step
        if tail > 0 and _prefix(rest[step:], after, equal):
            if len(got) < len(right):
                return f"{len(right) - len(got)} of {len(right)} is missing, the first at position {position}"
            return f"shifted by {'one' if step == 1 else step} from position {position}"
        if len(after) > step and tail > 0 and _prefix(rest[:tail], after[step:], equal):
            if len(got) > len(right):
                return f"{len(got) - len(right)} too many, the first at position {position}"
            return f"shifted by {'one' if step == 1 else step} from position {position}"
    return None


def _prefix(values: Sequence[Any], of: Sequence[Any], equal: Equal) -> bool:
    count = min(len(values), len(of))
    return count > 0 and all(map(equal, islice(values, count), islice(of, count)))
