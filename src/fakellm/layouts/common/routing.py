"""Which path is answered by whom: a table of routes, paths with ``{name}`` parameters. Knows no vendor and no body."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Route:
    """Methods, path and who answers it."""

    methods: tuple[str, ...]
    path: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class Match:
    """What was found: a route with its path's parameters, or only the methods that this path has."""

    route: Route | None
    parameters: Mapping[str, str]
    allowed: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", path)
    return re.compile("".join(f"(?P<{part[1:-1]}>[^/]+)" if part[:1] == "{" else re.escape(part) for part in parts))


def find(routes: Sequence[Route], method: str, path: str) -> Match:
    """The route for a method and path; HEAD is answered where GET is."""
    allowed: list[str] = []
    for route in routes:
        match = _pattern(route.path).fullmatch(path)
        if match is None:
            continue
        if method in route.methods or (method == "HEAD" and "GET" in route.methods):
            return Match(route, match.groupdict())
        allowed += route.methods
    return Match(None, {}, tuple(allowed))
