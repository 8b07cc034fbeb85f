"""Plausible scores out of nothing: what ``logprobs: auto`` gives to every token of a reply.

Scores are a pure function of (seed, scenario, reply, choice, position), never of the prompt, so encoded answers can be
kept. They are float32 widened to double, below zero, mostly near it, and **self-identifying**: no two positions of a
generation share one, across its choices and its prompt as well, so that a shift by one can never hide.

How: magnitudes lie on a grid of 4,096 cells, spaced by 1.05e-4 or more and wider towards the tail. Every lane (the
prompt, and choices modulo 15) owns each 16th cell; a seeded bijection deals a lane's 256 cells to 256 positions. So up
to 15 choices of 256 tokens differ even when rounded to four decimals. Later positions and choices go to fractions of a
cell (bits interleaved so that the first of both stay apart at five decimals), down to 1/4096 of one: 131,072 tokens in
120 choices all differ as float32. This module knows no request, no scenario file and no layout.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from struct import Struct

from ..chance import Stream
from ..generation import Candidate, Token
from ..tokenizer import Tokenizer

BLOCK = 256
LANES = 16
CELLS = BLOCK * LANES
_NEAR = CELLS * 1.05e-4
"""Slope of the magnitude at zero: neighbouring cells are at least 1.05e-4 apart."""
_FAR = 8.0
"""The tail: magnitude = _NEAR * u + _FAR * u**9. Half of all tokens are better than -0.24, one in ten worse than
-3.5."""
_BLOCK_BITS = (2**-1, 2**-3, 2**-4, 2**-6, 2**-7, 2**-9, 2**-10, 2**-11, 2**-12)
_GROUP_BITS = (2**-2, 2**-5, 2**-8)
MOST_BETTER = 1000
"""No sampled token ranks behind more candidates than this."""
POOL = 512
_DIGEST = Struct("<4Q32s")


def float32(values: Sequence[float]) -> list[float]:
    """The numbers rounded to float32 and widened again, as servers send them."""
    return array("f", values).tolist()


@dataclass(frozen=True, slots=True)
class Row:
    """The scores of one row of positions: a choice's tokens, or the prompt's.

    ``key`` names the reply (seed, scenario, reply); ``lane`` and ``group`` the row among the rows of its generation.
    """

    key: tuple[object, ...]
    lane: int
    group: int

    @classmethod
    def of_choice(cls, key: tuple[object, ...], choice: int) -> Row:
        return cls(key, 1 + choice % (LANES - 1), choice // (LANES - 1))

    @classmethod
    def of_prompt(cls, key: tuple[object, ...], prompt: int) -> Row:
        return cls(key, 0, prompt)

    def logprobs(self, count: int) -> list[float]:
        """The scores of positions 0 to count - 1."""
        values: list[float] = []
        for block in range((count + BLOCK - 1) // BLOCK):
            values += self._block(block, min(BLOCK, count - block * BLOCK))
        return float32(values)

    def digest_key(self) -> bytes:
        """What :func:`position_digest` is keyed by."""
        return Stream(*self.key, self.lane, self.group).next().to_bytes(8, "little")

    def _block(self, block: int, count: int) -> list[float]:
        word = Stream(*self.key, self.lane, self.group, block).next()
        first, second, third = word & 255 | 1, word >> 8 & 255 | 1, word >> 16 & 255 | 1
        add_first, add_second, add_third = word >> 24 & 255, word >> 32 & 255, word >> 40 & 255
        fraction = _fraction(block, self.group)
        values: list[float] = []
        for position in range(count):
            # A bijection of 0..255: odd factors, additions and xor-shifts can all be undone.
            cell = position * first + add_first & 255
            cell ^= cell >> 4
            cell = cell * second + add_second & 255
            cell ^= cell >> 3
            cell = cell * third + add_third & 255
            u = (cell * LANES + self.lane + fraction) / CELLS
            square = u * u
            eighth = square * square * square * square
            values.append(-(_NEAR * u + _FAR * eighth * u))
        return values


def _fraction(block: int, group: int) -> float:
    """Where in its cells a block lies, above 0 (a score is never 0.0) and below 1."""
    whole = sum(weight for bit, weight in enumerate(_BLOCK_BITS) if block >> bit & 1)
    whole += sum(weight for bit, weight in enumerate(_GROUP_BITS) if group >> bit & 1)
    return (1.0 + 63.0 * whole) / 64.0


def position_digest(key: bytes, position: int) -> tuple[int, int, int, int, bytes]:
    """The chance that belongs to one position: four numbers of 64 bits and 32 bytes."""
    return _DIGEST.unpack(blake2b(position.to_bytes(8, "little"), key=key).digest())


class Pool:
    """The pieces that stand as alternatives: readable text, all different, drawn once from a vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        size = max(tokenizer.vocab_size, 1)
        stride = _coprime(int(size * 0.6180339887) or 1, size)
        self.pieces: list[tuple[int, bytes]] = []
        seen: set[str] = set()
        hidden = tokenizer.special_ids.union(tokenizer.eos_ids)
        for step in range(size):
            token_id = (step + 1) * stride % size
            piece = b"" if token_id in hidden else tokenizer.piece(token_id)
            text = _readable(piece)
            if text and text not in seen:
                seen.add(text)
                self.pieces.append((token_id, piece))
                if len(self.pieces) == POOL:
                    break

    def walk(self, start: int, stride: int, sampled: int | None, count: int) -> list[tuple[int, bytes]]:
        """``count`` pieces other than the sampled one, fewer only when the vocabulary has no more. A longer walk begins
        like a shorter one."""
        size = len(self.pieces)
        found: list[tuple[int, bytes]] = []
        if size:
            place, step = start % size, _coprime(1 + stride % size, size)
            for _ in range(size):
                if len(found) == count:
                    return found
                if self.pieces[place][0] != sampled:
                    found.append(self.pieces[place])
                place = (place + step) % size
        if len(found) < count:
            used = {token_id for token_id, _ in found} | {sampled}
            others = (token_id for token_id in range(self._tokenizer.vocab_size) if token_id not in used)
            found += [(token_id, self._tokenizer.piece(token_id)) for token_id in islice(others, count - len(found))]
        return found


@lru_cache(maxsize=16)
def pool_of(tokenizer: Tokenizer) -> Pool:
    """The pool of a tokenizer; tokenizers are immutable, so one is enough."""
    return Pool(tokenizer)


def _readable(piece: bytes) -> str:
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.strip() and text.isprintable() else ""


def _coprime(number: int, size: int) -> int:
    while math.gcd(number, size) != 1:
        number += 1
    return number


@dataclass(frozen=True, slots=True)
class Place:
    """One sampled (or prompt) token and what is settled about it. ``rank`` None = to be drawn."""

    id: int | None
    bytes: bytes
    logprob: float | None
    rank: int | None = None


def token_at(place: Place, digest: tuple[int, int, int, int, bytes], top: int, pool: Pool, vocab_size: int) -> Token:
    """The whole token: rank and the ``top`` best candidates, in keeping with the sampled score."""
    if place.logprob is None or place.logprob > 0.0 or place.logprob != place.logprob:
        return Token(place.id, place.bytes, place.logprob, place.rank)
    rank = place.rank or _rank(place.logprob, digest[0], vocab_size)
    if top <= 0:
        return Token(place.id, place.bytes, place.logprob, rank)
    others = pool.walk(digest[1], digest[2], place.id, min(top, vocab_size - 1))
    scores = candidate_logprobs(place.logprob, rank, len(others), digest[4])
    candidates = [
        Candidate(token_id, piece, score, at if at < rank else at + 1)
        for at, ((token_id, piece), score) in enumerate(zip(others, scores, strict=True), start=1)
    ]
    if rank <= len(candidates) + 1:
        candidates.insert(rank - 1, Candidate(place.id, place.bytes, place.logprob, rank))
    return Token(place.id, place.bytes, place.logprob, rank, tuple(candidates[:top]))


def _rank(logprob: float, word: int, vocab_size: int) -> int:
    """A rank that this score can have: all better candidates together fit into the rest of the probability."""
    chance, rest = math.exp(logprob), -math.expm1(logprob)
    room = MOST_BETTER if chance <= 0.0 else min(MOST_BETTER, int(0.63 * rest / chance))
    most = min(1 + room, max(vocab_size, 1))
    if logprob == -math.inf:
        return most
    return min(int((most + 1) ** ((word >> 11) * 2.0**-53)), most)


def candidate_logprobs(logprob: float, rank: int, count: int, noise: bytes) -> list[float]:
    """Scores of the ``count`` best candidates other than the sampled one: strictly falling, ``rank - 1`` of them above
    the sampled score, all probabilities together at most 1. A longer list begins like a shorter one."""
    chance = math.exp(logprob)
    rest = max(-math.expm1(logprob), 1e-12)
    better = min(rank - 1, count)
    scores = _better(logprob, chance, rest, rank, better)
    if count > better:
        left = rest if rank == 1 else rest * 0.1
        score = math.log(min(left * 0.3, chance * 0.9)) if chance > 0.0 else -104.0
        for at in range(count - better):
            scores.append(score)
            jitter = noise[at % len(noise)] / 255.0
            score -= 0.7 + 0.5 * jitter if at < 3 else 0.15 + 0.2 * jitter
    return float32(scores)


def _better(logprob: float, chance: float, rest: float, rank: int, count: int) -> list[float]:
    """Candidates above the sampled one: a shallow slope down to it, and the spare probability on the first few."""
    spare = 0.9 * rest - 1.05 * chance * (rank - 1)
    if spare <= 0.0:  # an explicit rank that this score cannot have: only the order can be kept
        return [logprob * at / rank for at in range(1, count + 1)]
    slope = 0.1 * chance / rank
    return [math.log(chance + slope * (rank - at) + spare * 0.5**at) for at in range(1, count + 1)]


def score_of(
    token_id: int, place: Place, digest: tuple[int, int, int, int, bytes], pool: Pool, vocab_size: int
) -> tuple[float | None, int | None]:
    """Score and rank of any id at a position, in keeping with the alternatives there."""
    listed = token_at(place, digest, _LISTED, pool, vocab_size)
    if token_id == place.id:
        return place.logprob, listed.rank
    for candidate in listed.top:
        if candidate.id == token_id:
            return candidate.logprob, candidate.rank
    if not listed.top or listed.top[-1].logprob is None:
        return None, None
    behind = Stream("asked", digest[3], token_id).unit()
    lowest = min(listed.top[-1].logprob, place.logprob or 0.0)
    rank = max(len(listed.top), listed.rank or 0) + 1 + int(behind * max(vocab_size - len(listed.top) - 2, 0))
    return float32([lowest - 0.5 - 12.0 * behind])[0], rank


_LISTED = 20
"""Ids among so many best candidates have the score that they have there."""
