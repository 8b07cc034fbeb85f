"""What every SGLang route asks its engine, in one form: the counterpart of a /generate request.

Each route parses its own body into a :class:`Call`; decoding, telling and the native renderer read only that. It rides
in ``Ask.options["call"]``, next to the route's own reading (``Ask.options["route"]``). Data only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...ask import Ask
from ..base import Context


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends an answer. ``max_new_tokens`` None = up to the context. ``stop_regex``: Python patterns."""

    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    stop_regex: tuple[str, ...] = ()
    stop_token_ids: frozenset[int] = frozenset()
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    no_stop_trim: bool = False
    stream_interval: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt of a call with what it asked for. ``token_ids``: the prompt as the engine sees it. ``start_len``: from
    which prompt position scores are told (-1 = none). ``top``: alternatives per position. ``asked``: ids asked by
    number, None = none."""

    token_ids: tuple[int, ...]
    limits: Limits
    logprobs: bool = False
    start_len: int = -1
    top: int = 0
    asked: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Flat:
    """Alternatives of the prompt, of the answer, told as one list of scores and one of ids; ``packed``: in base64."""

    prompt: bool
    answer: bool
    packed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A whole request to the engine.

    ``rids``: the id of every choice, in choice order; empty = ``fresh`` ones are drawn when the answer is put into
    words. ``listed``: the answer is a list even for one prompt.
    ``text_in_logprobs``: triples tell the token's text. ``prompt_ids``: objects tell the prompt's ids. ``flat``: which
    alternatives are told as one list.
    """

    items: tuple[Item, ...]
    rids: tuple[str, ...] = ()
    fresh: int = 1
    n: int = 1
    stream: bool = False
    listed: bool = False
    text_in_logprobs: bool = False
    prompt_ids: bool = False
    flat: Flat | None = None

    def item(self, choice: int) -> Item:
        """The item to which a choice belongs."""
        return self.items[min(choice // max(self.n, 1), len(self.items) - 1)]

    def rid(self, choice: int) -> str:
        return self.rids[min(choice, len(self.rids) - 1)]


def named(ask: Ask, context: Context) -> Ask:
    """The ask with an id for every choice that has none yet."""
    call = call_of(ask)
    if call.rids:
        return ask
    rids = tuple(context.hex(32) for _ in range(call.fresh))
    return replace(ask, options={**ask.options, "call": replace(call, rids=rids)})


def call_of(ask: Ask) -> Call:
    """The call that a route of this layout put into its ask."""
    call: Any = ask.options["call"]
    return call
