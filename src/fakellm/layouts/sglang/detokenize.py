"""SGLang's incremental detokenisation: which text a batch of new ids makes visible.

The ids of an answer are decoded together with up to five prompt ids before them; a text that ends in half a character
waits (its readable beginning is shown at once), and a matched stop is cut off at the end. What was shown is never
taken back. Pure; knows no request, no logprobs and no wire.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tokenizer import Tokenizer

PROMPT_CONTEXT = 5
"""How many prompt ids give the first token its context."""

_HALF = "\ufffd"


class Detokenizer:
    """The text of one answer as it grows. ``push`` in the order of the engine's deliveries."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Sequence[int],
        *,
        skip_special_tokens: bool = True,
        no_stop_trim: bool = False,
        keeps_zero: bool = False,
    ) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = [self._known(token_id) for token_id in prompt_ids[-PROMPT_CONTEXT:]]
        self._context_from = 0
        self._read_from = len(self._ids)
        self._skip_special = skip_special_tokens
        self._no_stop_trim = no_stop_trim
        self._keeps_zero = keeps_zero
        self._committed: list[str] = []
        self._length = 0
        self._sent = 0
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """Everything that was shown so far."""
        return "".join(self._shown)

    def push(self, ids: Sequence[int | None], *, finished: bool = False, matched: int | str | None = None) -> str:
        """The text that these ids make visible. ``matched``: the stop id or string that ended the answer."""
        self._ids.extend(self._known(token_id) for token_id in ids if token_id is not None)
        reading = self._ids[self._context_from :]
        kept = self._no_stop_trim or (matched == 0 and self._keeps_zero)
        if isinstance(matched, int) and not kept and reading:
            reading = reading[:-1]
        context = self._decode(self._ids[self._context_from : self._read_from])
        fresh = self._decode(reading)[len(context) :]
        shown = self._finish(fresh, matched) if finished else self._grow(fresh)
        self._shown.append(shown)
        return shown

    def _grow(self, fresh: str) -> str:
        pending = self._sent - self._length
        if fresh and not fresh.endswith(_HALF):
            self._committed.append(fresh)
            self._length += len(fresh)
            self._context_from, self._read_from = self._read_from, len(self._ids)
            self._sent = self._length
            return fresh[pending:]
        readable = readable_part(fresh)
        self._sent = self._length + len(readable)
        return readable[pending:]

    def _finish(self, fresh: str, matched: int | str | None) -> str:
        whole = "".join(self._committed) + fresh
        if isinstance(matched, str):
            place = whole.find(matched)
            if place >= 0:
                whole = whole[: place + len(matched)] if self._no_stop_trim else whole[:place]
        shown = whole[self._sent :]
        self._sent = len(whole)
        return shown

    def _known(self, token_id: int) -> int:
        return token_id if 0 <= token_id < self._tokenizer.vocab_size else 0

    def _decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=self._skip_special) if ids else ""


def readable_part(text: str) -> str:
    """The beginning of a text that may be shown before it is complete: whole lines, whole CJK characters, whole words.

    >>> readable_part("some wor"), readable_part("字")
    ('some ', '字')
    """
    if text.endswith("\n"):
        return text
    if text and _is_cjk(ord(text[-1])):
        return text
    if len(text) > 1 and _is_cjk(ord(text[-2])):
        return text[:-1]
    return text[: text.rfind(" ") + 1]


def _is_cjk(point: int) -> bool:
    return any(low <= point <= high for low, high in _CJK)


_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""The blocks of CJK ideographs: such text has no spaces to break at."""
