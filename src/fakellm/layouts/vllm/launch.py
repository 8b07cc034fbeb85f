"""From a ``vllm serve`` command line to settings: vLLM's own option names in, one frozen record out.

Words are read as vLLM's parser reads them: dashes or underscores, ``--name value`` or ``--name=value``, ``--no-flag``,
JSON in one word. Options that do not reach the wire are accepted and named in ``Settings.notes``; options the version
does not have are refused with a suggestion. Knows no request and reads no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, cast

from ...errors import LayoutError, did_you_mean
from ..base import Launch
from .options import EVERY, SHORT, Option, known
from .traits import Version

EMPTY: Mapping[str, Any] = MappingProxyType({})
DEFAULT_MAX_MODEL_LEN = 32768


@dataclass(frozen=True, slots=True)
class Settings:
    """What the launch options say about the wire, by vLLM's own names (``max_logprobs`` is ``--max-logprobs``)."""

    served_names: tuple[str, ...] = ()
    """--served-model-name; empty = any name is served and echoed."""
    model: str | None = None
    max_model_len: int = DEFAULT_MAX_MODEL_LEN
    max_logprobs: int = 20
    """-1 = the whole vocabulary."""
    logprobs_mode: str = "raw_logprobs"
    api_keys: tuple[str, ...] = ()
    root_path: str = ""
    response_role: str = "assistant"
    chat_template: str | None = None
    chat_template_content_format: str = "auto"
    default_chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    override_generation_config: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    generation_config: str = "auto"
    trust_request_chat_template: bool = False
    trust_request_mm_kwargs: bool = False
    enable_auto_tool_choice: bool = False
    exclude_tools_when_tool_choice_none: bool = False
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    return_tokens_as_token_ids: bool = False
    enable_prompt_tokens_details: bool = False
    enable_force_include_usage: bool = False
    enable_request_id_headers: bool = False
    enable_server_load_tracking: bool = False
    enable_tokenizer_info_endpoint: bool = False
    enable_per_request_metrics: bool = False
    enable_prompt_embeds: bool = False
    enable_return_routed_experts: bool = False
    enable_trace_replay: bool = False
    enable_sleep_mode: bool = False
    enable_scale_out: bool = False
    tokens_only: bool = False
    skip_tokenizer_init: bool = False
    enable_lora: bool = False
    disable_fastapi_docs: bool = False
    enable_expert_parallel: bool = False
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    scheduling_policy: str = "fcfs"
    speculative_config: Mapping[str, Any] | None = None
    stream_interval: int = 1
    sse_keep_alive_interval: int = 0
    fingerprint_mode: str = "full"
    fingerprint_value: str | None = None
    allowed_origins: tuple[str, ...] | None = None
    dev_mode: bool = False
    """VLLM_SERVER_DEV_MODE=1: sleep, wake up, reset, weight transfer routes."""
    responses_store: bool = False
    """VLLM_ENABLE_RESPONSES_API_STORE=1."""
    runtime_lora: bool = False
    """VLLM_ALLOW_RUNTIME_LORA_UPDATING=1."""
    skip_model_name_validation: bool = False
    max_n_sequences: int = 16384
    max_stop_strings: int = 4
    max_bad_words: int = 128
    notes: tuple[str, ...] = ()
    """What was accepted without effect on the wire, in words."""


_TEXTS = [
    "model",
    "logprobs_mode",
    "root_path",
    "response_role",
    "chat_template",
    "chat_template_content_format",
    "generation_config",
    "tool_call_parser",
    "reasoning_parser",
    "scheduling_policy",
    "fingerprint_mode",
    "fingerprint_value",
]
_WHOLES = [
    "max_logprobs",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "stream_interval",
    "sse_keep_alive_interval",
]
_FLAGS = [
    "trust_request_chat_template",
    "trust_request_mm_kwargs",
    "enable_auto_tool_choice",
    "exclude_tools_when_tool_choice_none",
    "return_tokens_as_token_ids",
    "enable_prompt_tokens_details",
    "enable_force_include_usage",
    "enable_request_id_headers",
    "enable_server_load_tracking",
    "enable_tokenizer_info_endpoint",
    "enable_per_request_metrics",
    "enable_prompt_embeds",
    "enable_return_routed_experts",
    "enable_trace_replay",
    "enable_sleep_mode",
    "enable_scale_out",
    "tokens_only",
    "skip_tokenizer_init",
    "enable_lora",
    "disable_fastapi_docs",
    "enable_expert_parallel",
]
_OBJECTS = ["default_chat_template_kwargs", "override_generation_config", "speculative_config"]
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "fingerprint_mode": ("full", "hash", "custom", "none"),
    "logprobs_mode": ("raw_logprobs", "processed_logprobs", "raw_logits", "processed_logits"),
    "chat_template_content_format": ("auto", "string", "openai"),
    "scheduling_policy": ("fcfs", "priority"),
}
_SIZES = {"k": 1000, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

WITH_EFFECT = frozenset(
    {*_TEXTS, *_WHOLES, *_FLAGS, *_OBJECTS, "served_model_name", "max_model_len", "api_key", "allowed_origins"}
)
"""Options that change the wire, by their names with underscores."""


def options_table(version: Version) -> dict[str, bool]:
    """Every option of a version and whether it changes the wire."""
    return {name: name.replace("-", "_") in WITH_EFFECT for name in sorted(known(version))}


def parse_launch(words: Sequence[str], env: Mapping[str, str], version: Version) -> Settings:
    """Settings of a command line and its environment.

    ``words``: what follows ``vllm serve``, a model may stand first. Raises LayoutError for an option that the version
    does not have, a missing or unusable value.
    """
    values: dict[str, Any] = {}
    notes: list[str] = []
    for option, given in _read_words(words, version):
        name = option.name.replace("-", "_")
        if name in WITH_EFFECT:
            values[_FIELD_OF.get(name, name)] = _value(name, option, given)
        else:
            notes.append(f"--{option.name} is accepted and does not change the wire")
    values.update(_environment(env, values))
    if not values.get("served_names") and values.get("model"):
        values["served_names"] = (values["model"],)
    return Settings(**values, notes=tuple(dict.fromkeys(notes)))


def settings_of(launch: Launch, version: Version) -> Settings:
    """Settings of a launch: its options, and where they say nothing its own model name and context length."""
    settings = parse_launch(launch.options, launch.env, version)
    if launch.model is not None and not settings.served_names:
        settings = replace(settings, served_names=(launch.model,))
    if launch.model_path is not None and settings.model is None:
        settings = replace(settings, model=launch.model_path)
    named = any(word.partition("=")[0].lstrip("-").replace("_", "-") == "max-model-len" for word in launch.options)
    if launch.max_model_len is not None and not named:
        settings = replace(settings, max_model_len=launch.max_model_len)
    return settings


_FIELD_OF = {"served_model_name": "served_names", "api_key": "api_keys"}


def _read_words(words: Sequence[str], version: Version) -> Iterator[tuple[Option, Any]]:
    """Each option with what was given to it: a bool for flags, a list for ``many``, else a string."""
    rest = list(words)
    if rest and not rest[0].startswith("-"):
        yield EVERY["model"], rest.pop(0)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            raise LayoutError(f"{word!r} belongs to no option", hint="write --name value, the model first")
        spelled, equals, inline = word.partition("=")
        option, negated = _option(spelled, version)
        if option.takes == "flag":
            yield option, _flag(option, inline if equals else None, negated)
        elif equals:
            yield option, [inline] if option.takes == "many" else inline
        else:
            taken = _taken(rest, option)
            yield option, taken if option.takes == "many" else taken[0]


def _option(spelled: str, version: Version) -> tuple[Option, bool]:
    """The option that a word names, and whether ``--no-`` stood before it."""
    table = known(version)
    name = SHORT.get(spelled, spelled.lstrip("-").replace("_", "-").partition(".")[0])
    if name in table:
        return table[name], False
    positive = name.removeprefix("no-")
    if positive != name and positive in table and table[positive].takes == "flag":
        return table[positive], True
    there = ".".join(map(str, version))
    hint = did_you_mean(f"--{name}", [f"--{option}" for option in table])
    elsewhere = EVERY.get(positive)
    if elsewhere is not None:
        span = f"from {'.'.join(map(str, elsewhere.since))}" if elsewhere.since > version else "in older versions"
        hint = f"vLLM knows it {span}"
    raise LayoutError(f"vLLM {there} has no option {spelled}", hint=hint)


def _flag(option: Option, inline: str | None, negated: bool) -> bool:
    if inline is None:
        return not negated
    if inline.lower() not in ("true", "false", "1", "0"):
        raise LayoutError(
            f"--{option.name} takes no value, got {inline!r}", hint=f"--{option.name} or --no-{option.name}"
        )
    return (inline.lower() in ("true", "1")) != negated


def _taken(rest: list[str], option: Option) -> list[str]:
    """Take an option's words off the rest: up to the next option, one for ``one``."""
    taken: list[str] = []
    while rest and (not rest[0].startswith("-") or _is_number(rest[0])) and (option.takes == "many" or not taken):
        taken.append(rest.pop(0))
    if not taken:
        raise LayoutError(f"--{option.name} needs a value")
    return taken


def _is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdigit()


def _value(name: str, option: Option, given: Any) -> Any:
    if name in ("served_model_name", "api_key"):
        return tuple(given)
    if name == "allowed_origins":
        return tuple(_json(option, given[0])) if given[0].startswith("[") else tuple(given)
    if name == "max_model_len":
        return _size(option, given)
    if name in _WHOLES:
        return _whole(option, given)
    if name in _OBJECTS:
        return _object(option, given)
    if name in _CHOICES and given not in _CHOICES[name]:
        raise LayoutError(f"--{option.name} cannot be {given!r}", hint=f"one of {', '.join(_CHOICES[name])}")
    return given


def _whole(option: Option, given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise LayoutError(f"--{option.name} takes a whole number, got {given!r}") from None


def _size(option: Option, given: str) -> int:
    """A token count as vLLM reads it: ``4096``, ``4k`` (4000), ``4K`` (4096), ``1.5k``; ``auto`` = the default."""
    if given in ("auto", "-1"):
        return DEFAULT_MAX_MODEL_LEN
    factor = _SIZES.get(given[-1:], 1)
    digits = given[:-1] if factor != 1 else given
    try:
        return int(float(digits) * factor) if factor != 1 else int(digits)
    except ValueError:
        raise LayoutError(f"--{option.name} takes a number of tokens, got {given!r}", hint="4096, 4k or 4K") from None


def _json(option: Option, given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError as bad:
        raise LayoutError(f"--{option.name} takes JSON, got {given!r}", hint=str(bad)) from None


def _object(option: Option, given: str) -> Mapping[str, Any]:
    value = _json(option, given)
    if not isinstance(value, dict):
        raise LayoutError(f"--{option.name} takes a JSON object, got {given!r}")
    return MappingProxyType(cast("dict[str, Any]", value))


def _environment(env: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that environment variables make; the command line wins for the key."""
    found: dict[str, Any] = {}
    for name, variable in _SWITCHES.items():
        if variable in env:
            found[name] = env[variable].strip().lower() in ("1", "true")
    for name, variable in _LIMITS.items():
        if variable in env:
            found[name] = _whole(Option(variable, "one", ()), env[variable])
    if env.get("VLLM_API_KEY") and not values.get("api_keys"):
        found["api_keys"] = (env["VLLM_API_KEY"],)
    return found


_SWITCHES = {
    "dev_mode": "VLLM_SERVER_DEV_MODE",
    "responses_store": "VLLM_ENABLE_RESPONSES_API_STORE",
    "runtime_lora": "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    "skip_model_name_validation": "VLLM_SKIP_MODEL_NAME_VALIDATION",
}
_LIMITS = {
    "max_n_sequences": "VLLM_MAX_N_SEQUENCES",
    "max_stop_strings": "VLLM_MAX_STOP_STRINGS",
    "max_bad_words": "VLLM_MAX_NUM_BAD_WORDS",
}
