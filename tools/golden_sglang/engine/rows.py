"""The scores of one token as SGLang's scheduler hands them on: its own, the best candidates, those asked for by id.

What the truth does not know is filled up by the rules that the player of vLLM has (``golden_vllm.engine.rows``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from golden_vllm.engine.rows import float32
from golden_vllm.engine.rows import row as filled

BELOW = 1.5
"""How far below the sampled token the first id asked for lies, if the truth does not know it."""


@dataclass(frozen=True, slots=True)
class Scores:
    """``top``: (id, score) in rank order; ``asked``: in the order of the request, None = nothing asked."""

    id: int
    logprob: float
    rank: int
    top: tuple[tuple[int, float], ...]
    asked: tuple[tuple[int, float], ...] | None

    def to_truth(self) -> dict[str, Any]:
        """The golden format, without the bytes of the pieces."""
        told: dict[str, Any] = {
            "id": self.id,
            "logprob": _spelled(self.logprob),
            "rank": self.rank,
            "top": [
                {"id": token_id, "logprob": _spelled(score), "rank": rank}
                for rank, (token_id, score) in enumerate(self.top, 1)
            ],
        }
        if self.asked is not None:
            told["asked"] = [{"id": token_id, "logprob": _spelled(score)} for token_id, score in self.asked]
        return told


def scores(token: Mapping[str, Any], count: int, asked: Sequence[int] | None) -> Scores:
    """The scores of a token of a truth, with ``count`` candidates."""
    row = filled(token, count)
    own = row.logprobs[0]
    known = {one["id"]: one["logprob"] for one in token.get("asked") or ()}
    return Scores(
        id=token["id"],
        logprob=own,
        rank=row.rank,
        top=tuple(zip(row.ids[1:], row.logprobs[1:], strict=True)),
        asked=None
        if asked is None
        else tuple((one, float(known.get(one, float32(own - BELOW - place)))) for place, one in enumerate(asked)),
    )


def _spelled(value: float) -> Any:
    return str(value) if value in (float("inf"), float("-inf")) or value != value else value
