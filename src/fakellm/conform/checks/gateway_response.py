"""Checks on what a gateway does to the answer: side C, as the server sent it, and side D, as it came back.

Ids, scores, text, finish_reason, choices and usage are judged by the same checks as a client's; here stands what only
a middleman can lose: fields, bytes, the order of token-keyed objects, the usage chunk, errors. Chunk boundaries do not
matter. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..finding import Finding, Level
from ..observation import Kind, Observation
from .base import GATEWAY, NOTHING, exchange_check, failed, passed
from .oracle import error_on_the_wire
from .sides import Sides, leaves, sides_of

LITELLM = "https://github.com/BerriAI/litellm/issues/17118"
PRIME_RL = "https://github.com/PrimeIntellect-ai/prime-rl/pull/697"
AGL = "https://github.com/microsoft/agent-lightning/issues/262"
TOKEN_KEYED = frozenset({"prompt_logprobs", "top_logprobs"})
OWN = frozenset({"id", "created", "created_at", "model", "object", "system_fingerprint", "service_tier"})
"""Members of the envelope that a gateway may rewrite; they have to be there all the same."""


@exchange_check("gateway.answer-readable", modes=GATEWAY, sources=(AGL,))
def answer_readable(observation: Observation) -> Sequence[Finding]:
    """A healthy answer MUST come back as one that a careful client can take: whole, readable, free of contradictions.

    Judged by the reference client, which took the same answer without the gateway in between.
    """
    down = observation.downstream
    if down is None or observation.case.faults or error_on_the_wire(observation) or observation.sent is None:
        return NOTHING
    if observation.ending.kind is Kind.TIMED_OUT:
        return NOTHING
    if down.error is not None:
        return [failed(f"the answer did not come back: {down.error}")]
    if observation.truth.losses or down.problem is None:
        return [passed()]
    return [failed(f"what came back cannot be trusted: {down.problem}", got=down.status)]


@exchange_check("gateway.answer-kept", modes=GATEWAY, sources=(LITELLM, AGL))
def answer_kept(observation: Observation) -> Sequence[Finding]:
    """No field of the answer MUST be lost on its way back, known to the gateway or not.

    litellm 1.110.2 drops prompt_token_ids and usage from streams; Portkey's providers drop every id. Null members may
    be left out, ids and names of the envelope may be rewritten.
    """
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    there = {path for value in sides.got.values for path, _ in leaves(value)}
    for value in sides.sent.values:
        for path, scalar in leaves(value):
            if path not in there and not _token_keyed(path):
                return [failed(f"{path} did not come back", where=path, expected=scalar)]
    return [passed()]


def _token_keyed(path: str) -> bool:
    """Members whose names are tokens are compared in their own check, by place."""
    return any(f"{name}[]" in path for name in TOKEN_KEYED)


@exchange_check("gateway.answer-not-extended", level=Level.INFO, modes=GATEWAY, sources=(LITELLM,))
def answer_not_extended(observation: Observation) -> Sequence[Finding]:
    """Fields that a gateway adds to the answer are worth knowing of."""
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    known = {path for value in sides.sent.values for path, _ in leaves(value)}
    found = {path for value in sides.got.values for path, _ in leaves(value)}
    added = sorted(path for path in found - known if not _token_keyed(path))
    return [failed(f"added to the answer: {', '.join(added[:5])}", where=added[0])] if added else [passed()]


@exchange_check("gateway.words-kept", modes=GATEWAY, sources=("https://github.com/NVIDIA-NeMo/Gym/pull/1787",))
def words_kept(observation: Observation) -> Sequence[Finding]:
    """Everything that the model said MUST come back as it was: content, reasoning, tool names and arguments.

    Arguments that are parsed and written anew are other tokens in the next turn's prompt.
    """
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    sent, got = _said(sides.sent.values), _said(sides.got.values)
    for place, text in sent.items():
        if got.get(place, "") != text:
            return [failed(f"{place} came back changed", where=place, expected=text, got=got.get(place))]
    return [passed()] if sent else NOTHING


_SAID = ("content", "reasoning", "reasoning_content", "arguments", "name", "text", "refusal")


def _said(values: Sequence[Any]) -> dict[str, str]:
    """All strings of the model's own words, joined by path and choice in the order of the stream."""
    said: dict[str, str] = {}
    order = {index: place for place, index in enumerate(sorted({index for index, _ in _choices(values)}, key=str))}
    for index, choice in _choices(values):
        for path, value in leaves({name: choice.get(name) for name in ("delta", "message", "text")}):
            if isinstance(value, str) and path.rpartition(".")[2].removesuffix("[]") in _SAID:
                place = f"choices[{order[index]}].{path}"
                said[place] = said.get(place, "") + value
    return said


def _choices(values: Sequence[Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    for value in values:
        listed: Any = cast("dict[str, Any]", value).get("choices") if isinstance(value, dict) else None
        for choice in cast("list[Any]", listed) if isinstance(listed, list) else []:
            if isinstance(choice, dict):
                row = cast("dict[str, Any]", choice)
                yield row.get("index", 0), row


@exchange_check("gateway.bytes-kept", modes=GATEWAY, sources=("https://github.com/ollama/ollama/issues/13497",))
def bytes_kept(observation: Observation) -> Sequence[Finding]:
    """The bytes and texts of tokens MUST come back as they were sent.

    For a token that is half a character they are all there is: its text is empty or U+FFFD.
    """
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    sent, got = list(_token_facts(sides.sent.values)), list(_token_facts(sides.got.values))
    if not sent:
        return NOTHING
    for position, (one, other) in enumerate(zip(sent, got, strict=False)):
        if one != other:
            words = "the bytes or the text of a token came back changed"
            return [failed(words, where=f"logprobs.content[{position}]", position=position, expected=one, got=other)]
    missing = len(sent) - len(got)
    return [failed(f"{missing} entries with bytes did not come back", where="logprobs")] if missing > 0 else [passed()]


def _token_facts(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """(text, bytes) of every scored token, choice by choice."""
    rows: dict[Any, list[tuple[Any, Any]]] = {}
    for index, choice in _choices(values):
        logprobs: Any = choice.get("logprobs")
        content: Any = cast("dict[str, Any]", logprobs).get("content") if isinstance(logprobs, dict) else None
        for entry in cast("list[Any]", content) if isinstance(content, list) else []:
            if isinstance(entry, dict):
                row = cast("dict[str, Any]", entry)
                rows.setdefault(str(index), []).append((row.get("token"), row.get("bytes")))
    for index in sorted(rows):
        yield from rows[index]


@exchange_check(
    "gateway.token-order-kept", modes=GATEWAY, sources=(PRIME_RL, "https://github.com/NVIDIA-NeMo/RL/pull/3297")
)
def token_order_kept(observation: Observation) -> Sequence[Finding]:
    """Objects keyed by token MUST keep the order of their keys: it carries rank.

    prime-rl, AReaL, PipelineRL, inspect-ai and verl read the first key as the sampled token. Of ordinary objects the
    order never matters.
    """
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    sent, got = [list(_keyed(side.values)) for side in (sides.sent, sides.got)]
    if not sent:
        return NOTHING
    for position, (one, other) in enumerate(zip(sent, got, strict=False)):
        if one != other:
            words = (
                "an object keyed by token came back in another order"
                if Counter(one) == Counter(other)
                else "tokens lost"
            )
            return [failed(words, position=position, expected=one, got=other)]
    return [passed()] if len(sent) <= len(got) else [failed("objects keyed by token did not come back")]


def _keyed(value: Any, name: str = "") -> Iterator[tuple[str, ...]]:
    """The keys of every object that stands in a list of one of the token-keyed members, in order."""
    if isinstance(value, dict):
        for key, member in cast("dict[str, Any]", value).items():
            yield from _keyed(member, key)
    elif isinstance(value, list | tuple):
        for member in cast("Sequence[Any]", value):
            if name in TOKEN_KEYED and isinstance(member, dict):
                keys = tuple(cast("dict[str, Any]", member))
                if "logprob" not in keys:
                    yield keys
                    continue
            yield from _keyed(member, name)


@exchange_check("gateway.usage-chunk-kept", modes=GATEWAY, sources=("https://github.com/BerriAI/litellm/issues/3276",))
def usage_chunk_kept(observation: Observation) -> Sequence[Finding]:
    """Usage that the caller asked for MUST come back.

    Where the gateway itself asked for it, it may take the chunk out again.
    """
    sides = _whole(observation)
    if sides is None or observation.sent is None or observation.downstream is None:
        return NOTHING
    options: Any = sides.asked.get("stream_options") or {}
    if observation.sent.capture.usage is None or (sides.asked.get("stream") and not options.get("include_usage")):
        return NOTHING
    capture = observation.downstream.capture
    if capture is not None and capture.usage is not None:
        return [passed()]
    return [failed("usage was sent and did not come back", where="usage")]


@exchange_check("gateway.model-named", modes=GATEWAY, sources=(LITELLM,))
def model_named(observation: Observation) -> Sequence[Finding]:
    """The answer MUST name the model that the server named, or the one that the caller asked for; no third.

    Two names for one model split every table that is grouped by model.
    """
    sides = _whole(observation)
    if sides is None:
        return NOTHING
    sent, got = _models(sides.sent.values), _models(sides.got.values)
    if not sent:
        return NOTHING
    strange = got - sent - {sides.asked.get("model")}
    if strange or not got:
        words = f"the answer names {', '.join(sorted(map(str, strange)))}" if strange else "the answer names no model"
        return [failed(words, where="model", expected=sorted(map(str, sent)), got=sorted(map(str, got)))]
    return [passed()]


def _models(values: Sequence[Any]) -> set[Any]:
    rows = [cast("dict[str, Any]", value) for value in values if isinstance(value, dict)]
    return {row["model"] for row in rows if row.get("model")}


def _whole(observation: Observation) -> Sides | None:
    """The sides of an answer that went through in one API, of an exchange that was no error."""
    down = observation.downstream
    if down is None or error_on_the_wire(observation):
        return None
    if down.status is None or down.status >= 400 or down.error is not None:
        return None
    sides = sides_of(observation)
    return None if sides is None or sides.converted or not sides.got.values else sides
