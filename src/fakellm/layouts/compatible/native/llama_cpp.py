"""llama.cpp's native ``/completion``: ids with return_tokens, scores with n_probs, no prompt ids.

A token that leaves a character unfinished has no score; the end token has neither text nor score in streams. Source:
tools/server/server-task.cpp and server-context.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ask import Ask, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ..errors import Refusal
from ..frame import EVENT_HEADERS, json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import KEEPS_END, count, limit, prompt_of, sampling

API = "completion"
SMALLEST = -3.4028234663852886e38
"""The lowest 32-bit float: what a probability of zero is told as."""


def _hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    top = count(body.get("n_probs"))
    return Ask(
        api=API,
        request=request,
        body=body,
        prompts=(prompt_of(body.get("prompt"), station.tokenizer, "prompt"),),
        model=body.get("model"),
        stream=body.get("stream") is True,
        sampling=sampling(body, limit(body.get("n_predict")), body.get("stop")),
        wants=Wants(
            completion_token_ids=body.get("return_tokens") is True, logprobs=top > 0, top_logprobs=top, usage=True
        ),
        options=KEEPS_END,
    )


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    choice = told.choices[0]
    if choice.failure is not None:
        return station.refused(Refusal("Compute error.", status=500, kind="server_error"))
    if not ask.stream:
        scores = None if choice.scores is None else _whole(choice.scores)
        return json_answer(_final(told, choice, ask, choice.text, choice.ids, scores))
    return Rendering(200, EVENT_HEADERS, tuple(_events(told, choice, ask)), stream=True)


def _events(told: Told, choice: ToldChoice, ask: Ask) -> list[Message]:
    made: list[Message] = []
    pending = 0
    for step in choice.steps:
        if step.text:
            body = {"index": 0, **_piece(choice, ask, step.text, (pending, step.ids[1])), "stop": False}
            body["tokens_predicted"], body["tokens_evaluated"] = step.ids[1], told.usage.prompt_tokens
            made.append(Message("delta", body, 0, (pending, step.tokens[1]), step.due_ms))
            pending = step.ids[1]
    due = choice.steps[-1].due_ms if choice.steps else 0.0
    left = None if choice.ids is None else choice.ids[pending:]
    made.append(Message("finish", _final(told, choice, ask, "", left, None), 0, None, due))
    return made


def _piece(choice: ToldChoice, ask: Ask, text: str, span: tuple[int, int]) -> dict[str, Any]:
    ids = (choice.ids or ())[slice(*span)]
    body: dict[str, Any] = {"content": text, "tokens": list(ids) if ask.wants.completion_token_ids else []}
    if choice.scores is not None:
        body["completion_probabilities"] = [_entry(score) for score in _whole(choice.scores[slice(*span)])]
    return body


def _final(
    told: Told,
    choice: ToldChoice,
    ask: Ask,
    text: str,
    ids: Sequence[Any] | None,
    scores: Sequence[Score] | None,
) -> dict[str, Any]:
    stopped = choice.stop_reason if isinstance(choice.stop_reason, str) else ""
    kind = "limit" if choice.finish_reason == "length" else "word" if stopped else "eos"
    body: dict[str, Any] = {
        "index": 0,
        "content": text,
        "tokens": list(ids or ()) if ask.wants.completion_token_ids else [],
        "id_slot": 0,
        "stop": True,
        "model": ask.model,
        "tokens_predicted": told.usage.completion_tokens,
        "tokens_evaluated": told.usage.prompt_tokens,
        "generation_settings": {"n_predict": ask.sampling.max_tokens or -1, "n_probs": ask.wants.top_logprobs},
        "prompt": told.prompts[0].text or "",
        "has_new_line": "\n" in choice.text,
        "truncated": False,
        "stop_type": kind,
        "stopping_word": stopped,
        "tokens_cached": (told.usage.prompt_tokens or 0) + (told.usage.completion_tokens or 0),
    }
    if scores is not None:
        body["completion_probabilities"] = [_entry(score) for score in scores]
    return body


def _whole(scores: Sequence[Score | None]) -> list[Score]:
    """The scores of tokens that complete a character."""
    return [score for score in scores if score is not None and _complete(score)]


def _complete(score: Score) -> bool:
    try:
        bytes(score.bytes or ()).decode()
    except UnicodeDecodeError:
        return False
    return True


def _entry(score: Score) -> dict[str, Any]:
    return {**_short(score), "top_logprobs": [_short(one) for one in score.top or ()]}


def _short(score: Score) -> dict[str, Any]:
    logprob = score.logprob if score.logprob is not None and score.logprob > SMALLEST else SMALLEST
    return {"id": score.id, "token": score.token, "bytes": list(score.bytes or ()), "logprob": logprob}


NATIVES = (Native(API, ("/completion", "/completions"), _hear, _render),)
_LOSS = "a token that leaves a character unfinished has no score; in streams an end token that comes alone has none"
_SCORED = {"n_probs": 1}


def _places(stream: bool) -> tuple[Accessor, ...]:
    chunks = ("delta", "finish") if stream else ("body",)
    scores = ("delta",) if stream else ("body",)
    return (
        Accessor("completion_token_ids", "tokens", {"return_tokens": True}, chunks),
        Accessor("logprobs", "completion_probabilities[].logprob", _SCORED, scores, True, _LOSS),
        Accessor("top_logprobs", "completion_probabilities[].top_logprobs", _SCORED, scores, True, _LOSS),
        Accessor("text", "content", {}, chunks, False),
        Accessor("finish_reason", "stop_type", {}, ("finish",) if stream else chunks),
    )


ACCESSORS: AccessorTable = {(API, False): _places(False), (API, True): _places(True)}
