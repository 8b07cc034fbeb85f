"""From a ``/v1/responses`` body to an Ask: checked as OpenAI checks it, with what was said before it when stored.

Knows the store only as a mapping from response id to the conversation that it ended. Knows no answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ...ask import Ask, Request, Sampling, Wants
from ...errors import TokenizerError
from ...tokenizer import Tokenizer
from ..common.fields import as_object, as_objects, as_tuple
from ..common.responses import INCLUDES, SCORES, call_message
from ..compatible.errors import Refusal
from ..compatible.hear import read
from ..compatible.parameters import Parameter, check, described
from ..vllm.prompts import chat_prompt

PARAMETERS: Mapping[str, Parameter] = {
    "access_programs": Parameter("any"),
    "background": Parameter("boolean"),
    "background_options": Parameter("object"),
    "context_management": Parameter("array"),
    "conversation": Parameter("any"),
    "image": Parameter("object"),
    "include": Parameter("array"),
    "input": Parameter("any"),
    "instructions": Parameter("string"),
    "max_output_tokens": Parameter("integer", 1),
    "max_tool_calls": Parameter("integer", 1),
    "metadata": Parameter("object"),
    "model": Parameter("string"),
    "moderation": Parameter("any"),
    "parallel_tool_calls": Parameter("boolean"),
    "previous_response_id": Parameter("string"),
    "prompt": Parameter("object"),
    "prompt_cache_key": Parameter("string"),
    "prompt_cache_options": Parameter("object"),
    "prompt_cache_retention": Parameter("string"),
    "reasoning": Parameter("object"),
    "safety_identifier": Parameter("string"),
    "service_tier": Parameter("string"),
    "store": Parameter("boolean"),
    "stream": Parameter("boolean"),
    "stream_options": Parameter("object"),
    "temperature": Parameter("number", 0, 2),
    "text": Parameter("object"),
    "tool_choice": Parameter("any"),
    "tools": Parameter("array"),
    "top_logprobs": Parameter("integer", 0, 20),
    "top_p": Parameter("number", 0, 1),
    "truncation": Parameter("string"),
    "user": Parameter("string"),
}

Conversation = tuple[Mapping[str, Any], ...]


def hear(request: Request, tokenizer: Tokenizer, model: str | None, stored: Mapping[str, Conversation]) -> Ask:
    """Raises Refusal. ``stored``: conversations by the id of the response that ended them."""
    body = read(request.body)
    _check(body, model)
    conversation = (*_before(body, stored), *_items(body["input"]))
    messages = conversation
    if body.get("instructions"):
        messages = ({"role": "system", "content": body["instructions"]}, *conversation)
    tools = tuple(_chat_tool(tool) for tool in as_objects(body.get("tools")) if tool.get("type") == "function")
    offered = () if body.get("tool_choice") == "none" else tools
    try:
        prompt = chat_prompt(tokenizer, [_spoken(message) for message in messages], tools=list(offered))
    except TokenizerError as wrong:
        raise Refusal(wrong.message) from None
    include = as_tuple(body.get("include"))
    return Ask(
        api="responses",
        request=request,
        body=body,
        prompts=(prompt,),
        model=body["model"],
        stream=bool(body.get("stream")),
        messages=messages,
        sampling=Sampling(max_tokens=body.get("max_output_tokens"), temperature=body.get("temperature")),
        wants=Wants(logprobs=SCORES in include, top_logprobs=body.get("top_logprobs") or 0, usage=True),
        tools=tools,
        tool_choice=body.get("tool_choice"),
        include=include,
        options={"conversation": conversation},
    )


def _check(body: Mapping[str, Any], model: str | None) -> None:
    for name, value in body.items():
        if name not in PARAMETERS:
            raise Refusal(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        check(name, value, PARAMETERS[name])
    for name in ("model", "input"):
        if body.get(name) is None:
            raise Refusal(f"Missing required parameter: '{name}'.", param=name, code="missing_required_parameter")
    for place, name in enumerate(as_tuple(body.get("include"))):
        if name not in INCLUDES:
            listed = ", ".join(f"'{one}'" for one in INCLUDES[:-1])
            message = f"Invalid value: '{name}'. Supported values are: {listed}, and '{INCLUDES[-1]}'."
            raise Refusal(message, param=f"include[{place}]", code="invalid_value")
    if not isinstance(body["input"], str | list):
        message = (
            f"Invalid type for 'input': expected one of a string or array, but got {described(body['input'])} instead."
        )
        raise Refusal(message, param="input", code="invalid_type")
    if model is not None and body["model"] != model:
        message = f"The requested model '{body['model']}' does not exist."
        raise Refusal(message, param="model", code="model_not_found")


def _before(body: Mapping[str, Any], stored: Mapping[str, Conversation]) -> Conversation:
    previous = body.get("previous_response_id")
    if previous is None:
        return ()
    if previous not in stored:
        message = f"Previous response with id '{previous}' not found."
        raise Refusal(message, param="previous_response_id", code="previous_response_not_found")
    return stored[previous]


def _items(given: Any) -> Conversation:
    """The conversation of an input, as chat messages."""
    if isinstance(given, str):
        return ({"role": "user", "content": given},)
    messages: list[Mapping[str, Any]] = []
    for item in as_objects(given):
        if item.get("type") == "compaction":
            messages = list(opened(item.get("encrypted_content")))
        elif (message := _message(item)) is not None:
            messages.append(message)
    return tuple(messages)


def sealed(conversation: Conversation) -> str:
    """A conversation as the content of a compaction item."""
    return base64.b64encode(json.dumps([dict(message) for message in conversation]).encode()).decode()


def opened(content: Any) -> Conversation:
    """The conversation of a compaction item; raises Refusal for content that this server did not make."""
    try:
        return as_objects(json.loads(base64.b64decode(content)))
    except (TypeError, ValueError):
        message = "The encrypted content could not be verified."
        raise Refusal(message, param="input", code="invalid_encrypted_content") from None


def _message(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        return call_message(item)
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": _text(item.get("output"))}
    if kind != "message":
        return None
    return {"role": item.get("role", "user"), "content": _text(item.get("content"))}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [as_object(part).get("text") for part in as_objects(content)]
    return "".join(text for text in texts if isinstance(text, str))


def _spoken(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as the model hears it: the developer speaks as the system."""
    return {**message, "role": "system"} if message.get("role") == "developer" else message


def _chat_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = {name: tool[name] for name in ("name", "description", "parameters") if tool.get(name) is not None}
    return {"type": "function", "function": function}
