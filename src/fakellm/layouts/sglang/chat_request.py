"""The chat route's reading of a request: its checks in SGLang's words, its prompt, its call to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from .answers import Refusal
from .body_parts import grammar_of
from .call import Call
from .chat_body import NOT_ASKED
from .engine_rules import Engine, one_word
from .loose import elements, members
from .native import sampling_of
from .parsers import ParserChoice
from .prompts import chat_prompt
from .traits import Trait

_HEADERS = {
    "return_input_ids_in_sglext": "x-sglext-return-input-ids",
    "return_output_ids_in_sglext": "x-sglext-return-output-ids",
}
_NOT_STREAMED = {
    "return_prompt_token_ids": "return_prompt_token_ids is not supported with streaming. Please set stream=false when "
    "using return_prompt_token_ids=true.",
    "return_token_ids": "return_token_ids is not supported with streaming on /v1/chat/completions. Please set "
    "stream=false when using return_token_ids=true.",
    "return_meta_info": "return_meta_info is not supported with streaming. Please set stream=false when using "
    "return_meta_info=true.",
}
_PARAMETERS = (
    "stop stop_token_ids stop_regex top_p top_k min_p presence_penalty frequency_penalty repetition_penalty regex "
    "ebnf no_stop_trim ignore_eos logit_bias"
).split()
_MEDIA = frozenset({"image_url", "video_url", "audio_url"})


@dataclass(frozen=True, slots=True)
class ChatRoute:
    """What the chat renderer needs of a request. ``values``: its members; ``input_ids``/``output_ids``: told in sglext,
    ``framed`` as an event of their own; ``tool_path``/``reasoning_path``: which parsers its text runs through."""

    values: Mapping[str, Any]
    input_ids: bool = False
    output_ids: bool = False
    framed: bool = False
    tool_path: bool = False
    reasoning_path: bool = False
    parsers: ParserChoice | None = None
    history_calls: int = 0
    variables: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def read_ask(body: Mapping[str, Any], values: dict[str, Any], request: Request, engine: Engine) -> Ask:
    """The ask of a chat body whose members were read; raises Refusal (EngineRefusal behind the engine's door)."""
    values = {**dict(NOT_ASKED), **values}
    _check(values, engine)
    route = _route(values, request, engine)
    if values["stream"]:
        for name, sentence in _NOT_STREAMED.items():
            if values[name]:
                raise Refusal(sentence, kind="BadRequest")
    prompt = _prompt(values, route, engine)
    _check_forced(values, engine)
    call = _call(values, route, prompt, engine)
    item = call.items[0]
    return Ask(
        api="chat",
        request=request,
        body=body,
        prompts=(prompt,),
        model=values["model"],
        stream=call.stream,
        n=call.n,
        messages=tuple(body.get("messages") or ()),
        sampling=sampling_of(item, {"temperature": values["temperature"], "sampling_seed": values["seed"]}),
        wants=_wants(values, route, engine),
        tools=tuple(values["tools"] or ()),
        tool_choice=values["tool_choice"],
        request_id=values["rid"] if isinstance(values["rid"], str) else None,
        ignored=tuple(name for name in body if name not in values),
        options={"call": call, "route": route},
    )


def tools_of(values: Mapping[str, Any], engine: Engine) -> list[Mapping[str, Any]]:
    """The request's tools and those that its messages bring."""
    brought = _message_tools(values) if engine.traits.has(Trait.MESSAGE_TOOLS) else ()
    return [*(values["tools"] or ()), *brought]


def _message_tools(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    roles = ("root", "system", "developer")
    return [tool for message in values["messages"] if message["role"] in roles for tool in message.get("tools") or ()]


def _check(values: Mapping[str, Any], engine: Engine) -> None:
    """The checks before the prompt is made."""
    settings = engine.settings
    if not values["messages"]:
        raise Refusal("Messages cannot be empty.")
    brought = "chat_template" in members(values["chat_template_kwargs"])
    if brought and not settings.trust_request_template and engine.traits.has(Trait.TEMPLATE_REFUSED):
        raise Refusal(
            "Request-supplied chat_template is not allowed. Start the server with --trust-request-chat-template to "
            "permit it."
        )
    for name in ("return_sampling_mask", "return_flat_raw_output_top_logprobs"):
        if values[name] and not values["return_meta_info"]:
            raise Refusal(f"{name} requires return_meta_info=true.")
    if engine.traits.has(Trait.MEDIA_REFUSED):
        _check_media(values)
    _check_tools(values, engine)
    most = values["max_completion_tokens"] or values["max_tokens"]
    if most and settings.context_limited and most > settings.context_length and not settings.auto_truncate:
        raise Refusal(
            f"max_completion_tokens is too large: {most}.This model supports at most {settings.context_length} "
            "completion tokens."
        )
    shape = members(values["response_format"])
    if shape.get("type") == "json_schema" and members(shape.get("json_schema")).get("schema") is None:
        raise Refusal("schema_ is required for json_schema response format request.")


def _check_media(values: Mapping[str, Any]) -> None:
    for message in values["messages"]:
        for part in elements(message.get("content")):
            if part.get("type") in _MEDIA:
                raise Refusal(f"Model only supports text input; received unsupported content type '{part['type']}'.")


def _check_tools(values: Mapping[str, Any], engine: Engine) -> None:
    tools, choice = tools_of(values, engine), values["tool_choice"]
    if choice == "required" and not tools:
        raise Refusal("Tools cannot be empty if tool choice is set to required.")
    if isinstance(choice, Mapping):
        if not tools:
            raise Refusal("Tools cannot be empty if tool choice is set to a specific tool.")
        name = members(members(choice)["function"]).get("name")
        if not any(tool["function"]["name"] == name for tool in tools):
            raise Refusal(f"Tool '{name}' not found in tools list.")
    names = [tool["function"]["name"] for tool in tools]
    if len(tools) > len(values["tools"] or ()) and len(names) != len(set(names)):
        raise Refusal("Tool names must be unique across request and message tools.")


def _check_forced(values: Mapping[str, Any], engine: Engine) -> None:
    """A forced tool choice is a grammar of its own."""
    forced = values["tool_choice"] == "required" or isinstance(values["tool_choice"], Mapping)
    shape = members(values["response_format"]).get("type")
    if not forced or not engine.traits.has(Trait.FORCED_ALONE):
        return
    if values["regex"] or values["ebnf"] or shape in ("json_schema", "json_object", "structural_tag"):
        raise Refusal(
            "tool_choice 'required' or a named tool cannot be combined with response_format, regex, or ebnf: the "
            "tool-call constraint and the output constraint cannot both be honored.",
            kind="BadRequest",
        )


def _route(values: Mapping[str, Any], request: Request, engine: Engine) -> ChatRoute:
    settings, headers = engine.settings, request.headers
    has_ids = engine.traits.has(Trait.SGLEXT_IDS)
    told = {name: has_ids and (values[name] or headers.get(header) == "1") for name, header in _HEADERS.items()}
    tools = tools_of(values, engine)
    tool_path = settings.tool_call_parser is not None and bool(tools) and values["tool_choice"] != "none"
    reasoning_path = settings.reasoning_parser is not None and values["separate_reasoning"]
    variables = {**settings.chat_template_kwargs, **members(values["chat_template_kwargs"])}
    parsers = None
    if tool_path or reasoning_path:
        parsers = ParserChoice(
            engine.traits,
            reasoning=settings.reasoning_parser if reasoning_path else None,
            tools=settings.tool_call_parser if tool_path else None,
            tool_names=tuple(tool["function"]["name"] for tool in tools),
            variables=variables,
            forced=values["tool_choice"] == "required" or isinstance(values["tool_choice"], Mapping),
            stream_reasoning=values["stream_reasoning"],
            continued=_continued(values),
        )
    return ChatRoute(
        values=values,
        input_ids=told["return_input_ids_in_sglext"] or (has_ids and settings.return_input_ids),
        output_ids=told["return_output_ids_in_sglext"] or (has_ids and settings.return_output_ids),
        framed=has_ids and headers.get("x-sglext-ids-framed") == "1",
        tool_path=tool_path,
        reasoning_path=reasoning_path,
        parsers=parsers,
        history_calls=sum(len(message.get("tool_calls") or ()) for message in values["messages"]),
        variables=variables,
    )


def _continued(values: Mapping[str, Any]) -> str:
    """The text that the answer continues."""
    last: Mapping[str, Any] = values["messages"][-1] if values["messages"] else {}
    if not values["continue_final_message"] or last.get("role") != "assistant":
        return ""
    content = last.get("content")
    return content if isinstance(content, str) else ""


def _prompt(values: Mapping[str, Any], route: ChatRoute, engine: Engine) -> Prompt:
    if values["input_ids"] is not None:
        if not values["input_ids"]:
            raise Refusal("input_ids cannot be empty.")
        return Prompt(tuple(values["input_ids"]))
    if engine.settings.skip_tokenizer:
        raise Refusal(
            "Internal server error: 'NoneType' object has no attribute 'apply_chat_template'",
            kind="InternalServerError",
            status=500,
        )
    choice = values["tool_choice"]
    tools: Sequence[Mapping[str, Any]] = values["tools"] or ()
    if isinstance(choice, Mapping):
        wanted = members(members(choice)["function"]).get("name")
        tools = [tool for tool in tools if tool["function"]["name"] == wanted]
    variables = dict(route.variables)
    if values["reasoning_effort"] is not None:
        variables["reasoning_effort"] = values["reasoning_effort"]
    return chat_prompt(
        engine.tokenizer,
        values["messages"],
        tools=tools if tools and choice != "none" else None,
        variables=variables,
        template=engine.settings.chat_template,
        continue_final=values["continue_final_message"],
        flat_tools=engine.traits.has(Trait.TOOLS_FLAT),
    )


def _call(values: Mapping[str, Any], route: ChatRoute, prompt: Prompt, engine: Engine) -> Call:
    names = ("max_completion_tokens", "max_tokens")
    first, then = names if engine.traits.has(Trait.COMPLETION_TOKENS_FIRST) else reversed(names)
    parameters = {
        "temperature": 1.0 if values["temperature"] is None else values["temperature"],
        "max_new_tokens": values[first] or values[then],
        "min_new_tokens": values["min_tokens"],
        "skip_special_tokens": values["skip_special_tokens"]
        and not (tools_of(values, engine) and values["tool_choice"] != "none"),
        "sampling_seed": values["seed"],
    }
    for name in _PARAMETERS:
        parameters[name] = values[name]
    parameters |= grammar_of(values["response_format"])
    item = engine.item(
        prompt.token_ids,
        parameters,
        logprobs=values["logprobs"],
        top=values["top_logprobs"] or 0,
        features=values,
    )
    n = values["n"]
    rid = values["rid"]
    if n == 0:
        raise Refusal("range() arg 3 must not be zero", kind="BadRequest")
    one_word(values, engine.traits, single=n == 1, prompts=1)
    ids = values["return_prompt_token_ids"] or values["return_token_ids"] or route.input_ids
    return Call(
        items=(item,),
        rids=(rid,) if isinstance(rid, str) and n <= 1 else (),
        fresh=max(n, 1),
        n=max(n, 1),
        stream=values["stream"],
        listed=n > 1,
        text_in_logprobs=True,
        prompt_ids=ids,
    )


def _wants(values: Mapping[str, Any], route: ChatRoute, engine: Engine) -> Wants:
    options: Mapping[str, Any] = values["stream_options"] or {}
    return Wants(
        prompt_token_ids=values["return_prompt_token_ids"] or values["return_token_ids"] or route.input_ids,
        completion_token_ids=values["return_token_ids"] or route.output_ids,
        logprobs=values["logprobs"],
        top_logprobs=max(values["top_logprobs"] or 0, 0) if values["logprobs"] else 0,
        usage=not values["stream"] or bool(options.get("include_usage")),
        continuous_usage=bool(options.get("continuous_usage_stats")),
    )
