"""Logprob entries as SGLang's detokenizer spells them: each id decoded alone, special tokens shown.

Bytes are the true bytes of the piece or, up to 0.5.20, the UTF-8 of its displayed text. Candidates are ranks 1 to K;
ids that were asked for by number come in the order asked. Makes told Scores from the truth; knows no wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...generation import Candidate, Token
from ...tokenizer import Tokenizer
from ...told import Score
from .call import Item
from .traits import Trait, Traits


class Speller:
    """Spells tokens for one station; the texts of ids are kept."""

    def __init__(self, tokenizer: Tokenizer, traits: Traits) -> None:
        self._tokenizer = tokenizer
        self._true_bytes = traits.has(Trait.TRUE_BYTES)
        self._texts: dict[int, str] = {}

    def text(self, token_id: Any, piece: bytes = b"") -> str:
        """The text of one id alone; of something that is not an id, the text of its bytes."""
        if not isinstance(token_id, int):
            return piece.decode("utf-8", "replace")
        known = self._texts.get(token_id)
        if known is None:
            known = self._tokenizer.decode((token_id,), skip_special_tokens=False)
            self._texts[token_id] = known
        return known

    def score(self, token: Token, item: Item) -> Score:
        """The entry of a sampled (or prompt) token with what the item asked for."""
        asked = tuple(self._candidate(candidate) for candidate in _asked(token, item.asked))
        top = tuple(self._candidate(candidate) for candidate in token.top[: max(item.top, 0)])
        text = self.text(token.id, token.bytes)
        return Score(token.id, text, self._bytes(token.bytes, text), token.logprob, token.rank, top, asked)

    def prompt(
        self, ids: Sequence[int], rows: Sequence[Token | None] | None, item: Item
    ) -> tuple[Score | None, ...] | None:
        """One entry per prompt token: None up to and with ``start_len``, as no score is computed there."""
        if not item.logprobs or not 0 <= item.start_len < len(ids):
            return None
        known = rows or ()
        told: list[Score | None] = []
        for place in range(len(ids)):
            row = known[place] if place < len(known) else None
            told.append(None if place <= item.start_len or row is None else self.score(row, item))
        return tuple(told)

    def _candidate(self, candidate: Candidate) -> Score:
        text = self.text(candidate.id, candidate.bytes)
        return Score(candidate.id, text, self._bytes(candidate.bytes, text), candidate.logprob, candidate.rank)

    def _bytes(self, piece: bytes, text: str) -> tuple[int, ...]:
        return tuple(piece if self._true_bytes and piece else text.encode())


def _asked(token: Token, ids: Sequence[int] | None) -> list[Candidate]:
    """The candidates for ids asked by number, in the order asked; one without a score in the truth was withheld."""
    if not ids:
        return []
    known = {candidate.id: candidate for candidate in (*token.top, *token.asked)}
    known.setdefault(token.id, Candidate(token.id, token.bytes, token.logprob, token.rank))
    return [known.get(token_id, Candidate(token_id, b"", None)) for token_id in ids]
