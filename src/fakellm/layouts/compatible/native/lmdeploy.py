"""LMDeploy's native ``/generate``: SGLang's names, flat parameters, pairs [logprob, id] and deltas in streams.

The end token is in neither ids nor scores. Source: lmdeploy/serve/openai of 0.18.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....ask import Ask, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told
from ...base import Accessor, AccessorTable, Context
from ..errors import Refusal
from ..frame import EVENT_HEADERS, json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import count, limit, prompt_of, sampling

API = "generate"
_SCORED = {"return_logprob": True}


def _hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    given = body.get("input_ids") if body.get("prompt") is None else body["prompt"]
    if body.get("logprob_start_len", -1) not in (-1, None) and body.get("max_tokens") != 0:
        raise Refusal("logprob_start_len >= 0 needs max_tokens 0", param="logprob_start_len")
    return Ask(
        api=API,
        request=request,
        body=body,
        prompts=(prompt_of(given, station.tokenizer, "prompt"),),
        model=body.get("model"),
        stream=body.get("stream") is True,
        sampling=sampling(body, limit(body.get("max_tokens")), body.get("stop")),
        wants=Wants(
            completion_token_ids=True,
            logprobs=body.get("return_logprob") is True,
            top_logprobs=count(body.get("top_logprobs_num")),
            usage=True,
        ),
    )


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    if told.choices[0].failure is not None:
        return station.refused(Refusal("internal server error", status=500, kind="internal_error"))
    if not ask.stream:
        choice = told.choices[0]
        reason = choice.finish_reason
        return json_answer(_value(told, choice.text, choice.ids, choice.scores, len(choice.ids or ()), reason))
    end = Message("done", "[DONE]", due_ms=told.choices[0].steps[-1].due_ms if told.choices[0].steps else 0.0)
    return Rendering(200, EVENT_HEADERS, (*_events(told), end), stream=True)


def _events(told: Told) -> Iterator[Message]:
    choice = told.choices[0]
    for step in choice.steps:
        ids = None if choice.ids is None else choice.ids[slice(*step.ids)]
        scores = None if choice.scores is None else choice.scores[slice(*step.scores)]
        body = _value(told, step.text, ids, scores, step.ids[1], step.finish_reason)
        kind = "delta" if step.finish_reason is None else "finish"
        yield Message(kind, body, 0, step.tokens, step.due_ms)


def _value(
    told: Told,
    text: str,
    ids: Sequence[Any] | None,
    scores: Sequence[Score | None] | None,
    so_far: int,
    reason: str | None,
) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "prompt_tokens": told.usage.prompt_tokens,
        "completion_tokens": so_far,
        "finish_reason": None if reason is None else {"type": reason},
    }
    told_scores = told_top = None
    if scores is not None:
        told_scores = [_pair(score) for score in scores]
        told_top = [None if score is None else [_pair(one) for one in score.top or ()] for score in scores]
    meta |= {
        "output_token_logprobs": told_scores,
        "input_token_logprobs": None,
        "output_top_logprobs": told_top,
        "input_top_logprobs": None,
        "routed_experts": None,
    }
    return {"text": text, "output_ids": None if ids is None else list(ids), "meta_info": meta}


def _pair(score: Score | None) -> list[Any] | None:
    return None if score is None else [score.logprob, score.id]


NATIVES = (Native(API, ("/generate",), _hear, _render),)


def _places(stream: bool) -> tuple[Accessor, ...]:
    chunks = ("delta", "finish") if stream else ("body",)
    return (
        Accessor("completion_token_ids", "output_ids", {}, chunks, False),
        Accessor("logprobs", "meta_info.output_token_logprobs[][0]", _SCORED, chunks, False),
        Accessor("top_logprobs", "meta_info.output_top_logprobs", {**_SCORED, "top_logprobs_num": 1}, chunks, False),
        Accessor("text", "text", {}, chunks, False),
        Accessor("finish_reason", "meta_info.finish_reason.type", {}, ("finish",) if stream else chunks),
        Accessor("usage", "meta_info", {}, chunks),
    )


ACCESSORS: AccessorTable = {(API, False): _places(False), (API, True): _places(True)}
