"""Incremental detokenisation: which text becomes visible when an id arrives.

Behaves like the decode stream of Hugging Face's ``tokenizers``, which vLLM and Dynamo use: text is held
back while it ends in U+FFFD, because the next ids may complete the character, and comes out as a whole with the first
id after which it does not. Works on the bytes of the ids alone, so each id costs the same however long the text is.
It must not know stop strings, steps or vendors.

>>> from fakellm.tokenizer import load
>>> tokenizer = load()
>>> detokenizer = Detokenizer(tokenizer)
>>> [detokenizer.push([tokenizer.id_of(bytes([byte]))]) for byte in "é!".encode()]
['', 'é', '!']
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence

from .tokenizer import Tokenizer

_decoder_of_utf8 = codecs.getincrementaldecoder("utf-8")
REPLACEMENT = "\ufffd"


class Detokenizer:
    """The text of one choice as it grows.

    ``prompt_ids``: what was read before; an unfinished character at their end is finished by the first ids pushed.
    ``skip_special_tokens``: special ids give no text, and do not separate the bytes before and after them.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompt_ids: Sequence[int] = (), *, skip_special_tokens: bool = True
    ) -> None:
        self._piece = tokenizer.piece
        self._hidden: frozenset[int] = tokenizer.special_ids if skip_special_tokens else frozenset()
        self._decoder = _decoder_of_utf8("replace")
        self._held: list[str] = []
        self._waiting = False
        self.push(self._unfinished_end(prompt_ids))

    @property
    def waiting(self) -> bool:
        """Whether text is held back: the stream ends in bytes that may yet become a character."""
        return self._waiting

    def push(self, ids: Iterable[int]) -> str:
        """The text that became visible by these ids, taken one after the other; "" while text is held back."""
        shown: list[str] = []
        for token_id in ids:
            if token_id in self._hidden:
                continue
            piece = self._piece(token_id)
            if not self._waiting and piece.isascii():
                shown.append(piece.decode("ascii"))
                continue
            text = self._decoder.decode(piece)
            if text:
                self._held.append(text)
            self._waiting = bool(self._decoder.getstate()[0]) or (
                bool(self._held) and self._held[-1].endswith(REPLACEMENT)
            )
            if not self._waiting:
                shown += self._held
                self._held.clear()
        return "".join(shown)

    def flush(self) -> str:
        """What is still held back, with U+FFFD for bytes that became no character; the stream starts afresh after it.
        Real servers leave this text out at the end of an answer: whether to show it is the layout's decision."""
        self._held.append(self._decoder.decode(b"", final=True))
        text = "".join(self._held)
        self._held.clear()
        self._waiting = False
        return text

    def _unfinished_end(self, prompt_ids: Sequence[int]) -> Sequence[int]:
        """The ids from the last one that ends in a whole character of its own: nothing before it can matter."""
        for start in range(len(prompt_ids) - 1, -1, -1):
            if prompt_ids[start] in self._hidden:
                continue
            try:
                text = self._piece(prompt_ids[start]).decode("utf-8")
            except UnicodeDecodeError:
                continue
            if text and not text.endswith(REPLACEMENT):
                return prompt_ids[start:]
        return prompt_ids
