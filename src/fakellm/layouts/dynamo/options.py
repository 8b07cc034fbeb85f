"""Dynamo's launch options that change the wire, out of the words of its command line and of its worker's.

The frontend's own flags are known by name (a misspelt one is refused); parsers belong to the worker
(``--dyn-tool-call-parser``, ``--dyn-reasoning-parser``) or stand in a capture's ``options``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import LayoutError, did_you_mean
from ..base import Launch
from ..common.fields import as_object

REASONING = ("qwen3", "qwen", "deepseek_r1", "basic", "nemotron_nano", "glm45", "minimax_append_think")
TOOLS = ("hermes", "qwen25", "nemotron_deci")

_VALUED = """namespace namespace-prefix kv-cache-block-size http-host http-port tls-cert-path tls-key-path
tls-client-ca-cert-path migration-limit migration-max-seq-len model-name model-path metrics-prefix grpc-metrics-port
discovery-backend request-plane response-plane event-plane reasoning-field-name dyn-chat-processor tokenizer
router-mode router-temperature router-ttl-secs router-queue-policy router-queue-threshold router-event-threads
router-min-initial-workers router-session-affinity-mode router-session-affinity-ttl-secs router-prefill-policy
router-decode-policy router-kv-overlap-score-credit active-decode-blocks-threshold active-prefill-tokens-threshold
dyn-tool-call-parser dyn-reasoning-parser max-model-len""".split()
_SWITCHES = """interactive enable-anthropic-api strip-anthropic-preamble enable-streaming-tool-dispatch
enable-streaming-reasoning-dispatch exclude-tools-when-tool-choice-none kserve-grpc-server enforce-disagg
router-kv-events router-replica-sync router-track-active-blocks router-assume-kv-reuse load-aware dyn-debug-perf
trust-remote-code native-routes""".split()
_FELT = frozenset(
    ("reasoning-field-name", "dyn-tool-call-parser", "dyn-reasoning-parser", "enable-anthropic-api", "native-routes",
     "exclude-tools-when-tool-choice-none", "max-model-len", "model-name")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say. ``max_model_len``: tokens; ``native_routes``: ``/inference/v1/generate`` and ``/generate``
    are on (environment variables of the real frontend); ``notes``: options that change nothing here."""

    model: str | None
    max_model_len: int
    reasoning_parser: str | None = None
    tool_parser: str | None = None
    reasoning_field: str = "reasoning_content"
    excludes_tools: bool = True
    anthropic: bool = False
    native_routes: bool = False
    notes: tuple[str, ...] = ()


def settings_of(launch: Launch) -> Settings:
    """Raises LayoutError for an option that Dynamo does not have."""
    given = _read(launch.options)
    recorded: Mapping[str, Any] = as_object(launch.extra.get("options"))
    env = launch.env
    native = bool(recorded.get("native-routes")) or "native-routes" in given
    anthropic = native or "enable-anthropic-api" in given
    native = native or "DYN_VLLM_ENABLE_INFERENCE_V1_GENERATE" in env or "DYN_SGLANG_ENABLE_GENERATE" in env
    return Settings(
        model=given.get("model-name") or launch.model,
        max_model_len=int(given.get("max-model-len") or launch.max_model_len or 32768),
        reasoning_parser=_known(given.get("dyn-reasoning-parser") or recorded.get("reasoning-parser"), REASONING),
        tool_parser=_known(given.get("dyn-tool-call-parser") or recorded.get("tool-call-parser"), TOOLS),
        reasoning_field=given.get("reasoning-field-name") or "reasoning_content",
        excludes_tools=given.get("exclude-tools-when-tool-choice-none") != "false",
        anthropic=anthropic,
        native_routes=native,
        notes=tuple(f"--{name} changes nothing on the wire" for name in given if name not in _FELT),
    )


def _known(name: str | None, known: tuple[str, ...]) -> str | None:
    if name is not None and name not in known:
        hint = did_you_mean(name, known) or f"imitated are: {', '.join(known)}"
        raise LayoutError(f"the parser {name} is not imitated here", hint=hint)
    return name


def _read(words: tuple[str, ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    rest = list(words)
    while rest:
        word, _, value = rest.pop(0).partition("=")
        name = word.removeprefix("--").removeprefix("no-")
        if not word.startswith("--") or name not in (*_VALUED, *_SWITCHES):
            hint = did_you_mean(word, [f"--{one}" for one in (*_VALUED, *_SWITCHES)])
            raise LayoutError(f"Dynamo has no option {word}", hint=hint)
        if name in _VALUED and not value:
            if not rest:
                raise LayoutError(f"{word} wants a value")
            value = rest.pop(0)
        given[name] = "false" if word.startswith("--no-") else value or "true"
    return given
