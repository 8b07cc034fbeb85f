"""The built-in chat template in Python says what the template itself says, or leaves it to the template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.tokenizer import chat_template
from fakellm.tokenizer.builtin import TEMPLATE
from fakellm.tokenizer.builtin_chat import MOST_CHARACTERS, MOST_MESSAGES, plain

SOURCE = TEMPLATE.read_text("utf-8")
TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", "a</think>\n\nb", "</think>", "{{ 1 }}", "<|im_end|>\n"]))
PARTS = st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=3)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["system", "developer", "user", "assistant"]),
    st.one_of(TEXTS, PARTS),
)


def rendered(messages: list[dict[str, Any]], generation: bool) -> str:
    """What the template says."""
    known = {"tools": None, "documents": None}
    return chat_template.render(SOURCE, messages, known, add_generation_prompt=generation)


@given(st.lists(MESSAGES, min_size=1, max_size=5), st.booleans())
def test_plain_conversations_come_out_as_the_template_has_them(
    messages: list[dict[str, Any]], generation: bool
) -> None:
    assert rendered(messages, generation) == plain(messages, generation)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "42"},
        {"role": "narrator", "content": "once"},
        {"role": None, "content": "once"},
        {"role": "user", "content": None},
        {"role": "user", "content": {"text": "a"}},
        {"role": "user", "content": ["a"]},
        {"role": "user", "content": [{"type": "image_url"}]},
        {"role": "user", "content": [{"type": "text", "text": 7}]},
        {"role": "assistant", "content": "a", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
    ],
)
def test_anything_else_is_left_to_the_template(message: dict[str, Any]) -> None:
    assert plain([{"role": "user", "content": "Hi"}, message], True) is None


def test_what_is_long_is_left_to_the_template_and_its_limits() -> None:
    assert plain([], True) is None
    assert plain([{"role": "user", "content": "a"}] * (MOST_MESSAGES + 1), True) is None
    assert plain([{"role": "user", "content": "a" * (MOST_CHARACTERS + 1)}], True) is None
