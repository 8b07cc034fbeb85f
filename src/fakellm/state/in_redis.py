"""State in Redis: several workers or machines play one script once, and one journal shows all of them.

Keys begin with ``fakellm:<run>:``; a take is one script call, so that two machines never give the same one-shot reply.
A Redis that goes away is a clear error for the request that needed it, and nothing else; one that hangs is waited for
by one request every few seconds, since the event loop waits with it, and the others are told so at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..aborting import Elsewhere
from ..errors import UsageError
from ..scenario.match import Counters, MemoryCounters
from ..scenario.model import Scenario

MAX_ENTRIES = 1000
ORDINALS_EXPIRE_SECONDS = 24 * 3600
TIMEOUT_SECONDS = 1.0
"""A neighbour answers in a thousandth of it."""
PAUSE_SECONDS = 5.0
"""How long nobody asks after a call that took half of the timeout for nothing."""
TAKE = """
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local limit = tonumber(ARGV[2])
if limit >= 0 and count >= limit then return -1 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
return count
"""
"""How often a reply was played before, counting this time; -1 when it was played out."""

Value = TypeVar("Value")


class RedisCounters:
    """The counters of one scenario."""

    def __init__(self, client: Any, key: str, ask: Callable[[Callable[[], Any]], Any]) -> None:
        self._client = client
        self._key = key
        self._ask = ask

    def take(self, index: int, limit: int | None) -> int | None:
        given = -1 if limit is None else limit
        count = int(self._ask(lambda: self._client.eval(TAKE, 1, self._key, index, given)))
        return None if count < 0 else count

    def played(self, index: int) -> int:
        return int(self._ask(lambda: self._client.hget(self._key, index)) or 0)

    def call(self) -> int:
        return int(self._ask(lambda: self._client.hincrby(self._key, "calls", 1)))

    def reset(self) -> None:
        self._ask(lambda: self._client.delete(self._key))


class RedisState:
    """See the module's paragraph. ``run``: replicas that share a run share everything."""

    salt = ""
    publishes = True

    def __init__(self, client: Any, shown: str, run: str = "default") -> None:
        self._client = client
        self._shown = shown
        self._prefix = f"fakellm:{run}:"
        self._silent_until = 0.0

    @classmethod
    def connect(cls, url: str, run: str = "default") -> RedisState:
        """Raises UsageError when the library is missing or nothing answers."""
        try:
            redis: Any = import_module("redis")
        except ImportError:
            raise UsageError(
                "the library `redis` is not installed", where="--state", hint="install fakellm-conformance[redis]"
            ) from None
        parts = urlsplit(url)
        shown = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
        once = import_module("redis.retry").Retry(  # a connection that was lost meanwhile is opened anew
            import_module("redis.backoff").NoBackoff(), 1, supported_errors=(redis.exceptions.ConnectionError,)
        )
        client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, retry=once
        )
        state = cls(client, shown, run)
        state._ask(state._client.ping)
        return state

    def _ask(self, command: Callable[[], Value]) -> Value:
        began = time.monotonic()
        if began < self._silent_until:
            raise self._unanswered("it kept the last request waiting")
        try:
            return command()
        except Exception as problem:
            if type(problem).__module__.partition(".")[0] != "redis" and not isinstance(problem, OSError):
                raise
            if time.monotonic() - began > TIMEOUT_SECONDS / 2:
                self._silent_until = time.monotonic() + PAUSE_SECONDS
            raise self._unanswered(str(problem)) from None

    def _unanswered(self, why: str) -> UsageError:
        hint = "start it, or serve without --state"
        return UsageError(f"Redis does not answer: {why}", where=self._shown, hint=hint)

    def counters(self, scenario: Scenario) -> Counters:
        return RedisCounters(self._client, f"{self._prefix}counters:{scenario.name}", self._ask)

    def armed_counters(self) -> Counters:
        """Each replica is armed for itself: its admin API speaks for it alone."""
        return MemoryCounters()

    def ordinal(self, digest: bytes) -> int | None:
        key = f"{self._prefix}ordinal:{digest.hex()}"

        def count() -> int:
            pipe = self._client.pipeline()
            pipe.incr(key)
            pipe.expire(key, ORDINALS_EXPIRE_SECONDS)
            return int(pipe.execute()[0]) - 1

        return self._ask(count)

    def publish(self, exchange: Mapping[str, Any]) -> None:
        def push() -> None:
            number = int(self._client.incr(f"{self._prefix}numbers"))
            pipe = self._client.pipeline()
            pipe.rpush(f"{self._prefix}journal", json.dumps({**exchange, "number": number}, default=str))
            pipe.ltrim(f"{self._prefix}journal", -MAX_ENTRIES, -1)
            pipe.execute()

        self._ask(push)

    def journal(self) -> Sequence[Mapping[str, Any]] | None:
        rows: Sequence[bytes] = self._ask(lambda: self._client.lrange(f"{self._prefix}journal", 0, -1))
        return [json.loads(row) for row in rows]

    def elsewhere(self, scenario: str) -> Elsewhere | None:
        """Each replica ends its own answers: whoever fans requests out over replicas fans aborts out too."""
        return None

    def reset(self) -> None:
        def clear() -> None:
            for key in self._client.scan_iter(match=f"{self._prefix}*"):
                self._client.delete(key)

        self._ask(clear)
