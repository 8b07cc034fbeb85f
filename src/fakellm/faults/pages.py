"""The catalogue in words: the list for ``fakellm faults``, the page of ``fakellm explain``, the generated docs page.

A fault's page is its docstring: what happens, then ``Why:`` (with the public report), ``Right:`` and ``Breaks:``. What
it does to the wire is handed in by whoever can play it (``showcase.py``). This module plays nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from textwrap import fill
from typing import Any

from .base import Fault, Parameters
from .registry import faults, find

MEANINGS = {
    "recover": "recover the truth: everything is there",
    "null": "report null, or refuse: the value is not on the wire",
    "refuse": "refuse, or report null for the contradictory part: the wire contradicts itself",
    "as-sent": "keep what was sent: no client can know (not detectable by a client)",
}
WIDTH = 110
"""Columns of a page in a terminal."""
_SECTION = re.compile(r"^(Why|Right|Breaks): ", re.MULTILINE)
_LINK = re.compile(r"https?://[^\s,;)]+")


@dataclass(frozen=True, slots=True)
class Page:
    """A fault's docstring in parts. ``what``: everything before the first section."""

    title: str
    what: str
    why: str
    right: str
    breaks: str

    @classmethod
    def of(cls, fault: Fault) -> Page:
        """Read a docstring; a section that is not there is empty."""
        pieces = _SECTION.split(cleandoc(fault.text))
        sections = dict(zip(pieces[1::2], (_joined(piece) for piece in pieces[2::2]), strict=True))
        title, _, rest = pieces[0].partition("\n\n")
        return cls(
            _joined(title),
            _joined(rest),
            sections.get("Why", ""),
            sections.get("Right", ""),
            sections.get("Breaks", ""),
        )

    @property
    def links(self) -> tuple[str, ...]:
        """The public reports behind it."""
        return tuple(dict.fromkeys(link.rstrip(".") for link in _LINK.findall(self.why + " " + self.what)))


def _joined(text: str) -> str:
    return " ".join(text.split())


def row(fault: Fault) -> dict[str, Any]:
    """One entry of ``fakellm faults --json``."""
    page = Page.of(fault)
    return {
        "id": fault.id,
        "layer": fault.layer,
        "client_may": list(fault.client_may),
        "family": fault.family,
        "values": list(fault.values),
        "title": page.title,
        "links": list(page.links),
        "parameters": parameters(fault),
    }


def catalogue() -> dict[str, Any]:
    """What ``fakellm faults --json`` prints."""
    return {"faults": [row(fault) for fault in faults().values()]}


def parameters(fault: Fault) -> dict[str, dict[str, Any]]:
    """The parameters by name: what each means, its type as JSON Schema says it, its default."""
    schema: Mapping[str, Any] = fault.parameters.model_json_schema()
    return {
        name: {key: value for key, value in member.items() if key != "title"}
        for name, member in schema.get("properties", {}).items()
    }


def families() -> dict[str, list[Fault]]:
    """The faults by family, in the order of the catalogue."""
    grouped: dict[str, list[Fault]] = {}
    for fault in faults().values():
        grouped.setdefault(fault.family, []).append(fault)
    return grouped


def explain(id: str, shown: str | None = None, situation: str | None = None) -> str:
    """The page of a fault as plain text; ``shown``: the wire before and after, of which situation."""
    fault = find(id)
    page = Page.of(fault)
    blocks = [
        f"{fault.id}\n{'=' * len(fault.id)}\n{page.title}",
        fill(page.what, WIDTH, break_long_words=False, break_on_hyphens=False),
        f"layer {fault.layer}, family {fault.family}"
        + (f", touches {', '.join(fault.values)}" if fault.values else ", touches the answer as a whole"),
        _listed("A client may", [f"{may}: {MEANINGS[may]}" for may in fault.client_may]),
        _paragraph("Right behaviour", page.right),
        _paragraph("Why it is here", page.why),
        _paragraph("Known to break", page.breaks),
        _listed("Parameters", [_parameter(name, facts) for name, facts in parameters(fault).items()]),
        f"In a scenario:\n  faults: [{fault.id}]",
    ]
    if shown:
        blocks.append(f"On the wire ({situation}):\n{shown}")
    return "\n\n".join(block for block in blocks if block)


def _paragraph(head: str, text: str) -> str:
    return f"{head}:\n{_wrapped(text)}" if text else ""


def _wrapped(text: str) -> str:
    return fill(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _listed(head: str, items: Sequence[str]) -> str:
    return "\n  ".join([f"{head}:", *items])


def _parameter(name: str, facts: Mapping[str, Any]) -> str:
    default = facts.get("default")
    told = "none" if default is None else json.dumps(default)
    choices = f" ({' | '.join(map(str, facts['enum']))})" if "enum" in facts else ""
    return f"{name}: {facts.get('description', '')}{choices} [default {told}]"


def catalogue_page(show: Callable[[Fault], tuple[str, str] | None]) -> str:
    """The generated page of the docs, in Markdown. ``show``: a fault -> (difference, situation), or None."""
    lines = [
        "# The fault catalogue",
        "",
        "Generated from the faults themselves by `tools/fault_pages.py`; do not edit. A fault is asked for in the",
        "`faults:` of a scenario's reply and never touches the truth; the suite judges by what a client may do.",
        "",
        f"{len(faults())} faults in {len(families())} families.",
    ]
    for family, members in families().items():
        lines += ["", f"## {family}"]
        for fault in members:
            lines += ["", *_section(fault, show(fault))]
    return "\n".join(lines) + "\n"


def _section(fault: Fault, shown: tuple[str, str] | None) -> list[str]:
    page = Page.of(fault)
    lines = [f"### `{fault.id}`", "", page.title]
    if page.what:
        lines += ["", page.what]
    lines += ["", f"Layer {fault.layer}. A client may: {', '.join(fault.client_may)}."]
    for head, text in (("Right", page.right), ("Why", page.why), ("Known to break", page.breaks)):
        if text:
            lines += ["", f"**{head}**: {_LINK.sub(lambda link: f'<{link[0]}>', text)}"]
    own = [_parameter(name, facts) for name, facts in parameters(fault).items() if name not in Parameters.model_fields]
    if own:
        lines += ["", *(f"- {line}" for line in own)]
    if shown:
        lines += [
            "",
            f"<details><summary>On the wire: {shown[1]}</summary>",
            "",
            "```diff",
            shown[0],
            "```",
            "</details>",
        ]
    return lines
