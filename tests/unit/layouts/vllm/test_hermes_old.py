"""The old hermes parser does not read a call's JSON once a token, and shows what it showed when it did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakellm.layouts.vllm.parsers import hermes_old
from fakellm.layouts.vllm.parsers.hermes_old import OldHermes
from fakellm.layouts.vllm.parsers.stream import Step
from fakellm.tokenizer import load

TOKENIZER = load()
PIECES = st.sampled_from(["a", "é🙂", "\\", "n", '"', "\\u00", "41", "{", "}", ", ", "]", "\n", '"b": '])


def call(text: str) -> str:
    arguments = {"name": "add", "arguments": {"text": text, "n": [1, 'x"y']}}
    return f"<tool_call>\n{json.dumps(arguments, ensure_ascii=False)}\n</tool_call>"


def played(steps: Sequence[str], *, exact: bool, reads_all: bool = False) -> Any:
    """What every step showed, and what the server asks for in the end."""
    parser = OldHermes(TOKENIZER, exact=exact)
    if reads_all:
        parser._open.goes_on = lambda body: False
    before, shown = "", list[Any]()
    for text in steps:
        shown.append(parser.step(Step(text, [1, 2], before, [], before + text, [])))
        before += text
    return shown, parser.sent, parser.expected()


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 5), st.lists(PIECES, max_size=4), st.booleans())
def test_it_shows_what_it_would_show_if_it_read_everything(text: str, size: int, noise: list[str], exact: bool) -> None:
    says = call(text)
    steps = [says[at : at + size] for at in range(0, len(says), size)]
    middle = len(steps) // 2
    steps = [*steps[:middle], *noise, *steps[middle:]]

    assert played(steps, exact=exact, reads_all=True) == played(steps, exact=exact)


def test_a_long_string_is_not_read_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = list[int]()
    read = hermes_old.read_partial

    def counted(text: str, *, strings: bool = True) -> Any:
        reads.append(len(text))
        return read(text, strings=strings)

    monkeypatch.setattr(hermes_old, "read_partial", counted)
    played(list(call("one line\n" * 200)), exact=True)

    assert len(reads) < 150
