"""The manual: every page that it names is there, every link leads somewhere, and the reference says all there is."""

from __future__ import annotations

import re
from pathlib import Path

import doc_pages
import pytest
import yaml

from fakellm.cli import COMMANDS
from fakellm.conform.checks import all_checks
from fakellm.layouts.registry import all_layouts

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = ("reference", "generated")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
SNIPPET = re.compile(r"^--8<-- (\S+)$", re.M)


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every page by its path below docs/, those that are generated among them."""
    made = tmp_path_factory.mktemp("docs")
    assert 0 == doc_pages.main([str(made)])
    written = {path: DOCS for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in MADE}
    fresh = dict.fromkeys(made.rglob("*.*"), made)
    return {path.relative_to(home).as_posix(): path.read_text() for path, home in {**written, **fresh}.items()}


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    return {doc_pages.anchor(heading.strip()) for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def test_every_link_leads_to_a_page_and_to_a_heading_on_it(manual: dict[str, str]) -> None:
    broken: list[str] = []
    for name, text in manual.items():
        for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)):
            if re.match(r"[a-z]+:", target):
                continue
            page, _, anchor = target.partition("#")
            found = (
                (DOCS / name).parent.joinpath(page).resolve().relative_to(DOCS.resolve()).as_posix() if page else name
            )
            if found not in manual or (anchor and anchor not in anchors(manual[found])):
                broken.append(f"{name}: {target}")

    assert [] == broken


def test_every_page_of_the_menu_is_there(manual: dict[str, str]) -> None:
    text = re.sub(r"!!\S+", "", (ROOT / "mkdocs.yml").read_text())

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        if isinstance(entry, dict):
            return [page for inner in entry.values() for page in pages(inner)]
        return [page for inner in entry for page in pages(inner)] if isinstance(entry, list) else []

    assert [] == [page for page in pages(yaml.safe_load(text)["nav"]) if page not in manual]


def test_every_file_that_a_page_shows_is_there(manual: dict[str, str]) -> None:
    shown = {(name, path) for name, text in manual.items() for path in SNIPPET.findall(text)}

    assert shown
    assert [] == [(name, path) for name, path in shown if not (ROOT / path).is_file() and path not in manual]


@pytest.mark.parametrize(
    "page, names",
    [
        ("commands", list(COMMANDS)),
        ("checks", [check.id for check in all_checks()]),
        ("layouts", [layout.name for layout in all_layouts()]),
        ("scenario", ["replies", "when", "say", "faults", "then", "finish_reason", "dribble"]),
        ("pytest", ["fakellm_factory", "assert_captured", "--fakellm-layout", "unused", "then("]),
        ("admin", ["/_fakellm/truth/{response_id}", "/_fakellm/verdict"]),
        ("cases", ["ids/", "scores/"]),
    ],
)
def test_the_reference_says_all_there_is(manual: dict[str, str], page: str, names: list[str]) -> None:
    assert [] == [name for name in names if name not in manual[f"reference/{page}.md"]]


def test_every_route_key_and_option_is_explained(manual: dict[str, str]) -> None:
    """A row whose last cell is empty is a name without words."""
    rows = [line for line in manual["reference/admin.md"].splitlines() if line.startswith("| `")]

    assert rows
    assert [] == [row for row in rows if row.split("|")[-2].strip() == ""]
