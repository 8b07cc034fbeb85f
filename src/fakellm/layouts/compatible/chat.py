"""``/v1/chat/completions`` of any OpenAI-like server, whole and streamed. Reads only what is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...message import Message, Rendering
from ...told import Part, Score, Told, ToldChoice
from .deltas import Delta, deltas_of
from .frame import Body, Frame, failed, json_answer, prompt_ids, stream_of, tells_ids, usage_value, without_nulls
from .spelling import entries, legacy
from .traits import Api, Scores


def render(told: Told, frame: Frame) -> Rendering:
    """The answer to a chat request."""
    return _stream(told, frame) if frame.ask.stream else _whole(told, frame)


def _api(frame: Frame) -> Api:
    return frame.traits.chat or Api()


def _whole(told: Told, frame: Frame) -> Rendering:
    if any(choice.failure is not None for choice in told.choices):
        return failed(frame)
    body: dict[str, Any] = {
        "id": frame.id,
        "object": "chat.completion",
        "created": frame.created,
        "model": frame.ask.model,
        "choices": [],
        "usage": usage_value(told, frame.traits),
        **frame.traits.envelope,
    }
    for choice in told.choices:
        body["choices"].append(_choice(told, choice, frame, body))
    return json_answer(frame.traits.laid_out(body, "chat", stream=False))


def _choice(told: Told, choice: ToldChoice, frame: Frame, root: dict[str, Any]) -> dict[str, Any]:
    deltas = list(deltas_of(choice, frame.traits, stream=False))
    api, wants = _api(frame), frame.ask.wants
    row: dict[str, Any] = {"index": choice.index, "message": _message(deltas, frame)}
    row["logprobs"] = _logprobs(deltas, api.scores, frame)
    row["finish_reason"] = deltas[-1].end
    ids = None if choice.ids is None else list(choice.ids)
    body = Body(root, row, "message")
    body.put(api.prompt_ids, prompt_ids(told, choice), wanted=wants.prompt_token_ids)
    body.put(api.completion_ids, ids, wanted=wants.completion_token_ids)
    scores = choice.scores
    if scores is not None:
        body.put(api.extra_scores, [None if one is None else one.logprob for one in scores])
        if _pairs_asked(frame):
            body.put(api.pairs, _pairs(scores))
    return row


def _pairs_asked(frame: Frame) -> bool:
    pairs = _api(frame).pairs
    return pairs is not None and all(frame.ask.body.get(name) == flag for name, flag in pairs.flags.items())


def _pairs(scores: Sequence[Score | None]) -> list[Any]:
    return [None if one is None else [one.logprob, one.id] for one in scores]


def _message(deltas: Sequence[Delta], frame: Frame) -> dict[str, Any]:
    traits = frame.traits
    calls = [part for delta in deltas for part in delta.calls]
    content = "".join(delta.content for delta in deltas)
    message: dict[str, Any] = {"role": "assistant", "content": content if content or not calls else None}
    reasoning = "".join(delta.reasoning for delta in deltas)
    if reasoning and traits.reasoning:
        message[traits.reasoning] = reasoning
    if calls:
        message["tool_calls"] = [_call(part, frame) for part in calls]
    return {**message, **traits.message}


def _call(part: Part, frame: Frame) -> dict[str, Any]:
    function = {"name": part.name, "arguments": part.text}
    return {"id": f"call_{frame.fresh(24)}", "type": "function", "function": function}


def _logprobs(deltas: Sequence[Delta], shape: Scores, frame: Frame) -> Any:
    """The scores of these deltas; null when there are none."""
    wants = frame.ask.wants
    scores = [score for delta in deltas for score in delta.scores]
    if not scores or shape == "none" or not _scores_asked(frame):
        return None
    if shape == "legacy":
        return legacy(scores, frame.traits, 0, top=wants.top_logprobs > 0)
    if shape == "float":
        return scores[-1].logprob if scores[-1] is not None else None
    if frame.traits.reasoning_scores:
        return _split(deltas, frame)
    return _content(scores, frame)


def _scores_asked(frame: Frame) -> bool:
    return frame.ask.body.get("logprobs") not in (None, False)


def _content(scores: Sequence[Score | None], frame: Frame) -> dict[str, Any]:
    value: dict[str, Any] = {"content": entries(scores, frame.traits, top=frame.ask.wants.top_logprobs > 0)}
    return value | ({"refusal": None} if "refusal" in frame.traits.message else {})


def _split(deltas: Sequence[Delta], frame: Frame) -> dict[str, Any]:
    """Scores of reasoning stand in a list of their own (DeepSeek)."""
    thought = [score for delta in deltas if delta.reasoning for score in delta.scores]
    said = [score for delta in deltas if not delta.reasoning for score in delta.scores]
    top = frame.ask.wants.top_logprobs > 0
    return {
        "content": entries(said, frame.traits, top=top) or None,
        "reasoning_content": entries(thought, frame.traits, top=top) or None,
    }


def _stream(told: Told, frame: Frame) -> Rendering:
    messages: list[Message] = []
    for choice in told.choices:
        messages += _chunks(told, choice, frame)
    return stream_of(messages, told, frame, lambda: {**_envelope([], frame), "usage": usage_value(told, frame.traits)})


def _chunks(told: Told, choice: ToldChoice, frame: Frame) -> list[Message]:
    traits = frame.traits
    made: list[Message] = []
    first = True
    for delta in deltas_of(choice, traits, stream=True):
        if first and traits.role_first:
            made.append(_role(told, choice, delta, frame))
            first = False
        if delta.reasoning and not traits.reasoning and not (delta.content or delta.calls):
            continue
        for part in _parted(delta, frame):
            made.append(_chunk(told, choice, part, frame, first=first))
            first = False
    return made


def _parted(delta: Delta, frame: Frame) -> list[Delta]:
    """One chunk a token where a chunk has one number: the text comes with the last."""
    if _api(frame).stream_scores != "float" or len(delta.scores) < 2:
        return [delta]
    start = delta.span[0]
    ids = delta.ids or (None,) * len(delta.scores)
    before = [
        Delta(
            delta.choice,
            ids=(ids[place],),
            scores=(score,),
            span=(start + place, start + place + 1),
            due_ms=delta.due_ms,
        )
        for place, score in enumerate(delta.scores[:-1])
    ]
    last = replace(delta, ids=ids[-1:], scores=delta.scores[-1:], span=(start + len(before), delta.span[1]))
    return [*before, last]


def _role(told: Told, choice: ToldChoice, delta: Delta, frame: Frame) -> Message:
    inside: dict[str, Any] = {"role": "assistant", "content": ""}
    if "refusal" in frame.traits.message:
        inside["refusal"] = None
    row: dict[str, Any] = {"index": choice.index, "delta": inside, "logprobs": None, "finish_reason": None}
    body = _envelope([row], frame)
    place = _api(frame).prompt_ids
    if place is not None and place.when == "first":
        wanted = frame.ask.wants.prompt_token_ids
        Body(body, row, "delta").put(place, prompt_ids(told, choice), wanted=wanted)
    return Message("role", _tidied(body, row, frame), choice.index, (0, 0), delta.due_ms)


def _chunk(told: Told, choice: ToldChoice, delta: Delta, frame: Frame, *, first: bool) -> Message:
    api, wants, traits = _api(frame), frame.ask.wants, frame.traits
    inside: dict[str, Any] = {"role": "assistant"} if first else {}
    if delta.content or (first and not delta.reasoning):
        inside["content"] = delta.content
    if delta.reasoning and traits.reasoning:
        inside[traits.reasoning] = delta.reasoning
    if api.id_beside is not None and delta.ids and delta.scores:
        inside[api.id_beside] = delta.ids[-1]
    if delta.calls:
        inside["tool_calls"] = [{"index": part.tool_index, **_call(part, frame)} for part in delta.calls]
    row: dict[str, Any] = {
        "index": choice.index,
        "delta": inside,
        "logprobs": _logprobs([delta], api.stream_scores, frame),
        "finish_reason": delta.end,
    }
    body = _envelope([row], frame)
    places = Body(body, row, "delta")
    if api.prompt_ids is not None and tells_ids(api.prompt_ids, delta, first=first, stream=True):
        places.put(api.prompt_ids, prompt_ids(told, choice), wanted=wants.prompt_token_ids)
    whole = api.completion_ids is not None and api.completion_ids.when != "each"
    ids = choice.ids if whole else delta.ids
    if tells_ids(api.completion_ids, delta, first=first, stream=True) and ids:
        places.put(api.completion_ids, list(ids), wanted=wants.completion_token_ids)
    _beside(choice, delta, frame, places)
    kind = "delta" if delta.end is None else "finish"
    return Message(kind, _tidied(body, row, frame), choice.index, delta.span, delta.due_ms)


def _beside(choice: ToldChoice, delta: Delta, frame: Frame, body: Body) -> None:
    """Scores that stand beside the ids, without entries."""
    api = _api(frame)
    if choice.scores is None:
        return
    if api.extra_scores is not None and tells_ids(api.extra_scores, delta, first=False, stream=True):
        scores = choice.scores if api.extra_scores.when != "each" else delta.scores
        if scores:
            body.put(api.extra_scores, [None if one is None else one.logprob for one in scores])
    if _pairs_asked(frame) and delta.scores:
        body.put(api.pairs, _pairs(delta.scores))


def _tidied(body: dict[str, Any], row: dict[str, Any], frame: Frame) -> dict[str, Any]:
    body["choices"] = [without_nulls(row, frame.traits)]
    return frame.traits.laid_out(body, "chat", stream=True)


def _envelope(choices: list[dict[str, Any]], frame: Frame) -> dict[str, Any]:
    usage = {"usage": None} if frame.ask.wants.usage and not frame.traits.sparse else {}
    return {
        "id": frame.id,
        "object": "chat.completion.chunk",
        "created": frame.created,
        "model": frame.ask.model,
        **frame.traits.envelope,
        "choices": choices,
        **usage,
    }
