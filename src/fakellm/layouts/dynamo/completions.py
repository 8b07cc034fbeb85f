"""``/v1/completions``, whole and streamed: the legacy lists, with text_offset always empty. Reads only what is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice
from . import answers, nvext
from .chat import annotated
from .chunks import Chunk, chunks_of
from .frame import Frame, usage_value
from .spelling import Spelling, narrowed, widened


def render(told: Told, frame: Frame, spelling: Spelling) -> Rendering:
    """The answer to a completions request."""
    return _stream(told, frame, spelling) if frame.ask.stream else _whole(told, frame, spelling)


def _index(choice: int, frame: Frame) -> int:
    return choice * frame.ask.options["stride"]


def _whole(told: Told, frame: Frame, spelling: Spelling) -> Rendering:
    if any(choice.failure is not None for choice in told.choices):
        return answers.engine_failed()
    listed = [(choice, list(chunks_of(choice, told, frame.extension, frame.facts))) for choice in told.choices]
    body = _envelope([_choice(choice, chunks, frame, spelling) for choice, chunks in listed], frame)
    body["usage"] = usage_value(told, told.usage.completion_tokens, None)
    extension = nvext.merged([chunk.nvext for chunk in _first_prompt_first([chunks for _, chunks in listed])])
    return answers.json_answer(body | ({"nvext": extension} if extension else {}))


def _first_prompt_first(listed: Sequence[Sequence[Chunk]]) -> list[Chunk]:
    """All chunks, so that a member of several prompts ends up as the first prompt's (captured)."""
    return [chunk for chunks in reversed(listed) for chunk in chunks]


def _choice(choice: ToldChoice, chunks: Sequence[Chunk], frame: Frame, spelling: Spelling) -> dict[str, Any]:
    value: dict[str, Any] = {
        "text": "".join(chunk.content or "" for chunk in chunks),
        "index": _index(choice.index, frame),
    }
    scored = [chunk for chunk in chunks if chunk.scores is not None]
    if scored:
        scores = [score for chunk in scored for score in chunk.scores or ()]
        value["logprobs"] = logprobs_value(scores, [one for chunk in scored for one in chunk.ids], frame, spelling)
    if chunks:
        value["finish_reason"] = chunks[-1].finish_reason
    return value


def logprobs_value(
    scores: Sequence[Score | None], ids: Sequence[Any], frame: Frame, spelling: Spelling
) -> dict[str, Any]:
    """Texts of all tokens, scores of those that have one: what a worker withholds shortens only the scores."""
    known = [score for score in scores if score is not None]
    return {
        "tokens": [
            spelling.text(token_id) if score is None else score.token
            for score, token_id in zip(scores, ids, strict=False)
        ]
        if len(scores) == len(ids)
        else [score.token for score in known],
        "token_logprobs": [narrowed(score.logprob) for score in known],
        "top_logprobs": [_alternatives(score) for score in known] if frame.ask.wants.top_logprobs else [],
        "text_offset": [],
    }


def _alternatives(score: Score) -> dict[str, Any]:
    """By text, with the sampled token's own (at the end where no alternative has it: always for the end token)."""
    listed = {one.token: widened(one.logprob) for one in score.top or ()}
    listed[score.token] = widened(score.logprob)
    return listed


def _stream(told: Told, frame: Frame, spelling: Spelling) -> Rendering:
    messages = annotated(told, frame)
    events = [
        _event(told, chunk, frame, spelling)
        for choice in told.choices
        for chunk in chunks_of(choice, told, frame.extension, frame.facts)
        if chunk.says_something
    ]
    messages += sorted(events, key=lambda message: message.due_ms)
    due = max((message.due_ms for message in messages), default=0.0)
    if any(choice.failure is not None for choice in told.choices):
        messages.append(answers.engine_failure(due))
    elif frame.ask.wants.usage:
        usage = {"usage": usage_value(told, told.usage.completion_tokens, None)}
        messages.append(Message("usage", _envelope([], frame) | usage, due_ms=due))
    return answers.events(messages)


def _event(told: Told, chunk: Chunk, frame: Frame, spelling: Spelling) -> Message:
    choice: dict[str, Any] = {"text": chunk.content or "", "index": _index(chunk.choice, frame)}
    if chunk.scores is not None:
        choice["logprobs"] = logprobs_value(chunk.scores, chunk.ids, frame, spelling)
    if chunk.finish_reason is not None:
        choice["finish_reason"] = chunk.finish_reason
    body = _envelope([choice], frame)
    continuous = frame.ask.wants.continuous_usage
    body["usage"] = usage_value(told, chunk.so_far[0], None) if continuous else None
    if chunk.nvext:
        body["nvext"] = chunk.nvext
    kind = "delta" if chunk.finish_reason is None else "finish"
    return Message(kind, body, chunk.choice, chunk.span, chunk.due_ms, spelling="serde")


def _envelope(choices: list[dict[str, Any]], frame: Frame) -> dict[str, Any]:
    return {
        "id": f"cmpl-{frame.uuid}",
        "choices": choices,
        "created": frame.created,
        "model": frame.ask.model,
        "system_fingerprint": None,
        "object": "text_completion",
    }
