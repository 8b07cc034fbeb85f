"""What a probe's engine says: a truth made of text, of ids, or of both, in steps of one's own choosing."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakellm.tokenizer import Tokenizer

from ..engine.rows import float32

Said = str | int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Speech:
    """Makes truths for one tokenizer."""

    tokenizer: Tokenizer

    def ids(self, *said: Said) -> list[int]:
        """Text is encoded, numbers are ids."""
        found: list[int] = []
        for part in said:
            if isinstance(part, str):
                found.extend(self.tokenizer.encode(part))
            else:
                found.extend([part] if isinstance(part, int) else part)
        return found

    def say(
        self,
        *said: Said,
        eos: bool = True,
        steps: Sequence[int] | None = None,
        ranks: Mapping[int, int] | None = None,
        low: Sequence[int] = (),
        finish: str | None = None,
        finish_at: int | None = None,
        **script: Any,
    ) -> dict[str, Any]:
        """A truth with one choice. ``steps``: tokens per step, the last repeats; ``ranks``: position -> rank of the
        sampled token; ``low``: positions whose score is minus infinity; ``script``: delay, gap, cached, routed, kv."""
        ids = self.ids(*said)
        if eos:
            ids.append(self.tokenizer.eos_ids[0])
        tokens: list[dict[str, Any]] = [
            {
                "id": token_id,
                "logprob": "-inf" if place in low else float32(-0.0625 * (place % 97 + 1) - 0.01),
                "rank": (ranks or {}).get(place, 1),
                "top": [],
            }
            for place, token_id in enumerate(ids)
        ]
        choice: dict[str, Any] = {"finish_reason": finish or ("stop" if eos else "length"), "tokens": tokens}
        if finish_at is not None:
            choice["finish_at"] = finish_at
        choice["chunks"] = _filled(steps or (1,), len(ids))
        truth: dict[str, Any] = {"prompt_token_ids": [], "prompt_logprobs": None, "choices": [choice]}
        return {**truth, "script": script} if script else truth

    def choices(self, *truths: Mapping[str, Any]) -> dict[str, Any]:
        """Several samples of one prompt."""
        return {**truths[0], "choices": [choice for truth in truths for choice in truth["choices"]]}

    def at_random(self, chance: random.Random, *said: Said, **options: Any) -> dict[str, Any]:
        """The same words in steps of random lengths, with random ranks."""
        count = len(self.ids(*said)) + 1
        steps = [chance.choice((1, 1, 1, 2, 2, 3, 4, 6)) for _ in range(count)]
        ranks = {place: chance.choice((1, 1, 1, 1, 2, 3, 7)) for place in range(count)}
        return self.say(*said, steps=steps, ranks=ranks, **options)


def _filled(steps: Sequence[int], count: int) -> list[int]:
    """Steps that add up to ``count``; the last given length repeats."""
    told: list[int] = []
    left, place = count, 0
    while left > 0:
        size = min(steps[min(place, len(steps) - 1)], left)
        place += 1
        told.append(size)
        left -= size
        if place > 4 * count + len(steps):
            raise ValueError(f"steps {steps!r} never reach {count} tokens")
    return told
