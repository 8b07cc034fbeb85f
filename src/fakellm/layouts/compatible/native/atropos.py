"""Atropos' own ``/generate`` around vLLM: texts, finish reasons and, where scores are asked for, ids with them.

One ``{id: logprob}`` object per token, the sampled one first, each in a list of its own. Streams are one line with the
prompt and the text, no scores. Source: example_trainer/vllm_api_server.py of NousResearch/atropos.
"""

from __future__ import annotations

from typing import Any

from ....ask import Ask, Prompt, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ...common.fields import as_object, as_tuple
from ..errors import Refusal
from ..frame import json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import KEEPS_END, count, limit, prompt_of, sampling

API = "atropos"


def _hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
    body = read(request.body)
    given = body.get("prompt")
    ids = as_object(given).get("prompt_token_ids")
    prompt = Prompt(as_tuple(ids)) if ids else prompt_of(given, station.tokenizer, "prompt")
    top = body.get("logprobs")
    return Ask(
        api=API,
        request=request,
        body=body,
        prompts=(prompt,),
        stream=body.get("stream") is True,
        n=max(count(body.get("n"), 1), 1),
        sampling=sampling(body, limit(body.get("max_tokens")) or 16, body.get("stop")),
        wants=Wants(
            prompt_token_ids=top is not None,
            completion_token_ids=top is not None,
            logprobs=top is not None,
            top_logprobs=count(top),
        ),
        options=KEEPS_END,
    )


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    if any(choice.failure is not None for choice in told.choices):
        return station.refused(Refusal("Internal Server Error", status=500))
    prompt = told.prompts[0]
    text = prompt.text or station.tokenizer.decode(prompt.token_ids or ())
    texts = [choice.text for choice in told.choices]
    if ask.stream:
        due = max((step.due_ms for choice in told.choices for step in choice.steps), default=0.0)
        line = Message("finish", {"text": [text + said for said in texts]}, None, None, due)
        return Rendering(200, (("content-type", "application/x-ndjson"),), (line,), stream=True)
    body: dict[str, Any] = {
        "text": texts,
        "prompt": text,
        "finish_reasons": [choice.finish_reason for choice in told.choices],
    }
    if ask.wants.logprobs:
        body["logprobs"] = [_rows(choice) for choice in told.choices]
        body["prompt_token_ids"] = None if prompt.token_ids is None else list(prompt.token_ids)
        body["token_ids"] = [None if choice.ids is None else list(choice.ids) for choice in told.choices]
    return json_answer(body)


def _rows(choice: ToldChoice) -> list[Any] | None:
    if choice.scores is None:
        return None
    return [[{} if score is None else _row(score)] for score in choice.scores]


def _row(score: Score) -> dict[str, Any]:
    own = {str(score.id): score.logprob}
    return own | {str(one.id): one.logprob for one in score.top or () if one.id != score.id}


NATIVES = (Native(API, ("/generate",), _hear, _render),)
_SCORED = {"logprobs": 0}
_BODY = ("body",)

ACCESSORS: AccessorTable = {
    (API, False): (
        Accessor("prompt_token_ids", "prompt_token_ids", _SCORED, _BODY),
        Accessor("completion_token_ids", "token_ids[0]", _SCORED, _BODY),
        Accessor("logprobs", "logprobs[0][][0][0]", _SCORED, _BODY),
        Accessor("text", "text[0]", {}, _BODY, False),
        Accessor("finish_reason", "finish_reasons[0]", {}, _BODY),
    ),
    (API, True): (Accessor("text", "text[0]", {}, ("finish",), False, "with the prompt before it"),),
}
