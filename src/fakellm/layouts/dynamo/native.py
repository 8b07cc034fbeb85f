"""Dynamo's native routes: vLLM's ``/inference/v1/generate`` and SGLang's ``/generate``, both switched on at launch.

The first answers only whole, the second only in streams: the worker's own objects, cumulative, handed on as they are.
Tokens go by ``token_id:N``; no prompt ids, no usage. A worker that withholds one score makes the first fail as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Message, Rendering
from ...tokenizer import Tokenizer
from ...told import Score, Told, ToldChoice
from ..common.fields import as_object, as_tuple
from . import answers, fields, serde
from .frame import Frame
from .hear import check_model, read, sampling
from .options import Settings
from .spelling import prompt_rows, widened
from .traits import Traits


def hear_inference(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask | Rendering:
    """``/inference/v1/generate``; raises Refusal."""
    body = read(request.body, fields.GENERATE)
    if body.get("stream"):
        message = "streaming (stream=true) is not implemented for /inference/v1/generate yet"
        return answers.native_error(message, "not_implemented", 501)
    if not body["token_ids"]:
        return answers.native_error("token_ids must contain at least one token ID.", "invalid_request_error", 400)
    check_model(body.get("model"), settings)
    parameters = as_object(body["sampling_params"])
    top = parameters.get("logprobs")
    return Ask(
        api="tito",
        request=request,
        body=body,
        prompts=(Prompt(tuple(body["token_ids"])),),
        model=body.get("model") or settings.model,
        sampling=sampling({**parameters, "stop": None}, parameters.get("max_tokens")),
        wants=Wants(
            completion_token_ids=True,
            logprobs=top is not None,
            top_logprobs=top or 0,
            prompt_logprobs=parameters.get("prompt_logprobs"),
            tokens_as_ids=True,
        ),
        request_id=body.get("request_id"),
    )


def render_inference(told: Told, frame: Frame) -> Rendering:
    """The whole answer, or 500 when the engine failed or withheld a score."""
    choice = told.choices[0]
    withheld = choice.scores is not None and (None in choice.scores or len(choice.scores) != len(choice.ids or ()))
    if choice.failure is not None or withheld:
        return answers.native_error("internal server error", "internal_error", 500)
    prompt = told.prompts[0].scores
    body = {
        "request_id": frame.ask.request_id or frame.uuid,
        "choices": [
            {
                "index": 0,
                "token_ids": None if choice.ids is None else list(choice.ids),
                "logprobs": _logprobs(choice),
                "finish_reason": choice.finish_reason,
                "routed_experts": choice.extras.get("routed_experts"),
                "sampling_mask": None,
            }
        ],
        "prompt_logprobs": None if prompt is None else prompt_rows(prompt, widened),
        "kv_transfer_params": None,
    }
    return answers.json_answer(body)


def _logprobs(choice: ToldChoice) -> dict[str, Any] | None:
    return None if choice.scores is None else {"content": [_entry(one) for one in choice.scores if one is not None]}


def _entry(score: Score) -> dict[str, Any]:
    """A score by id; the sampled token is always among the alternatives."""
    top = score.top or ()
    if not any(one.id == score.id for one in top):
        top = (score, *top)
    return {**_short(score), "top_logprobs": [_short(one) for one in top]}


def _short(score: Score) -> dict[str, Any]:
    return {
        "token": score.token,
        "logprob": widened(score.logprob),
        "bytes": None if score.bytes is None else list(score.bytes),
    }


def hear_generate(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask | Rendering:
    """``/generate``; raises Refusal."""
    try:
        body = serde.read(request.body, fields.SGLANG)
    except serde.Misfit as misfit:
        error = {"object": "error", "message": str(misfit), "type": "Bad Request", "param": None, "code": 400}
        return answers.json_answer(error, 400)
    if not body.get("stream"):
        message = "non-streaming SGLang generate requests are not implemented; set stream=true"
        return answers.json_answer({"error": {"message": message}}, 501)
    parameters = as_object(body.get("sampling_params"))
    return Ask(
        api="generate",
        request=request,
        body=body,
        prompts=(Prompt(as_tuple(body["input_ids"])),),
        model=body.get("model") or settings.model,
        stream=True,
        sampling=sampling(parameters, parameters.get("max_new_tokens")),
        wants=Wants(completion_token_ids=True, logprobs=bool(body.get("return_logprob")), usage=True),
    )


def render_generate(told: Told, frame: Frame, engine: Mapping[str, Any]) -> Rendering:
    """Cumulative objects, one per step, as the worker's SGLang engine wrote them."""
    identity = engine.get("sglang_response_id") or frame.uuid.replace("-", "")
    return answers.events([*_objects(told, told.choices[0], identity)])


def _objects(told: Told, choice: ToldChoice, identity: str) -> Iterator[Message]:
    text = ""
    for step in choice.steps:
        text += step.text
        ids = list((choice.ids or ())[: step.ids[1]])
        reason = step.finish_reason
        meta: dict[str, Any] = {
            "id": identity,
            "finish_reason": None if reason is None else _finish(reason, step.stop_reason),
            "prompt_tokens": told.usage.prompt_tokens,
            "completion_tokens": len(ids),
        }
        if choice.scores is not None:
            scores = choice.scores[: step.scores[1]]
            meta["output_token_logprobs"] = [None if one is None else [one.logprob, one.id, None] for one in scores]
        body = {"text": text, "output_ids": ids, "meta_info": meta}
        kind = "delta" if reason is None else "finish"
        yield Message(kind, body, 0, step.tokens, step.due_ms, spelling="serde")


def _finish(reason: str, matched: int | str | None) -> dict[str, Any]:
    return {"type": reason, "matched": matched} if reason == "stop" else {"type": reason}
