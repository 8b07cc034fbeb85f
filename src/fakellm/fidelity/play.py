"""A layout answers a recorded request from the recorded truth, on a clock that stands still.

Every exchange gets a fresh station, so that none can lean on another's state; those named in ``after`` are replayed on
it first, and the ids they made take the place of the recorded ones. The station gets the request, the launch facts and
the linked truth, nothing else. No sockets, no real time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from ..ask import Ask, Request
from ..context import FixedContext
from ..errors import CaptureError
from ..generation import Choice, Generation
from ..layouts.base import Launch, Station
from ..message import Rendering
from ..timing import Timing
from ..tokenizer import Tokenizer
from ..wire import frames
from .compare import Replayed
from .recorded import EMPTY, Exchange, Folder, RecordedRequest

RECORDED_AT = 1_795_960_000.0
"""The clock of a replay: about when the library was recorded. The masks hide it."""

SETTLING_SECONDS = 60.0
"""How much time passes before an answer is read that shows the end of earlier ones."""


UNSTATED: Mapping[str, Any] = MappingProxyType({"transformers": 5})
"""Engine facts of a folder that does not tell them: the golden library was captured beside transformers 5."""


def launch_of(folder: Folder, tokenizer: Tokenizer) -> Launch:
    """The launch that ``server.json`` describes; ``extra`` holds the asked version and what only the vendor knows."""
    server = folder.server
    return Launch(
        tokenizer=tokenizer,
        options=server.launch,
        env=server.env,
        model=server.model,
        max_model_len=server.max_model_len,
        model_path=server.model_path,
        engine={**UNSTATED, **server.engine},
        extra={**server.extra, "version": server.version, "variant": server.variant},
    )


FAILED = Generation((), (Choice((), finish_reason="error"),))
"""What is known of an engine whose server answered 5xx: that it failed."""
UNKNOWN = Generation((), (Choice((), finish_reason="stop"),))
"""What stands for an answer that could not be read, where nothing but its status is compared."""


def play(folder: Folder, exchange: Exchange, start: Callable[[], Station]) -> Replayed:
    """Replay one exchange, after those that it names; raises CaptureError when the recording is inconsistent."""
    station = start()
    context = FixedContext(RECORDED_AT, seed=f"{folder.name}/{exchange.name}")
    made: dict[str, str] = {}
    for name in exchange.after:
        earlier = folder.exchanges.get(name)
        if earlier is None:
            raise CaptureError(f"'after' names {name!r}, which is not there", where=f"{folder.name}/{exchange.name}")
        answer = _answer(folder, earlier, station, context, made)
        recorded_ids = folder.masks.ids(earlier.response.body)
        made.update(zip(recorded_ids, folder.masks.ids(answer.body), strict=False))
    if exchange.after and exchange.request.method == "GET":
        context.advance(SETTLING_SECONDS)
    return _answer(folder, exchange, station, context, made)


def request_of(recorded: RecordedRequest, made: Mapping[str, str] | None = None) -> Request:
    """The request as it was sent, with the ids of ``made`` (recorded -> replayed) exchanged."""
    path, headers = recorded.path, {name.lower(): value for name, value in recorded.headers.items()}
    body = "" if recorded.raw is None else recorded.raw
    if recorded.body is not None:
        body = json.dumps(recorded.body)
    for old, new in (made or {}).items():
        path, body = path.replace(old, new), body.replace(old, new)
    headers.setdefault("content-type", "application/json")
    parts = urlsplit(path)
    return Request(
        method=recorded.method,
        path=parts.path,
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers={name: value for name, value in headers.items() if value is not None},
        body=body.encode(),
        pairs=tuple(parse_qsl(parts.query, keep_blank_values=True)),
    )


def _answer(
    folder: Folder, exchange: Exchange, station: Station, context: FixedContext, made: Mapping[str, str]
) -> Replayed:
    context.set_timing(_timing(folder, exchange))
    heard = station.receive(request_of(exchange.request, made), context)
    if isinstance(heard, Ask):
        generations = generations_of(folder, exchange, heard.n, len(heard.prompts))
        heard = station.render(station.tell(heard, generations, context), heard, context)
    return replayed_from(heard)


def replayed_from(rendering: Rendering) -> Replayed:
    """The bytes of a rendering, as a client would have collected them."""
    data = b"".join(frame.data for frame in frames(rendering))
    return Replayed(rendering.status, dict(rendering.headers), data.decode("utf-8", "replace"), rendering.cut)


def generations_of(folder: Folder, exchange: Exchange, n: int = 1, prompts: int = 1) -> tuple[Generation, ...]:
    """The truth behind an exchange, one per prompt, with one choice per sample even where all samples are alike. A
    server error without a truth is an engine that failed: nothing more is known of it."""
    place = f"{folder.name}/{exchange.name}"
    if exchange.truth is None and exchange.response.status >= 500:
        return (FAILED,)
    if exchange.truth is None and exchange.compare == "status":
        return (UNKNOWN,) * prompts
    if exchange.truth is None:
        raise CaptureError("the layout asks for an engine, but the recording has no truth", where=place)
    found: list[Generation] = []
    for truth_id in exchange.truth:
        if truth_id not in folder.truths:
            raise CaptureError(f"truths.json has no {truth_id!r}", where=place)
        truth = folder.truths[truth_id]
        generation = Generation.from_truth(truth, where=f"{place}: {truth_id}")
        if len(generation.choices) == 1 and n > 1:
            generation = replace(generation, choices=generation.choices * n)
        found.append(replace(generation, extras=_extras(truth, generation)))
    return tuple(found) if exchange.chunks is None else _delivered(found, exchange.chunks)


def _delivered(generations: Sequence[Generation], chunks: Sequence[Sequence[int]]) -> tuple[Generation, ...]:
    """The same tokens in the steps in which this stream delivered them: one row per choice of the answer."""
    rows = iter(chunks)
    return tuple(
        generation.with_steps(tuple(tuple(next(rows, choice.steps)) for choice in generation.choices))
        for generation in generations
    )


def _script(truth: Mapping[str, Any]) -> Mapping[str, Any]:
    script = truth.get("script")
    return cast("Mapping[str, Any]", script) if isinstance(script, Mapping) else EMPTY


def _timing(folder: Folder, exchange: Exchange) -> Timing | None:
    """When the scripted engine spoke: ``delay`` and ``gap`` of its script, in seconds."""
    script = _script(folder.truths.get(exchange.truth[0], EMPTY) if exchange.truth else EMPTY)
    delay, gap = script.get("delay", 0.0), script.get("gap", 0.0)
    return Timing(first_token_ms=delay * 1000, between_ms=gap * 1000) if delay or gap else None


def _extras(truth: Mapping[str, Any], generation: Generation) -> dict[str, Any]:
    """The opaque values that a scripted engine handed along (``routed`` and ``kv`` of its script)."""
    script = _script(truth)
    extras: dict[str, Any] = {}
    if script.get("routed"):
        length = len(generation.prompt_token_ids) + len(generation.choices[0].tokens) - 1
        extras["routed_experts"] = base64.b64encode(_zeros((length, 2, 1))).decode()
    if script.get("kv"):
        extras["kv_transfer_params"] = {"do_remote_prefill": True, "remote_block_ids": [1]}
    return extras


def _zeros(shape: tuple[int, ...]) -> bytes:
    """A uint8 array of zeros in numpy's ``.npy`` format, version 1.0 (header padded to a multiple of 64 bytes)."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    padded = header + " " * (-(len(header) + 11) % 64) + "\n"
    size = 1
    for extent in shape:
        size *= extent
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + bytes(size)
