"""What differs between servers that speak OpenAI's chat and completions: the knobs, and where values stand.

A :class:`Traits` is one server. Places are data, so that the renderer, the accessor table and the documents read
the same thing. Knows no request and no rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from .templates import Template, filled

NOTHING: Mapping[str, Any] = MappingProxyType({})

Where = Literal["root", "choice", "message", "fields"]
"""``message``: inside message or delta; ``fields``: its ``provider_specific_fields``."""
When = Literal["each", "first", "last"]
"""In streams: with the tokens of each chunk, all at once on the first chunk, or on the last."""
Scores = Literal["content", "legacy", "float", "none"]
"""``content``: chat's list of entries; ``legacy``: completions' parallel lists; ``float``: one number a chunk."""
Alternatives = Literal["ranked", "without-sampled", "instead"]
"""``ranked``: ranks 1 to K; ``without-sampled``: the same without the token itself; ``instead``: an entry is the first
of its alternatives, whatever was sampled."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one list of ids stands. ``flags``: the request members that ask for it."""

    where: Where
    key: str
    when: When = "each"
    flags: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Api:
    """One API's ids and scores. ``scores``/``stream_scores``: their shape; ``extra_scores``: a list of bare logprobs
    beside the ids (NeMo); ``pairs``: a list of [logprob, id] in the choice (LMDeploy), with its flag; ``id_beside``:
    the delta's member for the one id of a chunk whose score is one number (Together)."""

    prompt_ids: Place | None = None
    completion_ids: Place | None = None
    scores: Scores = "content"
    stream_scores: Scores = "content"
    extra_scores: Place | None = None
    pairs: Place | None = None
    id_beside: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Members of a score and of an alternative, in order: token, logprob, bytes, token_id, id, top_logprobs."""

    members: tuple[str, ...] = ("token", "logprob", "bytes", "top_logprobs")
    alternative: tuple[str, ...] = ("token", "logprob", "bytes")
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


ErrorShape = Callable[[int, str, str, "str | None", "str | None"], Any]
"""(status, message, type, param, code) -> body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """One server.

    ``evidence``: captured | source | documents. ``own``: request members beyond OpenAI's; ``closed``: all others are
    refused.
    ``most``/``completions_most``: the largest number of alternatives. ``counted``: chat's ``logprobs`` is a number.
    ``eos``: whether the end token is told in whole answers and in streams. ``fragments``: how a piece of a character
    is spelled. ``sentinel``: what -inf is told as. ``lonely``: what becomes of scores in a stream's step without text.
    ``reasoning``: the member for reasoning text, None = never shown. ``content_only``: only tokens of the visible text
    have scores. ``reasoning_scores``: those of reasoning stand in a list of their own. ``sparse``: members without a
    value are left out of chunks. ``role_first``: a chunk for the role alone. ``native``: modules of its own APIs.
    ``templates``: the order of members, by API (``chat``, ``chat-stream``); whole answers have all of them.
    """

    name: str
    vendor: str
    evidence: str
    notes: str = ""
    chat: Api | None = Api()
    completions: Api | None = Api(scores="legacy", stream_scores="legacy")
    entry: Entry = Entry()
    own: frozenset[str] = frozenset()
    closed: bool = False
    refused: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    most: int = 20
    completions_most: int = 5
    counted: bool = False
    eos: tuple[bool, bool] = (True, True)
    alternatives: Alternatives = "ranked"
    fragments: Literal["replaced", "escaped", "vocabulary"] = "replaced"
    sentinel: float | None = None
    lonely: Literal["ride", "alone", "lost"] = "ride"
    reasoning: str | None = "reasoning_content"
    content_only: bool = False
    reasoning_scores: bool = False
    sparse: bool = False
    role_first: bool = True
    message: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    envelope: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    usage_details: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    finish_reasons: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    error: ErrorShape
    owner: str = ""
    native: tuple[str, ...] = ()
    templates: Mapping[str, Template] = field(default_factory=lambda: NOTHING)

    def laid_out(self, body: dict[str, Any], api: str, *, stream: bool) -> dict[str, Any]:
        """The body with its members as this server orders them."""
        template = self.templates.get(f"{api}-stream" if stream else api)
        return body if template is None else filled(body, template, sparse=stream)
