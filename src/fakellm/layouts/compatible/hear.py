"""From a chat or completions body to an Ask, by a server's traits. Knows no answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ...ask import Ask, Prompt, Request, Sampling, Wants
from ...errors import TokenizerError
from ...tokenizer import Tokenizer
from ..common.fields import as_object, as_objects, as_tuple, completion_prompts
from ..vllm.prompts import chat_prompt
from .errors import Refusal
from .parameters import CHAT, COMPLETIONS, Parameter, check, described
from .traits import Api, Place, Traits

SAMPLING = frozenset(
    ("ignore_eos", "min_tokens", "stop_token_ids", "skip_special_tokens", "include_stop_str_in_output", "top_k")
)
"""Members that self-hosted engines know beside OpenAI's."""


def read(data: bytes) -> Mapping[str, Any]:
    """The body's members; raises Refusal."""
    try:
        body: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise Refusal(
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
            "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
        ) from None
    if not isinstance(body, dict):
        raise Refusal("Invalid body: expected an object.", code="invalid_type")
    return cast("dict[str, Any]", body)


def hear_chat(request: Request, traits: Traits, tokenizer: Tokenizer, model: str | None) -> Ask:
    """Raises Refusal."""
    body = read(request.body)
    known = _known(
        traits, CHAT, {"logprobs": Parameter("integer", 0, traits.most)} if traits.counted else {}, traits.most
    )
    _check(body, traits, known, "messages", model)
    messages = _messages(body["messages"])
    if body.get("top_logprobs") is not None and not body.get("logprobs") and traits.closed:
        message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        raise Refusal(message, param="top_logprobs")
    api = traits.chat or Api()
    scored = body.get("logprobs") is not None and body.get("logprobs") is not False
    top = (body["logprobs"] if traits.counted else body.get("top_logprobs") or 0) if scored else 0
    prompt = _chat_prompt(body, messages, tokenizer)
    limit = body.get("max_completion_tokens")
    return Ask(
        api="chat",
        request=request,
        body=body,
        prompts=(prompt,),
        model=body.get("model"),
        stream=bool(body.get("stream")),
        n=body.get("n") or 1,
        messages=messages,
        sampling=_sampling(body, body.get("max_tokens") if limit is None else limit),
        wants=_wants(body, api, scored=scored or _asked(api.pairs, body), top=top),
        tools=as_objects(body.get("tools")),
        tool_choice=body.get("tool_choice"),
        ignored=tuple(name for name in body if name not in known),
    )


def hear_completions(request: Request, traits: Traits, tokenizer: Tokenizer, model: str | None) -> Ask:
    """Raises Refusal."""
    body = read(request.body)
    known = _known(traits, COMPLETIONS, {"logprobs": Parameter("integer", 0, traits.completions_most)}, 20)
    _check(body, traits, known, "prompt", model)
    prompts = _prompts(body["prompt"], tokenizer)
    api = traits.completions or Api()
    scored = body.get("logprobs") is not None
    return Ask(
        api="completions",
        request=request,
        body=body,
        prompts=prompts,
        model=body.get("model"),
        stream=bool(body.get("stream")),
        n=body.get("n") or 1,
        sampling=_sampling(body, 16 if body.get("max_tokens") is None else body["max_tokens"]),
        wants=_echoing(_wants(body, api, scored=scored, top=body["logprobs"] if scored else 0), body),
        ignored=tuple(name for name in body if name not in known),
    )


def _echoing(wants: Wants, body: Mapping[str, Any]) -> Wants:
    """With echo, the prompt's scores come before the answer's."""
    if not body.get("echo"):
        return wants
    return replace(wants, echo=True, prompt_logprobs=wants.top_logprobs if wants.logprobs else None)


def _known(
    traits: Traits, table: Mapping[str, Parameter], changed: Mapping[str, Parameter], most: int
) -> Mapping[str, Parameter]:
    own = dict.fromkeys((*traits.own, *(() if traits.closed else SAMPLING)), Parameter("any"))
    known = {**table, **changed, **own}
    if "top_logprobs" in known and table is CHAT:
        known["top_logprobs"] = Parameter("integer", 0, most)
    return known


def _check(
    body: Mapping[str, Any], traits: Traits, known: Mapping[str, Parameter], needed: str, model: str | None
) -> None:
    if not isinstance(body.get("model"), str) and (traits.closed or body.get("model") is not None):
        raise Refusal("you must provide a model parameter")
    if body.get(needed) is None:
        raise Refusal(f"Missing required parameter: '{needed}'.", param=needed, code="missing_required_parameter")
    for name, value in body.items():
        if name in known:
            check(name, value, known[name])
        elif traits.closed:
            raise Refusal(f"Unrecognized request argument supplied: {name}")
    for name, message in traits.refused.items():
        if body.get(name) not in (None, False):
            raise Refusal(message, param=name)
    if body.get("stream_options") is not None and not body.get("stream") and traits.closed:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refusal(message, param="stream_options")
    if model is not None and body.get("model") not in (None, model):
        message = f"The model `{body['model']}` does not exist or you do not have access to it."
        raise Refusal(message, status=404, code="model_not_found")


def _messages(messages: list[Any]) -> tuple[Mapping[str, Any], ...]:
    if not messages:
        message = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
        raise Refusal(message, param="messages", code="empty_array")
    for place, row in enumerate(messages):
        if not isinstance(row, Mapping):
            message = f"Invalid type for 'messages[{place}]': expected an object, but got {described(row)} instead."
            raise Refusal(message, param=f"messages[{place}]", code="invalid_type")
        if not isinstance(cast("Mapping[str, Any]", row).get("role"), str):
            message = f"Missing required parameter: 'messages[{place}].role'."
            raise Refusal(message, param=f"messages[{place}].role", code="missing_required_parameter")
    return as_objects(messages)


def _chat_prompt(body: Mapping[str, Any], messages: tuple[Mapping[str, Any], ...], tokenizer: Tokenizer) -> Prompt:
    tools = () if body.get("tool_choice") == "none" else as_objects(body.get("tools"))
    try:
        return chat_prompt(
            tokenizer, messages, tools=list(tools), variables=as_object(body.get("chat_template_kwargs"))
        )
    except TokenizerError as wrong:
        raise Refusal(wrong.message) from None


def _prompts(prompt: Any, tokenizer: Tokenizer) -> tuple[Prompt, ...]:
    rows: list[Any] = cast("list[Any]", prompt) if isinstance(prompt, list) else [prompt]
    ids = bool(rows) and all(isinstance(row, int) and not isinstance(row, bool) for row in rows)
    if not rows or not (ids or all(isinstance(row, str) or _are_ids(row) for row in rows)):
        raise Refusal("Invalid value for 'prompt': expected a string, array of strings or token ids.", param="prompt")
    try:
        return completion_prompts(tokenizer, prompt)
    except TokenizerError as wrong:
        raise Refusal(wrong.message, param="prompt") from None


def _are_ids(row: Any) -> bool:
    ids = cast("list[Any]", row) if isinstance(row, list) else []
    return bool(ids) and all(isinstance(one, int) and not isinstance(one, bool) for one in ids)


def _sampling(body: Mapping[str, Any], max_tokens: int | None) -> Sampling:
    return Sampling(
        max_tokens=max_tokens,
        min_tokens=_number(body.get("min_tokens")) or 0,
        stop=tuple(one for one in as_tuple(body.get("stop")) if isinstance(one, str)),
        stop_token_ids=tuple(one for one in as_tuple(body.get("stop_token_ids")) if isinstance(one, int)),
        include_stop=body.get("include_stop_str_in_output") is True,
        ignore_eos=body.get("ignore_eos") is True,
        skip_special_tokens=body.get("skip_special_tokens") is not False,
        temperature=body.get("temperature"),
        seed=body.get("seed"),
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wants(body: Mapping[str, Any], api: Api, *, scored: bool, top: int) -> Wants:
    usage = bool(as_object(body.get("stream_options")).get("include_usage"))
    extra = _asked(api.extra_scores, body)
    return Wants(
        prompt_token_ids=_asked(api.prompt_ids, body),
        completion_token_ids=_asked(api.completion_ids, body),
        logprobs=scored or extra,
        top_logprobs=top,
        usage=usage,
    )


def _asked(place: Place | None, body: Mapping[str, Any]) -> bool:
    """Whether a body has the flags that a place wants: true ones as they stand, others by their truth."""
    return place is not None and all(bool(body.get(name)) == bool(flag) for name, flag in place.flags.items())
