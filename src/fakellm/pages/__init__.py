"""The parts that pages for the browser are made of: what report.html and the inspector share, and the inspector itself.

Plain HTML, CSS and JavaScript, no build step and nothing from a network. Whatever came over a wire is set as text by
the scripts, never as markup. This package only hands the files out.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def page_part(name: str) -> str:
    """The text of one file beside this module."""
    return resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
