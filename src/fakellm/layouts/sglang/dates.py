"""The two spellings of a moment that SGLang's routes use. Reads no clock: the context's time comes in."""

from __future__ import annotations

from datetime import UTC, datetime


def isoformat(now: float) -> str:
    """``now`` (seconds since the epoch) as Python's own UTC spelling, microseconds and offset."""
    return datetime.fromtimestamp(now, UTC).isoformat()


def zulu(now: float) -> str:
    """``now`` with milliseconds and a Z, as the Ollama routes have it."""
    moment = datetime.fromtimestamp(now, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
