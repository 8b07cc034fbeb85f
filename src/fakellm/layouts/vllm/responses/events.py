"""Writing the events of a Responses stream: members in alphabetical order, numbered from 0."""

from __future__ import annotations

from typing import Any

from ....message import Message


class Events:
    """The events of one stream so far."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.due_ms = 0.0
        self.tokens: tuple[int, int] | None = None

    def add(self, event: str, *, kind: str = "event", last: dict[str, Any] | None = None, **members: Any) -> None:
        """One event. ``last``: members that come after the type."""
        numbered = {**members, "sequence_number": len(self.messages), "type": event}
        body = {name: numbered[name] for name in sorted(numbered)}
        tokens = self.tokens if kind == "delta" else None
        self.messages.append(
            Message(kind, {**body, **(last or {})}, 0, tokens, self.due_ms, event=event, spelling="serde")
        )
