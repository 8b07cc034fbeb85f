"""The path language of accessor tables."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.reading.paths import MISSING, find, steps

BODY: dict[str, Any] = {
    "choices": [{"logprobs": {"content": [{"logprob": -1.0}, {"token": "x"}]}}, {"logprobs": None}],
    "meta": {"rows": [[-0.5, 7, None], [-0.25, 8, None]]},
    "output": [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}, {"type": "refusal"}]},
    ],
    "lists": [[1, 2], [3]],
}


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        ([-1.0, None], "choices[].logprobs.content[].logprob"),
        ([-0.5, -0.25], "meta.rows[][0]"),
        ([7, 8], "meta.rows[][1]"),
        ([-0.25, 8, None], "meta.rows[-1]"),
        (["hi"], "output[type=message].content[type=output_text].text"),
        ([1, 2, 3], "lists[][]"),
        ([[1, 2], [3]], "lists[]"),
        (MISSING, "meta.nothing.rows"),
        (MISSING, "meta[]"),
        (MISSING, "lists[9]"),
    ],
)
def test_a_path_finds(expected: Any, path: str) -> None:
    assert expected == find(BODY, steps(path))


@pytest.mark.parametrize("path", ["a[", "a]b", "[]]"])
def test_what_is_not_a_path_is_told(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        steps(path)
