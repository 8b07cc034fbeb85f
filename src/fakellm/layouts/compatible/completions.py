"""``/v1/completions`` of any OpenAI-like server, whole and streamed, with echo. Reads only what is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice
from .deltas import Delta, deltas_of
from .frame import Body, Frame, failed, json_answer, prompt_ids, stream_of, tells_ids, usage_value, without_nulls
from .spelling import entries, legacy
from .traits import Api, Scores


def render(told: Told, frame: Frame) -> Rendering:
    """The answer to a completions request."""
    return _stream(told, frame) if frame.ask.stream else _whole(told, frame)


def _api(frame: Frame) -> Api:
    return frame.traits.completions or Api()


def _whole(told: Told, frame: Frame) -> Rendering:
    if any(choice.failure is not None for choice in told.choices):
        return failed(frame)
    body = _envelope([], frame)
    for choice in told.choices:
        body["choices"].append(_choice(told, choice, frame, body))
    whole = {**body, "usage": usage_value(told, frame.traits)}
    return json_answer(frame.traits.laid_out(whole, "completions", stream=False))


def _echoed(told: Told, choice: ToldChoice, frame: Frame) -> tuple[str, list[Score | None]]:
    """The prompt's text and scores, where echo asks for them."""
    prompt = told.prompt_of(choice)
    return (prompt.text or "", list(prompt.scores or ())) if frame.ask.wants.echo else ("", [])


def _choice(told: Told, choice: ToldChoice, frame: Frame, root: dict[str, Any]) -> dict[str, Any]:
    deltas = list(deltas_of(choice, frame.traits, stream=False))
    api, wants = _api(frame), frame.ask.wants
    text, before = _echoed(told, choice, frame)
    scores = [*before, *(score for delta in deltas for score in delta.scores)]
    row: dict[str, Any] = {
        "text": text + "".join(delta.content for delta in deltas),
        "index": choice.index,
        "logprobs": _logprobs(scores, api.scores, frame, 0),
        "finish_reason": deltas[-1].end,
    }
    ids = None if choice.ids is None else list(choice.ids)
    places = Body(root, row, "text")
    places.put(api.prompt_ids, prompt_ids(told, choice), wanted=wants.prompt_token_ids)
    places.put(api.completion_ids, ids, wanted=wants.completion_token_ids)
    if frame.ask.body.get("detokenize") is False and "detokenize" in frame.traits.own:
        row["text"] = ""
    return row


def _logprobs(scores: Sequence[Score | None], shape: Scores, frame: Frame, offset: int) -> Any:
    if not scores or shape == "none" or not frame.ask.wants.logprobs:
        return None
    top = frame.ask.wants.top_logprobs > 0
    if shape == "content":
        return {"content": entries(scores, frame.traits, top=top)}
    return legacy(scores, frame.traits, offset, top=top)


def _stream(told: Told, frame: Frame) -> Rendering:
    messages: list[Message] = []
    for choice in told.choices:
        messages += _chunks(told, choice, frame)
    return stream_of(messages, told, frame, lambda: {**_envelope([], frame), "usage": usage_value(told, frame.traits)})


def _chunks(told: Told, choice: ToldChoice, frame: Frame) -> list[Message]:
    text, before = _echoed(told, choice, frame)
    made: list[Message] = []
    offset = 0
    first = True
    for delta in deltas_of(choice, frame.traits, stream=True):
        shown = replace(delta, content=text + delta.content, scores=(*before, *delta.scores))
        made.append(_chunk(told, choice, shown, frame, offset, first=first))
        offset += len(shown.content)
        text, before, first = "", [], False
    return made


def _chunk(told: Told, choice: ToldChoice, delta: Delta, frame: Frame, offset: int, *, first: bool) -> Message:
    api, wants = _api(frame), frame.ask.wants
    hides = frame.ask.body.get("detokenize") is False and "detokenize" in frame.traits.own
    row: dict[str, Any] = {
        "text": "" if hides else delta.content,
        "index": choice.index,
        "logprobs": _logprobs(delta.scores, api.stream_scores, frame, offset),
        "finish_reason": delta.end,
    }
    body = _envelope([row], frame)
    places = Body(body, row, "text")
    if api.prompt_ids is not None and tells_ids(api.prompt_ids, delta, first=first, stream=True):
        places.put(api.prompt_ids, prompt_ids(told, choice), wanted=wants.prompt_token_ids)
    if delta.ids:
        places.put(api.completion_ids, list(delta.ids), wanted=wants.completion_token_ids)
    body["choices"] = [without_nulls(row, frame.traits)]
    if wants.usage and not frame.traits.sparse:
        body["usage"] = None
    kind = "delta" if delta.end is None else "finish"
    body = frame.traits.laid_out(body, "completions", stream=True)
    return Message(kind, body, choice.index, delta.span, delta.due_ms)


def _envelope(choices: list[dict[str, Any]], frame: Frame) -> dict[str, Any]:
    shown = {name: value for name, value in frame.traits.envelope.items() if name != "service_tier"}
    return {
        "id": frame.id,
        "object": "text_completion",
        "created": frame.created,
        "model": frame.ask.model,
        **shown,
        "choices": choices,
    }
