"""The documentation pages of the layouts, made from the accessor tables that the servers and readers themselves use.

One page per vendor: how it is known, which flags to send, where each API tells prompt ids, completion ids, scores, text
and the end token, whole and streamed, what it never tells, and what changed from version to version. Pure; knows no
vendor by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from .base import Accessor, Layout
from .registry import VENDORS, vendor_layouts

ALWAYS = ("prompt_token_ids", "completion_token_ids", "logprobs", "top_logprobs", "prompt_logprobs")
"""Values whose absence is said."""
WORDS = {
    "prompt_token_ids": "prompt ids",
    "completion_token_ids": "completion ids",
    "logprobs": "logprobs",
    "top_logprobs": "alternatives",
    "prompt_logprobs": "prompt logprobs",
    "text": "text",
    "finish_reason": "finish reason",
    "usage": "usage",
    "weight_versions": "weight versions",
}
EVIDENCE = {
    "captured": "captured from the real server",
    "source": "read in its source, never captured",
    "documents": "from its documents, never captured",
}
MESSAGES = {"role": "first chunk", "delta": "chunks", "finish": "finish chunk", "usage": "usage chunk", "body": "body"}
ROUTES = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "tito": "/inference/v1/generate",
    "generate": "/generate",
    "completion": "/completion",
    "ollama": "/api/chat",
    "ollama-generate": "/api/generate",
    "atropos": "/generate",
}
Key = tuple[str, bool]


def page(layout: Layout) -> str:
    """One layout: a table for every API and mode, without a heading of the page's own."""
    lines = [f"## {layout.name}", "", f"Known: {EVIDENCE.get(layout.evidence, layout.evidence)}.", ""]
    if layout.notes:
        lines += [f"Notes: {layout.notes.rstrip('.')}.", ""]
    for key in sorted(layout.accessors):
        lines += [f"### {_title(key)}", "", *table(layout.accessors[key]), ""]
    if layout.routes:
        lines += ["### Routes", "", *_routes(layout), ""]
    return "\n".join(lines)


def _routes(layout: Layout) -> Iterator[str]:
    """Every path that is answered, and those that the real server has besides."""
    yield f"Answered: {', '.join(f'`{path}`' for path in layout.routes)}."
    if layout.left_out:
        yield from ("", "Not answered (404), though the real server has it:", "")
        yield from (f"- `{path}`: {why}" for path, why in sorted(layout.left_out.items()))


def vendor_page(layouts: Sequence[Layout]) -> str:
    """A vendor's page: its newest version in full, then what each version before did otherwise."""
    newest, *rest = sorted(layouts, key=lambda layout: layout.version, reverse=True)
    names = ", ".join(f"`{layout.name}` ({layout.evidence})" for layout in sorted(layouts, key=lambda one: one.version))
    lines = [
        f"# {newest.vendor}",
        "",
        "Generated from the layouts themselves by `tools/layout_pages.py`; do not edit.",
        "",
        f"Layouts: {names}.",
        "",
        "What is not asked for, or never told, reads as nothing (`null`), not as an empty list. "
        "*End token* says whether the id or score of the end token is part of the value when the answer ended by it.",
        "",
        page(newest),
    ]
    dated = [newest, *(layout for layout in rest if layout.version)]
    for layout in (layout for layout in rest if not layout.version):
        lines += [page(layout)]
    if len(dated) > 1:
        lines += ["## From version to version", ""]
        for older, newer in pairwise(reversed(dated)):
            lines += [f"### {older.name} to {newer.name}", "", *changes(older, newer), ""]
    return "\n".join(lines).rstrip() + "\n"


def index_page() -> str:
    """All layouts, with what each API and mode tells of ids and scores."""
    lines = [
        "# Layouts",
        "",
        "Generated from the layouts themselves by `tools/layout_pages.py`; do not edit. `yes`: with the flags that the "
        "vendor's page names; `part`: something is lost, as the page tells; `no`: never told. *End*: whether "
        "completion ids (or, without them, logprobs) include the end token.",
        "",
        "| layout | known by | API | mode | prompt ids | completion ids | logprobs | end |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for vendor in VENDORS:
        for layout in vendor_layouts(vendor):
            lines += list(_index_rows(layout))
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Every page, by the name of its file."""
    made = {f"{vendor}.md": vendor_page(vendor_layouts(vendor)) for vendor in VENDORS}
    return {"README.md": index_page(), **made}


def table(rows: Iterable[Accessor]) -> list[str]:
    """One API and mode as a Markdown table, and a line for what is never told."""
    listed = list(rows)
    lines = ["| value | place | flags to send | in | end token | lost |", "|---|---|---|---|---|---|"]
    lines += [_row(accessor) for accessor in listed]
    told = {accessor.value for accessor in listed}
    missing = [WORDS[value] for value in ALWAYS if value not in told]
    return [*lines, "", f"Never told: {', '.join(missing)}."] if missing else lines


def changes(older: Layout, newer: Layout) -> list[str]:
    """What the newer version's tables say otherwise, as list items."""
    found: list[str] = []
    for key in sorted({*older.accessors, *newer.accessors}):
        if key not in older.accessors:
            found.append(f"- {_short(key)}: new")
        elif key not in newer.accessors:
            found.append(f"- {_short(key)}: gone")
        else:
            found += list(_differences(key, older.accessors[key], newer.accessors[key]))
    for word, paths in (
        ("new", set(newer.routes) - set(older.routes)),
        ("gone", set(older.routes) - set(newer.routes)),
    ):
        if paths:
            found.append(f"- routes {word}: {', '.join(f'`{path}`' for path in sorted(paths))}")
    return found or ["- places and flags stay the same"]


def _differences(key: Key, older: Sequence[Accessor], newer: Sequence[Accessor]) -> Iterator[str]:
    before = {(row.value, row.path): row for row in older}
    after = {(row.value, row.path): row for row in newer}
    for name, row in after.items():
        word = f"- {_short(key)}: {WORDS.get(row.value, row.value)} at `{row.path}`"
        old = before.get(name)
        if old is None:
            yield f"{word}: new, with {_flags(row)}"
        elif said := ", ".join(_turned(old, row)):
            yield f"{word}: {said}"
    for name, row in before.items():
        if name not in after:
            yield f"- {_short(key)}: {WORDS.get(row.value, row.value)} at `{row.path}`: gone"


def _turned(old: Accessor, new: Accessor) -> Iterator[str]:
    """Each thing that is otherwise about one place, with what it was before."""
    if old.flags != new.flags:
        yield f"asked for by {_flags(new)} (before: {_flags(old)})"
    if old.messages != new.messages:
        yield f"in {_messages(new)} (before: {_messages(old)})"
    if old.eos != new.eos:
        yield "with the end token (before: without)" if new.eos else "without the end token (before: with it)"
    if old.loss != new.loss:
        yield f"{new.loss or 'nothing is lost any more'} (before: {old.loss or 'nothing was lost'})"


def _index_rows(layout: Layout) -> Iterator[str]:
    for key in sorted(layout.accessors):
        rows = {row.value: row for row in reversed(layout.accessors[key])}
        cells = [_told(rows.get(value)) for value in ALWAYS[:3]]
        counted = rows.get("completion_token_ids") or rows.get("logprobs")
        end = "-" if counted is None else _yes(counted.eos)
        mode = "stream" if key[1] else "whole"
        name = f"[{layout.name}]({layout.vendor}.md)"
        yield f"| {' | '.join((name, layout.evidence, key[0], mode, *cells, end))} |"


def _told(row: Accessor | None) -> str:
    return "no" if row is None else "yes" if row.loss is None else "part"


def _row(row: Accessor) -> str:
    scored = row.value in ("completion_token_ids", "logprobs", "top_logprobs")
    cells = (
        WORDS.get(row.value, row.value),
        f"`{row.path}`",
        _flags(row),
        _messages(row),
        _yes(row.eos) if scored else "",
        row.loss or "",
    )
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _flags(row: Accessor) -> str:
    return f"`{json.dumps(dict(row.flags))}`" if row.flags else "no flag"


def _messages(row: Accessor) -> str:
    return ", ".join(MESSAGES.get(kind, f"`{kind}`") for kind in row.messages) or "body"


def _title(key: Key) -> str:
    route = f" ({ROUTES[key[0]]})" if key[0] in ROUTES else ""
    return f"{key[0]}{route}, {'streamed' if key[1] else 'whole'}"


def _short(key: Key) -> str:
    return f"{key[0]}, {'streamed' if key[1] else 'whole'}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
