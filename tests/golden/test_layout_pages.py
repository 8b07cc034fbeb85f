"""The pages of the docs say what the layouts say now; after a table changed: ``python tools/layout_pages.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakellm.layouts.pages import changes, page, pages, table
from fakellm.layouts.registry import all_layouts, find

FOLDER = Path(__file__).parents[2] / "docs" / "layouts"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_docs_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]


def test_no_page_is_left_over() -> None:
    assert set(PAGES) == {path.name for path in FOLDER.glob("*.md")}


def test_every_layout_is_on_the_index_with_its_evidence() -> None:
    index = PAGES["README.md"]

    assert [
        one.name for one in all_layouts() if f"| [{one.name}]({one.vendor}.md) | {one.evidence} |" not in index
    ] == []


def test_a_page_names_the_flag_the_place_and_the_end_token() -> None:
    text = page(find("vllm-0.32.0").layout)

    assert '| completion ids | `choices[].token_ids` | `{"return_token_ids": true}` | body | yes |  |' in text


def test_what_is_never_told_is_said() -> None:
    rows = find("mistral").layout.accessors["chat", False]

    assert table(rows)[-1] == "Never told: prompt ids, prompt logprobs."


def test_versions_are_told_apart_by_what_they_keep() -> None:
    said = changes(find("vllm-0.28.0").layout, find("vllm-0.32.0").layout)

    assert any(line.startswith("- chat, streamed: logprobs at") and "nothing is lost any more" in line for line in said)


def test_equal_tables_have_no_changes() -> None:
    layout = find("sglang-0.5.23").layout

    assert changes(layout, layout) == ["- places and flags stay the same"]
