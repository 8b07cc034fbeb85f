"""Marks found in text: what may yet become a mark waits, everything else is content.

Every character carries how many tokens began with it, so that reasoning tokens can be counted. Knows no states.

>>> lexer = Lexer({"OPEN": "<think>"})
>>> lexer.feed("Hm<thi"), lexer.feed("nk>")
([Lexeme(mark=None, text='Hm', tokens=0)], [Lexeme(mark='OPEN', text='<think>', tokens=0)])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A mark, or content (``mark`` None). ``tokens``: how many tokens began in it."""

    mark: str | None
    text: str
    tokens: int = 0


class Lexer:
    """``marks``: name -> text; ``dropped``: texts of one more mark, ``DROP``."""

    def __init__(self, marks: Mapping[str, str], dropped: Sequence[str] = ()) -> None:
        self._marks = [*((text, name) for name, text in marks.items()), *((text, DROP) for text in dropped)]
        self._beginnings = frozenset(text[:length] for text, _ in self._marks for length in range(1, len(text)))
        self._first = frozenset(text[0] for text, _ in self._marks if text)
        self._held = ""
        self._counts: list[int] = []

    @property
    def holds(self) -> bool:
        return bool(self._held)

    def may_begin(self, text: str) -> bool:
        """Could a mark begin somewhere in the text?"""
        return not self._first.isdisjoint(text)

    def feed(self, text: str, pieces: Sequence[str] = (), tokens: int = 0) -> list[Lexeme]:
        """Take text that these pieces (texts of tokens) make up; ``tokens`` are counted on the first character where
        no piece is found."""
        self._held += text
        self._counts.extend(_begun(text, pieces, tokens))
        return self._drain(final=False)

    def flush(self) -> list[Lexeme]:
        """The end: what waited is what it looks like."""
        return self._drain(final=True)

    def clear(self) -> None:
        self._held = ""
        self._counts.clear()

    def _drain(self, *, final: bool) -> list[Lexeme]:
        found: list[Lexeme] = []
        while self._held:
            if not self.may_begin(self._held):
                found.append(self._take(None, len(self._held)))
                break
            best = max(
                ((text, name) for text, name in self._marks if self._held.startswith(text)),
                key=lambda mark: len(mark[0]),
                default=None,
            )
            if self._held in self._beginnings and not final and (best is None or self._longer(best[0])):
                break
            if best is not None:
                found.append(self._take(best[1], len(best[0])))
            else:
                found.append(self._take(None, self._content_length()))
        return found

    def _longer(self, found: str) -> bool:
        return any(len(text) > len(found) and text.startswith(self._held) for text, _ in self._marks)

    def _take(self, mark: str | None, length: int) -> Lexeme:
        lexeme = Lexeme(mark, self._held[:length], sum(self._counts[:length]))
        self._held = self._held[length:]
        del self._counts[:length]
        return lexeme

    def _content_length(self) -> int:
        """Content goes as far as the next place where a mark stands or may begin."""
        for place in range(1, len(self._held)):
            if self._held[place] not in self._first:
                continue
            rest = self._held[place:]
            if any(rest[: len(text)] == text[: len(rest)] for text, _ in self._marks):
                return place
        return len(self._held)


DROP = "DROP"
"""The mark of special tokens that the grammar does not know: they are dropped."""


def _begun(text: str, pieces: Sequence[str], tokens: int) -> list[int]:
    counts = [0] * len(text)
    if not text:
        return counts
    if not pieces:
        counts[0] = tokens
        return counts
    place = assigned = 0
    for piece in pieces:
        found = text.find(piece, place) if piece else -1
        if found >= 0:
            counts[found] += 1
            assigned += 1
            place = found + len(piece)
    counts[0] += max(tokens - assigned, 0)
    return counts
