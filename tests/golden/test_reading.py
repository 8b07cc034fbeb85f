"""The reference reader on every recorded answer of every real server: what it captures is the truth, or it says no.

Read without an accessor table, by the places that the APIs themselves name. Where it refuses a healthy engine's
answer, the server itself lost or doubled something, and the reason stands in ``REFUSED``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fakellm.capture import Capture, float32
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Exchange, Folder
from fakellm.generation import Generation
from fakellm.reading import Refused, read
from fakellm.resources import resource

APIS = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/generate": "generate",
    "/inference/v1/generate": "tito",
}
REFUSED = {
    "error-status": "the engine failed",
    "error-event": "the engine failed in mid-stream",
    "aborted": "the engine failed, told in the native way",
    "truncated": "vLLM up to 0.12 breaks Responses streams off",
    "usage-mismatch": "parsers and Responses streams lose tokens; SGLang 0.5.3 doubles some",
    "count-mismatch": "Responses streams lose the end token's score; Dynamo loses late scores",
    "score-impossible": "minus infinity, told as -9999",
    "choice-count": "Dynamo merges two choices into one",
}
"""Kinds of refusal that the recordings call for, and why."""
LOSSY = ("resp", "chat_stream_logprobs")
"""Streams whose scores lack the steps without text: they are compared as far as they go."""
SWAPPED = {"cmpl_prompt_ids_batch": "Dynamo tells the same prompt ids for every prompt of a batch"}


@pytest.fixture(scope="module")
def folders() -> Iterator[tuple[Folder, ...]]:
    with Library([resource("golden")]) as library:
        yield tuple(folder for folder in library.folders if not folder.server.gateway)


def told(exchange: Exchange) -> dict[str, Any]:
    body = exchange.request.body
    return {"api": APIS[exchange.request.path], "stream": bool(body.get("stream")), "request": body}


def answers(folders: tuple[Folder, ...]) -> Iterator[tuple[Folder, Exchange]]:
    for folder in folders:
        for exchange in folder.exchanges.values():
            if exchange.request.path in APIS and isinstance(exchange.request.body, dict):
                yield folder, exchange


def captured(exchange: Exchange) -> Capture:
    response = exchange.response
    return read(response.body.encode(), status=response.status, cut=response.truncated, **told(exchange))


def test_every_answer_is_the_truth_or_refused(folders: tuple[Folder, ...]) -> None:
    checked, wrong = 0, list[str]()
    for folder, exchange in answers(folders):
        if exchange.truth is None:
            continue
        found = captured_or_not(exchange)
        checked += isinstance(found, Capture)
        words = differences(folder, exchange, found) if isinstance(found, Capture) else unknown(found)
        wrong += [f"{folder.name}/{exchange.name}: {word}" for word in words]

    assert [] == wrong
    assert checked > 900


def test_every_refusal_of_the_server_is_refused(folders: tuple[Folder, ...]) -> None:
    errors = [one for _, one in answers(folders) if one.truth is None and one.response.status >= 400]

    for exchange in errors:
        with pytest.raises(Refused, match="HTTP "):
            captured(exchange)
    assert len(errors) > 200


def captured_or_not(exchange: Exchange) -> Capture | Refused:
    try:
        return captured(exchange)
    except Refused as refused:
        return refused


def unknown(refused: Refused) -> list[str]:
    return [] if refused.kind in REFUSED else [str(refused)]


def differences(folder: Folder, exchange: Exchange, capture: Capture) -> Iterator[str]:
    """Ids and scores of the capture that are no beginning of the truth."""
    truths = [Generation.from_truth(folder.truths[name]) for name in exchange.truth or ()]
    per_prompt = max(1, len(capture.choices) // len(truths))
    for place, choice in enumerate(capture.by_index()):
        truth = truths[min(place // per_prompt, len(truths) - 1)]
        sampled = truth.choices[min(place % per_prompt, len(truth.choices) - 1)].tokens
        ids = tuple(token.id for token in sampled)
        if choice.prompt_token_ids not in (None, truth.prompt_token_ids) and exchange.name not in SWAPPED:
            yield "prompt ids"
        if (
            choice.completion_token_ids is not None
            and choice.completion_token_ids != ids[: len(choice.completion_token_ids)]
        ):
            yield "completion ids"
        if choice.logprobs is not None and not exchange.request.body.get("echo"):
            scores = [token.logprob for token in sampled]
            if not _begins(scores, choice.logprobs, exact=folder.server.tolerance == 0, lossy=_lossy(exchange)):
                yield "scores"


def _lossy(exchange: Exchange) -> bool:
    return bool(exchange.request.body.get("stream")) and exchange.name.startswith(LOSSY)


def _begins(scores: list[float | None], got: tuple[Any, ...], *, exact: bool, lossy: bool) -> bool:
    """Whether the scores are the first of the truth, or (lossy) some of them in their order."""

    def same(one: float | None, other: Any) -> bool:
        return one is not None and (float32(one) == float32(other) if exact else abs(one - other) < 1e-6)

    if not lossy:
        return len(got) <= len(scores) and all(map(same, scores, got))
    rest = iter(scores)
    return all(any(same(one, score) for one in rest) for score in got)
