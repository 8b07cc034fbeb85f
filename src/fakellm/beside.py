"""The truth beside the wire: what the engine sampled and what stood in the answer, token by token, for one exchange.

The wire is read by the reference client with the layout's own table, leniently: whatever stood there. A place differs
where the wire says something else than the healthy layout would have said to the same request, so that a value nobody
asked for is absent and not wrong. Made when somebody looks; pure but for the exchange's stage.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import orjson

from . import wire
from .capture import Capture, CapturedChoice
from .diagnosis import MISSING, Cell, diagnose, finite, same_cell
from .journal import Exchange
from .reading import read_as_sent
from .stage import Played, Stage

WINDOW = 400
"""Positions shown of a sequence: wide enough to see what happened, small enough for a page."""
BEFORE = 40
"""Of these, positions before the first divergence."""


def strips(exchange: Exchange) -> list[dict[str, Any]]:
    """A strip for the prompt and for each choice, as the pages draw them; empty where no engine was asked."""
    played = exchange.behind()
    stage = exchange.stage_object
    if played is None or not isinstance(stage, Stage) or exchange.wire is None:
        return []
    healthy = b"".join(frame.data for frame in wire.frames(stage.healthy_rendering(played)))
    told = stage.healthy(played)
    piece = stage.tokenizer.piece if stage.tokenizer is not None else _unknown
    sent = _read(exchange, played, _inflated(exchange))
    right = _read(exchange, played, healthy)
    shown: list[dict[str, Any]] = []
    for place, choice in enumerate(told.choices):
        per_prompt = max(len(played.generations[0].choices), 1)
        generation = played.generations[min(choice.index // per_prompt, len(played.generations) - 1)]
        there, should = _at(sent, place), _at(right, place)
        if choice.index % per_prompt == 0:
            prompt = [Cell(one, MISSING) for one in generation.prompt_token_ids]
            pieces = [piece(one) for one in generation.prompt_token_ids]
            shown += _strip("prompt", choice.index, prompt, pieces, _prompt(there), _prompt(should))
        end = max((step.tokens[1] for step in choice.steps), default=0)
        tokens = generation.choices[choice.index % per_prompt].tokens[:end]
        truth = [Cell(token.id, token.logprob) for token in tokens]
        pieces = [token.bytes for token in tokens]
        shown += _strip("completion", choice.index, truth, pieces, _completion(there), _completion(should))
    return finite(shown)


def _read(exchange: Exchange, played: Played, data: bytes) -> Capture:
    layout = cast(Stage, exchange.stage_object).layout
    ask = played.ask
    return read_as_sent(data, api=ask.api, stream=ask.stream, table=layout.accessors, request=_body(exchange))


def _body(exchange: Exchange) -> dict[str, Any]:
    try:
        body: Any = orjson.loads(exchange.request.body)
    except ValueError:
        return {}
    return cast(dict[str, Any], body) if isinstance(body, dict) else {}


def _inflated(exchange: Exchange) -> bytes:
    headers = dict(exchange.wire.headers) if exchange.wire is not None else {}
    if headers.get("content-encoding") != "gzip":
        return exchange.body
    try:
        return zlib.decompressobj(wbits=31).decompress(exchange.body)
    except zlib.error:
        return exchange.body


def _at(capture: Capture, place: int) -> CapturedChoice:
    choices = capture.by_index()
    return choices[place] if place < len(choices) else CapturedChoice()


def _prompt(choice: CapturedChoice) -> list[Cell]:
    return [Cell(one, MISSING) for one in choice.prompt_token_ids or ()]


def _completion(choice: CapturedChoice) -> list[Cell]:
    ids, scores = choice.completion_token_ids or (), choice.logprobs or ()
    return [
        Cell(ids[at] if at < len(ids) else MISSING, scores[at] if at < len(scores) else MISSING)
        for at in range(max(len(ids), len(scores)))
    ]


def _unknown(token_id: int) -> bytes:
    return b""


def _strip(
    of: str, choice: int, truth: Sequence[Cell], pieces: Sequence[bytes], sent: Sequence[Cell], right: Sequence[Cell]
) -> list[dict[str, Any]]:
    """One strip; none for a prompt that is not on the wire and should not be."""
    if of == "prompt" and not sent and not right:
        return []
    total = max(len(truth), len(sent))
    nothing = Cell(MISSING, MISSING)

    def cell(side: Sequence[Cell], place: int) -> Cell:
        return side[place] if place < len(side) else nothing

    differs = [not same_cell(cell(sent, at), cell(right, at)) for at in range(total)]
    first = differs.index(True) if True in differs else None
    start = max(0, min((first or 0) - BEFORE, total - WINDOW))
    rows = [
        {
            "position": at,
            "piece": pieces[at].decode("utf-8", "replace") if at < len(pieces) else "",
            "truth": asdict(cell(truth, at)),
            "wire": asdict(cell(sent, at)),
            "differs": differs[at],
        }
        for at in range(start, min(total, start + WINDOW))
    ]
    said = diagnose([one.id for one in right], [one.id for one in sent], "ids")
    said = said or diagnose([one.logprob for one in right], [one.logprob for one in sent], "scores")
    return [{"choice": choice, "of": of, "total": total, "first": first, "rows": rows, "diagnosis": said or ""}]
