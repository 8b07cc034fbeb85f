"""The servers that every measure compares: fakellm itself, and the constant ones that send what it sent.

The constant server is aiohttp with a router and nothing else: it reads the request as JSON and sends bytes that were
made before, a stream event by event. It is what a careful person writes by hand, so a ratio to it says what a scenario,
a layout, ids, scores and a journal cost.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .process import Server, serving
from .traffic import body_of, one, post

HERE = Path(__file__).parent
ASKED = "run the benchmark"
TOKENS = 50
SCENARIO = """
title: {tokens} tokens, ids and scores
server: {{max-model-len: 1000000, max-logprobs: 20}}
replies:
  - when: {{api: chat, last_message: {{contains: benchmark}}}}
    say: {{auto: {{tokens: {tokens}}}}}
"""
SCORED: dict[str, Any] = {"logprobs": True, "top_logprobs": 1, "return_token_ids": True}


def chat(text: str = ASKED, **members: Any) -> bytes:
    """A chat request for an answer with ids and scores."""
    return post(
        {"model": "tiny", "messages": [{"role": "user", "content": text}], "max_tokens": 64, **SCORED, **members}
    )


def new_chat(number: int, **members: Any) -> bytes:
    """The same with a prompt that nobody sent before."""
    return chat(f"{ASKED} {number}", **members)


@contextmanager
def fake(scenario: str, *options: str) -> Generator[Server]:
    """fakellm serving a scenario, quietly."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(scenario, encoding="utf-8")
        command = [sys.executable, "-m", "fakellm", "serve", "--port", "0", "--scenario", str(file), "-q", *options]
        with serving(command) as server:
            yield server


@contextmanager
def constant(whole: bytes, stream: bytes) -> Generator[Server]:
    """The constant server with these bodies."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "whole", Path(folder) / "stream"
        for file, data in zip(files, (whole, stream), strict=True):
            file.write_bytes(data)
        with serving([sys.executable, str(HERE / "constant.py"), *map(str, files)]) as server:
            yield server


@contextmanager
def sleeping(tokens: int, between_ms: float) -> Generator[Server]:
    """aiohttp that sleeps once and writes once for every token."""
    with serving([sys.executable, str(HERE / "paced_constant.py"), str(tokens), str(between_ms)]) as server:
        yield server


@contextmanager
def both(tokens: int = TOKENS) -> Generator[tuple[Server, Server]]:
    """fakellm, and the constant server with the bytes that it gave."""
    with fake(SCENARIO.format(tokens=tokens)) as ours:
        whole = body_of(one(ours.port, chat()))
        stream = body_of(one(ours.port, chat(stream=True)))
        with constant(whole, stream) as theirs:
            yield ours, theirs
