"""Tinker's sampling: ids in, a future out, and the sampled ids and scores when the future is asked for.

Source: tinker 0.38.0, whose own client asks for protobuf: answers here are the JSON of the same members. The station
keeps what it sampled under the future's id, the oldest going first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ask import Ask, Prompt, Request, Wants
from ....message import Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ...common.fields import as_object, as_objects, as_tuple
from ..errors import Refusal
from ..frame import json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import KEEPS_END, count, limit, nested, sampling

API = "tinker"
KEPT = 1000
"""Futures that are remembered."""


def _hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    chunks = as_objects(nested(body, "prompt").get("chunks"))
    ids = tuple(one for chunk in chunks for one in as_tuple(chunk.get("tokens")))
    if not ids or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        raise Refusal("prompt must hold chunks of tokens", status=422)
    parameters = as_object(body.get("sampling_params"))
    prompt_scores = body.get("prompt_logprobs") is True or count(body.get("topk_prompt_logprobs")) > 0
    return Ask(
        api=API,
        request=request,
        body=body,
        prompts=(Prompt(ids),),
        n=max(count(body.get("num_samples"), 1), 1),
        sampling=sampling(parameters, limit(parameters.get("max_tokens")), parameters.get("stop")),
        wants=Wants(
            completion_token_ids=True,
            logprobs=True,
            top_logprobs=count(body.get("topk_sample_logprobs")),
            prompt_logprobs=count(body.get("topk_prompt_logprobs")) if prompt_scores else None,
        ),
        options=KEEPS_END,
    )


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    future = f"{context.hex(8)}:sample:0"
    kept = station.state.setdefault("futures", {})
    kept[future] = _result(told, ask)
    while len(kept) > KEPT:
        del kept[next(iter(kept))]
    return json_answer({"request_id": future, "model_id": None})


def _result(told: Told, ask: Ask) -> dict[str, Any]:
    if any(choice.failure is not None for choice in told.choices):
        return {"error": "Internal error", "category": "server"}
    scores = told.prompts[0].scores
    return {
        "type": "sample",
        "sequences": [_sequence(choice, ask) for choice in told.choices],
        "prompt_logprobs": None if scores is None else [None if score is None else score.logprob for score in scores],
        "topk_prompt_logprobs": None if not ask.wants.prompt_logprobs or scores is None else _topk(scores),
    }


def _topk(scores: Sequence[Score | None]) -> list[Any]:
    return [None if score is None else [[one.id, one.logprob] for one in score.top or ()] for score in scores]


def _sequence(choice: ToldChoice, ask: Ask) -> dict[str, Any]:
    scores = choice.scores
    value: dict[str, Any] = {
        "stop_reason": "length" if choice.finish_reason == "length" else "stop",
        "tokens": None if choice.ids is None else list(choice.ids),
        "logprobs": None if scores is None else [None if score is None else score.logprob for score in scores],
    }
    if ask.wants.top_logprobs and scores is not None:
        value["topk_logprobs"] = _topk(scores)
    return value


def _retrieve(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    future = read(request.body).get("request_id")
    found = station.state.get("futures", {}).get(future) if isinstance(future, str) else None
    if found is None:
        raise Refusal(f"Future {future} not found", status=404)
    return json_answer(found)


NATIVES = (
    Native(API, ("/api/v1/asample",), _hear, _render),
    Native("tinker-future", ("/api/v1/retrieve_future",), _retrieve),
)
_BODY = ("body",)
_LATER = "in the answer of /api/v1/retrieve_future"

ACCESSORS: AccessorTable = {
    (API, False): (
        Accessor("completion_token_ids", "sequences[0].tokens", {}, _BODY, loss=_LATER),
        Accessor("logprobs", "sequences[0].logprobs", {}, _BODY, loss=_LATER),
        Accessor("top_logprobs", "sequences[0].topk_logprobs", {"topk_sample_logprobs": 1}, _BODY, loss=_LATER),
        Accessor("prompt_logprobs", "prompt_logprobs", {"prompt_logprobs": True}, _BODY, loss=_LATER),
        Accessor("finish_reason", "sequences[0].stop_reason", {}, _BODY, loss=_LATER),
    ),
}
