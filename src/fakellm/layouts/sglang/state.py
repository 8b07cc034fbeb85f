"""What a running SGLang server remembers between requests: weight version, pause, loaded model, stored responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class State:
    """The one mutable thing of a station. ``counts``: what /metrics counts, by name; ``running``: requests whose answer
    has not ended; ``epoch``: how often something changed that other answers show."""

    weight_version: str | None
    model_path: str
    paused: bool = False
    memory_released: bool = False
    responses: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    counts: dict[str, float] = field(default_factory=dict[str, float])
    running: int = 0
    epoch: int = 0

    def change(self, **values: Any) -> None:
        """Remember another weight version, model path, pause or memory."""
        for name, value in values.items():
            setattr(self, name, value)
        self.epoch += 1

    def count(self, name: str, amount: float = 1.0) -> None:
        self.counts[name] = self.counts.get(name, 0.0) + amount
