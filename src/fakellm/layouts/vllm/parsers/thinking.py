"""Reasoning parsers that look for the ids of <think> and </think>: deepseek_r1, and qwen3 up to 0.20.2.

They split a step where the closing mark's text stands and let everything else through whole: an opening mark that
comes in one step with text shows up in the reasoning. Source: vllm/reasoning of the versions named.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....tokenizer import Tokenizer
from .deltas import Delta
from .stream import Step

OPEN, CLOSE, CALL, CALL_END = "<think>", "</think>", "<tool_call>", "</tool_call>"


class Thinking:
    """What the id-watching parsers share. ``any_close``: up to 0.12 a closing mark anywhere ends the reasoning; later
    the last mark decides. ``bare``: what a text without an opening mark is: ``reasoning`` (deepseek_r1) or ``content``
    (qwen3)."""

    def __init__(self, tokenizer: Tokenizer, *, any_close: bool, bare: str) -> None:
        self._open = tokenizer.id_of(OPEN.encode())
        self._close = tokenizer.id_of(CLOSE.encode())
        self._any_close = any_close
        self._bare = bare
        self._between = Between(self._open, self._close)

    def whole(self, text: str) -> tuple[str | None, str | None]:
        if self._bare == "content" and (OPEN not in text or CLOSE not in text):
            return None, text
        before, opened, after = text.partition(OPEN)
        text = after if opened else before
        if CLOSE not in text:
            return (text, None) if self._bare == "reasoning" else (None, text)
        reasoning, _, content = text.partition(CLOSE)
        return reasoning, content or None

    def step(self, step: Step) -> Delta | None:
        if len(step.ids) == 1 and step.ids[0] in (self._open, self._close):
            return None
        opened = self._open in step.ids_before
        opens = not opened and self._open in step.ids
        if not (opened or opens) and self._bare == "content":
            return {"content": step.text}
        if self._close in step.ids:
            return self._closing(step.text, after_open=opens)
        if not opens and self._close in step.ids_before:
            return {"content": step.text}
        return {"reasoning": step.text}

    def _closing(self, text: str, *, after_open: bool) -> Delta:
        end = text.find(CLOSE)
        start = text.find(OPEN) + len(OPEN) if after_open else 0
        return {"reasoning": text[start:end], "content": text[end + len(CLOSE) :] or None}

    def ended(self, ids: Sequence[int]) -> bool:
        if self._any_close:
            return self._close in ids
        for token_id in reversed(ids):
            if token_id in (self._open, self._close):
                return token_id == self._close
        return False

    def ended_in(self, ids: Sequence[int]) -> bool:
        return self._close in ids

    def content_ids(self, ids: Sequence[int]) -> list[int]:
        if self._close not in ids[:-1]:
            return []
        return list(ids[list(ids).index(self._close) + 1 :])  # pyright: ignore[reportArgumentType] - it is there

    def finish(self) -> Delta | None:
        return None

    def count(self, ids: Sequence[int]) -> int:
        return Between(self._open, self._close).feed(ids)

    def counted(self, ids: Sequence[int]) -> int:
        return self._between.feed(ids)


class OpenedThinking(Thinking):
    """qwen3 in 0.20.2: the prompt may have opened the reasoning, and a tool call ends it too."""

    def __init__(self, tokenizer: Tokenizer, *, enabled: bool) -> None:
        super().__init__(tokenizer, any_close=False, bare="reasoning")
        self._call = tokenizer.id_of(CALL.encode())
        self._call_end = tokenizer.id_of(CALL_END.encode())
        self._enabled = enabled

    def whole(self, text: str) -> tuple[str | None, str | None]:
        before, opened, after = text.partition(OPEN)
        text = after if opened else before
        if CLOSE in text:
            reasoning, _, content = text.partition(CLOSE)
            return reasoning, content or None
        if not self._enabled:
            return None, text
        found = text.find(CALL)
        if found >= 0:
            return text[:found] or None, text[found:] or None
        return text, None

    def step(self, step: Step) -> Delta | None:
        text = step.text
        if self._open in step.ids and OPEN in text:
            text = text.partition(OPEN)[2]
        if self._close in step.ids:
            reasoning, closed, content = text.partition(CLOSE)
            return _split(reasoning, content) if closed else None
        if self._call is not None and self._call in step.ids and CALL in text:
            start = text.find(CALL)
            return _split(text[:start], text[start:])
        if not text:
            return None
        past = self._close in step.ids_before or (self._call is not None and self._call in step.ids_before)
        return {"content": text} if past else {"reasoning": text}

    def ended(self, ids: Sequence[int]) -> bool:
        closed_calls = 0
        for token_id in reversed(ids):
            if token_id == self._open:
                return False
            if token_id == self._close:
                return True
            if token_id == self._call_end and self._call_end is not None:
                closed_calls += 1
            elif token_id == self._call and self._call is not None and not closed_calls:
                return True
        return False

    def ended_in(self, ids: Sequence[int]) -> bool:
        return super().ended_in(ids) or (self._call is not None and self._call in ids)

    def content_ids(self, ids: Sequence[int]) -> list[int]:
        found = super().content_ids(ids)
        if found or self._call is None or self._call not in ids:
            return found
        last = len(ids) - 1 - list(reversed(ids)).index(self._call)
        return list(ids[last:])


class Between:
    """Counts the ids between the marks; marks may be nested, stray closing ones do not count."""

    def __init__(self, opening: int | None, closing: int | None) -> None:
        self._opening, self._closing = opening, closing
        self._depth = self._count = 0

    def feed(self, ids: Sequence[int]) -> int:
        """Take more ids; the count so far."""
        for token_id in ids:
            if token_id == self._opening:
                self._depth += 1
            elif token_id == self._closing:
                self._depth = max(self._depth - 1, 0)
            elif self._depth:
                self._count += 1
        return self._count


def _split(reasoning: str, content: str) -> Delta | None:
    """Both members are set, an empty one to None; nothing at all is no message."""
    if not reasoning and not content:
        return None
    return {"reasoning": reasoning or None, "content": content or None}
