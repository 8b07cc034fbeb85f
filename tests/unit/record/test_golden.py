"""Truth read off the bytes of real servers, against the truth that was kept beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakellm.fidelity.library import Library
from fakellm.fidelity.play import generations_of, launch_of, request_of
from fakellm.fidelity.recorded import Exchange, Folder
from fakellm.generation import Generation
from fakellm.layouts.registry import find
from fakellm.record.taken import COMPLETE, CUT, Taken
from fakellm.record.truth import Expert, Read
from fakellm.tokenizer import load

PACKED = Path(__file__).resolve().parents[2] / "golden" / "golden.tar.xz"
FOLDERS = ["vllm-0.12.0", "vllm-0.28.0-plain", "vllm-0.32.0", "sglang-0.5.3", "sglang-0.5.12", "sglang-0.5.23"]
"""Beginnings of the names of the folders that are read."""
SENTINEL = -9999.0
"""What vLLM writes for a score of minus infinity."""


def taken(exchange: Exchange) -> Taken:
    """A golden exchange as a recorder would have taken it."""
    request = request_of(exchange.request)
    return Taken(
        number=1,
        at=0.0,
        method=request.method,
        target=exchange.request.path,
        request_headers=tuple(request.headers.items()),
        request_body=request.body,
        status=exchange.response.status,
        response_headers=tuple(exchange.response.headers.items()),
        chunks=((0.0, exchange.response.body.encode()),),
        ending=CUT if exchange.response.truncated else COMPLETE,
    )


@pytest.fixture(scope="module")
def read() -> list[tuple[Folder, Exchange, Read]]:
    """Every exchange behind which there is a truth, and what a recorder makes of it."""
    return list(_read())


def _read() -> Iterator[tuple[Folder, Exchange, Read]]:
    with Library([PACKED]) as library:
        for folder in library.folders:
            if folder.server.gateway or not folder.name.startswith(tuple(FOLDERS)):
                continue
            layout, tokenizer = find(folder.server.layout).layout, load(folder.tokenizer)
            for exchange in folder.exchanges.values():
                if exchange.truth and not exchange.after:
                    expert = Expert(layout, layout.start(launch_of(folder, tokenizer)), tokenizer)
                    yield folder, exchange, expert.read(taken(exchange))


def choices(folder: Folder, exchange: Exchange, made: Read) -> Iterator[tuple[list[object], list[object]]]:
    """(the engine's, the reader's) tokens of every choice that was read, as (id, score)."""
    for engine, truth in zip(generations_of(folder, exchange), made.truths or (), strict=True):
        for place, choice in enumerate(Generation.from_truth(truth).choices):
            said = engine.choices[min(place, len(engine.choices) - 1)]
            yield (
                [(token.id, token.logprob) for token in said.tokens[: len(choice.tokens)]],
                [(token.id, token.logprob) for token in choice.tokens],
            )


def test_what_is_read_from_ids_and_scores_is_the_truth(read: list[tuple[Folder, Exchange, Read]]) -> None:
    wrong: list[str] = []
    counted = 0
    for folder, exchange, made in read:
        if made.truths is None or any({"text", "thought"} & set(truth["source"].split("+")) for truth in made.truths):
            continue
        counted += 1
        for said, told in choices(folder, exchange, made):
            alike = [
                one == other or (one[0] == other[0] and (other[1] is None or one[1] is None or other[1] == SENTINEL))
                for one, other in zip(said, told, strict=True)  # type: ignore[index]
            ]
            if not all(alike):
                wrong.append(f"{folder.name}/{exchange.name}")

    assert [] == wrong
    assert counted > 400


def test_what_cannot_be_read_says_why(read: list[tuple[Folder, Exchange, Read]]) -> None:
    silent = [
        f"{folder.name}/{exchange.name}"
        for folder, exchange, made in read
        if made.truths is None and made.note is None and exchange.response.status == 200 and made.api is not None
    ]

    assert [] == silent
