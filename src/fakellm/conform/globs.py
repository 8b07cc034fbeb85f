"""Selecting cases by glob: ``*``, ``**`` and ``?``, nothing else; brackets are literal.

``*`` is any run of characters without a slash, ``**`` any run at all, ``?`` one character that is no slash. A pattern
is held against the whole id and against the slug (the id without its bracketed axes), so ``ids/nested*`` and
``ids/nested-under-choice[api=chat,layout=vllm-0.32.0,stream=true]`` both select. Pure text; knows no case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression for ``fullmatch``."""
    parts: list[str] = []
    for piece in re.split(r"(\*\*|\*|\?)", pattern):
        parts.append({"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)))
    return re.compile("".join(parts), re.DOTALL)


def slug(case_id: str) -> str:
    """The id without its axes.

    >>> slug("ids/nested[api=chat,stream=true]")
    'ids/nested'
    """
    return case_id.partition("[")[0]


def matches(pattern: str, case_id: str, formerly: Iterable[str] = ()) -> bool:
    """Whether the pattern selects this case, under its name of today or a former one.

    >>> matches("ids/*", "ids/nested[api=chat]"), matches("i*", "ids/nested"), matches("**", "ids/nested")
    (True, False, True)
    """
    regex = compiled(pattern)
    names = [case_id, slug(case_id)]
    axes = case_id[len(slug(case_id)) :]
    for old in formerly:
        names += [old, old + axes]
    return any(regex.fullmatch(name) for name in names)
