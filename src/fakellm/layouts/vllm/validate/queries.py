"""Query parameters of the routes without a body: which a version checks, with the refusal of a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....ask import Request
from ..options import V12, V16, V32
from ..traits import Traits
from .containers import Maybe
from .flaws import Flaw, Refusal
from .kinds import Kind, OneOf, Whole
from .parts import FLAG, WHOLE
from .places import place_of
from .records import Field, Record
from .spelling import spell_flaws

_PAUSE_MODE = OneOf(("abort", "wait", "keep"))


def _flag(name: str, default: bool, **versions: Any) -> Field:
    return Field(name, FLAG, default, **versions)


_PAUSE = (
    Field("mode", _PAUSE_MODE, "abort", since=V16),
    _flag("wait_for_inflight_requests", False, until=V32),
    _flag("clear_cache", True),
)
_LEVEL: Kind = Whole(0, 2)

QUERIES: Mapping[str, tuple[Field, ...]] = {
    "/pause": _PAUSE,
    "/sleep": (Field("level", _LEVEL, 1, since=V32), Field("mode", _PAUSE_MODE, "abort", since=V32)),
    "/reset_prefix_cache": (
        _flag("reset_running_requests", False, since=V12),
        _flag("reset_external", False, since=V16),
    ),
    "/get_world_size": (_flag("include_dp", True),),
    "/server_info": (Field("config_format", OneOf(("text", "json")), "text", since=V12),),
    "/v1/responses/{response_id}": (
        Field("starting_after", Maybe(WHOLE), since=V12),
        Field("stream", Maybe(FLAG), False, since=V12),
    ),
}
"""Route -> its parameters; a parameter that a version does not know is not checked."""


def read_query(route: str, request: Request, traits: Traits) -> Mapping[str, Any] | Refusal:
    """The coerced parameters of a route (its path as the server declares it), or the refusal of wrong ones."""
    record = Record("query", QUERIES.get(route, ())).at(traits.version)
    flaws: list[Flaw] = []
    values = record.check(dict(request.query), ("query",), flaws)
    if flaws:
        return spell_flaws(flaws, place_of(request.method, route, traits.version), traits)
    return values
