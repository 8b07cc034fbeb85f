"""Marks found by their ids: a step's text is cut where its special ids stand.

The text of a step and its ids need not fall together: the detokeniser holds text back (stop strings, unfinished
characters). A mark whose text has not come yet waits for it, and text before it waits with it. Knows no states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from .lex import DROP


@dataclass(frozen=True, slots=True)
class Piece:
    """Text between marks; ``texts`` are its tokens' own, ``tokens`` how many they are."""

    text: str
    texts: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A mark found by its id."""

    mark: str
    text: str


Item = Piece | Found


class Scanner:
    """``marks``: id -> mark; ``decode``: the text of one id; ``removed``: ids that vanish with their text (0.24)."""

    def __init__(
        self, marks: Mapping[int, str], decode: Callable[[int], str], *, removed: Collection[int] = frozenset()
    ) -> None:
        self._marks = marks
        self._removed = removed
        self._decode = decode
        self.clear()

    def clear(self) -> None:
        self._waiting: list[tuple[Found, int]] = []  # a mark, and the tokens that came before it
        self._trailing = 0
        self._rest = ""

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def knows(self, ids: Sequence[int]) -> bool:
        """Is one of the ids a mark?"""
        return any(token_id in self._marks or token_id in self._removed for token_id in ids)

    def scan(self, text: str, ids: Sequence[int]) -> list[Item]:
        ready: list[Item] = []
        trailing = 0
        if self._waiting:
            ready, text, trailing = self._resolve(text, len(ids))
        if not self.knows(ids):
            if text:
                texts = tuple(self._decode(token_id) for token_id in ids)
                ready.append(Piece(text, texts, trailing + len(texts)))
            return ready
        items = self._cut(ids)
        if trailing:
            items.insert(0, Piece("", tokens=trailing))
        if not text:
            self._wait_for(items)
            return ready
        text = self._without_removed(text, ids)
        return [*ready, *self._placed(text, items)] if text else [*ready, *items]

    def flush(self) -> list[Item]:
        """The end: marks that still wait are as good as come."""
        if not self._waiting and not self._rest:
            return []
        items: list[Item] = []
        if self._rest:
            items.append(Piece(self._rest, tokens=self._waiting[0][1] if self._waiting else 0))
        items.extend(found for found, _ in self._waiting)
        if self._trailing:
            items.append(Piece("", tokens=self._trailing))
        self.clear()
        return items

    def _cut(self, ids: Sequence[int]) -> list[Item]:
        items: list[Item] = []
        texts: list[str] = []
        for token_id in ids:
            if token_id in self._removed:
                continue
            mark = self._marks.get(token_id)
            if mark is None:
                texts.append(self._decode(token_id))
                continue
            items.extend(_joined(texts))
            texts = []
            items.append(Found(mark, self._decode(token_id)))
        items.extend(_joined(texts))
        return items

    def _without_removed(self, text: str, ids: Sequence[int]) -> str:
        for token_id in ids:
            if token_id in self._removed:
                text = text.replace(self._decode(token_id), "", 1)
        return text

    def _wait_for(self, items: Sequence[Item]) -> None:
        """No text came: marks wait, so that nothing changes before the text that precedes them."""
        before = 0
        for item in items:
            if isinstance(item, Piece):
                before += item.tokens
            else:
                self._waiting.append((item, before))
                before = 0
        self._trailing += before

    def _resolve(self, text: str, tokens: int) -> tuple[list[Item], str, int]:
        waiting, trailing = self._waiting, self._trailing
        self._waiting, self._trailing = [], 0
        items: list[Item] = []
        text, self._rest = self._rest + text, ""
        for found, before in waiting:
            place = text.find(found.text)
            if place >= 0:
                if place:
                    items.append(Piece(text[:place], tokens=before))
                items.append(found)
                text = text[place + len(found.text) :]
                continue
            if text:
                self._rest += text
                before += tokens
                text = ""
            self._waiting.append((found, before))
        if self._waiting:
            self._trailing, trailing = trailing, 0
        return items, text, trailing

    def _placed(self, text: str, items: list[Item]) -> list[Item]:
        """The items laid over the real text; text that was held back earlier comes before them."""
        joined = "".join(item.text for item in items)
        place = text.find(joined) if joined else len(text)
        if not joined or place > 0:
            return [Piece(text[:place]), *items]
        return items if place == 0 else self._rebuilt(text, items)

    def _rebuilt(self, text: str, items: Sequence[Item]) -> list[Item]:
        """Ids decode otherwise alone than together: cut the real text at the marks, the last ones first."""
        marks = [item for item in items if isinstance(item, Found)]
        if not marks:
            return [Piece(text)]
        groups = _grouped(items)
        places = [-1] * len(marks)
        end = len(text)
        for number in range(len(marks) - 1, -1, -1):
            place = text.rfind(marks[number].text, 0, end)
            if place >= 0:
                places[number] = end = place
        out: list[Item] = []
        consumed = 0
        for number, (mark, place) in enumerate(zip(marks, places, strict=True)):
            if place >= consumed:
                if place > consumed:
                    out.append(Piece(text[consumed:place], *groups[number]))
                out.append(mark)
                consumed = place + len(mark.text)
                continue
            later = any(other >= 0 for other in places[number + 1 :])
            if not later and consumed < len(text) and mark.mark != DROP:
                self._rest += text[consumed:]
                consumed = len(text)
            self._waiting.append((mark, groups[number][1]))
        if consumed < len(text):
            out.append(Piece(text[consumed:], *groups[-1]))
        return out


def _joined(texts: Sequence[str]) -> list[Item]:
    text = "".join(texts)
    return [Piece(text, tuple(texts), len(texts))] if text else []


def _grouped(items: Sequence[Item]) -> list[tuple[tuple[str, ...], int]]:
    """Texts and number of the tokens between the marks, in order."""
    groups: list[tuple[tuple[str, ...], int]] = [((), 0)]
    for item in items:
        if isinstance(item, Found):
            groups.append(((), 0))
        else:
            texts, tokens = groups[-1]
            groups[-1] = ((*texts, *item.texts), tokens + item.tokens)
    return groups
