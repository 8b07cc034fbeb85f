"""Where ids, logprobs, text and the like live on SGLang's wire, per api and mode, version by version.

The table that layout faults, the reading client, ``fakellm layouts`` and the documents share. Data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import Accessor, AccessorTable
from .traits import Trait, Traits

STREAM_LOSS = "scores of steps without visible text (pieces of a character, the terminal token) are not sent"
_CHUNKS = ("delta", "finish")


def accessor_table(traits: Traits) -> AccessorTable:
    """The table of one version, as it is without launch options."""
    return {
        ("generate", False): _native(traits, stream=False),
        ("generate", True): _native(traits, stream=True),
        ("chat", False): _chat(traits),
        ("chat", True): _chat_stream(traits),
        ("completions", False): _completions(traits, stream=False),
        ("completions", True): _completions(traits, stream=True),
        **_responses(traits),
    }


def _native(traits: Traits, *, stream: bool) -> list[Accessor]:
    kinds = _CHUNKS if stream else ("body",)
    scored: Mapping[str, Any] = {"return_logprob": True}
    tail = traits.has(Trait.PROMPT_TAIL_IN_OUTPUT_IDS)
    ids_loss = "output_ids begin with up to five ids of the prompt (issue 17240)" if tail else None
    table = [
        Accessor("completion_token_ids", "output_ids", {}, kinds, loss=ids_loss),
        Accessor("logprobs", "meta_info.output_token_logprobs[][0]", scored, kinds),
        Accessor("top_logprobs", "meta_info.output_top_logprobs", {**scored, "top_logprobs_num": 1}, kinds),
        Accessor(
            "prompt_logprobs",
            "meta_info.input_top_logprobs",
            {**scored, "logprob_start_len": 0, "top_logprobs_num": 1},
            kinds,
        ),
        Accessor("text", "text", {}, kinds, eos=False),
        Accessor("finish_reason", "meta_info.finish_reason.type", {}, ("finish",) if stream else kinds),
        Accessor("usage", "meta_info", {}, kinds),
    ]
    if traits.has(Trait.NATIVE_PROMPT_IDS):
        flags = {"return_prompt_token_ids": True}
        table.insert(0, Accessor("prompt_token_ids", "prompt_token_ids", flags, kinds))
    return table


def _chat(traits: Traits) -> list[Accessor]:
    body = ("body",)
    table: list[Accessor] = []
    if traits.has(Trait.RETURN_TOKEN_IDS):
        field = "token_ids" if traits.has(Trait.CHAT_FIELD_TOKEN_IDS) else "response_token_ids"
        flags = {"return_token_ids": True}
        table += [
            Accessor("prompt_token_ids", "choices[].prompt_token_ids", flags, body),
            Accessor("completion_token_ids", f"choices[].{field}", flags, body),
        ]
    elif traits.has(Trait.CHAT_PROMPT_IDS):
        flags = {"return_prompt_token_ids": True}
        table.append(Accessor("prompt_token_ids", "choices[].prompt_token_ids", flags, body))
        told = {"return_meta_info": True, "logprobs": True}
        table.append(Accessor("completion_token_ids", "choices[].meta_info.output_token_logprobs[][1]", told, body))
    scored = {"logprobs": True}
    top = {**scored, "top_logprobs": 1}
    return [
        *table,
        Accessor("logprobs", "choices[].logprobs.content[].logprob", scored, body),
        Accessor("top_logprobs", "choices[].logprobs.content[].top_logprobs", top, body, loss=_fewer(traits)),
        Accessor("text", "choices[].message.content", {}, body, eos=False),
        Accessor("finish_reason", "choices[].finish_reason", {}, body),
        Accessor("usage", "usage", {}, body),
    ]


def _fewer(traits: Traits) -> str | None:
    """How chat comes to show fewer alternatives than were asked for."""
    if traits.has(Trait.CANDIDATES_JOINED):
        return "the texts of all alternatives are joined into one, with the first one's score"
    return "alternatives with one text are one" if traits.has(Trait.TOPS_BY_TEXT) else None


def _chat_stream(traits: Traits) -> list[Accessor]:
    scored = {"logprobs": True}
    table: list[Accessor] = []
    if traits.has(Trait.SGLEXT_IDS):
        flags = {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True}
        table += [
            Accessor("prompt_token_ids", "sglext.input_ids", flags, ("meta",)),
            Accessor("completion_token_ids", "sglext.output_ids[]", flags, ("meta",)),
        ]
    return [
        *table,
        Accessor("logprobs", "choices[].logprobs.content[].logprob", scored, ("delta",), eos=False, loss=STREAM_LOSS),
        Accessor(
            "top_logprobs",
            "choices[].logprobs.content[].top_logprobs",
            {**scored, "top_logprobs": 1},
            ("delta",),
            eos=False,
            loss=STREAM_LOSS,
        ),
        Accessor("text", "choices[].delta.content", {}, ("role", "delta"), eos=False),
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",)),
        Accessor("usage", "usage", {"stream_options": {"include_usage": True}}, ("usage",)),
    ]


def _completions(traits: Traits, *, stream: bool) -> list[Accessor]:
    kinds = _CHUNKS if stream else ("body",)
    table: list[Accessor] = []
    if traits.has(Trait.RETURN_TOKEN_IDS):
        flags = {"return_token_ids": True}
        table += [
            Accessor("prompt_token_ids", "choices[].prompt_token_ids", flags, kinds),
            Accessor("completion_token_ids", "choices[].token_ids", flags, kinds),
        ]
    options = {"stream_options": {"include_usage": True}} if stream else {}
    scored = {"logprobs": 1 if traits.has(Trait.LOGPROBS_NEED_TOPS) else 0}
    return [
        *table,
        Accessor("logprobs", "choices[].logprobs.token_logprobs", scored, kinds),
        Accessor("top_logprobs", "choices[].logprobs.top_logprobs", {"logprobs": 1}, kinds),
        Accessor("text", "choices[].text", {}, kinds, eos=False),
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else kinds),
        Accessor("usage", "usage", options, ("usage",) if stream else kinds),
    ]


def _responses(traits: Traits) -> dict[tuple[str, bool], list[Accessor]]:
    """/v1/responses: no ids. Scores stand in whole answers only; usage tells nothing before 0.5.18."""
    if not traits.has(Trait.RESPONSES):
        return {}
    text = "output[type=message].content[type=output_text]"
    whole = [Accessor("text", f"{text}.text", {}, ("body",), eos=False)]
    stream = [Accessor("text", "delta", {}, ("response.output_text.delta",), eos=False)]
    if not traits.has(Trait.RESPONSES_DELTAS):
        stream = [Accessor("text", f"response.{text}.text", {}, ("response.completed",), eos=False)]
    if traits.has(Trait.RESPONSES_USAGE):
        scored = {"include": ["message.output_text.logprobs"]}
        whole += [
            Accessor("logprobs", f"{text}.logprobs[].logprob", scored, ("body",)),
            Accessor("top_logprobs", f"{text}.logprobs[].top_logprobs", {**scored, "top_logprobs": 1}, ("body",)),
            Accessor("finish_reason", "status", {}, ("body",)),
            Accessor("usage", "usage", {}, ("body",)),
        ]
        ends = ("response.completed", "response.incomplete", "response.failed")
        stream += [
            Accessor("finish_reason", "response.status", {}, ends),
            Accessor("usage", "response.usage", {}, ends),
        ]
    return {("responses", False): whole, ("responses", True): stream}
