"""Where prompt ids, completion ids and scores stand in Responses bodies and events, and what each version loses.

A whole answer has its scores in the message item: all of them, or none where it is reasoning or calls alone or has no
text (absent, never short). Up to 0.16 a stream's raw messages are JSON in strings, and 0.10.2 sends no end at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base import Accessor, AccessorTable
from .rules import RESPONSE_RULES

IDS = {"enable_response_messages": True}
SCORES = {"include": ["message.output_text.logprobs"]}
TOP_SCORES = {**SCORES, "top_logprobs": 1}
PARTS = "output[type=message].content[type=output_text]"
DELTA, COMPLETED = ("response.output_text.delta",), ("response.completed",)
NO_TEXT = "steps without text (the end token, reasoning, calls) are no output_text.delta: their scores are lost"
REASONING = "with a reasoning or tool parser, steps that are no message text are lost with their scores"


def places(version: str) -> AccessorTable:
    """The rows of one version."""
    rules = RESPONSE_RULES[version]
    lost = REASONING if rules.stream == "flat" else NO_TEXT
    return {
        ("responses", False): (
            *(_ids("", ("body",)) if rules.messages else ()),
            Accessor("logprobs", f"{PARTS}.logprobs[].logprob", SCORES, ("body",)),
            Accessor("top_logprobs", f"{PARTS}.logprobs[].top_logprobs", TOP_SCORES, ("body",)),
            Accessor("text", f"{PARTS}.text", {}, ("body",), eos=False),
            *_end("", ("body",)),
        ),
        ("responses", True): (
            *(_ids("response.", COMPLETED) if rules.messages and not rules.raw_strings else ()),
            Accessor("logprobs", "logprobs[].logprob", SCORES, DELTA, loss=lost),
            Accessor("top_logprobs", "logprobs[].top_logprobs", TOP_SCORES, DELTA, loss=lost),
            Accessor("text", "delta", {}, DELTA, eos=False),
            *(() if rules.sdk_bodies else _end("response.", COMPLETED)),
        ),
    }


def _ids(above: str, messages: tuple[str, ...]) -> Sequence[Accessor]:
    return (
        Accessor("prompt_token_ids", f"{above}input_messages[].tokens[]", IDS, messages),
        Accessor("completion_token_ids", f"{above}output_messages[].tokens[]", IDS, messages),
    )


def _end(above: str, messages: tuple[str, ...]) -> Sequence[Accessor]:
    return (
        Accessor("finish_reason", f"{above}status", {}, messages),
        Accessor("usage", f"{above}usage", {}, messages),
    )
