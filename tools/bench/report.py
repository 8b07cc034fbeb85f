"""From results to what people read: what holds and what does not, one table per measure, and the plots.

Results are one JSON value per measure, beside the run that gave them. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .plot import Bar, Line, bars, lines

Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bound:
    """One promise: ``name``, of which measure, how its number is read, and the bound that it must not pass."""

    name: str
    measure: str
    read: Callable[[Results], float | None]
    limit: float
    at_least: bool = False

    def row(self, results: Results) -> list[str]:
        found = self.read(results[self.measure]) if self.measure in results else None
        if found is None:
            return [self.name, self._limit(), "not measured", ""]
        holds = found >= self.limit if self.at_least else found <= self.limit
        return [self.name, self._limit(), f"{found:g}", "holds" if holds else "**does not hold**"]

    def _limit(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit:g}"


BOUNDS: tuple[Bound, ...] = (
    Bound("CPU per answer, times the constant server", "cost", lambda r: r["ratio_per_request"], 1.4),
    Bound("CPU per streamed event, times one write per event", "cost", lambda r: r["ratio_per_event"], 0.25),
    Bound("CPU per answer, share of the fastest peer's", "peers", lambda r: r["share_of_fastest"], 0.75),
    Bound("CPU per answer, share of every other peer's", "peers", lambda r: r["largest_share_of_the_others"], 0.5),
    Bound(
        "paced events per CPU second, times one sleep per token",
        "paced",
        lambda r: r["ratio_events_per_cpu_s"],
        2,
        True,
    ),
    Bound("lateness at half saturation, 99th percentile, in ticks", "paced", lambda r: r["late_ticks_p99_at_half"], 2),
    Bound("memory grown after the first tenth, equal prompts", "memory", lambda r: r["equal"]["growth"], 0.05),
    Bound("memory grown after the first tenth, ever-new prompts", "memory", lambda r: r["ever_new"]["growth"], 0.05),
)


def bounds(results: Results) -> list[str]:
    """What was promised, beside what was measured."""
    return table(["what", "promised", "measured", ""], [bound.row(results) for bound in BOUNDS])


def table(heads: list[str], rows: list[list[Any]]) -> list[str]:
    """A Markdown table."""
    lines_of = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines_of + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float) and value >= 1000:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def cost(found: Results) -> list[str]:
    rows = [
        ["answer, equal requests", found["request_us"], found["constant_request_us"], found["ratio_per_request"]],
        [
            "answer, every prompt new",
            found["request_new_prompts_us"],
            found["constant_request_us"],
            found["ratio_per_request_new_prompts"],
        ],
        ["streamed event", found["event_us"], found["constant_event_us"], found["ratio_per_event"]],
    ]
    return table(["CPU, µs", "fakellm", "constant", "ratio"], rows)


def peers(found: Results) -> list[str]:
    heads = ["server", "version", "CPU per request, µs", "requests/s", "p99 ms", "listens after, s", "memory, MB", ""]
    keys = ("name", "version", "request_us", "requests_per_s", "p99_ms", "listening_s", "resident_mb", "note")
    rows = [["" if row[key] is None else row[key] for key in keys] for row in sorted(found["rows"], key=_by_cpu)]
    rows += [
        [gone["name"], gone["version"], "did not run", "", "", "", "", gone["reason"]] for gone in found["missing"]
    ]
    return table(heads, rows)


def _by_cpu(row: Results) -> float:
    return row["request_us"]


def throughput(found: Results) -> list[str]:
    rows = [
        [name, *(row[key] for key in ("requests_per_s", "p50_ms", "p99_ms", "events_per_s"))]
        for name, row in found.items()
    ]
    return table(["64 connections", "requests/s", "p50 ms", "p99 ms", "streamed events/s"], rows)


def paced(found: Results) -> list[str]:
    streams, half = found["streams"], found["half"]
    shown = (
        (f"fakellm, {streams:,} streams", found["fakellm"]),
        (f"one sleep per token, {streams:,} streams", found["sleeping"]),
        (f"fakellm, {half['streams']:,} streams: half of its saturation", half),
    )
    keys = ("event_us", "events_per_cpu_s", "late_ms_p50", "late_ms_p99")
    rows = [[name, *(row[key] for key in keys)] for name, row in shown]
    return table(
        ["20 ms between tokens", "CPU per event, µs", "events per CPU second", "late p50, ms", "late p99, ms"], rows
    )


def start(found: Results) -> list[str]:
    rows: list[list[Any]] = [
        ["fakellm listens", f"{found['listening_s']} s"],
        ["its first answer is there", f"{found['first_answer_s']} s"],
        ["the constant aiohttp server listens", f"{found['constant_listening_s']} s"],
        ["Python itself", f"{found['python_s']} s"],
    ]
    for name, key in (
        ("first byte of a stream", "first_byte"),
        ("the same, every prompt new", "first_byte_new_prompts"),
        ("the same, constant server", "constant_first_byte"),
    ):
        rows.append([name, f"{found[key]['p50_ms']} ms (p99 {found[key]['p99_ms']} ms)"])
    return table(["after", "time"], rows)


def variants(found: Results) -> list[str]:
    rows = [[row["what"], row["bytes"], row["first_us"], row["again_us"]] for row in found["rows"]]
    return table(["50 tokens with ids", "bytes", "CPU the first time, µs", "CPU again, µs"], rows)


def growth(found: Results) -> list[str]:
    keys = [
        f"{kind}_{what}"
        for kind in ("whole", "stream")
        for what in ("first_us_per_token", "again_us_per_token", "grown_mb")
    ]
    rows = [[row["tokens"], *(row[key] for key in keys)] for row in found["rows"]]
    heads = [
        "tokens",
        "whole: first, µs/token",
        "again",
        "grown, MB",
        "streamed: first, µs/token",
        "again",
        "grown, MB",
    ]
    return table(heads, rows)


def scenarios(found: Results) -> list[str]:
    rows = [[row["replies"], row["equals_us"], row["contains_us"]] for row in found["rows"]]
    return table(["replies", "exact rules, µs per request", "`contains` rules, µs per request"], rows)


def memory(found: Results) -> list[str]:
    rows = [
        [
            name,
            found[key]["at_start_mb"],
            found[key]["sizes_mb"][0],
            found[key]["sizes_mb"][-1],
            f"{found[key]['growth']:.1%}",
        ]
        for name, key in (("equal prompts", "equal"), ("every prompt new", "ever_new"))
    ]
    requests = found["equal"]["requests"]
    return table(["resident MB", "at start", f"after {requests[0]:,}", f"after {requests[-1]:,}", "grown since"], rows)


TABLES: dict[str, Callable[[Results], list[str]]] = {
    "cost": cost,
    "peers": peers,
    "throughput": throughput,
    "paced": paced,
    "start": start,
    "variants": variants,
    "growth": growth,
    "scenarios": scenarios,
    "memory": memory,
}


def plots(results: Results) -> dict[str, str]:
    """File name -> SVG, of whatever was measured."""
    made: dict[str, str] = {}
    if "peers" in results:
        rows = sorted(results["peers"]["rows"], key=_by_cpu)
        shown = [
            Bar(row["name"], row["request_us"], row["version"] is None and "constant" not in row["name"])
            for row in rows
        ]
        made["peers.svg"] = bars(
            "CPU per chat answer of fifty words", "µs of the server's CPU time, less is better", shown
        )
    if "growth" in results:
        made["growth.svg"] = _growth_plot(results["growth"])
    if "memory" in results:
        series = [
            Line(name, list(zip(results["memory"][key]["requests"], results["memory"][key]["sizes_mb"], strict=True)))
            for name, key in (("equal prompts", "equal"), ("every prompt new", "ever_new"))
        ]
        made["memory.svg"] = lines("Resident memory", "requests", "MB", series)
    if "scenarios" in results:
        rows = results["scenarios"]["rows"]
        series = [
            Line(f"{kind} rules", [(row["replies"], row[f"{kind}_us"]) for row in rows])
            for kind in ("equals", "contains")
        ]
        made["scenarios.svg"] = lines(
            "Finding the reply", "replies in the script", "µs per request", series, log_x=True
        )
    return made


def _growth_plot(found: Results) -> str:
    rows = [row for row in found["rows"] if row["tokens"] >= 100]
    series = [
        Line(name, [(row["tokens"], row[key]) for row in rows])
        for name, key in (
            ("streamed, first", "stream_first_us_per_token"),
            ("whole, first", "whole_first_us_per_token"),
            ("streamed, again", "stream_again_us_per_token"),
            ("whole, again", "whole_again_us_per_token"),
        )
    ]
    return lines("CPU per token", "tokens of the answer", "µs per token, flat is linear", series, log_x=True)
