"""Does the prompt fit: the refusals that need its token count, and how many tokens may then be made.

Versions differ in what they count and say (``Traits.context_style``): 0.32 lets the prompt fill the context and clamps
the output, 0.16 to 0.28 refuse prompt + output, older ones too but in other words and after counting the whole prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..launch import Settings
from ..options import V12, V16, V20, V24
from ..traits import Traits
from .checks import Rules, as_list, as_object
from .flaws import Crash, Objection, Refusal
from .handler import prompt_objection
from .spelling import spell_for, spell_handler_crash

TOKENS_IN = frozenset({"generate", "tito"})
"""Names of the API that takes ids and sampling parameters."""


def check_context(
    api: str,
    traits: Traits,
    settings: Settings,
    prompt_ids: Sequence[int],
    asked: int | None,
    *,
    values: Mapping[str, Any] | None = None,
) -> int | Refusal:
    """How many tokens may be made after this prompt, or the refusal.

    ``asked``: max_tokens as the request has it, None = none given. ``values``: the accepted fields, for what names
    and truncates. The number may be below 1: then ``engine_checks`` refuses it, as the servers do.
    """
    rules = Rules(traits, settings)
    fields = values or {}
    try:
        if api in TOKENS_IN:
            return _tokens_in_room(rules, len(prompt_ids), asked, fields)
        if traits.context_style == "requested":
            _check_requested(api, rules, len(prompt_ids), asked, fields)
        else:
            _check_summed(api, rules, prompt_ids, asked, fields)
        return room_for(rules, len(prompt_ids), asked, fields)
    except Objection as objection:
        return spell_for(api, objection, traits)
    except Crash as crash:
        return spell_handler_crash(crash, traits)


def _tokens_in_room(rules: Rules, length: int, asked: int | None, fields: Mapping[str, Any]) -> int:
    """Ids in: nothing is refused here (but no ids, in 0.16 and 0.20.2); the engine stops at the end of the context."""
    if not length and rules.version == V16:
        raise Crash("ValueError", "You must pass at least one prompt")
    if not length and rules.version == V20:
        raise Objection("You must pass at least one prompt", plain=True)
    if asked is None and rules.version >= V24:
        return room_for(rules, length, None, {})
    room = rules.settings.max_model_len - length
    return room if asked is None else min(asked, room)


def room_for(rules: Rules, prompt_length: int, asked: int | None, fields: Mapping[str, Any]) -> int:
    """The effective max_tokens: what fits, what was asked for, what the generation config allows."""
    limit = rules.settings.max_model_len
    truncated = fields.get("truncate_prompt_tokens")
    if truncated is not None and rules.version >= V24:
        prompt_length = min(prompt_length, limit if truncated == -1 else truncated)
    if limit < prompt_length and rules.version >= V20:
        text = f"Input length ({prompt_length}) exceeds model's maximum context length ({limit})."
        raise Objection(text, plain=True)
    configured = rules.settings.override_generation_config.get("max_new_tokens")
    bounds = (limit - prompt_length, asked, configured)
    return min(bound for bound in bounds if bound is not None)


def _check_requested(api: str, rules: Rules, length: int, asked: int | None, fields: Mapping[str, Any]) -> None:
    """0.10.2 and 0.12: the whole prompt is counted; completions reserve the output first."""
    limit = rules.settings.max_model_len
    if api == "completions":
        room = limit - (asked or 0)
        truncated: int | None = fields.get("truncate_prompt_tokens")
        wanted = limit if truncated is not None and truncated < 0 else truncated
        if wanted is not None and wanted > room:
            named = f"={wanted} cannot be greater than max_length={room}"
            if rules.version < V12:
                named = f" ({wanted}) cannot be greater than max_length ({room})"
            text = f"truncate_prompt_tokens{named}."
            raise Objection(f"{text} Please select a smaller truncation size.", plain=True)
        if length > room:
            whose = "This model's" if rules.version >= V12 else "This"
            text = (
                f"{whose} maximum context length is {room} tokens. However, your request has {length} input tokens. "
                "Please reduce the length of the input messages."
            )
            raise Objection(text, plain=True)
        return
    if length >= limit:
        text = (
            f"This model's maximum context length is {limit} tokens. However, your request has {length} input tokens. "
            "Please reduce the length of the input messages."
        )
        raise prompt_objection(text, rules)
    truncated: int | None = fields.get("truncate_prompt_tokens")
    if truncated is not None and truncated >= 2**63:
        raise Crash("OverflowError", "int too big to convert")
    if truncated is not None and truncated > limit:
        text = f"truncate_prompt_tokens value ({truncated}) is greater than max_model_len ({limit})."
        raise Objection(f"{text} Please, select a smaller truncation size.", plain=True)
    if api != "responses" and asked is not None and length + asked > limit:
        text = (
            f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is "
            f"{limit} tokens and your request has {length} input tokens ({asked} > {limit} - {length})."
        )
        raise prompt_objection(text, rules)


def _check_summed(api: str, rules: Rules, ids: Sequence[int], asked: int | None, fields: Mapping[str, Any]) -> None:
    """0.16 and newer: tokenising stops one token past what fits, so a text prompt is only known to be too long."""
    limit = rules.settings.max_model_len
    output = asked or 0
    clamped = rules.traits.context_style == "clamped"
    name = _output_name(api, fields)
    if output > limit:
        space = "" if rules.version <= V16 else " "
        total = "max_model_len=" if clamped else "max_model_len=max_total_tokens="
        text = f"{name}={output}{space}cannot be greater than {total}{limit}. Please request fewer output tokens."
        raise Objection(text, name, output)
    room = limit if clamped else limit - output
    truncated = fields.get("truncate_prompt_tokens")
    if truncated is not None and truncated > room:
        whole = "max_model_len" if clamped else f"max_model_len - {name}"
        text = f"truncate_prompt_tokens={truncated} cannot be greater than {whole} = {room}."
        text = f"{text} Please request a smaller truncation size."
        raise Objection(text, "truncate_prompt_tokens", truncated)
    if truncated is not None:
        return
    of_text = not _is_ids(api, fields)
    length = min(len(ids), room + 1) if of_text else len(ids)
    if length > room:
        raise _too_long(rules, length, output, room)


def _too_long(rules: Rules, length: int, output: int, room: int) -> Objection:
    limit = rules.settings.max_model_len
    least = "at least " if length == room + 1 and rules.traits.context_style != "passed" else ""
    if rules.traits.context_style == "clamped":
        text = (
            f"This model's maximum context length is {limit} tokens. However, your prompt contains {least}{length} "
            "input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the "
            "input prompt."
        )
    elif rules.traits.context_style == "passed":
        text = (
            f"You passed {length} input tokens and requested {output} output tokens. However, the model's context "
            f"length is only {limit} tokens, resulting in a maximum input length of {room} tokens. Please reduce the "
            "length of the input prompt."
        )
    else:
        text = (
            f"This model's maximum context length is {limit} tokens. However, you requested {output} output tokens and "
            f"your prompt contains {least}{length} input tokens, for a total of {least}{length + output} tokens. "
            "Please reduce the length of the input prompt or the number of requested output tokens."
        )
    return Objection(text, "input_tokens", length)


def _output_name(api: str, fields: Mapping[str, Any]) -> str:
    if api == "messages":
        return "max_completion_tokens"
    if api == "chat" and fields.get("max_completion_tokens") is not None:
        return "max_completion_tokens"
    return "max_output_tokens" if api == "responses" else "max_tokens"


def _is_ids(api: str, fields: Mapping[str, Any]) -> bool:
    """Whether the prompt came as ids, which are counted whole."""
    if api == "chat":
        return bool(as_object(fields.get("kv_transfer_params")).get("prompt_token_ids"))
    prompt = as_list(fields.get("prompt"))
    return api == "completions" and bool(prompt) and not any(isinstance(part, str) for part in prompt)
