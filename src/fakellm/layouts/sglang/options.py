"""How a SGLang server was started, as far as its wire depends on it.

``read`` turns the words of ``sglang.launch_server``'s own command line (and the facts of a golden ``server.json``) into
:class:`Settings`; an option that SGLang does not have is an error with a "did you mean", one that SGLang has and that
changes nothing on the wire is kept as a note. Knows no request and no version but by its traits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...errors import LayoutError, did_you_mean
from ..base import Launch
from .option_names import FLAGS, LISTS, VALUES
from .traits import Trait, Traits

NOTHING: Mapping[str, Any] = MappingProxyType({})

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "model": "model-path",
        "tp": "tensor-parallel-size",
        "tp-size": "tensor-parallel-size",
        "dp": "data-parallel-size",
        "dp-size": "data-parallel-size",
        "ep": "expert-parallel-size",
        "ep-size": "expert-parallel-size",
        "pp": "pipeline-parallel-size",
        "pp-size": "pipeline-parallel-size",
        "stream-output": "incremental-streaming-output",
    }
)
"""Other names of one option."""

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "served-model-name": "served_model_name",
        "model-path": "model_path",
        "tokenizer-path": "tokenizer_path",
        "context-length": "context_length",
        "api-key": "api_key",
        "admin-api-key": "admin_api_key",
        "reasoning-parser": "reasoning_parser",
        "tool-call-parser": "tool_call_parser",
        "chat-template": "chat_template",
        "default-chat-template-kwargs": "chat_template_kwargs",
        "weight-version": "weight_version",
        "load-format": "load_format",
        "stream-interval": "stream_interval",
        "incremental-streaming-output": "incremental",
        "skip-tokenizer-init": "skip_tokenizer",
        "enable-cache-report": "cache_report",
        "enable-metrics": "metrics",
        "return-input-ids": "return_input_ids",
        "return-output-ids": "return_output_ids",
        "allow-auto-truncate": "auto_truncate",
        "stream-response-default-include-usage": "include_usage",
        "enable-response-store": "response_store",
        "trust-request-chat-template": "trust_request_template",
        "disaggregation-mode": "disaggregation_mode",
        "preferred-sampling-params": "preferred_sampling_params",
        "enable-custom-logit-processor": "custom_logit_processor",
        "enable-return-hidden-states": "hidden_states",
    }
)
"""Option -> field of :class:`Settings`: everything that changes the wire."""

_NUMBERS = frozenset({"context_length", "stream_interval"})
_OBJECTS = frozenset({"chat_template_kwargs"})


@dataclass(frozen=True, slots=True)
class Settings:
    """The launch options that the wire depends on, with SGLang's own defaults. ``context_length`` is in tokens.
    ``notes``: options that were given and change nothing here."""

    served_model_name: str | None = None
    model_path: str = "tiny"
    tokenizer_path: str | None = None
    context_length: int = 32768
    api_key: str | None = None
    admin_api_key: str | None = None
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None
    chat_template: str | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    weight_version: str | None = "default"
    load_format: str = "auto"
    stream_interval: int = 1
    incremental: bool = False
    skip_tokenizer: bool = False
    cache_report: bool = False
    metrics: bool = False
    return_input_ids: bool = False
    return_output_ids: bool = False
    auto_truncate: bool = False
    include_usage: bool = False
    response_store: bool = False
    trust_request_template: bool = False
    disaggregation_mode: str = "null"
    preferred_sampling_params: str | None = None
    custom_logit_processor: bool = False
    hidden_states: bool = False
    context_limited: bool = False
    notes: tuple[str, ...] = ()

    @property
    def model_name(self) -> str:
        return self.served_model_name or self.model_path


def read(launch: Launch, traits: Traits) -> Settings:
    """The settings of a launch; raises LayoutError for an option that SGLang does not have or that lacks its value."""
    values: dict[str, Any] = {}
    notes: list[str] = []
    for name, words in _given(launch.options):
        option = ALIASES.get(name, name)
        target = FIELDS.get(option)
        if target is None or (target == "incremental" and not _has_flag(traits)):
            notes.append(f"--{name} has no effect on the wire")
            continue
        values[target] = _value(option, target, words)
    context = values.get("context_length") or launch.max_model_len
    told: dict[str, Any] = {
        "served_model_name": launch.model,
        "model_path": launch.model_path or launch.model or "tiny",
        "weight_version": launch.engine.get("weight_version", "default"),
        **values,
        "context_limited": "context_length" in values,
        "context_length": context or 32768,
        "notes": tuple(notes),
    }
    return Settings(**told)


def _has_flag(traits: Traits) -> bool:
    return traits.has(Trait.INCREMENTAL_IDS_ONLY) or traits.has(Trait.INCREMENTAL_FLAG)


def _given(options: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Every option with its words: ``--name value``, ``--name=value``, ``--flag``, ``--list a b``."""
    words = list(options)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise LayoutError(f"{word!r} is not an option of SGLang", hint="options begin with two dashes")
        name, equals, inline = word[2:].partition("=")
        name = _whole_name(name.replace("_", "-"))
        if name in FLAGS and not equals:
            yield name, []
        elif name in VALUES or name in LISTS or name in FLAGS:
            yield name, [inline] if equals else _values_of(name, words)
        else:
            hint = did_you_mean(name, [*FLAGS, *VALUES, *LISTS])
            raise LayoutError(f"SGLang has no option --{name}", hint=hint.replace("'", "'--", 1) if hint else None)


def _whole_name(name: str) -> str:
    """The option that a name means: argparse takes a beginning that only one option has."""
    names = (*FLAGS, *VALUES, *LISTS)
    begun = [each for each in names if each.startswith(name)]
    return begun[0] if name not in names and len(begun) == 1 else name


def _values_of(name: str, words: list[str]) -> list[str]:
    if name in LISTS:
        taken: list[str] = []
        while words and not words[0].startswith("--"):
            taken.append(words.pop(0))
        return taken
    if not words or words[0].startswith("--"):
        raise LayoutError(f"--{name} needs a value")
    return [words.pop(0)]


def _value(option: str, target: str, words: list[str]) -> Any:
    if option in FLAGS:
        return True
    word = words[0] if words else ""
    if target in _NUMBERS:
        if not word.isdigit():
            raise LayoutError(f"--{option} takes a number, not {word!r}")
        return int(word)
    if target in _OBJECTS:
        try:
            return json.loads(word)
        except json.JSONDecodeError:
            raise LayoutError(f"--{option} takes a JSON object, not {word!r}") from None
    return word
