"""Keeps the player from being faster than its server: a step is taken before the next is told.

SGLang joins the steps of a request that its server has not taken yet, so a busy machine would change what a stream
shows. The server counts in a small shared file how often it took something; the player waits for that count.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import struct
import time
from importlib import import_module
from typing import Any

SIZE = 8
PATIENCE_SECONDS = 1.0
"""A step that nobody takes (its client left) is not waited for longer."""


def shared() -> mmap.mmap:
    """The counter's memory: one unsigned 64-bit number."""
    with open(os.environ["GOLDEN_PACE"], "r+b") as file:
        return mmap.mmap(file.fileno(), SIZE)


def count(memory: mmap.mmap) -> int:
    return struct.unpack("<Q", memory[:SIZE])[0]


def watch() -> None:
    """From now on the server counts each time it takes what a request got."""
    memory = shared()

    class Noted(asyncio.Event):
        """The event that a request's reader waits for, and clears when it has taken what there was."""

        def clear(self) -> None:
            super().clear()
            memory[:SIZE] = struct.pack("<Q", count(memory) + 1)

    state: Any = import_module("sglang.srt.managers.tokenizer_manager").ReqState
    made = state.__init__

    def make(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        self.event.__class__ = Noted

    state.__init__ = make


def wait(memory: mmap.mmap, until: int) -> None:
    """Return when the server has taken so many in all, or when patience ends."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while count(memory) < until and time.monotonic() < deadline:
        time.sleep(0.0005)
    time.sleep(0.0005)
