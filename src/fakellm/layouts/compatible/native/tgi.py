"""TGI's native ``/generate`` and ``/generate_stream``: details with ids and scores, the end token among them.

``/`` serves both, a whole answer in a list (its own clients ask there). Prompt ids come as prefill
(decoder_input_details), in whole answers only. Source: router/src/lib.rs and its snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....ask import Ask, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ..errors import Refusal
from ..frame import EVENT_HEADERS, json_answer
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import KEEPS_END, count, limit, nested, prompt_of, sampling

API = "tgi"


def _hear_with(*, stream: bool) -> Any:
    def hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
        body = read(request.body)
        parameters = nested(body, "parameters")
        if not isinstance(body.get("inputs"), str) or not body["inputs"]:
            raise Refusal("Input validation error: `inputs` cannot be empty", status=422)
        prefill = parameters.get("decoder_input_details") is True
        if prefill and (stream or body.get("stream") is True):
            message = "Input validation error: `decoder_input_details` == true is not supported when streaming tokens"
            raise Refusal(message, status=422)
        details = stream or body.get("stream") is True or parameters.get("details") is True
        return Ask(
            api=API,
            request=request,
            body=body,
            prompts=(prompt_of(body["inputs"], station.tokenizer, "inputs"),),
            stream=stream or body.get("stream") is True,
            sampling=sampling(parameters, limit(parameters.get("max_new_tokens")) or 100, parameters.get("stop")),
            wants=Wants(
                prompt_token_ids=prefill,
                completion_token_ids=details,
                logprobs=details,
                top_logprobs=count(parameters.get("top_n_tokens")),
                prompt_logprobs=0 if prefill else None,
            ),
            options=KEEPS_END,
        )

    return hear


def _render(told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering:
    choice = told.choices[0]
    if choice.failure is not None:
        return station.refused(Refusal("Request failed during generation", status=424, kind="generation"))
    if ask.stream:
        return Rendering(200, EVENT_HEADERS, tuple(_events(told, choice, ask, station)), stream=True)
    body: dict[str, Any] = {"generated_text": choice.text}
    if ask.wants.completion_token_ids:
        body["details"] = _details(told, choice, ask, station)
    return json_answer([body] if ask.request.path == "/" else body)


def _details(told: Told, choice: ToldChoice, ask: Ask, station: CompatibleStation) -> dict[str, Any]:
    scores = choice.scores or ()
    details: dict[str, Any] = {
        "finish_reason": _reason(choice),
        "generated_tokens": len(choice.ids or ()),
        "seed": ask.body.get("seed"),
        "prefill": _prefill(told, ask, station),
        "tokens": [_token(score, station) for score in scores if score is not None],
    }
    if ask.wants.top_logprobs:
        tops = [score.top or () for score in scores if score is not None]
        details["top_tokens"] = [[_token(one, station) for one in top] for top in tops]
    return details


def _prefill(told: Told, ask: Ask, station: CompatibleStation) -> list[dict[str, Any]]:
    prompt = told.prompts[0]
    if not ask.wants.prompt_token_ids or prompt.token_ids is None:
        return []
    scores = prompt.scores or (None,) * len(prompt.token_ids)
    return [
        {"id": token_id, "text": station.spelling.text(token_id), "logprob": None if score is None else score.logprob}
        for token_id, score in zip(prompt.token_ids, scores, strict=False)
    ]


def _token(score: Score, station: CompatibleStation) -> dict[str, Any]:
    special = score.id in station.tokenizer.special_ids
    return {"id": score.id, "text": score.token, "logprob": score.logprob, "special": special}


def _reason(choice: ToldChoice) -> str:
    if choice.finish_reason == "length":
        return "length"
    return "stop_sequence" if isinstance(choice.stop_reason, str) else "eos_token"


def _events(told: Told, choice: ToldChoice, ask: Ask, station: CompatibleStation) -> list[Message]:
    """One event a token; the last one has the whole text and the details."""
    made: list[Message] = []
    scores = choice.scores or ()
    for step in choice.steps:
        for place in range(*step.scores):
            score = scores[place]
            body: dict[str, Any] = {
                "index": place + 1,
                "token": None if score is None else _token(score, station),
                "generated_text": None,
                "details": None,
            }
            if ask.wants.top_logprobs and score is not None:
                body["top_tokens"] = [_token(one, station) for one in score.top or ()]
            made.append(Message("delta", body, 0, (place, place + 1), step.due_ms))
    if made:
        last = made[-1]
        ended: Mapping[str, Any] = {"generated_text": choice.text, "details": _end(told, choice, ask)}
        made[-1] = Message("finish", {**last.body, **ended}, 0, last.tokens, last.due_ms)
    return made


def _end(told: Told, choice: ToldChoice, ask: Ask) -> dict[str, Any]:
    return {
        "finish_reason": _reason(choice),
        "generated_tokens": len(choice.ids or ()),
        "seed": ask.body.get("seed"),
        "input_length": told.usage.prompt_tokens,
    }


NATIVES = (
    Native(API, ("/generate", "/"), _hear_with(stream=False), _render),
    Native(API, ("/generate_stream",), _hear_with(stream=True), _render),
)
_DETAILS = {"parameters": {"details": True}}
_PREFILL = {"parameters": {"details": True, "decoder_input_details": True}}
_TOP = {"parameters": {"details": True, "top_n_tokens": 1}}
_BODY = ("body",)

ACCESSORS: AccessorTable = {
    (API, False): (
        Accessor("prompt_token_ids", "details.prefill[].id", _PREFILL, _BODY),
        Accessor("completion_token_ids", "details.tokens[].id", _DETAILS, _BODY),
        Accessor("logprobs", "details.tokens[].logprob", _DETAILS, _BODY),
        Accessor("top_logprobs", "details.top_tokens", _TOP, _BODY),
        Accessor("text", "generated_text", {}, _BODY, False),
        Accessor("finish_reason", "details.finish_reason", _DETAILS, _BODY),
    ),
    (API, True): (
        Accessor("completion_token_ids", "token.id", {}, ("delta", "finish")),
        Accessor("logprobs", "token.logprob", {}, ("delta", "finish")),
        Accessor("text", "generated_text", {}, ("finish",), False),
        Accessor("finish_reason", "details.finish_reason", {}, ("finish",)),
    ),
}
