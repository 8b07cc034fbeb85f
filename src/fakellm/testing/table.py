"""The alignment strip as plain text, for a failing assertion: truth, sent and got, token by token.

Where what was sent is the truth, one column stands for both. Token texts are escaped, so that they can neither colour
nor break a terminal or a log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..conform.strip import AFTER, BEFORE, Row, Strip
from ..diagnosis import MISSING, Cell, same_score

ABSENT = "-"
WIDEST = 24
ARROW = ">"


def table(strip: Strip) -> str:
    """Rows around the first divergence, the diverging ones marked; a last line tells the place and the diagnosis."""
    apart = any(not _same(row.truth, row.sent) for row in strip.rows)
    sides = ("truth", "sent", "got") if apart else ("told", "got")
    values = ("id", "logprob") if strip.of == "completion" else ("id",)
    head = ["", "#", "piece", *(f"{value} {side}" for value in values for side in sides)]
    lines = [head, *(_cells(row, sides, values) for row in strip.rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    drawn = ["  " + "  ".join(_aligned(line, widths)).rstrip() for line in lines]
    tail = f"  choice {strip.choice}, {strip.of} tokens, {strip.total} in all"
    return "\n".join([*drawn, f"{tail}: {printable(strip.diagnosis)}" if strip.diagnosis else tail])


def table_of(strip: Mapping[str, Any]) -> str:
    """The table of a strip as reports keep it (``Strip.to_json``), the rows near the first divergence."""
    rows = tuple(
        Row(
            row["position"], row["piece"], Cell(**row["truth"]), Cell(**row["sent"]), Cell(**row["got"]), row["differs"]
        )
        for row in strip["rows"]
    )
    whole = Strip(strip["choice"], strip["of"], strip["total"], strip["first"], rows, strip["diagnosis"])
    near = range(whole.first - BEFORE, whole.first + AFTER + 1)
    return table(replace(whole, rows=tuple(row for row in rows if row.position in near)))


def _cells(row: Row, sides: Sequence[str], values: Sequence[str]) -> list[str]:
    of = {"truth": row.truth, "told": row.truth, "sent": row.sent, "got": row.got}
    shown = [_shown(getattr(of[side], value)) for value in values for side in sides]
    return [ARROW if row.differs else "", str(row.position), f"'{printable(row.piece)}'"[:WIDEST], *shown]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Marks and pieces to the left, numbers to the right."""
    return [
        cell.ljust(width) if place in (0, 2) else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]


def _same(one: Cell, other: Cell) -> bool:
    return one.id == other.id and same_score(one.logprob, other.logprob)


def _shown(value: Any) -> str:
    if value is MISSING or value == MISSING:
        return ABSENT
    text = f"{value:.6g}" if isinstance(value, float) else printable(str(value))
    return text[:WIDEST]


def printable(text: str) -> str:
    """Text in which every character that could act on a terminal is escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
