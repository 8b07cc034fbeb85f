"""Probes as they are written down: a name, a path, a body, and what the engine says meanwhile."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from fakellm.fidelity.recorded import RecordedRequest

from ..wanted import Wanted
from .speech import Speech

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
RESPONSES = "/v1/responses"
GENERATE = "/inference/v1/generate"
MESSAGES = "/v1/messages"

HI = [{"role": "user", "content": "Hi"}]

Truth = Mapping[str, Any]


@dataclass(slots=True)
class Book:
    """The probes of one server, by name. ``model``: the name it serves."""

    speech: Speech
    model: str = "tiny"
    pages: dict[str, Wanted] = field(default_factory=dict[str, Wanted])

    def chance(self, name: str) -> random.Random:
        """Chance that depends on the name alone."""
        return random.Random(name)

    def ask(
        self,
        name: str,
        path: str,
        body: Any = None,
        *said: Truth,
        method: str = "POST",
        raw: str | None = None,
        headers: Mapping[str, str | None] | None = None,
        after: tuple[str, ...] = (),
        family: str | None = None,
    ) -> None:
        """Write a probe down; ``said``: one truth per prompt, a greeting if none is given."""
        if name in self.pages:
            raise ValueError(f"there are two probes called {name!r}")
        request = RecordedRequest(method, path, dict(headers or {}), body=body, raw=raw)
        truths = said or (self.speech.say("Hello"),)
        self.pages[name] = Wanted(name, request, truths, {"family": family or name.split("-")[0]}, after)

    def chat(self, name: str, *said: Truth, messages: Any = None, **members: Any) -> None:
        body = {"model": self.model, "messages": HI if messages is None else messages, **members}
        self.ask(f"chat-{name}", CHAT, body, *said)

    def complete(self, name: str, *said: Truth, prompt: Any = "Hi", **members: Any) -> None:
        self.ask(f"comp-{name}", COMPLETIONS, {"model": self.model, "prompt": prompt, **members}, *said)

    def respond(self, name: str, *said: Truth, given: Any = "Hi", **members: Any) -> None:
        self.ask(f"resp-{name}", RESPONSES, {"model": self.model, "input": given, **members}, *said)

    def generate(self, name: str, *said: Truth, ids: Any = (42, 75, 201), sampling: Any = None, **members: Any) -> None:
        given: Any = list(cast("tuple[int, ...]", ids)) if isinstance(ids, tuple) else ids
        body: dict[str, Any] = {"token_ids": given, "sampling_params": sampling or {}, **members}
        self.ask(f"gen-{name}", GENERATE, {"model": self.model, **body}, *said)

    def message(self, name: str, *said: Truth, messages: Any = None, **members: Any) -> None:
        body = {"model": self.model, "max_tokens": 60, "messages": HI if messages is None else messages, **members}
        self.ask(f"msg-{name}", MESSAGES, body, *said)
