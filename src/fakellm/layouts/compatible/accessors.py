"""The accessor table of an OpenAI-like server, made from its traits: where values stand, per api and mode. Pure."""

from __future__ import annotations

from typing import Any

from ..base import Accessor, AccessorTable
from .traits import Api, Place, Scores, Traits

_SCORE_PATHS: dict[str, tuple[str, str]] = {
    "content": ("choices[].logprobs.content[].logprob", "choices[].logprobs.content[].top_logprobs"),
    "legacy": ("choices[].logprobs.token_logprobs", "choices[].logprobs.top_logprobs"),
}
LOST = "scores of tokens that show no text at once are not sent"
ONE = "one bare number a chunk, of its last token"


def accessor_table(traits: Traits) -> AccessorTable:
    """Every API and mode that the traits have."""
    table: dict[tuple[str, bool], tuple[Accessor, ...]] = {}
    for api, given in (("chat", traits.chat), ("completions", traits.completions)):
        if given is not None:
            for stream in (False, True):
                table[api, stream] = tuple(_rows(api, given, traits, stream=stream))
    return table


def _rows(api: str, given: Api, traits: Traits, *, stream: bool) -> list[Accessor]:
    chunks = ("delta", "finish") if stream else ("body",)
    rows: list[Accessor] = []
    eos = traits.eos[1 if stream else 0]
    for value, place in (("prompt_token_ids", given.prompt_ids), ("completion_token_ids", given.completion_ids)):
        if place is not None:
            rows.append(Accessor(value, _path(place, stream), place.flags, _when(place, stream), eos))
    rows += _scores(api, given, traits, stream=stream, eos=eos)
    if given.completion_ids is None:
        rows += _entry_ids(api, given, traits, stream=stream, eos=eos)
    inside = "delta" if stream else "message"
    text = f"choices[].{inside}.content" if api == "chat" else "choices[].text"
    usage = {"stream_options": {"include_usage": True}} if stream else {}
    return [
        *rows,
        Accessor("text", text, {}, chunks, eos=False),
        Accessor("finish_reason", "choices[].finish_reason", {}, ("finish",) if stream else chunks),
        Accessor("usage", "usage", usage, ("usage",) if stream else chunks, loss=_uncounted(rows)),
    ]


def _uncounted(rows: list[Accessor]) -> str | None:
    """Usage counts every token: it need not agree with ids of which some were never sent."""
    return next((row.loss for row in rows if row.value == "completion_token_ids"), None)


def _path(place: Place, stream: bool) -> str:
    inside = "delta" if stream else "message"
    return {
        "root": place.key,
        "choice": f"choices[].{place.key}",
        "message": f"choices[].{inside}.{place.key}",
        "fields": f"choices[].{inside}.provider_specific_fields.{place.key}",
    }[place.where]


def _when(place: Place, stream: bool) -> tuple[str, ...]:
    if not stream:
        return ("body",)
    return {"each": ("delta", "finish"), "first": ("role",), "last": ("finish",)}[place.when]


def _scores(api: str, given: Api, traits: Traits, *, stream: bool, eos: bool) -> list[Accessor]:
    chunks = ("delta", "finish") if stream else ("body",)
    shape: Scores = given.stream_scores if stream else given.scores
    flags, top = _flags(api, traits)
    rows: list[Accessor] = []
    if shape in _SCORE_PATHS:
        one, several = _SCORE_PATHS[shape]
        loss = _loss(traits, stream)
        rows.append(Accessor("logprobs", one, flags, chunks, eos, loss))
        apart = "the sampled token is left out" if traits.alternatives == "without-sampled" else None
        rows.append(Accessor("top_logprobs", several, top, chunks, eos, loss or apart))
    elif shape == "float":
        rows.append(Accessor("logprobs", "choices[].logprobs", flags, chunks, eos, ONE))
    if given.extra_scores is not None:
        place = given.extra_scores
        rows.append(Accessor("logprobs", _path(place, stream), place.flags, _when(place, stream), eos))
    if given.pairs is not None:
        rows.append(Accessor("logprobs", f"{_path(given.pairs, stream)}[][0]", given.pairs.flags, chunks, eos))
    return rows


def _entry_ids(api: str, given: Api, traits: Traits, *, stream: bool, eos: bool) -> list[Accessor]:
    """Ids that stand in the scores' entries, or beside one number."""
    chunks = ("delta", "finish") if stream else ("body",)
    shape = given.stream_scores if stream else given.scores
    name = next((member for member in traits.entry.members if member in ("token_id", "id")), None)
    flags, _ = _flags(api, traits)
    if shape == "float" and given.id_beside is not None:
        return [Accessor("completion_token_ids", f"choices[].delta.{given.id_beside}", flags, chunks, eos)]
    if name is None or shape in ("none", "float"):
        return []
    path = f"choices[].logprobs.content[].{name}" if shape == "content" else "choices[].logprobs.token_ids"
    return [Accessor("completion_token_ids", path, flags, chunks, eos, _loss(traits, stream))]


def _loss(traits: Traits, stream: bool) -> str | None:
    if traits.content_only:
        return "only tokens of the visible text have scores"
    if traits.reasoning_scores:
        return "scores of reasoning stand in logprobs.reasoning_content"
    if traits.alternatives == "instead":
        return "with alternatives, an entry is the first of them, which need not be the sampled token"
    return LOST if stream and traits.lonely == "lost" else None


def _flags(api: str, traits: Traits) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request members that ask for scores, and for alternatives."""
    if api == "completions" or traits.counted:
        return {"logprobs": 1 if traits.counted else 0}, {"logprobs": 1}
    return {"logprobs": True}, {"logprobs": True, "top_logprobs": 1}
