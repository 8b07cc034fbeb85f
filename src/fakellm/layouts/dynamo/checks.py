"""Dynamo's own validation of a body that could be read: what it refuses, in its order and its words.

The order was measured by taking one offence after the other out of a request that has them all (1.6.1). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..common.fields import as_object, as_objects
from .answers import invalid
from .fields import PASSED_THROUGH
from .nvext import Extension
from .serde import Struct
from .traits import Traits

Body = Mapping[str, Any]
Rule = Callable[[Body, Traits], str | None]


def check_chat(body: Body, struct: Struct, traits: Traits) -> None:
    """Raises Refusal."""
    _check(body, struct, traits, (_messages, _stream_options), _CHAT)


def check_completions(body: Body, struct: Struct, traits: Traits) -> None:
    """Raises Refusal."""
    _check(body, struct, traits, (_stream_options,), _COMPLETIONS)


def _check(body: Body, struct: Struct, traits: Traits, first: tuple[Rule, ...], then: tuple[Rule, ...]) -> None:
    for rule in (*first, _unsupported(struct), _passed_through, *then):
        said = rule(body, traits)
        if said is not None:
            raise invalid(said)


def _messages(body: Body, traits: Traits) -> str | None:
    return None if body["messages"] else "The 'messages' field cannot be empty. At least one message is required."


def _stream_options(body: Body, traits: Traits) -> str | None:
    if body.get("stream_options") is None or body.get("stream"):
        return None
    return "The 'stream_options' field is only allowed when 'stream' is set to true."


def _unsupported(struct: Struct) -> Rule:
    def rule(body: Body, traits: Traits) -> str | None:
        names = [f"`{name}`" for name in body if name not in struct.members and name not in PASSED_THROUGH]
        return f"Unsupported parameter(s): {', '.join(names)}" if names else None

    return rule


def _passed_through(body: Body, traits: Traits) -> str | None:
    if body.get("cache_salt") is not None and not isinstance(body["cache_salt"], str):
        return "`cache_salt` must be a string"
    for name in ("stop_token_ids", "logprob_token_ids", "allowed_token_ids"):
        given = body.get(name)
        listed = cast("list[Any]", given) if isinstance(given, list) else [None]
        if given is not None and not all(isinstance(one, int) and not isinstance(one, bool) for one in listed):
            return f"`{name}` must be an array of token IDs"
    return None


def _model(body: Body, traits: Traits) -> str | None:
    return None if body["model"].strip() else "Model cannot be empty"


def _between(name: str, words: str, low: float, high: float) -> Rule:
    def rule(body: Body, traits: Traits) -> str | None:
        given = body.get(name)
        if given is None or low <= given <= high:
            return None
        return f"{words} must be between {low:g} and {high:g}, got {_number(given)}"

    return rule


def _repetition(body: Body, traits: Traits) -> str | None:
    given = body.get("repetition_penalty")
    if given is None or 0 < given <= 2:
        return None
    return f"Repetition penalty must be between 0 and 2, got {_number(given)}"


def _above_zero(name: str, words: str) -> Rule:
    def rule(body: Body, traits: Traits) -> str | None:
        return f"{words} must be greater than 0, got 0" if body.get(name) == 0 else None

    return rule


def _logit_bias(body: Body, traits: Traits) -> str | None:
    for token, bias in as_object(body.get("logit_bias")).items():
        if not isinstance(bias, int | float) or isinstance(bias, bool):
            return f"Logit bias value for token '{token}' must be a number"
        if not -100 <= bias <= 100:
            return f"Logit bias for token '{token}' must be between -100 and 100, got {_number(bias)}"
    return None


def _stop(body: Body, traits: Traits) -> str | None:
    given = body.get("stop")
    if isinstance(given, list):
        if not given:
            return "Stop sequences array cannot be empty"
        return "Stop sequence cannot be empty" if "" in given else None
    return "Stop sequence cannot be empty" if given == "" else None


def _tools(body: Body, traits: Traits) -> str | None:
    if body.get("tools") == []:
        return "tools array cannot be empty; omit the field entirely to disable tool use"
    return None


def _tool_choice(body: Body, traits: Traits) -> str | None:
    choice = body.get("tool_choice")
    names = [as_object(tool.get("function")).get("name") for tool in as_objects(body.get("tools"))]
    if choice == "required" and not names:
        return 'tool_choice is "required" but tools is empty'
    if isinstance(choice, Mapping):
        name = as_object(cast("Body", choice).get("function")).get("name")
        if name not in names:
            return f'tool named "{name}" in tool_choice is not present in tools'
    return None


def _user(body: Body, traits: Traits) -> str | None:
    return "User ID cannot be empty" if body.get("user") == "" else None


def _continues(body: Body, traits: Traits) -> str | None:
    if body.get("continue_final_message") and body.get("add_generation_prompt") is not False:
        return "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
    return None


def _one_choice(body: Body, traits: Traits) -> str | None:
    """Completion ids at the top of an answer could not say whose they are."""
    prompt = body.get("prompt")
    batch = isinstance(prompt, list) and len(cast("list[Any]", prompt)) > 1 and not isinstance(prompt[0], int)
    if Extension.of(body).asks("completion_token_ids") and ((body.get("n") or 1) > 1 or batch):
        return '`nvext.extra_fields=["completion_token_ids"]` requires exactly one generated choice'
    return None


def _prompt(body: Body, traits: Traits) -> str | None:
    prompt = body["prompt"]
    if prompt == "":
        return "Prompt string cannot be empty"
    if prompt == []:
        return "Prompt string array cannot be empty"
    for place, row in enumerate(cast("list[Any]", prompt) if isinstance(prompt, list) else ()):
        if row == "":
            return f"Prompt string at index {place} cannot be empty"
        if row == []:
            return f"Prompt integer array at index {place} cannot be empty"
    return None


def _suffix(body: Body, traits: Traits) -> str | None:
    long = len(body.get("suffix") or "") > 10000
    return "Suffix is too long, maximum 10000 characters" if long else None


def _logprobs(body: Body, traits: Traits) -> str | None:
    return _between("logprobs", "Logprobs", 0, traits.completion_logprobs)(body, traits)


def _best_of(body: Body, traits: Traits) -> str | None:
    best, n = body.get("best_of"), body.get("n") or 1
    if best is None or n <= best <= 20:
        return None
    if best > 20:
        return f"Best_of must be between 0 and 20, got {best}"
    return f"Best_of must be greater than or equal to n, got best_of={best} and n={n}"


def _number(value: float) -> str:
    return f"{value:g}"


_TEMPERATURE = _between("temperature", "Temperature", 0, 2)
_TOP_P = _between("top_p", "Top_p", 0, 1)
_N = _between("n", "n", 1, 128)
_PRESENCE = _between("presence_penalty", "Presence penalty", -2, 2)
_FREQUENCY = _between("frequency_penalty", "Frequency penalty", -2, 2)
_MIN_P = _between("min_p", "Min_p", 0, 1)
_MAX_TOKENS = _above_zero("max_tokens", "Max tokens")

_CHAT: tuple[Rule, ...] = (
    _model, _FREQUENCY, _logit_bias, _between("top_logprobs", "Top_logprobs", 0, 20), _MAX_TOKENS,
    _above_zero("max_completion_tokens", "Max completion tokens"), _N, _PRESENCE, _stop, _TEMPERATURE, _TOP_P, _tools,
    _tool_choice, _user, _repetition, _MIN_P, _continues, _one_choice,
)  # fmt: skip
_COMPLETIONS: tuple[Rule, ...] = (
    _model, _prompt, _suffix, _MAX_TOKENS, _TEMPERATURE, _TOP_P, _N, _logprobs, _stop, _PRESENCE, _FREQUENCY, _best_of,
    _logit_bias, _user, _repetition, _MIN_P, _one_choice,
)  # fmt: skip


def check_shared(body: Body, traits: Traits) -> None:
    """The numbers that ``/v1/responses`` hands on to the chat route; raises Refusal."""
    for rule in (_TEMPERATURE, _TOP_P):
        said = rule(body, traits)
        if said is not None:
            raise invalid(said)
