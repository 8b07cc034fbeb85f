"""The one way in which the reader says that an answer cannot be trusted: typed, named, with a sentence.

``KINDS`` is the whole vocabulary; the reference client hands the kind on as the ``refused.kind`` of the adapter
protocol. Knows no wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..errors import FakellmError

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "error-status": "the server answered with an error status",
        "error-body": "a body that says it is an error, under a status of success",
        "error-event": "an error event inside a stream",
        "truncated": "the answer ended before its end",
        "unreadable": "bytes that are not the JSON or the events that were asked for",
        "duplicate-keys": "one JSON object says two different things under one key",
        "no-choices": "an answer without a single choice",
        "choice-index": "choices that cannot be told apart",
        "choice-count": "fewer or more choices than were asked for",
        "not-ids": "token ids that are not whole numbers from 0 up",
        "places-disagree": "two places for one value that say different things",
        "score-missing": "a token without a score",
        "score-impossible": "a score that is no logprob: not finite, positive, or a sentinel",
        "count-mismatch": "not as many scores as ids",
        "usage-mismatch": "token counts that contradict the ids",
        "aborted": "a generation that the server gave up with an error",
    }
)


class Refused(FakellmError):
    """An answer that cannot be trusted. ``kind`` is one of :data:`KINDS`; ``where`` names the value, if it is one."""

    blame = "the server's answer"

    def __init__(self, kind: str, message: str, *, where: str | None = None) -> None:
        super().__init__(message, where=where)
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of refusal")
        self.kind = kind
