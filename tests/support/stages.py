"""Small builders that several tests share: tokens, generations, stations and stages without a file or a socket."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

from fakellm.ask import Ask, Request
from fakellm.generation import Candidate, Choice, Generation, Token
from fakellm.layouts.base import Launch, Layout, Station
from fakellm.layouts.registry import find
from fakellm.stage import Reply, Stage
from fakellm.tokenizer import Tokenizer, load

TOKENIZER: Tokenizer = load(None)
EOS = TOKENIZER.eos_ids[0]
NOON = 1_800_000_000.0


def widened(value: float) -> float:
    """The number as a 32-bit float, widened to a double: what real servers send."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def token(token_id: int, logprob: float, *, top: Sequence[tuple[int, float]] = ()) -> Token:
    """A token of the built-in vocabulary."""
    ranked = tuple(
        Candidate(other, TOKENIZER.piece(other), widened(score), rank) for rank, (other, score) in enumerate(top, 1)
    )
    rank = next((candidate.rank for candidate in ranked if candidate.id == token_id), len(ranked) + 1)
    return Token(token_id, TOKENIZER.piece(token_id), widened(logprob), rank, ranked)


def spoken(text: str, *, first: float = -0.5, end: bool = True) -> Choice:
    """A choice that says the text, with scores -0.5, -0.625, ... and the end token."""
    ids = [*TOKENIZER.encode(text), *([EOS] if end else [])]
    tokens = tuple(token(token_id, first - 0.125 * place) for place, token_id in enumerate(ids))
    return Choice(tokens, finish_reason="stop" if end else "length")


class Spoken:
    """A source that answers every request with the same choices; it counts how often it was asked."""

    def __init__(self, *choices: Choice, faults: Sequence[Any] = (), timing: Any = None, key: Any = "spoken") -> None:
        self.choices = choices
        self.faults = tuple(faults)
        self.timing = timing
        self.key = key
        self.asked = 0

    def reply(self, ask: Ask) -> Reply:
        self.asked += 1

        def generate(heard: Ask) -> tuple[Generation, ...]:
            return tuple(Generation(prompt.token_ids, self.choices) for prompt in heard.prompts)

        return Reply(generate, self.faults, self.timing, self.key, self.asked - 1, "spoken")


def station(layout: str = "vllm-0.32.0", *options: str, **launch: Any) -> tuple[Layout, Station]:
    """A started server with the built-in tokenizer."""
    found = find(layout).layout
    return found, found.start(Launch(tokenizer=TOKENIZER, options=options, **launch))


def stage(
    source: Any, layout: str = "vllm-0.32.0", *options: str, now: Callable[[], float] = lambda: NOON, **more: Any
) -> Stage:
    """A stage on which a source plays."""
    found, started = station(layout, *options)
    return Stage("test", found, started, source, now=now, tokenizer=TOKENIZER, **more)


def post(path: str, body: Any, **headers: str) -> Request:
    """A JSON request. Underscores in header names become dashes."""
    spelled = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", path, {}, {"content-type": "application/json", **spelled}, json.dumps(body).encode())


def chat(text: str = "Hi", **body: Any) -> Request:
    """A chat request to the model tiny."""
    return post("/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": text}], **body})


def body_of(answer: Any) -> bytes:
    """All bytes of an answer."""
    return b"".join(frame.data for frame in answer.wire.frames)
