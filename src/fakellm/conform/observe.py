"""From what the fake recorded and what the client answered to one :class:`Observation`.

The truth is what the healthy layout tells for the request that really came in: the stage renders the same reply without
faults, and the reference reader reads it. It is cross-checked with the values that were never bytes (the Told): where
the two differ and the layout's accessor table declares no loss, the harness is wrong, and says so. Pure but for the
stage.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from .. import wire
from ..capture import Capture, CapturedChoice
from ..errors import FakellmError
from ..generation import Token
from ..journal import Exchange
from ..layouts.base import AccessorTable
from ..reading import read_as_sent
from ..stage import Played
from ..told import Told, ToldChoice
from .case import Case
from .observation import EMPTY, Loss, May, Received, Sent, Situation, Tampering, Truth
from .request import PATHS, Body

SEQUENCES = (
    "prompt_token_ids",
    "completion_token_ids",
    "logprobs",
    "text",
    "finish_reason",
    "top_logprobs",
    "prompt_logprobs",
)


Piece = Callable[[int], bytes]
"""Token id -> its bytes."""


def _unknown(token_id: int) -> bytes:
    return b""


class HarnessError(FakellmError):
    """The suite contradicts itself; never the client's failure."""

    blame = "our harness"
    exit_code = 3


@dataclass(frozen=True, slots=True)
class Heard:
    """One call as the fake saw it: the requests, and of the last one that an engine answered, truth and sent."""

    upstream: tuple[Received, ...] = ()
    truth: Truth = field(default_factory=lambda: Truth(capture=Capture()))
    sent: Sent | None = None
    faults: tuple[Tampering, ...] = ()


def heard(exchanges: Sequence[Exchange], api: str | None, began: float, piece: Piece = _unknown) -> Heard:
    """All that the fake knows of one call. ``api``: whose path is the call's (None = any API: a gateway may convert).
    ``began``: seconds since 1970 when the call went out; ``piece``: the tokenizer's, for display."""
    upstream = tuple(_received(exchange, began) for exchange in exchanges)
    paths = set(PATHS.values()) if api is None else {PATHS[api]}
    calls = [exchange for exchange in exchanges if exchange.request.path in paths]
    if not calls:
        return Heard(upstream)
    last = calls[-1]
    if last.wire is None:
        raise HarnessError("the fake crashed while it answered this case")
    if last.problem is not None or last.unmatched:
        raise HarnessError(f"the fake could not play this case: {last.problem or 'no reply matches the request'}")
    body = _body_of(last)
    played = last.behind()
    if played is None:
        return Heard(upstream, Truth(capture=Capture(), error=last.wire.status), _sent(last, body, None))
    return Heard(upstream, truth_of(last, played, body, piece), _sent(last, body, played), _tampering(played))


def _received(exchange: Exchange, began: float) -> Received:
    request = exchange.request
    return Received(
        method=request.method,
        path=request.path,
        headers=tuple(request.headers.items()),
        body=request.body,
        at_ms=max(0.0, (exchange.at - began) * 1000),
        disconnected_ms=exchange.disconnected_ms,
        answered_status=None if exchange.wire is None else exchange.wire.status,
        answered_bytes=len(exchange.body) if exchange.sent_bytes is None else exchange.sent_bytes,
    )


def _body_of(exchange: Exchange) -> Mapping[str, Any]:
    try:
        body: Any = orjson.loads(exchange.request.body)
    except ValueError:
        return EMPTY
    return cast("dict[str, Any]", body) if isinstance(body, dict) else EMPTY


def _table(exchange: Exchange) -> AccessorTable | None:
    return exchange.stage_object.layout.accessors if exchange.stage_object is not None else None


def _sent(exchange: Exchange, body: Mapping[str, Any], played: Played | None) -> Sent:
    """The answer as it left, and the values in it as a lenient reader finds them."""
    assert exchange.wire is not None
    data = _inflated(exchange.body if exchange.sent_bytes is None else exchange.body[: exchange.sent_bytes], exchange)
    capture = Capture()
    if played is not None:
        ask = played.ask
        capture = read_as_sent(data, api=ask.api, stream=ask.stream, table=_table(exchange), request=body)
    return Sent(
        status=exchange.wire.status,
        headers=tuple(exchange.wire.headers),
        body=data,
        capture=capture,
        carried=carried(capture),
        cut=exchange.wire.cut,
    )


def _inflated(data: bytes, exchange: Exchange) -> bytes:
    """The body without the coding that its headers name; as it is where it cannot be undone."""
    headers = dict(exchange.wire.headers) if exchange.wire is not None else {}
    if headers.get("content-encoding") != "gzip":
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data)
    except zlib.error:
        return data


def carried(capture: Capture) -> frozenset[str]:
    """The values that are there for at least one choice; an empty list counts as not there."""
    there = {name for name in SEQUENCES for choice in capture.choices if getattr(choice, name) not in (None, ())}
    return frozenset(there | ({"usage"} if capture.usage else set()))


def _tampering(played: Played) -> tuple[Tampering, ...]:
    return tuple(
        Tampering(
            id=call.fault.id,
            client_may=frozenset(May(word) for word in call.fault.may(played.ask, call.parameters)),
            parameters=call.parameters.model_dump(),
            values=call.fault.values,
        )
        for call in played.distortion.calls
    )


def truth_of(exchange: Exchange, played: Played, body: Mapping[str, Any], piece: Piece) -> Truth:
    """What the healthy layout tells for this request, with the losses that its table declares."""
    stage, ask = exchange.stage_object, played.ask
    healthy = stage.healthy_rendering(played)
    data = b"".join(frame.data for frame in wire.frames(healthy))
    capture = read_as_sent(data, api=ask.api, stream=ask.stream, table=stage.layout.accessors, request=body)
    told: Told = stage.healthy(played)
    pieces = [[token.bytes.decode("utf-8", "replace") for token in _sampled(played, one)] for one in told.choices]
    choices = tuple(
        replace(choice, token_texts=tuple(pieces[place])) if place < len(pieces) else choice
        for place, choice in enumerate(capture.by_index())
    )
    rows = stage.layout.accessors.get((ask.api, ask.stream), ())
    shows_text = any(row.value == "text" for row in rows)
    return Truth(
        capture=replace(capture, choices=choices),
        carried=carried(capture),
        losses=() if ask.wants.echo else _losses(told, choices, rows),
        token_bytes=tuple(_visible(played, choice) for choice in told.choices),
        text_is_bytes=shows_text and _text_is_bytes(played, told),
        error=healthy.status if healthy.status >= 400 else None,
        prompt_texts=_prompt_texts(told, piece),
    )


def _sampled(played: Played, choice: ToldChoice) -> tuple[Token, ...]:
    """The tokens that this choice tells, as the engine sampled them."""
    per_prompt = max(len(played.generations[0].choices), 1)
    generation = played.generations[min(choice.index // per_prompt, len(played.generations) - 1)]
    length = max((step.tokens[1] for step in choice.steps), default=0)
    return generation.choices[choice.index % per_prompt].tokens[:length]


def _visible(played: Played, choice: ToldChoice) -> tuple[bytes, ...]:
    """Exact bytes per token; a terminal end token that the text does not show has none."""
    sampled = _sampled(played, choice)
    pieces = [token.bytes for token in sampled]
    ended = choice.finish_reason == "stop" and played.ask.sampling.skip_special_tokens
    if pieces and ended and not choice.text.endswith(pieces[-1].decode("utf-8", "replace")):
        pieces[-1] = b""
    return tuple(pieces)


def _text_is_bytes(played: Played, told: Told) -> bool:
    """No stop string, parser or skipped special token stands between bytes and text."""
    plain = not played.ask.sampling.stop and not _calls_tools(played) and not played.ask.wants.echo
    return plain and not any(_parsed(choice) or choice.failure is not None for choice in told.choices)


def _parsed(choice: ToldChoice) -> bool:
    """Whether a parser read it: a whole answer at its end, a stream step by step, as vendors differ."""
    return choice.parts is not None or any(step.parts is not None for step in choice.steps)


def _calls_tools(played: Played) -> bool:
    return bool(played.ask.tools) and played.ask.tool_choice != "none"


def _prompt_texts(told: Told, piece: Piece) -> tuple[str, ...]:
    ids = told.prompts[0].token_ids if told.prompts else None
    return tuple(piece(one).decode("utf-8", "replace") if isinstance(one, int) else "" for one in ids or ())


def _losses(told: Told, choices: Sequence[CapturedChoice], accessors: Sequence[Any]) -> tuple[Loss, ...]:
    """Values of which the healthy wire shows less than was to be told. Undeclared ones are an error of ours."""
    losses: list[Loss] = []
    rows: dict[str, Any] = {accessor.value: accessor for accessor in accessors}
    for value in ("prompt_token_ids", "completion_token_ids", "logprobs"):
        accessor = rows.get(value)
        if accessor is None or len(choices) != len(told.choices):
            continue
        for there, choice in zip(choices, sorted(told.choices, key=lambda each: each.index), strict=True):
            shown: tuple[Any, ...] | None = getattr(there, value)
            whole = _told_values(told, choice, value)
            if shown is None or whole is None or shown == whole:
                continue
            broken_off = choice.failure is not None and shown == whole[: len(shown)]
            if accessor.loss is None and not broken_off and (accessor.eos or shown != whole[:-1]):
                raise HarnessError(
                    f"the healthy {value} on the wire differ from what was told, and the layout declares no loss",
                    where=accessor.path,
                )
            words = "the engine failed before the rest was told" if broken_off else "the end token is not told"
            losses.append(Loss(value=value, words=accessor.loss or words))
            break
    return tuple(losses)


def _told_values(told: Told, choice: ToldChoice, value: str) -> tuple[Any, ...] | None:
    if value == "prompt_token_ids":
        return told.prompt_of(choice).token_ids
    if value == "completion_token_ids":
        return choice.ids
    return None if choice.scores is None else tuple(None if score is None else score.logprob for score in choice.scores)


def situation(case: Case, body: Body, faults: tuple[Tampering, ...], turn: int, profile: str) -> Situation:
    """The case as the checks see it."""
    return Situation(
        id=case.id,
        area=case.area,
        api=case.api,
        stream=case.stream,
        layout=case.layout,
        n=case.n,
        profile=profile,
        axes={name: str(value) for name, value in case.axes.items()},
        faults=faults,
        request=body.body,
        flags=body.flags,
        conversation=case.id if case.turns else None,
        turn=turn,
        cancel_after_ms=case.cancel_after_ms,
        core=case.core,
    )
