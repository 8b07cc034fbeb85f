"""Which path is answered by whom: a small router over ``Route`` values.

A path may hold ``{name}`` parameters; a route may exist only in some versions or with some launch options (``when``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .api import Handler, Running


def _everywhere(running: Running) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Route:
    """Methods, path and handler. ``when``: whether this server has the route at all."""

    methods: tuple[str, ...]
    path: str
    handler: Handler
    when: Callable[[Running], bool] = _everywhere


@lru_cache(maxsize=512)
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part)
            for part in re.split(r"(\{\w+\})", path)
        )
    )


def _matches(route: Route, path: str) -> Mapping[str, str] | None:
    if "{" not in route.path:
        return {} if route.path == path else None
    match = _pattern(route.path).fullmatch(path)
    return None if match is None else match.groupdict()


def matching(
    routes: Sequence[Route], method: str, path: str, running: Running
) -> tuple[Route, Mapping[str, str]] | None:
    """The first route for this method and path, with the path's parameters."""
    for route in routes:
        if method in route.methods and (parameters := _matches(route, path)) is not None and route.when(running):
            return route, parameters
    return None


def allowed(routes: Sequence[Route], path: str, running: Running) -> tuple[str, ...]:
    """Methods of the first route with this path (what Starlette puts into Allow)."""
    for route in routes:
        if _matches(route, path) is not None and route.when(running):
            return route.methods
    return ()
