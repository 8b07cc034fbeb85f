"""Where a fake keeps what outlives one request: in this process, shared by its workers, or in Redis.

:class:`State` is the contract; ``open_state`` finds one by URL. Replies without ``times`` and ``then`` need no state at
all, so any number of replicas answer them alike; everything that is counted goes through here.
"""

from __future__ import annotations

from ..errors import UsageError
from .base import LocalState, State

__all__ = ["LocalState", "State", "open_state"]


def open_state(url: str | None) -> State:
    """The state behind a URL: None = this process, ``redis://HOST:PORT/DB`` = Redis (extra ``redis``)."""
    if url is None:
        return LocalState()
    if url.startswith(("redis://", "rediss://", "unix://")):
        from .in_redis import RedisState

        return RedisState.connect(url)
    raise UsageError(f"{url!r} is no state URL", where="--state", hint="redis://127.0.0.1:6379/0")
