"""What vLLM refuses while it turns messages into a template's input: content parts and tool calls it cannot use.

The request was accepted by then: most messages keep their parts and calls unseen until here. The fake's models take
text alone, so media parts are refused as any text model refuses them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..launch import Settings
from ..options import V12, V16, V20, V24, V28, V32
from ..traits import Traits
from .checks import Rules, as_list, as_object
from .flaws import Crash, Objection, Refusal
from .handler import prompt_objection
from .lazy import check_parts, walk_calls
from .spelling import spell_for

TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal", "thinking"})
MEDIA_PARTS = frozenset(
    {"input_image", "image_url", "image_embeds", "audio_embeds", "image_pil", "audio_url", "input_audio", "video_url"}
)


def known_parts(rules: Rules) -> frozenset[str]:
    """The part types that a version knows."""
    if rules.version < V12:
        return (TEXT_PARTS | MEDIA_PARTS) - {"output_text", "audio_embeds"}
    newer = {"prompt_embeds", "tool_reference"} if rules.version >= V24 else set[str]()
    newest = {"video_embeds"} if rules.version >= V32 else set[str]()
    return TEXT_PARTS | MEDIA_PARTS | newer | newest


def check_conversation(values: Mapping[str, Any], rules: Rules) -> None:
    """The parts and tool calls of every message, in their order; nothing where ids stand in for the messages."""
    if rules.version >= V28 and as_object(values.get("kv_transfer_params")).get("prompt_token_ids"):
        return
    for message in map(as_object, as_list(values.get("messages"))):
        check_parts(message, rules)
        walk_calls(message, rules)
    check_made(values, rules)


def check_made(values: Mapping[str, Any], rules: Rules) -> None:
    """The same for messages that were made of another API's: nothing in them is lazy."""
    messages = [as_object(message) for message in as_list(values.get("messages"))]
    for part in _parts(messages):
        _check_part(part, rules)
    for message in messages:
        if message.get("role") == "assistant":
            for call in as_list(message.get("tool_calls")):
                _check_call(call, rules)


def refused_conversation(api: str, values: Mapping[str, Any], traits: Traits, settings: Settings) -> Refusal | None:
    """The refusal of messages that were made of another API's, or None."""
    try:
        check_made(values, Rules(traits, settings))
    except Objection as objection:
        return spell_for(api, objection, traits)
    return None


def check_conversations(values: Mapping[str, Any], rules: Rules) -> None:
    """The same for a batch."""
    for conversation in as_list(values.get("messages")):
        check_conversation({"messages": conversation}, rules)


def _parts(messages: list[Mapping[str, Any]]) -> Iterator[Any]:
    for message in messages:
        yield from as_list(message.get("content"))


def _check_part(given: Any, rules: Rules) -> None:
    if isinstance(given, str):
        return
    part = as_object(given)
    kind = part.get("type")
    if kind is None:
        kind = next((name for name in sorted(MEDIA_PARTS | {"text"}) if name in part), None)
    if not isinstance(kind, str):
        word = "Missing" if kind is None else "Invalid"
        raise Objection(f"{word} 'type' field in multimodal part.", "type", plain=rules.version < V28)
    known = known_parts(rules)
    if kind not in known:
        raise _unknown_part(kind, known, rules)
    if kind in MEDIA_PARTS or kind == "video_embeds":
        name = next(iter(rules.settings.served_names), "model")
        if rules.version <= V20:
            name = rules.settings.model or name
        raise prompt_objection(f"{name} is not a multimodal model", rules)


def _unknown_part(kind: str, known: frozenset[str], rules: Rules) -> Objection:
    if rules.version >= V24:
        text = f"Unsupported chat content part type: {kind!r}. Supported types: {', '.join(sorted(known))}."
        return Objection(text, "type", kind)
    text = f"Unknown part type: {kind}"
    if rules.version > V16:
        return Objection(text, plain=True, status=501, kind="NotImplementedError")
    return prompt_objection(text, rules)


def _check_call(given: Any, rules: Rules) -> None:
    call = as_object(given)
    function = call.get("function")
    if rules.version >= V24:
        if not isinstance(given, dict):
            raise Objection("assistant tool_calls entries must be objects.", "tool_calls")
        if call.get("type", "function") != "function" or not isinstance(function, dict):
            text = "chat completions only support assistant tool_calls of type 'function'."
            raise Objection(text, "tool_calls")
    elif "function" not in call:
        raise Crash("KeyError", "'function'")
    arguments = as_object(function).get("arguments")
    if rules.version >= V32 or not isinstance(arguments, str) or (not arguments and rules.version >= V12):
        return
    try:
        json.loads(arguments)
    except ValueError as bad:
        raise prompt_objection(str(bad), rules) from None
