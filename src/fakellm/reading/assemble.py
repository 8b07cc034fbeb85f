"""From what was gathered to choices: pieces joined, places reconciled, nothing judged.

The result is the answer *as sent*: the oracle's ``as-sent`` compares with it, and ``trust.py`` decides whether the
reference client may hand it on. Empty lists count as not there. Pure; knows no bytes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..capture import Alternative, Alternatives, CapturedChoice
from .gather import Found, Gathered
from .series import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A choice as sent. ``entry_ids``: the ids that stand beside the scores, where a vendor writes them there."""

    choice: CapturedChoice
    usage: Mapping[str, Any] | None
    entry_ids: tuple[Any, ...] | None
    logprobs_rank: int


def drafts_of(gathered: Gathered, *, may_repeat: bool) -> tuple[list[Draft], list[str]]:
    """The choices in the order of their index, and the values that two places tell differently.

    ``may_repeat``: the stream may be one in which each message repeats all before it (SGLang's native one).
    """
    odd = list(gathered.disagreements)
    per_choice = _spread(gathered)
    drafts = [
        _draft(index, found, gathered, per_choice, may_repeat=may_repeat, odd=odd)
        for index, found in sorted(gathered.choices.items(), key=lambda item: _order(item[0]))
    ]
    return drafts, odd


@dataclass(frozen=True, slots=True)
class Detail:
    """What a wire shows of a choice besides its values. ``steps``: tokens per message, of those that brought any: the
    engine's steps as far as a stream shows them. ``texts``: the text as it came. ``ranks`` and ``entry_ids``: one per
    score, where the vendor writes them beside it. ``prompt_scores``: of the prompt's own tokens, where they do not
    stand among their alternatives."""

    steps: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    ranks: tuple[Any, ...] | None = None
    entry_ids: tuple[Any, ...] | None = None
    prompt_scores: tuple[Any, ...] | None = None


def details_of(gathered: Gathered, *, may_repeat: bool) -> Mapping[Any, Detail]:
    """Choice index -> its detail."""
    details: dict[Any, Detail] = {}
    for index, found in gathered.choices.items():
        repeats = _repeats(found) if may_repeat else {}
        told = [_steps(found, value, repeats.get(value, False)) for value in ("completion_token_ids", "logprobs")]
        beside = {"ranks": repeats.get("logprobs", False), "entry_ids": repeats.get("logprobs", False)}
        details[index] = Detail(
            steps=max(told, key=len),
            texts=() if repeats.get("text") else tuple(piece for text in _of(found, "text") for piece in text.pieces),
            ranks=_shown(_joined(found, "ranks", beside, [])),
            entry_ids=_shown(_joined(found, "entry_ids", beside, [])),
            prompt_scores=_shown(_last(found, "prompt_scores")),
        )
    return details


def _shown(values: Sequence[Any]) -> tuple[Any, ...] | None:
    return tuple(values) if any(value is not None for value in values) else None


def _steps(found: Found, value: str, repeats: bool) -> tuple[int, ...]:
    """Ids may all come at the end and scores as they are made: whatever came in more pieces shows the steps."""
    series = next(iter(_of(found, value)), None)
    lengths = [] if series is None else [len(piece) for piece in series.pieces]
    if repeats:
        lengths = [length - before for before, length in itertools.pairwise([0, *lengths])]
    return tuple(length for length in lengths if length > 0)


def _draft(
    index: Any,
    found: Found,
    gathered: Gathered,
    per_choice: Mapping[Any, list[Any]],
    *,
    may_repeat: bool,
    odd: list[str],
) -> Draft:
    repeats = _repeats(found) if may_repeat else {}
    prompt = _once(found, "prompt_token_ids", odd)
    shared = _once(gathered.top, "prompt_token_ids", odd)
    own_ids, other_ids = _joined(found, "completion_token_ids", repeats, odd), per_choice.get(index, [])
    for value, one, other in (("prompt_token_ids", prompt, shared), ("completion_token_ids", own_ids, other_ids)):
        if one and other and one != other and not _lists(other):
            odd.append(value)
    scores = _joined(found, "logprobs", repeats, odd)
    texts = _joined(found, "text", repeats, odd)
    choice = CapturedChoice(
        index=index,
        prompt_token_ids=_tuple(prompt or ([] if _lists(shared) else shared)),
        completion_token_ids=_tuple(own_ids or other_ids),
        logprobs=_tuple(scores),
        text="".join(texts),
        finish_reason=found.finish_reason,
        top_logprobs=_alternatives(_joined(found, "top_logprobs", repeats, odd)),
        prompt_logprobs=_alternatives(_last(found, "prompt_logprobs") or _last(gathered.top, "prompt_logprobs")),
        token_texts=_strings(_joined(found, "token_texts", repeats, odd)),
        weight_versions=_versions(_last(found, "weight_versions") or _last(gathered.top, "weight_versions")),
    )
    entries = _joined(found, "entry_ids", repeats, odd)
    rank = min((rank for value, rank in found.series if value == "logprobs"), default=0)
    return Draft(choice=choice, usage=found.usage, entry_ids=_tuple(entries), logprobs_rank=rank)


def _spread(gathered: Gathered) -> Mapping[Any, list[Any]]:
    """Completion ids that stand at the top: one list per choice, or one list when there is one choice."""
    pieces = [list(piece) for series in _of(gathered.top, "completion_token_ids") for piece in series.pieces]
    order = sorted(gathered.choices, key=_order)
    spread: dict[Any, list[Any]] = {}
    for piece in pieces:
        per_choice = piece if _lists(piece) else [piece] if len(order) <= 1 else []
        for index, ids in zip(order, per_choice, strict=False):
            spread.setdefault(index, []).extend(ids)
    return spread


def _repeats(found: Found) -> dict[str, bool]:
    """Which lists repeat all so far. Where the count of tokens does not tell, the scores do: no two are equal."""
    known = {value: series.repeats() for (value, _), series in found.series.items()}
    ids, scores = known.get("completion_token_ids"), known.get("logprobs")
    repeat_ids = bool(ids if ids is not None else scores)
    if ids and scores is False and not _counted(found):
        repeat_ids = False
    repeat_scores = bool(scores) if scores is not None else repeat_ids
    text = bool(known.get("text")) and (repeat_ids or repeat_scores or ids is None)
    return {
        "completion_token_ids": repeat_ids,
        "logprobs": repeat_scores,
        "top_logprobs": repeat_scores,
        "token_texts": repeat_scores,
        "entry_ids": repeat_scores,
        "text": text,
    }


def _counted(found: Found) -> bool:
    return any(count is not None for series in found.series.values() for count in series.counts)


def _of(found: Found, value: str) -> list[Series]:
    return [series for (name, _), series in sorted(found.series.items()) if name == value]


def _joined(found: Found, value: str, repeats: Mapping[str, bool], odd: list[str]) -> list[Any]:
    """The first place that holds anything; another place of the same length that differs is a disagreement."""
    lists = [series.joined(repeats.get(value, False)) for series in _of(found, value)]
    lists = [one for one in lists if one]
    if any(len(other) == len(lists[0]) and other != lists[0] for other in lists[1:]) and value == "logprobs":
        odd.append(value)
    return lists[0] if lists else []


def _once(found: Found, value: str, odd: list[str]) -> list[Any]:
    """A list that no stream sends in parts: the first one; a later one that differs is a disagreement."""
    pieces = [list(piece) for series in _of(found, value) for piece in series.pieces if piece]
    if any(piece != pieces[0] for piece in pieces[1:]):
        odd.append(value)
    return pieces[0] if pieces else []


def _last(found: Found, value: str) -> list[Any]:
    pieces = [list(piece) for series in _of(found, value) for piece in series.pieces if piece]
    return pieces[-1] if pieces else []


def _lists(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(one, list) for one in values)


def _tuple(values: Sequence[Any]) -> tuple[Any, ...] | None:
    return tuple(values) if values else None


def _versions(spans: Sequence[Any]) -> tuple[Any, ...] | None:
    """One version per completion token, from half-open spans ``{"version", "start", "end"}``."""
    rows = [cast("dict[str, Any]", span) for span in spans if isinstance(span, dict)]
    per_token = [row.get("version") for row in rows for _ in range(row.get("end", 0) - row.get("start", 0))]
    return tuple(per_token or spans) if spans else None


def _strings(values: Sequence[Any]) -> tuple[Any, ...] | None:
    return tuple(values) if any(isinstance(value, str) for value in values) else None


def _order(index: Any) -> tuple[int, float, str]:
    return (0, float(index), "") if isinstance(index, int | float) and not math.isnan(index) else (1, 0.0, str(index))


def _alternatives(entries: Sequence[Any]) -> tuple[Alternatives | None, ...] | None:
    """Lists of alternatives in any vendor's form: objects, ``[logprob, id, text]`` rows, or a dict keyed by token."""
    return tuple(_entry(entry) for entry in entries) if entries else None


def _entry(entry: Any) -> Alternatives | None:
    if isinstance(entry, dict):
        return tuple(_keyed(key, value) for key, value in cast("dict[str, Any]", entry).items())
    if isinstance(entry, list):
        return tuple(_one(row) for row in cast("list[Any]", entry))
    return None


def _keyed(key: str, value: Any) -> Alternative:
    """``{"42": {"logprob": ..., "rank": ..., "decoded_token": ...}}`` or ``{" the": -0.5}``."""
    if isinstance(value, dict):
        row = cast("dict[str, Any]", value)
        number = int(key) if key.isascii() and key.isdigit() else None
        return Alternative(number, row.get("decoded_token"), row.get("logprob"), row.get("rank"))
    return Alternative(None, key, value)


def _one(row: Any) -> Alternative:
    if isinstance(row, dict):
        members = cast("dict[str, Any]", row)
        number = members.get("token_id", members.get("id"))
        return Alternative(number, members.get("token"), members.get("logprob"), members.get("rank"))
    if isinstance(row, list) and row:
        logprob, number, text = (*cast("list[Any]", row), None, None)[:3]
        return Alternative(number, text, logprob)
    return Alternative(logprob=row)
