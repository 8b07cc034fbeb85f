"""/v1/responses: its body, its conversation, and what is stored between requests.

Text logprobs come only in whole answers and only when included; token ids come nowhere. max_output_tokens is cut by
two, as SGLang does. Rendering is ``responses_render.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Rendering
from ..base import Context
from . import answers
from .answers import EngineRefusal, Refusal
from .bodies import Body, read_body
from .call import Call, Item
from .loose import elements, members
from .native import sampling_of
from .parsers import ParserChoice
from .prompts import chat_prompt
from .responses_body import LOGPROBS, NOT_ASKED, body_model, effective_choice
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation

_OLD_BUDGET = 512


@dataclass(frozen=True, slots=True)
class ResponsesRoute:
    """What the responses renderer needs of a request. ``id``: of the response; ``history``: the conversation so far."""

    values: Mapping[str, Any]
    id: str
    history: tuple[Mapping[str, Any], ...]
    parsers: ParserChoice | None
    logprobs: bool
    refused: str | None = None


def create(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """POST /v1/responses."""
    body = read_body(request, body_model(station.traits), station.traits, json_only=True)
    if isinstance(body, Rendering):
        return body if station.traits.has(Trait.RESPONSES_DELTAS) else answers.crash()
    values = {**dict(NOT_ASKED), **body.values}
    body = replace(body, values=values)
    refused = _refused(values, station)
    if refused is not None:
        return refused
    try:
        return _ask(body, request, station, context)
    except EngineRefusal as broken:
        return _engine_refusal(broken, body, request, station, context)
    except Refusal as broken:
        return refusal(f"{broken.message} None")


def refusal(message: str, param: str | None = None, status: int = 400) -> Rendering:
    """An error of this route."""
    return answers.nested(message, "invalid_request_error", param, status, status)


def _refused(values: Mapping[str, Any], station: SglangStation) -> Rendering | None:
    """The checks before the prompt is made."""
    traits, settings = station.traits, station.settings
    previous = values["previous_response_id"]
    stores = settings.response_store or not traits.has(Trait.RESPONSES_STORE)
    if not stores:
        for param in ("previous_response_id", "background"):
            if values[param] or (param == "previous_response_id" and previous is not None):
                return refusal(
                    "Response store is disabled. Stateful Responses require --enable-response-store on a standalone "
                    "server; response storage is unavailable in PD mode.",
                    param,
                )
    if values["background"] and not values["store"] and traits.has(Trait.RESPONSES_STORE):
        return refusal("background=true requires store=true.", "store")
    model = values["model"]
    if traits.has(Trait.RESPONSES_UNKNOWN_MODEL) and model not in (None, settings.model_name):
        return refusal(f"The model '{model}' does not exist", "model", 404)
    if values["tool_choice"] == "required" and not any(tool.get("type") == "function" for tool in values["tools"]):
        kinds = 'type="function" or type="custom"' if traits.has(Trait.RESPONSES_STORE) else 'type="function"'
        return refusal(
            f'tool_choice="required" requires at least one tool with {kinds}; other built-in tool types cannot be '
            "forced."
        )
    chosen = effective_choice(values["tool_choice"])
    if isinstance(chosen, Mapping) and chosen["name"] not in [tool.get("name") for tool in elements(values["tools"])]:
        return refusal(f"Tool {chosen['name']!r} is not declared in tools", "tool_choice")
    if values["stream"] and _includes(values) and traits.has(Trait.RESPONSES_USAGE):
        return refusal("logprobs are not supported in streaming mode", "logprobs")
    if previous is not None:
        if not previous.startswith("resp_"):
            return refusal(
                f"Invalid 'response_id': '{previous}'. Expected an ID that begins with 'resp'.", "response_id"
            )
        if previous not in station.state.responses:
            return not_found(previous)
    return None


def not_found(response_id: str) -> Rendering:
    """A response that is not stored."""
    return refusal(f"Response with id '{response_id}' not found.", "response_id", 404)


def _includes(values: Mapping[str, Any]) -> bool:
    return LOGPROBS in (values["include"] or ())


def _ask(body: Body, request: Request, station: SglangStation, context: Context) -> Ask:
    values, engine = body.values, station.engine
    messages = _messages(values, station)
    tools = _chat_tools(values)
    variables = {**station.settings.chat_template_kwargs, **members(values["chat_template_kwargs"])}
    if members(values["reasoning"]).get("effort") == "none":
        variables = {"thinking": False, "enable_thinking": False, **variables}
    prompt = chat_prompt(
        station.tokenizer,
        messages,
        tools=tools if tools and values["tool_choice"] != "none" else None,
        variables=variables,
        template=station.settings.chat_template,
    )
    told = _includes(values) and station.traits.has(Trait.RESPONSES_USAGE)
    item = engine.item(
        prompt.token_ids,
        _parameters(values, len(prompt.token_ids), bool(tools), station),
        logprobs=told,
        top=values["top_logprobs"] or 0,
    )
    route = _route(values, messages, tools, variables, told, station, context)
    call = Call(items=(item,), rids=(route.id,), stream=bool(values["stream"]), text_in_logprobs=True)
    return _asked(body, request, item, call, route, prompt.text)


def _asked(body: Body, request: Request, item: Item, call: Call, route: ResponsesRoute, text: str | None) -> Ask:
    values = body.values
    return Ask(
        api="responses",
        request=request,
        body=body.sent,
        prompts=(Prompt(item.token_ids, text),),
        model=values["model"],
        stream=call.stream,
        messages=route.history,
        sampling=sampling_of(item, {"temperature": values["temperature"]}),
        wants=Wants(logprobs=route.logprobs, top_logprobs=max(item.top, 0) if route.logprobs else 0, usage=True),
        tools=tuple(values["tools"]),
        tool_choice=values["tool_choice"],
        include=tuple(values["include"] or ()),
        request_id=values["request_id"],
        ignored=tuple(name for name in body.sent if name not in values),
        options={"call": call, "route": route},
    )


def _route(
    values: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Any],
    logprobs: bool,
    station: SglangStation,
    context: Context,
    refused: str | None = None,
) -> ResponsesRoute:
    settings = station.settings
    calls = settings.tool_call_parser if tools and values["tool_choice"] != "none" else None
    parsers = None
    if settings.reasoning_parser or calls:
        parsers = ParserChoice(
            station.traits,
            reasoning=settings.reasoning_parser,
            tools=calls,
            tool_names=tuple(tool["function"]["name"] for tool in tools),
            variables=variables,
            rests=False,
        )
    given = values["request_id"]
    name: str = f"resp_{context.hex(32)}" if given is None else given
    return ResponsesRoute(values, name, tuple(messages), parsers, logprobs, refused)


def _engine_refusal(
    broken: EngineRefusal, body: Body, request: Request, station: SglangStation, context: Context
) -> Rendering:
    """What the engine refuses: an error, or a stream that fails after its two opening events."""
    if not body.values["stream"]:
        return refusal(broken.message)
    from .responses_render import failed_stream

    route = _route(body.values, (), (), {}, False, station, context, broken.message)
    return failed_stream(route, station, int(context.now()))


def _parameters(values: Mapping[str, Any], prompt: int, tools: bool, station: SglangStation) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "max_new_tokens": _budget(values, prompt, station),
        "skip_special_tokens": not (tools and values["tool_choice"] != "none"),
        "temperature": 1.0 if values["temperature"] is None else values["temperature"],
    }
    for name in "top_p frequency_penalty presence_penalty stop top_k min_p repetition_penalty".split():
        parameters[name] = values[name]
    return parameters


def _budget(values: Mapping[str, Any], prompt: int, station: SglangStation) -> int | None:
    """max_new_tokens: two less than asked; without a wish, up to 0.5.20, what is left of the context or 512."""
    wanted = values["max_output_tokens"]
    if station.traits.has(Trait.RESPONSES_ENVELOPE):
        return None if wanted is None else wanted - 2
    left = max(station.settings.context_length - prompt, _OLD_BUDGET)
    return (left if wanted is None else min(wanted, left)) - 2


def _messages(values: Mapping[str, Any], station: SglangStation) -> list[Mapping[str, Any]]:
    """The conversation: what came before, the instructions, the input."""
    messages: list[Mapping[str, Any]] = []
    if values["instructions"]:
        messages.append({"role": "system", "content": values["instructions"]})
    previous = values["previous_response_id"]
    if previous is not None:
        messages.extend(station.state.responses[previous]["history"])
    given = values["input"]
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    for item in given:
        messages.extend(_message(item))
    return messages


def _message(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    kind = item.get("type", "message")
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments", "{}")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return [{"role": "assistant", "content": "", "tool_calls": [call]}]
    if kind == "function_call_output":
        return [{"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output", "")}]
    if kind != "message":
        return []
    content = item.get("content")
    if isinstance(content, list):
        content = "".join(members(part).get("text", "") for part in elements(content))
    role = "system" if item.get("role") == "developer" else item.get("role", "user")
    return [{"role": role, "content": content or ""}]


def _chat_tools(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The function tools, as chat templates know them."""
    return [
        {
            "type": "function",
            "function": {name: tool[name] for name in ("description", "name", "parameters", "strict") if name in tool},
        }
        for tool in values["tools"]
        if tool.get("type") == "function" and tool.get("name")
    ]


def retrieve(request: Request, station: SglangStation, context: Context) -> Rendering:
    """GET /v1/responses/{id} and POST /v1/responses/{id}/cancel."""
    name, _, action = request.query["argument"].partition("/")
    if request.method == "POST" and action != "cancel":
        return answers.detail(405 if not action else 404, "Method Not Allowed" if not action else "Not Found")
    if not name.startswith("resp_"):
        return refusal(f"Invalid 'response_id': '{name}'. Expected an ID that begins with 'resp'.", "response_id")
    stored = station.state.responses.get(name)
    if stored is None:
        return not_found(name)
    if action == "cancel" and not station.traits.has(Trait.RESPONSES_CANCEL):
        return refusal("Cannot cancel a synchronous response.")
    return answers.json_answer(stored["body"])
