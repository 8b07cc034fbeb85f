"""What faults need of tokens themselves: another tokenisation of the same bytes, and the alphabet of byte-level BPE.

Pure helpers over a Tokenizer and told scores; they know no subject and no wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..errors import FaultError
from ..tokenizer import Tokenizer
from ..told import Score


def split_token(ids: Sequence[Any], tokenizer: Tokenizer | None, near: int) -> tuple[Any, ...]:
    """The same bytes in other tokens: the first token from ``near`` on (then before it) that splits into two.

    Raises FaultError without a tokenizer, or when no token of the sequence has two known halves.
    """
    if tokenizer is None:
        raise FaultError("there is no tokenizer to tokenise with", hint="it needs a layout that runs with a tokenizer")
    order = [*range(near, len(ids)), *range(near - 1, -1, -1)]
    for index in order:
        halves = _halves(ids[index], tokenizer)
        if halves is not None:
            return (*ids[:index], *halves, *ids[index + 1 :])
    if not ids:
        return ()
    raise FaultError("no token of this answer can be told as two others", hint="use a longer text")


def _halves(token_id: Any, tokenizer: Tokenizer) -> tuple[int, int] | None:
    if not isinstance(token_id, int) or token_id in tokenizer.special_ids:
        return None
    piece = tokenizer.piece(token_id)
    for cut in range(1, len(piece)):
        first, second = tokenizer.id_of(piece[:cut]), tokenizer.id_of(piece[cut:])
        if first is not None and second is not None:
            return first, second
    return None


def with_logprob(score: Score, logprob: Any) -> Score:
    """The entry with another value, also where the sampled token stands among its own alternatives."""
    top = score.top
    if top is not None:
        top = tuple(replace(each, logprob=logprob) if each.id == score.id else each for each in top)
    return replace(score, logprob=logprob, top=top)


@cache
def _alphabet() -> dict[int, str]:
    """Byte -> letter of the byte-level BPE alphabet (GPT-2): printable bytes stand for themselves."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in visible}
    hidden = (byte for byte in range(256) if byte not in letters)
    return letters | {byte: chr(256 + number) for number, byte in enumerate(hidden)}


def bpe_alphabet(piece: bytes) -> str:
    """Bytes as vocabulary files of byte-level BPE spell them.

    >>> bpe_alphabet(" é".encode())
    'ĠÃ©'
    """
    letters = _alphabet()
    return "".join(letters[byte] for byte in piece)
