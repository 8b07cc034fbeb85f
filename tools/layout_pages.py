"""Write what is generated from the layouts: ``docs/layouts/*.md``.

After a layout's table changed: ``python tools/layout_pages.py``, then read the difference that git shows.
"""

from __future__ import annotations

from pathlib import Path

from fakellm.layouts.pages import pages

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "layouts"


def main() -> None:
    """Write all pages, and remove those of vendors that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for stale in FOLDER.glob("*.md"):
        if stale.name not in made:
            stale.unlink()


if __name__ == "__main__":
    main()
