"""The static site: ``index.html`` with both tables, and a page per run with the evidence behind every cell.

Works from a file and without network: no script, no font, no image. Whatever comes from a client, a gateway or the
wire is escaped; links lead to http and https alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from itertools import groupby
from typing import Any

from . import table
from .result import VALUES, Result
from .table import Cell

GLYPHS = {
    "ok": "✓",
    "kept": "✓",
    "refused": "R",
    "null": "○",
    "changed": "✗",
    "fail": "✗",
    "warn": "!",
    "note": "i",
    "untested": "?",
    "error": "E",
    "absent": "",
}
WORDS = {
    "ok": "captured, and right",
    "refused": "refused in so many words",
    "null": "said that it does not know",
    "fail": "wrong, lost or made up (a MUST)",
    "warn": "worth a warning (a SHOULD)",
    "note": "worth knowing",
    "untested": "not tested",
    "error": "an error of the suite or the adapter",
    "absent": "cannot arise",
}
SHORT = {"prompt_token_ids": "P", "completion_token_ids": "C", "logprobs": "L", "text": "T", "finish_reason": "F"}
LONG = {name: name.replace("_", " ") for name in VALUES}
_URL = re.compile(r"https?://[^\s<>\"')]+[^\s<>\"').,;]")


def index(results: Sequence[Result], missing: Mapping[str, str]) -> str:
    """The front page. ``missing``: name -> the reason why it could not be run."""
    clients = [one for one in results if one.header["kind"] == "client"]
    gateways = [one for one in results if one.header["kind"] == "gateway"]
    parts = [
        "<h1>What clients and gateways keep</h1>",
        "<p>Prompt token ids, completion token ids and logprobs, followed token by token through released software. "
        "Every cell leads to its evidence. Made by <code>make matrix</code>.</p>",
        _legend(),
    ]
    for word, some in (("clients", clients), ("gateways", gateways)):
        if some:
            parts += [f"<h2>{word.capitalize()} and what they keep of a plain healthy answer</h2>", _kept_table(some)]
            parts += [f"<h2>{word.capitalize()} and faults</h2>", _fault_table(some)]
    if missing:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(why)}</td></tr>" for name, why in sorted(missing.items())
        )
        parts += ["<h2>Not installed</h2>", f"<table><tr><th>name</th><th>the exact reason</th></tr>{rows}</table>"]
    return page("fakellm: the matrix", parts)


def about(result: Result) -> str:
    """The page of one run."""
    head, foot = result.header, result.footer
    usable = f"{foot['usable'][0]} of {foot['usable'][1]}"
    versions = ", ".join(f"{name} {version}" for name, version in head["installed"].items())
    parts = [
        '<p><a href="../index.html">all clients and gateways</a></p>',
        f"<h1>{escape(head['title'])} {escape(result.version)}</h1>",
        f"<p>{linked(head['homepage'])}. Driven: {escape(head['driven'])}.</p>",
        f"<p>Verdict: <b>{escape(foot['verdict'])}</b>; usable captures: {usable} exchanges that carried ids. "
        f"Installed: {escape(versions)}. Layouts: {escape(', '.join(head['layouts'] or ()))}. "
        f"{escape(head['date'])}, {escape(head['platform'])}.</p>",
        f"<p>Again: <code>make matrix CLIENT={escape(head['name'])}</code>; one case in all its variants: "
        f"<code>make matrix CLIENT={escape(head['name'])} MATRIX_ARGS=\"--only 'choices/two'\"</code>. "
        "A check that fails often shows its evidence in a few cases; the command shows it in any.</p>",
    ]
    area = ""
    for slug, rows in groupby(result.cases, lambda row: table.slug(row["id"])):
        if slug.partition("/")[0] != area:
            area = slug.partition("/")[0]
            parts.append(f"<h2>{escape(area)}</h2>")
        parts += _behaviour(slug, list(rows))
    return page(f"{head['title']}: what it keeps", parts)


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page."""
    style = resources.files(__package__ or "").joinpath("site.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{style}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def anchor(case_id: str) -> str:
    """A case id as an anchor."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", case_id).strip("-")


def linked(text: str) -> str:
    """Escaped text in which http and https addresses are links."""
    parts: list[str] = []
    end = 0
    for found in _URL.finditer(text):
        url = escape(found[0])
        parts += [escape(text[end : found.start()]), f'<a href="{url}" rel="noreferrer">{url}</a>']
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _legend() -> str:
    shown = [f'<span class="c {state}">{GLYPHS[state] or "&nbsp;"}</span> {words}' for state, words in WORDS.items()]
    letters = ", ".join(f"<b>{SHORT[name]}</b> {LONG[name]}" for name in VALUES)
    return f'<p class="legend">{"&ensp; ".join(shown)}<br>Columns of the first table: {letters}.</p>'


def _kept_table(results: Sequence[Result]) -> str:
    columns = table.modes(results)
    group = "".join(f'<th colspan="{len(VALUES)}">{_mode(mode)}</th>' for mode in columns)
    letters = "".join(f'<th title="{LONG[name]}">{SHORT[name]}</th>' for _ in columns for name in VALUES)
    rows: list[str] = []
    for result in results:
        cells = [cell for mode in columns for cell in table.kept(result, mode).values()]
        usable = "/".join(map(str, result.footer["usable"]))
        rows.append(
            f'<tr><th class="row">{_named(result)}</th><td>{escape(result.footer["verdict"])}</td><td>{usable}</td>'
            f"{''.join(_cell(result, cell) for cell in cells)}</tr>"
        )
    top = f'<tr><th rowspan="2"></th><th rowspan="2">verdict</th><th rowspan="2">usable</th>{group}</tr>'
    return f'<div class="wide"><table>{top}<tr>{letters}</tr>{"".join(rows)}</table></div>'


def _fault_table(results: Sequence[Result]) -> str:
    heads = "".join(f'<th class="up"><span>{_named(result, version=False)}</span></th>' for result in results)
    rows = [f"<tr><th></th>{heads}</tr>"]
    area = ""
    for row in table.behaviours(results):
        if row.slug.partition("/")[0] != area:
            area = row.slug.partition("/")[0]
            rows.append(f'<tr><th class="area" colspan="{len(results) + 1}">{escape(area)}</th></tr>')
        cells = "".join(_cell(result, table.judged(result, row.slug)) for result in results)
        rows.append(
            f'<tr><th class="row" title="{escape(row.slug)}. {escape(row.why)}">{escape(row.title)}</th>{cells}</tr>'
        )
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _cell(result: Result, cell: Cell) -> str:
    glyph = GLYPHS[cell.state]
    if not cell.case:
        return f'<td class="c {cell.state}">{glyph}</td>'
    href = f"runs/{escape(result.name)}.html#{anchor(cell.case)}"
    words = f' title="{escape(cell.words)}"' if cell.words else ""
    return f'<td class="c {cell.state}"{words}><a href="{href}">{glyph}</a></td>'


def _named(result: Result, *, version: bool = True) -> str:
    number = f" {escape(result.version)}" if version else ""
    return f'<a href="runs/{escape(result.name)}.html">{escape(result.header["title"])}</a>{number}'


def _mode(mode: tuple[str, bool]) -> str:
    return f"{mode[0]}, {'stream' if mode[1] else 'whole'}"


def _behaviour(slug: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One case with its variants: what it is told once, a healthy variant is a line, any other can be opened."""
    first = rows[0]
    why = f"<p>{linked(first['why'])}</p>" if first.get("why") else ""
    faults = sorted({fault for row in rows for fault in row["faults"]})
    played = f"<p>Faults played: {escape(', '.join(faults))}.</p>" if faults else ""
    head = f"<h3><code>{escape(slug)}</code> {escape(first.get('title', ''))}</h3>"
    return [head + why + played, *(_case(row) if row["failed"] else _healthy(row) for row in rows)]


def _healthy(row: Mapping[str, Any]) -> str:
    state = table.state_of(row)
    mark = f'<span class="c {state}">{GLYPHS[state]}</span>'
    return f'<p id="{anchor(row["id"])}">{mark} <code>{escape(_axes(row))}</code> {escape(_told(row))}</p>'


def _axes(row: Mapping[str, Any]) -> str:
    """``chat, stream, vllm-0.32.0``."""
    axes = table.axes(row["id"])
    streamed = {"true": "stream", "false": "whole"}.get(axes.get("stream", ""), "")
    return ", ".join(word for word in (axes.get("api", ""), streamed, axes.get("layout", "")) if word) or row["id"]


def _told(row: Mapping[str, Any]) -> str:
    """How a call ended, what became of what was sent, and how much of it was judged."""
    states: dict[str, list[str]] = {}
    for name, state in row["values"].items():
        states.setdefault(state, []).append(LONG[name])
    kept = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    ended = ": ".join(word for word in (row.get("ending", ""), row.get("message", "")) if word)
    return ". ".join(word for word in (ended, kept, f"{len(row['passed'])} checks passed") if word) + "."


def _case(row: Mapping[str, Any]) -> str:
    state = table.state_of(row)
    checks = sorted({finding["check"] for finding in row["failed"]})
    head = (
        f'<span class="c {state}">{GLYPHS[state]}</span> <code>{escape(_axes(row))}</code> {escape(", ".join(checks))}'
    )
    lines = [f"<p>{escape(_told(row))}</p>", *(_finding(finding) for finding in row["failed"])]
    if row.get("strip"):
        lines.append(_strip(row["strip"]))
    lines += [
        f"<h4>{escape(name)}</h4><pre>{escape(_text(side))}</pre>" for name, side in row.get("evidence", {}).items()
    ]
    if row.get("reproduce") and row.get("evidence"):
        lines.append(f"<h4>again</h4><pre>{escape(row['reproduce'])}</pre>")
    return f'<details id="{anchor(row["id"])}"><summary>{head}</summary>{"".join(lines)}</details>'


def _finding(finding: Mapping[str, Any]) -> str:
    told = [finding.get("where", ""), finding.get("message", ""), finding.get("diagnosis", "")]
    told += [f"kept {finding['kept']}"] if finding.get("kept") else []
    reason = f" <i>Known: {escape(finding['reason'])}</i>" if finding.get("reason") else ""
    words = escape(". ".join(one for one in told if one))
    head = escape(f"{finding['outcome']} ({finding['level']}) {finding['check']}")
    return f"<p><b>{head}</b>: {words}{reason}</p>"


def _strip(strip: Mapping[str, Any]) -> str:
    rows: list[str] = []
    for one in strip["rows"]:
        cells = [f"<td>{_of(one, side, name)}</td>" for name in ("id", "logprob") for side in ("truth", "sent", "got")]
        mark = ' class="differs"' if one.get("differs") else ""
        rows.append(
            f"<tr{mark}><td>{one['position']}</td><td>{escape(repr(one.get('piece')))}</td>{''.join(cells)}</tr>"
        )
    heads = "".join(f"<th>{side} {name}</th>" for name in ("id", "logprob") for side in ("truth", "sent", "got"))
    words = (
        f"choice {strip.get('choice')}, {strip.get('of')} tokens, {strip.get('total')} in all: {strip.get('diagnosis')}"
    )
    return f'<table class="strip"><tr><th>#</th><th>piece</th>{heads}</tr>{"".join(rows)}</table><p>{escape(words)}</p>'


def _of(row: Mapping[str, Any], side: str, name: str) -> str:
    cell: Mapping[str, Any] = row.get(side) or {}
    return escape(str(cell.get(name)))


def _text(side: Any) -> str:
    return side if isinstance(side, str) else "\n".join(map(str, side))
