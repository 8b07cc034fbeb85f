"""llama.cpp's native ``/completion``: ids with return_tokens, scores with n_probs, no prompt ids.

A token that leaves a character unfinished has no score; the end token has neither text nor score in streams. Source and
captures: tools/server, run on a CPU (build of October 2026).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....ask import Ask, Request, Wants
from ....message import Message, Rendering
from ....told import Score, Told, ToldChoice
from ...base import Accessor, AccessorTable, Context
from ...common.fields import as_tuple
from ..errors import Refusal
from ..hear import read
from ..station import CompatibleStation, Native
from .reading import KEEPS_END, count, limit, prompt_of, sampling

API = "completion"
_CORS = (("access-control-allow-origin", ""),)
JSON_HEADERS = (*_CORS, ("content-type", "application/json; charset=utf-8"))
EVENT_HEADERS = (*_CORS, ("x-accel-buffering", "no"), ("content-type", "text/event-stream"))
SETTINGS: Mapping[str, Any] = {
    "seed": 4294967295,
    "temperature": 0.800000011920929,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.949999988079071,
    "min_p": 0.05000000074505806,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.10000000149011612,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": ["\n", ":", '"', "*"],
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.10000000149011612,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.8999999761581421,
    "stop": [],
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "n_discard": 0,
    "ignore_eos": False,
    "stream": False,
    "logit_bias": [],
    "n_probs": 0,
    "min_keep": 0,
    "grammar": "",
    "grammar_lazy": False,
    "grammar_triggers": [],
    "preserved_tokens": [],
    "chat_format": "Content-only",
    "reasoning_format": "deepseek",
    "reasoning_in_content": False,
    "generation_prompt": "",
    "samplers": ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"],
    "speculative.types": "none",
    "timings_per_token": False,
    "post_sampling_probs": False,
    "backend_sampling": False,
    "lora": [],
}
"""Its defaults; 32-bit floats."""
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
    ask = replace(ask, model=station.model or ask.model or "tiny")
    special = station.tokenizer.special_ids
    if not ask.stream:
        scores = None if choice.scores is None else [entry(score, special) for score in _whole(choice.scores)]
        return answer(_final(told, choice, ask, choice.text, choice.ids, scores))
    return Rendering(200, EVENT_HEADERS, tuple(_events(told, choice, ask, special)), stream=True)


def answer(body: Any, status: int = 200) -> Rendering:
    """A whole JSON answer."""
    return Rendering(status, JSON_HEADERS, (Message("body", body),))


def timings(told: Told) -> dict[str, Any]:
    """How long it took, as if each token had taken a millisecond."""
    prompt, made, cached = (
        told.usage.prompt_tokens or 0,
        told.usage.completion_tokens or 0,
        told.usage.cached_tokens or 0,
    )
    read, spent = max(prompt - cached, 1), float(max(made, 1))
    return {
        "cache_n": cached,
        "prompt_n": read,
        "prompt_ms": float(read),
        "prompt_per_token_ms": 1.0,
        "prompt_per_second": 1000.0,
        "predicted_n": made,
        "predicted_ms": spent,
        "predicted_per_token_ms": 1.0,
        "predicted_per_second": 1000.0,
    }


def _events(told: Told, choice: ToldChoice, ask: Ask, special: frozenset[int]) -> list[Message]:
    made: list[Message] = []
    pending = 0
    for step in choice.steps:
        if step.text:
            span = (pending, step.ids[1])
            ids = list((choice.ids or ())[slice(*span)]) if ask.wants.completion_token_ids else []
            body: dict[str, Any] = {"index": 0, "content": step.text, "tokens": ids, "stop": False, "id_slot": -1}
            body |= {"tokens_predicted": step.ids[1], "tokens_evaluated": told.usage.prompt_tokens}
            if choice.scores is not None:
                whole = _whole(choice.scores[slice(*span)])
                body["completion_probabilities"] = [entry(score, special) for score in whole]
            made.append(Message("delta", body, 0, (pending, step.tokens[1]), step.due_ms))
            pending = step.ids[1]
    due = choice.steps[-1].due_ms if choice.steps else 0.0
    left = None if choice.ids is None else choice.ids[pending:]
    made.append(Message("finish", _final(told, choice, ask, "", left, None), 0, None, due))
    return made


def _final(
    told: Told,
    choice: ToldChoice,
    ask: Ask,
    text: str,
    ids: Sequence[Any] | None,
    scores: Sequence[Mapping[str, Any]] | None,
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
        "generation_settings": _settings(ask),
        "prompt": told.prompts[0].text or "",
        "has_new_line": "\n" in choice.text,
        "truncated": False,
        "stop_type": kind,
        "stopping_word": stopped,
        "tokens_cached": max((told.usage.prompt_tokens or 0) + (told.usage.completion_tokens or 0) - 1, 0),
        "timings": timings(told),
    }
    if scores is not None:
        body["completion_probabilities"] = list(scores)
    return body


def _settings(ask: Ask) -> dict[str, Any]:
    given = {name: ask.body[name] for name in SETTINGS if ask.body.get(name) is not None}
    if isinstance(given.get("temperature"), int):
        given["temperature"] = float(given["temperature"])
    limit_ = ask.sampling.max_tokens or -1
    return {**SETTINGS, **given, "max_tokens": limit_, "n_predict": limit_, "stream": ask.stream}


def _whole(scores: Sequence[Score | None]) -> list[Score]:
    """The scores of tokens that complete a character."""
    return [score for score in scores if score is not None and complete(score)]


def complete(score: Score) -> bool:
    """Whether a token ends where a character ends."""
    try:
        bytes(score.bytes or ()).decode()
    except UnicodeDecodeError:
        return False
    return True


def entry(score: Score, special: frozenset[int]) -> dict[str, Any]:
    """A token with its alternatives; special ones have neither text nor bytes."""
    return {**_short(score, special), "top_logprobs": [_short(one, special) for one in score.top or ()]}


def _short(score: Score, special: frozenset[int]) -> dict[str, Any]:
    logprob = score.logprob if score.logprob is not None and score.logprob > SMALLEST else SMALLEST
    data = b"" if score.id in special else bytes(score.bytes or ())
    return {"id": score.id, "token": _begun(data), "bytes": list(data), "logprob": logprob}


def _begun(data: bytes) -> str:
    """The text as far as it is whole: a character that has only begun is left out."""
    try:
        return data.decode()
    except UnicodeDecodeError as broken:
        whole = data[: broken.start].decode()
        return whole if "unexpected end" in broken.reason else data.decode("utf-8", "replace")


def _tokenize(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    body = read(request.body)
    ids = station.tokenizer.encode(str(body.get("content", "")))
    pieces = [{"id": one, "piece": station.tokenizer.decode([one], skip_special_tokens=False)} for one in ids]
    return answer({"tokens": pieces if body.get("with_pieces") is True else list(ids)})


def _detokenize(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    ids = [one for one in as_tuple(read(request.body).get("tokens")) if isinstance(one, int)]
    return answer({"content": station.tokenizer.decode(ids, skip_special_tokens=False)})


def _health(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return answer({"status": "ok"})


def _nowhere(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return answer({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, 404)


NATIVES = (
    Native(API, ("/completion", "/completions"), _hear, _render),
    Native("tokenize", ("/tokenize",), _tokenize),
    Native("detokenize", ("/detokenize",), _detokenize),
    Native("health", ("/health", "/v1/health"), _health, methods=("GET",)),
)
NOWHERE = Native("nowhere", ("/{name}",), _nowhere, methods=("GET", "POST"))
"""Stands last of all routes."""
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
