"""What a running SGLang server remembers between requests: weight version, pause, loaded model, stored responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class State:
    """The one mutable thing of a station. ``counts``: what /metrics counts, by name; ``running``: requests whose answer
    has not ended; ``sessions``: the names of those that are open; ``epoch``: how often something changed that other
    answers show."""

    weight_version: str | None
    model_path: str
    paused: bool = False
    memory_released: bool = False
    responses: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    counts: dict[str, float] = field(default_factory=dict[str, float])
    sessions: set[str] = field(default_factory=set[str])
    running: int = 0
    epoch: int = 0

    def change(self, **values: Any) -> None:
        """Remember another weight version, model path, pause or memory."""
        for name, value in values.items():
            setattr(self, name, value)
        self.epoch += 1

    def count(self, name: str, amount: float = 1.0) -> None:
        self.counts[name] = self.counts.get(name, 0.0) + amount

    def open_session(self, name: str) -> bool:
        """Remember a session; False when it is open already."""
        if name in self.sessions:
            return False
        self.sessions.add(name)
        return True

    def close_session(self, name: str) -> None:
        """Forget a session, if there is one of that name."""
        self.sessions.discard(name)
