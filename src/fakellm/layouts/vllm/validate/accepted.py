"""What was accepted before: a plain chat whose members but for its texts equal those of one that passed has passed.

Nothing that vLLM checks before templating looks at the characters of a message's text, so a request's verdict depends
on its other members and on who speaks in which order. ``Accepted`` keeps the fields of requests that passed, by exactly
that; anything that is not plain (parts, tool calls, names, empty texts) is read in full each time, and refusals are
never remembered. A test holds what is recalled equal to what is read. Belongs to one running server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

MOST = 512
"""Kinds of request that are remembered: a client sends a handful, each some kilobytes here."""
LONGEST = 8192
"""Characters of a key; a request with large other members (tools, schemas) is read each time."""
_ROLES = frozenset({"system", "user", "assistant"})
_MEMBERS = {"role", "content"}


@dataclass(slots=True)
class Kind:
    """What requests of one kind share. ``values``: every field but the messages; ``lengths``: prompts of so many tokens
    that the engine took."""

    values: Mapping[str, Any]
    ignored: tuple[str, ...]
    lengths: set[int] = field(default_factory=set[int])


class Accepted:
    """The kinds of plain chat that one server accepted; bounded."""

    def __init__(self) -> None:
        self._kinds: OrderedDict[str, Kind] = OrderedDict()

    def find(self, key: str) -> Kind | None:
        kind = self._kinds.get(key)
        if kind is not None:
            self._kinds.move_to_end(key)
        return kind

    def remember(self, key: str, values: Mapping[str, Any], ignored: Sequence[str]) -> Kind:
        """Keep what was read of an accepted request; its messages are left out."""
        kind = Kind({name: value for name, value in values.items() if name != "messages"}, tuple(ignored))
        self._kinds[key] = kind
        if len(self._kinds) > MOST:
            self._kinds.popitem(last=False)
        return kind


def key_of(body: Any) -> str | None:
    """All that a plain chat's verdict depends on; None when it is not plain. Names keep their order, and ``repr`` tells
    1 from 1.0 and True, and null from NaN."""
    if not isinstance(body, dict):
        return None
    members = cast("dict[str, Any]", body)
    messages: Any = members.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    roles: list[str] = []
    for message in cast("list[Any]", messages):
        if not isinstance(message, dict) or cast("dict[str, Any]", message).keys() != _MEMBERS:
            return None
        role, content = cast("Any", message["role"]), cast("Any", message["content"])
        if not isinstance(role, str) or role not in _ROLES or not isinstance(content, str) or not content:
            return None
        roles.append(role)
    key = f"{' '.join(roles)}\n{ {name: value for name, value in members.items() if name != 'messages'}!r}"
    return key if len(key) <= LONGEST else None
