"""Secrets of an exchange, blanked wherever they stand: headers, query, and the bodies that repeat them.

A header is secret by its name; its value, and the parts of it that are secret alone (``Bearer KEY``, ``sid=KEY``), are
then blanked in every text of the exchange, since servers like to quote the key that was wrong. Journals, recordings
and reports all go through here. Pure.

>>> hide = Hiding((("Authorization", "Bearer sk-123456"),))
>>> hide.text("Incorrect API key provided: sk-123456")
'Incorrect API key provided: [redacted]'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

Pairs = Iterable[tuple[str, str]]

REDACTED: Final = "[redacted]"
SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
SECRET_ENDINGS: Final = ("api-key", "apikey", "-token", "-secret", "-password", "-signature", "subscription-key")
"""Of the names that vendors and gateways think of; ``...-tokens`` are counts."""
SHORTEST_SECRET: Final = 6
"""A shorter value is no secret but a word that may stand anywhere."""
_SECRET_QUERY: Final = re.compile(r"(?i)(?:.*[-_])?(?:key|apikey|token|signature|secret|password)")
_IN_QUERY: Final = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]+)")


def is_secret(name: str) -> bool:
    """Whether a header of this name holds a secret."""
    name = name.lower()
    return name in SECRET_HEADERS or name.endswith(SECRET_ENDINGS)


class Hiding:
    """Blanks the secrets that the headers and the query of one exchange hold."""

    def __init__(self, *headers: Pairs, query: Mapping[str, str] | None = None) -> None:
        found = set(_secrets(pair for pairs in headers for pair in pairs))
        self._query = {name for name in query or () if _SECRET_QUERY.fullmatch(name)}
        found |= {value for name, value in (query or {}).items() if name in self._query and _long(value)}
        self._secrets = sorted(found, key=len, reverse=True)

    def pairs(self, pairs: Pairs) -> list[list[str]]:
        """Headers as lists, secret ones blanked."""
        return [[name, REDACTED if is_secret(name) else self.text(value)] for name, value in pairs]

    def query(self, query: Mapping[str, str]) -> dict[str, str]:
        """The query, secret members blanked."""
        return {name: REDACTED if name in self._query else self.text(value) for name, value in query.items()}

    def target(self, target: str) -> str:
        """Path and query as they were sent, secret members blanked."""

        def blank(found: re.Match[str]) -> str:
            return f"{found[1]}={REDACTED}" if _SECRET_QUERY.fullmatch(found[1]) else found[0]

        return self.text(_IN_QUERY.sub(blank, target))

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def data(self, data: bytes) -> bytes:
        """Bytes that may be no text."""
        for secret in self._secrets:
            data = data.replace(secret.encode("utf-8", "surrogateescape"), REDACTED.encode())
        return data


def _secrets(pairs: Pairs) -> Iterable[str]:
    """The secret values and, of ``Bearer KEY`` and ``name=value; ...``, the parts that are secret alone."""
    for name, value in pairs:
        if is_secret(name):
            parts = [value, *(part.partition("=")[2] for part in value.split(";")), *value.split()]
            yield from (part.strip() for part in parts if _long(part.strip()))


def _long(text: str) -> bool:
    return len(text) >= SHORTEST_SECRET and text.lower() not in ("bearer", "digest", "negotiate")
