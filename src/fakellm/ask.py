"""The vendor-neutral reading of a request.

A layout parses bytes into an :class:`Ask`; the scenario matches on it, the emission decodes by it, the checks read
what was asked. What the vendor ignores is kept by name in ``ignored``. This module knows no vendor and no socket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as it came in. Header names are lower case; ``path`` has no query and no address prefix."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    body: bytes = b""
    pairs: tuple[tuple[str, str], ...] = ()
    """The whole query in order, repeated names and all (``query`` keeps the last of each)."""


PASSING_HEADERS = frozenset(
    {"host", "content-length", "connection", "user-agent", "accept", "accept-encoding", "accept-language", "date"}
)
"""Headers that no layout reads; everything else, also a gateway's own, may be matched on."""


def digest_of(request: Request) -> bytes:
    """Sixteen bytes that two requests share only when they are equal in all that can shape an answer."""
    digest = hashlib.blake2b(request.body, digest_size=16)
    digest.update(f"\n{request.method} {request.path}".encode("utf-8", "surrogateescape"))
    if request.query:
        digest.update(repr(sorted(request.query.items())).encode("utf-8", "surrogateescape"))
    for name, value in request.headers.items():
        if name not in PASSING_HEADERS:
            digest.update(f"\n{name}:{value}".encode("utf-8", "surrogateescape"))
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as the engine sees it: token ids, and the rendered text where there is one."""

    token_ids: tuple[int, ...]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """What shapes the engine's answer. ``max_tokens`` None = up to the context; ``eos_ids``: ids that end it (first =
    the eos whose stop_reason is null, the rest = secondary ones of the generation config)."""

    max_tokens: int | None = None
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    include_stop: bool = False
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Wants:
    """What the request asked to be told. ``top_logprobs``: alternatives per token (-1 = the whole vocabulary);
    ``prompt_logprobs``: alternatives per prompt token, None = no prompt scores asked for."""

    prompt_token_ids: bool = False
    completion_token_ids: bool = False
    logprobs: bool = False
    top_logprobs: int = 0
    prompt_logprobs: int | None = None
    tokens_as_ids: bool = False
    echo: bool = False
    usage: bool = False
    continuous_usage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request, read.

    ``api``: chat | completions | responses | generate (SGLang) | tito (vLLM /inference/v1/generate) | messages | ...
    ``prompts``: one per prompt of the request (choice ``index`` belongs to prompt ``index // n``).
    ``body``: the request's JSON as sent. ``options``: what only the layout that parsed it understands.
    ``request_id``: the id the client chose, or None.
    """

    api: str
    request: Request
    body: Mapping[str, Any]
    prompts: tuple[Prompt, ...]
    model: str | None = None
    stream: bool = False
    n: int = 1
    messages: tuple[Mapping[str, Any], ...] = ()
    sampling: Sampling = Sampling()
    wants: Wants = Wants()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = None
    include: tuple[str, ...] = ()
    request_id: str | None = None
    ignored: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
