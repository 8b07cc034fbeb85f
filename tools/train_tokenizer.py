"""Train the built-in tokenizer: byte-pair encoding over texts of our own, deterministic and without a network.

    python tools/train_tokenizer.py            # writes src/fakellm/tokenizer/data/builtin.tiktoken

The texts are in ``tools/tokenizer_corpus/`` and were written for this purpose: ``words.txt`` (English words, the most
frequent first: a word's weight falls with its place), ``prose.txt`` (sentences in many languages, emoji, typography)
and ``code.txt`` (programs, JSON, markup, logs); numbers and single letters are added here. Nothing else goes in, so
the ranks may be shipped under the project's licence. Words are split by the pattern that the tokenizer itself uses.
Training is the classic procedure: count neighbouring pairs, join the most frequent one, ties going to the smaller
bytes; repeat until the vocabulary is full.
"""

from __future__ import annotations

import base64
import heapq
import string
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import regex

from fakellm.tokenizer.builtin import MARKERS, RANKS, VOCABULARY, WORDS

CORPUS = Path(__file__).parent / "tokenizer_corpus"
PROSE_WEIGHT = 40
CODE_WEIGHT = 60
LAST_WORD_WEIGHT = 60
SMALL_THINGS_WEIGHT = 200
FIRST_WORD_EXTRA = 60_000
"""A word at place r weighs LAST_WORD_WEIGHT + FIRST_WORD_EXTRA / (r + 10), roughly Zipf's law."""

Pair = tuple[bytes, bytes]


def spellings(word: str) -> Iterator[tuple[str, float]]:
    """The shapes in which a listed word meets a tokenizer, with their share of its weight."""
    yield " " + word, 1.0
    yield word, 0.2
    if word.islower():
        yield " " + word.capitalize(), 0.15
        yield word.capitalize(), 0.2
        yield " " + word.upper(), 0.02
        yield word.upper(), 0.02
        if len(word) > 2:
            stem = word[:-1] if word.endswith("e") else word
            for form in (word + "s", stem + "ed", stem + "ing", stem + "er", word + "ly"):
                yield " " + form, 0.06


def count_words() -> Counter[bytes]:
    """Weight of every pre-token of the corpus."""
    counts: Counter[bytes] = Counter()
    for place, word in enumerate((CORPUS / "words.txt").read_text("utf-8").split()):
        weight = LAST_WORD_WEIGHT + FIRST_WORD_EXTRA / (place + 10)
        for text, share in spellings(word):
            counts[text.encode()] += max(1, round(weight * share))
    for name, weight in (("prose.txt", PROSE_WEIGHT), ("code.txt", CODE_WEIGHT)):
        for word in regex.findall(WORDS, (CORPUS / name).read_text("utf-8")):
            counts[word.encode()] += weight
    for number in (*range(100), *range(100, 1000, 50), *range(197, 203)):
        counts[str(number).encode()] += SMALL_THINGS_WEIGHT
    for letter in string.ascii_letters:
        counts[f" {letter}".encode()] += SMALL_THINGS_WEIGHT
    return counts


class Trainer:
    """Words as lists of pieces, and how often each pair of neighbours occurs."""

    def __init__(self, counts: Counter[bytes]) -> None:
        self._words = [([bytes((byte,)) for byte in word], weight) for word, weight in sorted(counts.items())]
        self._pairs: Counter[Pair] = Counter()
        self._places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, (pieces, weight) in enumerate(self._words):
            for pair in pairwise(pieces):
                self._pairs[pair] += weight
                self._places[pair].add(index)
        self._heap = [(-weight, pair) for pair, weight in self._pairs.items()]
        heapq.heapify(self._heap)

    def join_best(self) -> bytes:
        """Join the most frequent pair everywhere; its bytes."""
        while self._heap:
            weight, pair = heapq.heappop(self._heap)
            if self._pairs[pair] == -weight:
                break
        else:
            raise SystemExit("the corpus is too small for this vocabulary")
        changed: set[Pair] = set()
        for index in self._places.pop(pair):
            changed |= self._join_in_word(index, pair)
        del self._pairs[pair]
        for other in sorted(changed - {pair}):
            if self._pairs[other] > 0:
                heapq.heappush(self._heap, (-self._pairs[other], other))
        return pair[0] + pair[1]

    def _join_in_word(self, index: int, pair: Pair) -> set[Pair]:
        pieces, weight = self._words[index]
        joined: list[bytes] = []
        at = 0
        while at < len(pieces):
            if tuple(pieces[at : at + 2]) == pair:
                joined.append(pair[0] + pair[1])
                at += 2
            else:
                joined.append(pieces[at])
                at += 1
        before = list(pairwise(pieces))
        after = list(pairwise(joined))
        for old in before:
            self._pairs[old] -= weight
        for new in after:
            self._pairs[new] += weight
            self._places[new].add(index)
        self._words[index] = (joined, weight)
        return {*before, *after}


def train() -> list[bytes]:
    """The pieces in order of rank: 256 bytes, then the joined ones."""
    pieces = [bytes((byte,)) for byte in range(256)]
    known = set(pieces)
    trainer = Trainer(count_words())
    while len(pieces) < VOCABULARY - len(MARKERS):
        piece = trainer.join_best()
        # Two pairs can join to the same bytes (a+bc, ab+c); a rank belongs to bytes, so the second adds nothing.
        if piece not in known:
            known.add(piece)
            pieces.append(piece)
    return pieces


def main() -> None:
    pieces = train()
    lines = (f"{base64.b64encode(piece).decode()} {rank}\n" for rank, piece in enumerate(pieces))
    RANKS.parent.mkdir(parents=True, exist_ok=True)
    RANKS.write_text("".join(lines), "ascii")
    print(f"{len(pieces)} ranks -> {RANKS}")


if __name__ == "__main__":
    main()
