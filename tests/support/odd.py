"""Odd values for fuzz tests: any JSON, and JSON that is right but for one place."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(("user", "assistant", "tool", "auto", "none", "json_schema", "Hi", "<|im_end|>", ""))
)
NAMES = st.sampled_from(("role", "content", "type", "function", "name", "arguments", "schema")) | st.text(max_size=5)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))


@st.composite
def spoiled(draw: st.DrawFn, right: Any) -> Any:
    """The value with one to three places of it replaced, removed or doubled."""
    value = copy.deepcopy(right)
    for _ in range(draw(st.integers(1, 3))):
        value = _spoiled_once(draw, value)
    return value


def _spoiled_once(draw: st.DrawFn, value: Any) -> Any:
    inside = isinstance(value, dict | list) and len(value) > 0
    if not inside or draw(st.integers(0, 5)) == 0:
        return draw(ANYTHING)
    if isinstance(value, list):
        at = draw(st.integers(0, len(value) - 1))
        how = draw(st.sampled_from(("within", "within", "without", "twice")))
        if how == "within":
            return [*value[:at], _spoiled_once(draw, value[at]), *value[at + 1 :]]
        return [*value[:at], *value[at + 1 :]] if how == "without" else [*value[:at], value[at], *value[at:]]
    name = draw(st.sampled_from(sorted(value)))
    how = draw(st.sampled_from(("within", "within", "without", "beside")))
    if how == "within":
        return {**value, name: _spoiled_once(draw, value[name])}
    if how == "without":
        return {each: item for each, item in value.items() if each != name}
    return {**value, draw(NAMES): draw(ANYTHING)}
