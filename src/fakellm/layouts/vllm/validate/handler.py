"""What the handlers check once the fields are accepted and before a prompt is made: model, tools, chat template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..options import V12, V16, V28, V32
from .checks import Rules, as_list, as_object
from .flaws import Objection

HandlerCheck = Callable[[Mapping[str, Any], Rules], None]

EMPTY_CONVERSATION = "Cannot apply chat template to an empty conversation. Provide at least one message."


def check_model(values: Mapping[str, Any], rules: Rules) -> None:
    """The model must be served; null, empty and absent mean the first one."""
    model = values.get("model")
    names = rules.settings.served_names
    if not model or not names or model in names or rules.settings.skip_model_name_validation:
        return
    aliases = f" Valid aliases: {', '.join(names)}." if rules.traits.model_aliases else ""
    raise Objection(
        f"The model `{model}` does not exist.{aliases}",
        answered=True,
        status=404,
        kind="NotFoundError",
        param=rules.traits.model_param,
    )


def check_tool_parsing(values: Mapping[str, Any], rules: Rules) -> None:
    """Tool choices that need a parser are refused without one."""
    choice = values.get("tool_choice")
    settings = rules.settings
    if choice in (None, "none"):
        return
    if choice == "auto":
        if not (settings.enable_auto_tool_choice and settings.tool_call_parser):
            text = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            raise Objection(text, answered=True)
    elif rules.version > V16 and settings.tool_call_parser is None:
        named = f'function "{choice["function"]["name"]}"' if isinstance(choice, dict) else f'"{choice}"'
        raise Objection(f"tool_choice={named} requires --tool-call-parser to be set", answered=True)


def check_template_trust(values: Mapping[str, Any], rules: Rules) -> None:
    """A chat template in the request needs --trust-request-chat-template (from 0.12)."""
    if rules.version < V12:
        return
    variables = as_object(values.get("chat_template_kwargs"))
    given = values.get("chat_template") is not None or variables.get("chat_template") is not None
    if given and not rules.settings.trust_request_chat_template:
        raise Objection(
            "Chat template is passed with request, but --trust-request-chat-template is not set. "
            "Refused request with untrusted chat template.",
            answered=True,
        )


def check_empty_conversation(values: Mapping[str, Any], rules: Rules) -> None:
    """No messages, no prompt; unless its ids were handed over."""
    handed = as_object(values.get("kv_transfer_params")).get("prompt_token_ids") and rules.version >= V28
    if not values.get("messages") and "prompt" not in values and not handed:
        raise prompt_objection(EMPTY_CONVERSATION, rules, cause=EMPTY_CONVERSATION)


def check_media(values: Mapping[str, Any], rules: Rules) -> None:
    """0.32 takes multimodal arguments of a request only with --trust-request-mm-kwargs."""
    if rules.version < V32 or rules.settings.trust_request_mm_kwargs:
        return
    for name, use in (("mm_processor_kwargs", "preprocessing"), ("media_io_kwargs", "media loading")):
        if values.get(name):
            raise Objection(
                f"Per-request {name} are disabled by default because they can change multimodal {use} resource usage. "
                "Start the server with --trust-request-mm-kwargs only when clients are trusted.",
                name,
            )


def check_handed_ids(values: Mapping[str, Any], rules: Rules) -> None:
    """0.32 looks at the ids that stand in for the messages."""
    ids: Any = as_object(values.get("kv_transfer_params")).get("prompt_token_ids")
    if rules.version < V32 or ids is None or values.get("echo"):
        return
    usable = bool(ids) and isinstance(ids, list) and all(type(token) is int and token >= 0 for token in as_list(ids))
    if not usable:
        text = "`kv_transfer_params['prompt_token_ids']` must be a non-empty list of non-negative integers."
        raise Objection(text, "kv_transfer_params.prompt_token_ids")


def prompt_objection(text: str, rules: Rules, *, cause: str | None = None) -> Objection:
    """A plain objection while the prompt is made; versions up to 0.12 add its cause, or the word None."""
    return Objection(f"{text} {cause}" if rules.traits.cause_shown else text, plain=True)
