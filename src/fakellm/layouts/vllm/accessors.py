"""Where prompt ids, completion ids and scores stand in vLLM's bodies, per API and mode: one table for the reader, the
faults, ``fakellm layouts`` and the docs. Pure data by version; what a version loses even when healthy is said here.
"""

from __future__ import annotations

from ..base import Accessor, AccessorTable
from .responses import places
from .shape import Shape

IDS = {"return_token_ids": True}
SCORES = {"logprobs": True}
COUNT = {"logprobs": 1}
COLLAPSE = "alternatives of equal text collapse into one key"


def table(shape: Shape) -> AccessorTable:
    """The accessor table of one version."""
    textless = _textless_loss(shape)
    prompt_scores = Accessor("prompt_logprobs", "prompt_logprobs[]", {"prompt_logprobs": 1}, ("body",))
    return {
        ("chat", False): (
            Accessor("prompt_token_ids", "prompt_token_ids", IDS, ("body",)),
            Accessor("completion_token_ids", "choices[].token_ids", IDS, ("body",)),
            Accessor("logprobs", "choices[].logprobs.content[].logprob", SCORES, ("body",)),
            Accessor("top_logprobs", "choices[].logprobs.content[].top_logprobs", {"top_logprobs": 1}, ("body",)),
            prompt_scores,
            Accessor("text", "choices[].message.content", {}, ("body",), eos=False),
            Accessor("finish_reason", "choices[].finish_reason", {}, ("body",)),
            Accessor("usage", "usage", {}, ("body",)),
        ),
        ("chat", True): (
            Accessor("prompt_token_ids", "prompt_token_ids", IDS, ("role",)),
            Accessor("completion_token_ids", "choices[].token_ids", IDS, ("delta", "finish"), loss=textless),
            Accessor("logprobs", "choices[].logprobs.content[].logprob", SCORES, ("delta", "finish"), loss=textless),
            Accessor(
                "top_logprobs",
                "choices[].logprobs.content[].top_logprobs",
                {"top_logprobs": 1},
                ("delta", "finish"),
                loss=textless,
            ),
            Accessor("text", "choices[].delta.content", {}, ("role", "delta", "finish"), eos=False),
            Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",)),
            Accessor("usage", "usage", {"stream_options": {"include_usage": True}}, ("usage",)),
        ),
        ("completions", False): (
            Accessor("prompt_token_ids", "choices[].prompt_token_ids", IDS, ("body",)),
            Accessor("completion_token_ids", "choices[].token_ids", IDS, ("body",)),
            Accessor("logprobs", "choices[].logprobs.token_logprobs[]", COUNT, ("body",)),
            Accessor("top_logprobs", "choices[].logprobs.top_logprobs[]", COUNT, ("body",), loss=COLLAPSE),
            Accessor("prompt_logprobs", "choices[].prompt_logprobs[]", {"prompt_logprobs": 1}, ("body",)),
            Accessor("text", "choices[].text", {}, ("body",), eos=False),
            Accessor("finish_reason", "choices[].finish_reason", {}, ("body",)),
            Accessor("usage", "usage", {}, ("body",)),
        ),
        ("completions", True): (
            Accessor("prompt_token_ids", "choices[].prompt_token_ids", IDS, ("delta", "finish")),
            Accessor("completion_token_ids", "choices[].token_ids", IDS, ("delta", "finish")),
            Accessor("logprobs", "choices[].logprobs.token_logprobs[]", COUNT, ("delta", "finish")),
            Accessor("top_logprobs", "choices[].logprobs.top_logprobs[]", COUNT, ("delta", "finish"), loss=COLLAPSE),
            Accessor("text", "choices[].text", {}, ("delta", "finish"), eos=False),
            Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",)),
            Accessor("usage", "usage", {"stream_options": {"include_usage": True}}, ("usage",)),
        ),
        **_token_in(shape),
        **places(shape.version),
    }


def _token_in(shape: Shape) -> AccessorTable:
    """``/inference/v1/generate``: ids are always told; usage since 0.28, prompt ids since 0.32, streams since 0.20."""
    form = shape.generate
    if form == "none":
        return {}
    counted = form in ("0.28", "0.32")

    def rows(kinds: tuple[str, ...], usage: Accessor | None) -> tuple[Accessor, ...]:
        first = (Accessor("prompt_token_ids", "prompt_token_ids", IDS, kinds),) if form == "0.32" else ()
        scores = "choices[].logprobs.content[]"
        asked = {"sampling_params.logprobs": 1}
        return (
            *first,
            Accessor("completion_token_ids", "choices[].token_ids", {}, kinds),
            Accessor("logprobs", f"{scores}.logprob", asked, kinds),
            Accessor("top_logprobs", f"{scores}.top_logprobs", asked, kinds),
            Accessor("finish_reason", "choices[].finish_reason", {}, kinds[-1:]),
            *((usage,) if usage is not None else ()),
        )

    whole = rows(("body",), Accessor("usage", "usage", {}, ("body",)) if counted else None)
    if form == "0.12":
        return {("tito", False): whole}
    usage = Accessor("usage", "usage", {"stream_options": {"include_usage": True}}, ("usage",))
    return {("tito", False): whole, ("tito", True): rows(("delta", "finish"), usage)}


def _textless_loss(shape: Shape) -> str | None:
    """What chat streams with parsers lose (measured per version: research, vllm.md 1.6)."""
    if shape.textless_chunks == "dropped":
        return "with a reasoning or tool parser, chunks without text are dropped with their ids and scores"
    if shape.textless_chunks == "ids":
        return "with a parser and logprobs but no return_token_ids, chunks without text are dropped with their scores"
    return None
