"""The book of SGLang's probes: that of vLLM's with the native /generate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from golden_vllm.probes.book import CHAT, COMPLETIONS, HI, MESSAGES, RESPONSES, Truth
from golden_vllm.probes.book import Book as SharedBook

GENERATE = "/generate"

__all__ = ["CHAT", "COMPLETIONS", "GENERATE", "HI", "MESSAGES", "RESPONSES", "Book", "Truth"]


class Book(SharedBook):
    """The probes of one server, by name. ``version``: of the server."""

    version: tuple[int, ...] = ()

    @property
    def single(self) -> bool:
        """The server takes one token per step (with several at once it overlooks ends within the step)."""
        return self.version < (0, 5, 12)

    def native(self, name: str, *said: Truth, sampling: Any = None, **members: Any) -> None:
        """A /generate request; ``sampling``: its sampling parameters."""
        given: Mapping[str, Any] = members if {"text", "input_ids"} & set(members) else {"text": "Hi", **members}
        body: dict[str, Any] = {**given, "sampling_params": {} if sampling is None else sampling}
        self.ask(f"gen-{name}", GENERATE, body, *said)
