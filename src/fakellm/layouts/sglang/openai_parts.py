"""Pieces that SGLang's OpenAI routes share: usage, logprob entries, sglext, metadata.

Reads only the Told and the settings; every function returns JSON values in wire order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...told import Score, Told
from .aborts import never_began
from .call import Call
from .native_render import cached_details, joined, weight_spans
from .options import Settings
from .traits import Trait, Traits


@dataclass(frozen=True, slots=True)
class Facts:
    """What every chunk and body of one answer says: time, model, and who renders it."""

    created: int
    model: str
    traits: Traits
    settings: Settings
    call: Call

    @property
    def spelling(self) -> str:
        """How whole answers spell numbers."""
        return "serde" if self.traits.has(Trait.JSON_BY_PYDANTIC) else "json"


def usage(told: Told, facts: Facts) -> dict[str, Any]:
    """The usage object of a whole answer and of a stream's last chunk."""
    counted = told.usage
    cached = counted.cached_tokens or 0 if facts.settings.cache_report else None
    return usage_object(counted.prompt_tokens, counted.completion_tokens, counted.reasoning_tokens, cached, facts)


def step_usage(told: Told, choice: int, completion: int, facts: Facts, *, details: bool = True) -> dict[str, Any]:
    """Usage so far of one choice, as continuous usage tells it. ``details``: the route tells cached tokens there."""
    prompt = told.prompts[min(choice // max(told.n, 1), len(told.prompts) - 1)]
    count = told.usage.prompt_tokens if len(told.prompts) == 1 else len(prompt.token_ids or ())
    reported = details and facts.settings.cache_report and facts.traits.has(Trait.CONTINUOUS_USAGE_CACHED)
    cached = prompt.cached_tokens or 0 if reported else None
    return usage_object(count, completion, told.usage.reasoning_tokens, cached, facts)


def usage_object(
    prompt: int | None, completion: int | None, reasoning: int | None, cached: int | None, facts: Facts
) -> dict[str, Any]:
    """Token counts; a count that is None is left out."""
    made: dict[str, Any] = {}
    if prompt is not None:
        made["prompt_tokens"] = prompt
    if prompt is not None or completion is not None:
        made["total_tokens"] = (prompt or 0) + (completion or 0)
    if completion is not None:
        made["completion_tokens"] = completion
    made["prompt_tokens_details"] = None if cached is None else {"cached_tokens": cached}
    if facts.traits.has(Trait.USAGE_REASONING):
        made["reasoning_tokens"] = reasoning or 0
    if facts.traits.has(Trait.COMPLETION_DETAILS):
        made["completion_tokens_details"] = {"reasoning_tokens": reasoning} if reasoning else None
    return made


def chat_logprobs(scores: Iterable[Score | None], traits: Traits, *, streamed: bool = False) -> dict[str, Any]:
    """``{"content": [...]}``. Old versions show, for every token of a streamed step, the first one's alternatives."""
    rows = list(scores)
    content: list[Any] = []
    for row in rows:
        if row is None:
            content.append(None)
            continue
        source = rows[0] if streamed and traits.has(Trait.STREAM_TOPS_OF_FIRST) else row
        top = () if source is None else source.top or ()
        content.append({**_entry(row), "top_logprobs": [_entry(each) for each in _tops(top, traits)]})
    return {"content": content}


def _entry(score: Score) -> dict[str, Any]:
    return {
        "token": score.token,
        "bytes": None if score.bytes is None else list(score.bytes),
        "logprob": score.logprob,
    }


def _tops(top: Sequence[Score], traits: Traits) -> Sequence[Score]:
    """Alternatives; up to 0.5.20 those with one text are one, at the first's place with the last's score."""
    if traits.has(Trait.CANDIDATES_JOINED):
        return joined(top)
    if not traits.has(Trait.TOPS_BY_TEXT):
        return top
    by_text: dict[str, Score] = {}
    for each in top:
        by_text[each.token] = each
    return tuple(by_text.values())


def metadata(told: Told, completion: int | None, traits: Traits) -> dict[str, Any]:
    """The weights behind the first choice; none made the tokens of one that never began."""
    made: dict[str, Any] = {"weight_version": told.weight_version}
    if traits.has(Trait.WEIGHT_VERSIONS) and not never_began(told.choices[0]):
        made["weight_versions"] = weight_spans(told.weight_version, completion)
    return made


def sglext(told: Told, values: Mapping[str, Any], traits: Traits) -> dict[str, Any]:
    """sglext without ids: what the request asked to be told of caches and experts."""
    made: dict[str, Any] = {}
    if values.get("return_routed_experts"):
        experts = next((c.extras["routed_experts"] for c in told.choices if "routed_experts" in c.extras), None)
        if experts is not None:
            made["routed_experts"] = experts
    if values.get("return_cached_tokens_details") and traits.has(Trait.SGLEXT_CACHED):
        details = cached_details(told.prompts[0])
        if details is not None:
            made["cached_tokens_details"] = details
    return made


def first_count(told: Told) -> int | None:
    """Completion tokens of the first choice."""
    if len(told.choices) == 1:
        return told.usage.completion_tokens
    steps = told.choices[0].steps
    return steps[-1].tokens[1] if steps else 0


def includes_usage(values: Mapping[str, Any], settings: Settings, traits: Traits) -> tuple[bool, bool]:
    """(usage in a chunk at the end, usage on every chunk)."""
    options: Mapping[str, Any] = values.get("stream_options") or {}
    default = settings.include_usage and traits.has(Trait.DEFAULT_INCLUDE_USAGE)
    return bool(options.get("include_usage")) or default, bool(options.get("continuous_usage_stats"))
