"""Where scores, text and the like live in OpenAI's Responses. Data only."""

from __future__ import annotations

from ..base import Accessor, AccessorTable

_SCORED = {"include": ["message.output_text.logprobs"]}
_TOP = {**_SCORED, "top_logprobs": 1}
_PARTS = "output[type=message].content[type=output_text]"
LOSS = "only tokens of the visible text have scores: none for reasoning, calls and the end"

RESPONSES: AccessorTable = {
    ("responses", False): (
        Accessor("logprobs", f"{_PARTS}.logprobs[].logprob", _SCORED, ("body",), False, LOSS),
        Accessor("top_logprobs", f"{_PARTS}.logprobs[].top_logprobs", _TOP, ("body",), False, LOSS),
        Accessor("text", f"{_PARTS}.text", {}, ("body",), False),
        Accessor("finish_reason", "status", {}, ("body",)),
        Accessor("usage", "usage", {}, ("body",)),
    ),
    ("responses", True): (
        Accessor("logprobs", "logprobs[].logprob", _SCORED, ("response.output_text.delta",), False, LOSS),
        Accessor("top_logprobs", "logprobs[].top_logprobs", _TOP, ("response.output_text.delta",), False, LOSS),
        Accessor("text", "delta", {}, ("response.output_text.delta",), False),
        Accessor("finish_reason", "response.status", {}, ("response.completed", "response.incomplete")),
        Accessor("usage", "response.usage", {}, ("response.completed", "response.incomplete")),
    ),
}
