"""The tables between the markers of two READMEs: the project's, one row per run, with versions and date, and the one
beside the results, who is driven how. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import table
from .recipe import Recipe
from .result import Result

BEGIN = "<!-- matrix: begin -->"
END = "<!-- matrix: end -->"
DRIVEN_BEGIN = "<!-- driven: begin -->"
DRIVEN_END = "<!-- driven: end -->"
MARKS = {"kept": "yes", "null": "lost", "changed": "wrong", "absent": "–"}
VALUES = ("prompt_token_ids", "completion_token_ids", "logprobs")


def with_table(text: str, results: Sequence[Result], missing: Mapping[str, str]) -> str:
    """The README with the table between its markers renewed; the text as it is where there are no markers."""
    return _between(text, BEGIN, END, block(results, missing))


def with_driven(text: str, recipes: Sequence[Recipe]) -> str:
    """The results' README with its table of who is driven how, from which folder, and by which command."""
    lines = ["| name | how it is driven | again |", "|---|---|---|"]
    for one in recipes:
        link = f"[{_plain(one.name)}](../../{one.folder.as_posix()})"
        again = f"`make matrix CLIENT={one.name}`" if one.model.not_installed is None else "not installed"
        lines.append(f"| {link} | {one.model.driven.replace('|', '/')} | {again} |")
    return _between(text, DRIVEN_BEGIN, DRIVEN_END, "\n".join(lines) + "\n")


def _between(text: str, begin: str, end: str, new: str) -> str:
    if begin not in text or end not in text:
        return text
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{new}{end}{rest.partition(end)[2]}"


def block(results: Sequence[Result], missing: Mapping[str, str]) -> str:
    """The table in Markdown."""
    head = "| | version | verdict | usable | prompt ids | completion ids | logprobs | faults: right / refused / wrong |"
    lines: list[str] = []
    for kind in ("client", "gateway"):
        some = [one for one in results if one.header["kind"] == kind]
        if some:
            lines += ["", head.replace("| |", f"| {kind} |", 1), "|---|---|---|---|---|---|---|---|", *map(_row, some)]
    dates = sorted({one.header["date"] for one in results})
    when = "" if not dates else f" Run on {dates[-1]}."
    lines += [
        "",
        "*yes / lost / wrong* in plain healthy answers, whole and streamed; – where it is not claimed or not on the "
        "wire. The last column counts cases, faulty and healthy. Evidence for all of it is in "
        f"`conformance/results/index.html`, in words in [findings](conformance/results/findings.md).{when}",
    ]
    if missing:
        lines += ["", f"Not installed, with reasons in the site: {', '.join(sorted(missing))}."]
    return "\n".join(lines[1:]) + "\n"


def _row(result: Result) -> str:
    counts = table.counted(result)
    modes = [mode for mode in table.modes([result]) if mode[0] == "chat"] or table.modes([result])[:2]
    cells = [" / ".join(MARKS[table.kept(result, mode)[value].state] for mode in modes) for value in VALUES]
    usable = " of ".join(map(str, result.footer["usable"]))
    right = counts["ok"] + counts["null"] + counts["note"]
    judged = f"{right} / {counts['refused']} / {counts['fail'] + counts['warn']}"
    name = f"[{_plain(result.header['title'])}](conformance/results/runs/{result.name}.html)"
    version = _plain(result.version)
    return f"| {' | '.join([name, version, result.footer['verdict'], usable, *cells, judged])} |"


def _plain(text: str) -> str:
    """Text that cannot end a cell or a link."""
    return "".join(f"\\{character}" if character in "|[]<>`*_\\" else character for character in text)
