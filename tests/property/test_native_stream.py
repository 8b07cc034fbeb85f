"""SGLang's native stream comes back exactly in both of its fashions: every chunk repeats all, or tells what is new.

The wire is built by hand here, smaller than the real one, so that any ids, scores and steps can be put on it: equal ids
in a row, steps without a token, and no token counts at all.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.reading import Reader

SCORES = st.floats(-60.0, 0.0, width=32).map(lambda value: struct.unpack("<f", struct.pack("<f", value))[0])
TOKENS = st.lists(st.tuples(st.integers(0, 3), SCORES), min_size=1, max_size=12, unique_by=lambda token: token[1])


def stream(steps: list[list[tuple[int, float]]], *, repeats: bool, counts: bool) -> bytes:
    """The events of one choice."""
    events: list[str] = []
    for number in range(1, len(steps) + 1):
        shown = [token for step in (steps[:number] if repeats else steps[number - 1 : number]) for token in step]
        meta: dict[str, Any] = {"output_token_logprobs": [[score, id, None] for id, score in shown]}
        meta["finish_reason"] = {"type": "stop", "matched": 2} if number == len(steps) else None
        if counts:
            meta["completion_tokens"] = sum(map(len, steps[:number]))
        body = {"text": "", "output_ids": [id for id, _ in shown], "meta_info": meta}
        events.append(f"data: {json.dumps(body)}\n\n")
    return "".join([*events, "data: [DONE]\n\n"]).encode()


@settings(deadline=None)
@given(
    tokens=TOKENS,
    edges=st.lists(st.integers(0, 12), max_size=6),
    cuts=st.lists(st.integers(0), max_size=5),
    repeats=st.booleans(),
    counts=st.booleans(),
)
def test_both_fashions_come_back_exactly(
    tokens: list[tuple[int, float]], edges: list[int], cuts: list[int], repeats: bool, counts: bool
) -> None:
    bounds = [0, *sorted(min(edge, len(tokens)) for edge in edges), len(tokens)]
    body = stream([tokens[start:end] for start, end in pairwise(bounds)], repeats=repeats, counts=counts)
    reader = Reader(api="generate", stream=True)

    for start, end in pairwise([0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]):
        reader.feed(body[start:end])
    choice = reader.capture().choices[0]

    assert tuple(id for id, _ in tokens) == choice.completion_token_ids
    assert tuple(score for _, score in tokens) == choice.logprobs
