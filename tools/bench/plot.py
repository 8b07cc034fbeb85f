"""Plots as SVG text: horizontal bars and lines, enough for a benchmark page and without a plotting library.

Colours follow the reader's light or dark scheme. Pure: numbers in, text out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT = 760, 210, 90
INKS = ("#0f8a7e", "#d9822b", "#6b5fc7", "#b8405e")
STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:15px}"
    ".dim{fill:#777;font-size:12px}.rule{stroke:#999;stroke-opacity:.35}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.dim{fill:#999}}</style>"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One row. ``ours``: in the colour of the house."""

    name: str
    value: float
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]


def bars(title: str, unit: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars from zero, each with its number."""
    largest = max((row.value for row in rows), default=1.0) or 1.0
    room = WIDTH - LEFT - RIGHT
    parts = [_title(title, unit)]
    for place, row in enumerate(rows):
        y = 52 + place * 28
        width = max(row.value / largest * room, 1.0)
        ink = INKS[0] if row.ours else "#9aa5a4"
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(row.name)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="19" rx="2" fill="{ink}"/>')
        parts.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 14}">{_number(row.value)}</text>')
    return _svg(title, 60 + len(rows) * 28, parts)


def lines(title: str, x_name: str, y_name: str, series: Sequence[Line], *, log_x: bool = False) -> str:
    """Lines over a shared scale; y begins at zero."""
    left, top, width, height = 70, 50, WIDTH - 240, 240
    xs = [x for line in series for x, _ in line.points]
    high = _round_above(max((y for line in series for _, y in line.points), default=1.0))
    scale: Callable[[float], float] = math.log10 if log_x else float
    low, far = scale(min(xs)), scale(max(xs))

    def place(x: float, y: float) -> str:
        across = left + (scale(x) - low) / ((far - low) or 1.0) * width
        return f"{across:.1f},{top + height - y / high * height:.1f}"

    parts = [_title(title, y_name)]
    for step in range(5):
        y = top + height - step / 4 * height
        parts.append(f'<line class="rule" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="dim" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(high * step / 4)}</text>'
        )
    for x in sorted(set(xs)):
        across = place(x, 0).split(",")[0]
        parts.append(f'<text class="dim" x="{across}" y="{top + height + 18}" text-anchor="middle">{_number(x)}</text>')
    parts.append(
        f'<text class="dim" x="{left + width}" y="{top + height + 36}" text-anchor="end">{escape(x_name)}</text>'
    )
    for number, line in enumerate(series):
        ink = INKS[number % len(INKS)]
        points = " ".join(place(x, y) for x, y in line.points)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="2"/>')
        parts.extend(
            f'<circle cx="{at[0]}" cy="{at[1]}" r="3" fill="{ink}"/>'
            for at in (pair.split(",") for pair in points.split())
        )
        parts.append(
            f'<text x="{left + width + 14}" y="{top + 14 + number * 20}" style="fill:{ink}">{escape(line.name)}</text>'
        )
    return _svg(title, top + height + 48, parts)


def _title(title: str, unit: str) -> str:
    return (
        f'<text class="title" x="12" y="22">{escape(title)}</text><text class="dim" x="12" y="40">{escape(unit)}</text>'
    )


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, STYLE, *parts, "</svg>", ""])


def _round_above(value: float) -> float:
    """The next number whose quarters read well.

    >>> _round_above(52.9), _round_above(4237.0), _round_above(0.0)
    (60.0, 6000.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if step * power >= value)


def _number(value: float) -> str:
    """As few digits as tell it.

    >>> _number(0.1234), _number(12.34), _number(1234567.0)
    ('0.12', '12.3', '1,234,567')
    """
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
