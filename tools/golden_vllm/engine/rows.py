"""Scores as an engine hands them over, from a truth in the golden format: one row per token, the sampled one first.

A truth knows the candidates that its capture asked for. Where a request asks for more, or for other ids, they are made
up by a rule, so that any request can be answered; the journal then tells what was really said. Knows no vLLM.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FIRST_CANDIDATE = 300
"""Candidates that the truth does not name are counted up from here, past the single bytes and control tokens."""

STEP = 0.125
"""How far made-up scores lie apart: exact in float32."""


@dataclass(frozen=True)
class Row:
    """A token's scores: ids and logprobs (sampled first, then the candidates), and the rank of the sampled one."""

    ids: list[int]
    logprobs: list[float]
    rank: int

    def to_truth(self, *, asked: bool = False) -> dict[str, Any]:
        """In the golden format, without bytes. ``asked``: the candidates are ids that were named, so without ranks."""
        top = [
            {"id": token_id, "logprob": _spelled(score), **({} if asked else {"rank": rank})}
            for rank, (token_id, score) in enumerate(zip(self.ids[1:], self.logprobs[1:], strict=True), 1)
        ]
        return {"id": self.ids[0], "logprob": _spelled(self.logprobs[0]), "rank": self.rank, "top": top}


def float32(value: float) -> float:
    """The double that a float32 of this value widens to."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def row(token: Mapping[str, Any], count: int, *, asked: Sequence[int] = ()) -> Row:
    """The row of one sampled token with ``count`` candidates, or with the ids of ``asked`` in their order."""
    own = _number(token.get("logprob"))
    rank = token.get("rank") or 1
    known = [(one["id"], _number(one.get("logprob"))) for one in token.get("top") or ()]
    own = float32(-STEP * rank) if own is None else own
    if asked:
        scores = {one: score for one, score in known if score is not None}
        scores[token["id"]] = own
        for place, one in enumerate(asked, 1):
            scores.setdefault(one, float32(own - STEP * place))
        told = [scores[one] for one in asked]
        return Row([token["id"], *asked], [own, *told], rank)
    ids = [one for one, _ in known[:count]]
    scores = [own if score is None else score for _, score in known[:count]]
    while len(ids) < count:
        if len(ids) + 1 == rank and token["id"] not in ids:
            ids.append(token["id"])
            scores.append(own)
            continue
        ids.append(_unused(token["id"], ids))
        scores.append(_next_score(scores, len(ids), rank, own))
    return Row([token["id"], *ids], [own, *scores], rank)


def prompt_rows(prompt: Sequence[int], known: Sequence[Any] | None, count: int) -> list[Row]:
    """The rows of all prompt tokens but the first."""
    if known is None or len(known) != len(prompt):
        known = [None] * len(prompt)
    told: list[Row] = []
    for place, token_id in enumerate(prompt[1:], 1):
        token = known[place] or {"id": token_id, "logprob": float32(-0.5 - place * STEP / 8), "rank": count + 1}
        told.append(row(token, count))
    return told


def _unused(sampled: int, taken: Sequence[int]) -> int:
    candidate = FIRST_CANDIDATE
    while candidate == sampled or candidate in taken:
        candidate += 1
    return candidate


def _next_score(scores: Sequence[float], rank: int, sampled_rank: int, own: float) -> float:
    """Above the sampled token's score while it ranks lower, below it afterwards."""
    if own == float("-inf"):
        return float32(-STEP * rank)
    if rank < sampled_rank:
        return float32(own * rank / (sampled_rank + 1))
    before = scores[-1] if scores and scores[-1] != float("-inf") else own
    return float32(min(before, own) - STEP)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, str) else value


def _spelled(value: float) -> Any:
    return str(value) if value in (float("inf"), float("-inf")) or value != value else value
