"""Troubles that no answer tells: one line on stderr each and at most one a second of a kind, never a traceback.

asyncio and aiohttp log a traceback for bytes that are no HTTP, and a thousand of them a second when a process has no
file handles left. Here each becomes a sentence. A listener that can hang up on idle connections is asked to when
handles run out (``making_room``), so that whoever comes next is not kept waiting. Only a standalone server installs
this on its loop: a loop of somebody else's keeps its own ways.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from aiohttp.http_exceptions import HttpProcessingError

from ..problem import breakdown

OUT_OF_HANDLES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
QUIET_SECONDS = 1.0
MOST_HANDLES = 1_048_576
"""Nobody needs more, and a hard limit may be "unlimited"."""

_ROOM: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Callable[[], None]]] = weakref.WeakKeyDictionary()


class Crier:
    """Says what happened, once a second per kind. ``say`` gets whole lines."""

    def __init__(self, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._now = now
        self._said: dict[str, float] = {}

    def cry(self, kind: str, words: str) -> None:
        now = self._now()
        if now - self._said.get(kind, -QUIET_SECONDS) >= QUIET_SECONDS:
            self._said[kind] = now
            self._say(f"warning: {words}")


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


CRIER: Final = Crier(_to_stderr)


class _OneLine(logging.Handler):
    """A log record as one line, with the exception's words instead of its traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        broken = record.exc_info[1] if record.exc_info else None
        if isinstance(broken, HttpProcessingError):
            words = " ".join(broken.message.split())[:200]
            CRIER.cry("http", f"a request that is no HTTP was refused: {words}")
        elif isinstance(broken, Exception):
            CRIER.cry(record.msg, breakdown(broken))
        else:
            CRIER.cry(record.msg, record.getMessage())


LOGGER: Final = logging.Logger("fakellm.server", logging.WARNING)
"""aiohttp's, in place of its own; outside of the tree of loggers, so that nobody's settings reach it by accident."""
LOGGER.addHandler(_OneLine())


def install(loop: asyncio.AbstractEventLoop, crier: Crier = CRIER) -> None:
    """Hear what a loop has to complain about."""

    def heard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        broken = context.get("exception")
        if isinstance(broken, OSError) and broken.errno in OUT_OF_HANDLES:
            crier.cry("handles", f"no connection can be accepted: {broken.strerror}; raise the limit (ulimit -n)")
            for make_room in _ROOM.get(loop, ()):
                make_room()
        elif isinstance(broken, Exception):
            crier.cry(type(broken).__name__, breakdown(broken))
        else:
            crier.cry(context["message"], context["message"])

    loop.set_exception_handler(heard)


@contextmanager
def making_room(make_room: Callable[[], None]) -> Generator[None]:
    """Ask this when handles run out, for as long as the context lasts."""
    asked = _ROOM.setdefault(asyncio.get_running_loop(), [])
    asked.append(make_room)
    try:
        yield
    finally:
        asked.remove(make_room)


def raise_handle_limit() -> int | None:
    """Let this process hold as many sockets as the system allows; how many that are, None where nobody knows."""
    try:
        resource: Any = import_module("resource")
    except ImportError:
        return None  # Windows counts otherwise
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_HANDLES if hard == resource.RLIM_INFINITY else min(hard, MOST_HANDLES)
    if soft != resource.RLIM_INFINITY and soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):
            return int(soft)  # macOS allows less than it says
        return int(most)
    return None if soft == resource.RLIM_INFINITY else int(soft)
