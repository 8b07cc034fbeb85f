"""What a recording is made of: exchanges, the server behind them, the masks. Data only; ``library`` reads the files.

The names are those of the files (DESIGN section 7). An exchange is one request and the exact answer of a real server;
``truth`` names what its engine produced, one per prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ConfigDict

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """``body``: JSON; ``raw``: text that is not JSON. A header whose value is None was not sent."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    method: str
    path: str
    headers: dict[str, str | None]
    body: Any = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """``headers``: lower case. ``truncated``: the connection was closed mid-stream. ``reserialised``: only the parsed
    JSON was kept, so blanks and number spelling are not the server's."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    status: int
    headers: dict[str, str]
    body: str
    truncated: bool = False
    reserialised: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded request and answer.

    ``compare``: None (everything), ``by-choice`` (events of several choices arrived by the clock) or ``status``.
    ``after``: exchanges of the same folder whose state the answer shows. ``chunks``: tokens per step of each choice as
    this stream delivered them. ``faulty``: what the server itself got wrong.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    request: RecordedRequest
    response: RecordedResponse
    truth: list[str] | None = None
    family: str | None = None
    kind: str | None = None
    note: str | None = None
    compare: str | None = None
    after: list[str] = field(default_factory=list[str])
    order: list[int] | None = None
    chunks: list[list[int]] | None = None
    faulty: list[str] = field(default_factory=list[str])
    upstream: Any = None


@dataclass(frozen=True, slots=True)
class Server:
    """``server.json``: which server it was and how it was started. ``extra``: members that only its vendor knows."""

    server: str
    version: str
    variant: str | None = None
    launch: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    model: str | None = None
    max_model_len: int | None = None
    tokenizer: str | None = None
    gateway: bool = False
    tolerance: float = 0.0
    model_path: str | None = None
    engine: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    extra: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def layout(self) -> str:
        """The name under which its layout is looked up; a vendor without versions is its own name."""
        return f"{self.server}-{self.version}".removesuffix("-")


@dataclass(frozen=True, slots=True)
class Mask:
    """One replacement of ``masks.json``. ``kind``: random-id | timestamp | timing | ..."""

    kind: str
    regex: re.Pattern[str]
    replace: str


@dataclass(frozen=True, slots=True)
class Masks:
    """What is not compared of one server: ``rules`` are applied in order to the body, ``headers`` are left out."""

    rules: tuple[Mask, ...] = ()
    headers: frozenset[str] = frozenset()

    def apply(self, body: str) -> str:
        """The body with every random or clock-made value replaced by a fixed word."""
        for rule in self.rules:
            body = rule.regex.sub(rule.replace, body)
        return body

    def ids(self, body: str) -> list[str]:
        """The random ids of a body without their prefixes, in the order of the rules and then of appearance."""
        return [
            found
            for rule in self.rules
            if rule.kind == "random-id"
            for match in rule.regex.finditer(body)
            for found in _RANDOM_PART.findall(match.group())
        ]


_RANDOM_PART = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,}")


@dataclass(frozen=True, slots=True)
class Folder:
    """One recorded server: its facts, truths by id, exchanges by name, masks, and where its tokenizer lies."""

    name: str
    server: Server
    truths: Mapping[str, Mapping[str, Any]]
    exchanges: Mapping[str, Exchange]
    masks: Masks
    tokenizer: Path | None = None
