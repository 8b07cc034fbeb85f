"""From a body to an Ask: chat and completions, and what all of Dynamo's routes read alike. Knows no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ask import Ask, Prompt, Request, Sampling, Wants
from ...errors import TokenizerError
from ...tokenizer import Tokenizer
from ..common.fields import as_object, as_objects, as_tuple, completion_prompts
from ..vllm.prompts import chat_prompt
from . import fields, serde
from .answers import Refusal
from .checks import check_chat, check_completions
from .nvext import Extension
from .options import Settings
from .traits import Traits

NOT_FOUND = Refusal("Model not found", 404)


def read(data: bytes, struct: serde.Struct) -> dict[str, Any]:
    """The body's members; raises Refusal."""
    try:
        return serde.read(data, struct)
    except serde.Misfit as misfit:
        raise Refusal(str(misfit)) from None


def check_model(name: str | None, settings: Settings) -> None:
    """Raises Refusal (404) for a model that is not served; without a served name any is."""
    if settings.model is not None and name is not None and name != settings.model:
        raise NOT_FOUND


def sampling(body: Mapping[str, Any], max_tokens: int | None) -> Sampling:
    """The sampling part of a request."""
    return Sampling(
        max_tokens=max_tokens,
        min_tokens=body.get("min_tokens") or 0,
        stop=as_tuple(body.get("stop")),
        stop_token_ids=as_tuple(body.get("stop_token_ids")),
        include_stop=bool(body.get("include_stop_str_in_output")),
        ignore_eos=bool(body.get("ignore_eos")),
        skip_special_tokens=body.get("skip_special_tokens") is not False,
        temperature=body.get("temperature"),
        seed=body.get("seed"),
    )


def wants(body: Mapping[str, Any], extension: Extension, *, logprobs: bool, top: int) -> Wants:
    """What a chat or completions request wants to be told."""
    options = as_object(body.get("stream_options"))
    usage = bool(options.get("include_usage"))
    return Wants(
        prompt_token_ids=extension.asks("prompt_token_ids"),
        completion_token_ids=extension.asks("completion_token_ids"),
        logprobs=logprobs,
        top_logprobs=top,
        prompt_logprobs=body.get("prompt_logprobs"),
        tokens_as_ids=bool(body.get("return_tokens_as_token_ids")),
        usage=usage,
        continuous_usage=usage and bool(options.get("continuous_usage_stats")),
    )


def hear_chat(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask:
    """Raises Refusal. Workers answer with one choice whatever n is (captured)."""
    body = read(request.body, fields.CHAT)
    check_chat(body, fields.CHAT, traits)
    check_model(body["model"], settings)
    extension = Extension.of(body)
    scored = bool(body.get("logprobs"))
    top = body.get("top_logprobs")
    limit = body.get("max_completion_tokens")
    return Ask(
        api="chat",
        request=request,
        body=body,
        prompts=(prompt_of_chat(body, extension, settings, tokenizer),),
        model=body["model"],
        stream=bool(body.get("stream")),
        messages=as_objects(body["messages"]),
        sampling=sampling(body, body.get("max_tokens") if limit is None else limit),
        wants=wants(body, extension, logprobs=scored, top=(1 if top is None else top) if scored else 0),
        tools=as_objects(body.get("tools")),
        tool_choice=body.get("tool_choice"),
        ignored=("n",) if (body.get("n") or 1) > 1 else (),
        options={"extension": extension},
    )


def hear_completions(request: Request, settings: Settings, traits: Traits, tokenizer: Tokenizer) -> Ask:
    """Raises Refusal. ``stride``: how many indices each prompt takes, although only the first is answered."""
    body = read(request.body, fields.COMPLETIONS)
    check_completions(body, fields.COMPLETIONS, traits)
    check_model(body["model"], settings)
    extension = Extension.of(body)
    scored = body.get("logprobs") is not None
    prompts = completion_prompts(tokenizer, body["prompt"])
    if extension.token_data is not None:
        prompts = (Prompt(extension.token_data),)
    return Ask(
        api="completions",
        request=request,
        body=body,
        prompts=prompts,
        model=body["model"],
        stream=bool(body.get("stream")),
        sampling=sampling(body, body.get("max_tokens")),
        wants=wants(body, extension, logprobs=scored, top=body["logprobs"] if scored else 0),
        ignored=tuple(name for name in ("n", "echo", "suffix") if body.get(name) not in (None, False, 1)),
        options={"extension": extension, "stride": body.get("n") or 1},
    )


def prompt_of_chat(body: Mapping[str, Any], extension: Extension, settings: Settings, tokenizer: Tokenizer) -> Prompt:
    """The prompt of a conversation, or the ids that the client gave for it; raises Refusal when the template fails."""
    if extension.token_data is not None:
        return Prompt(extension.token_data)
    tools = as_objects(body.get("tools"))
    if body.get("tool_choice") == "none" and settings.excludes_tools:
        tools = ()
    try:
        return chat_prompt(
            tokenizer,
            as_objects(body["messages"]),
            tools=[_described(tool) for tool in tools],
            add_generation_prompt=body.get("add_generation_prompt") is not False,
            continue_final_message=bool(body.get("continue_final_message")),
            variables=as_object(body.get("chat_template_kwargs") or body.get("chat_template_args")),
        )
    except TokenizerError as wrong:
        raise Refusal(f"Failed to generate completions: {wrong.message}") from None


def _described(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool as the template gets it: members in the frontend's order, with a description and properties, if empty."""
    function = as_object(tool.get("function"))
    given = {name: function[name] for name in ("name", "description", "parameters", "strict") if name in function}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(given.get("parameters"), Mapping):
        parameters = as_object(given["parameters"])
        missing = {name: value for name, value in _SCHEMA.items() if name not in parameters}
        given["parameters"] = {**parameters, **missing}
    return {"type": "function", "function": {**given, **({} if "description" in given else {"description": ""})}}


_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}
