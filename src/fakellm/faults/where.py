"""Where a fault applies, and what its client may then do: small predicates on the request that faults are built from.

An ``Applies`` says None or, in words, why the fault makes no sense for this request on this layout: a scenario that
asks for it is told so. A ``Judge`` narrows ``client_may`` where the table of CONFORMANCE section 2 depends on the
request (a contradiction needs something to contradict). Knows no body and no bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ask import Ask
from ..layouts.base import Layout
from .base import AS_SENT, RECOVER, REFUSE, Applies, May, accessors_of

LAYOUT_HAS_NO_PLACE = "{layout} has no place for {value} in {api} {mode}"


def every(*conditions: Applies) -> Applies:
    """All conditions hold; the first that does not is the reason."""

    def applies(ask: Ask, layout: Layout) -> str | None:
        return next((reason for condition in conditions if (reason := condition(ask, layout)) is not None), None)

    return applies


def either(*conditions: Applies) -> Applies:
    """At least one condition holds; the first one's reason is told otherwise."""

    def applies(ask: Ask, layout: Layout) -> str | None:
        reasons = [condition(ask, layout) for condition in conditions]
        return None if None in reasons else reasons[0]

    return applies


def has_place(value: str) -> Applies:
    """The layout shows the value somewhere in this api and mode."""

    def applies(ask: Ask, layout: Layout) -> str | None:
        if accessors_of(ask, layout, value):
            return None
        mode = "streams" if ask.stream else "whole answers"
        return LAYOUT_HAS_NO_PLACE.format(layout=layout.name, value=value, api=ask.api, mode=mode)

    return applies


def _asked(value: str, is_asked: Callable[[Ask], bool]) -> Applies:
    def applies(ask: Ask, layout: Layout) -> str | None:
        return None if is_asked(ask) else f"the request does not ask for {value}"

    return every(applies, has_place(value))


asks_prompt_ids = _asked("prompt_token_ids", lambda ask: ask.wants.prompt_token_ids)
asks_completion_ids = _asked("completion_token_ids", lambda ask: ask.wants.completion_token_ids)
asks_logprobs = _asked("logprobs", lambda ask: ask.wants.logprobs)
asks_prompt_logprobs = _asked("prompt_logprobs", lambda ask: ask.wants.prompt_logprobs is not None)
asks_ids = either(asks_completion_ids, asks_prompt_ids)


def asks_top_logprobs(ask: Ask, layout: Layout) -> str | None:
    """Alternatives were asked for, with scores."""
    if ask.wants.top_logprobs == 0:
        return "the request does not ask for top_logprobs"
    return asks_logprobs(ask, layout)


def streams(ask: Ask, layout: Layout) -> str | None:
    """Only streams have it."""
    return None if ask.stream else "the answer is not a stream"


def whole(ask: Ask, layout: Layout) -> str | None:
    """Only whole answers have it."""
    return None if not ask.stream else "the answer is a stream"


def several_choices(ask: Ask, layout: Layout) -> str | None:
    """There is more than one choice to mix up."""
    return None if choices_of(ask) > 1 else "the answer has only one choice (ask for n > 1)"


def has_choices(ask: Ask, layout: Layout) -> str | None:
    """The API has a list of choices."""
    if ask.api in ("chat", "completions", "tito"):
        return None
    return f"answers of {ask.api} have no list of choices"


def of_api(*names: str) -> Applies:
    """Only these APIs have it."""

    def applies(ask: Ask, layout: Layout) -> str | None:
        return None if ask.api in names else f"only {' and '.join(names)} have it, not {ask.api}"

    return applies


def has_tools(ask: Ask, layout: Layout) -> str | None:
    """The request offers tools, so that the answer may call one."""
    return None if ask.tools else "the request offers no tools"


def has_turns(ask: Ask, layout: Layout) -> str | None:
    """The API is a conversation, so that there can be a second turn."""
    return None if ask.api in ("chat", "responses", "messages") else f"{ask.api} has no turns"


def choices_of(ask: Ask) -> int:
    """How many choices the answer has: n for each prompt."""
    return max(ask.n, 1) * max(len(ask.prompts), 1)


def turn_of(ask: Ask) -> int:
    """Which turn of a conversation this is, from 1: one more than the assistant has spoken before."""
    return 1 + sum(1 for message in ask.messages if message.get("role") == "assistant")


def shows_usage(ask: Ask) -> bool:
    """Token counts are on the wire: always in whole answers, on request in streams."""
    return not ask.stream or ask.wants.usage or ask.api in ("responses", "generate")


def shows_lengths(ask: Ask) -> bool:
    """Something on the wire tells how many completion ids there must be: scores, or the usage."""
    return ask.wants.logprobs or shows_usage(ask)


def refuse_where_lengths_show(ask: Ask, parameters: Any) -> May:
    """A wrong number of ids contradicts scores or usage; where neither is on the wire no client can know."""
    return REFUSE if shows_lengths(ask) else AS_SENT


def refuse_with_several_choices(ask: Ask, parameters: Any) -> May:
    """One choice needs no index; several cannot be told apart without."""
    return REFUSE if choices_of(ask) > 1 else RECOVER
