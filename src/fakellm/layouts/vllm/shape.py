"""What each vLLM version shows: the rendering traits, one frozen value per version.

The renderers ask a :class:`Shape` instead of comparing versions. Every knob names the first version in which it
changed; all were seen in captures of the versions listed in ``SHAPES``. How requests are read and refused is the
business of ``traits.py``; this table only shapes answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Shape:
    """Knobs of the answers; defaults are those of 0.32.0."""

    version: str = "0.32.0"
    id_digits: int = 16
    reasoning_keys: tuple[str, ...] = ("reasoning",)
    """Keys of message and delta that carry reasoning text."""
    delta_reasoning_null: bool = False
    """Every delta has ``"reasoning_content": null`` (0.12)."""
    tool_calls_always: bool = False
    """``message.tool_calls`` is ``[]`` when there are none (up to 0.20.2)."""
    routed_experts: bool = True
    prompt_text: bool = True
    fingerprint: bool = True
    completion_details: bool = True
    """usage.completion_tokens_details, ec_transfer_params and metrics exist (from 0.28)."""
    filters_calls: bool = True
    """parallel_tool_calls: false leaves only the first call (from 0.12)."""
    calls_end_by_stop: bool = True
    """A stream with calls ends in ``tool_calls`` only where the engine stopped (0.32)."""
    begun_is_call: bool = False
    """A call that was only begun ends a stream in ``tool_calls`` too (up to 0.20.2)."""
    named_is_call: bool = False
    """A named function ends a stream in ``tool_calls`` (0.10.2)."""
    required_is_call: bool = True
    """A whole ``required`` answer ends in ``tool_calls`` (from 0.12)."""
    repair_context: int = 4
    """How many preceding ids help to decode a piece of a character: 0 up to 0.12, 1 in 0.16, 4 from 0.20.2."""
    trim_after_stop: bool = True
    engine_fails: bool = True
    """An engine error is an error (from 0.16); before, it looked like a normal end."""
    null_top_disables: bool = False
    """An explicit ``top_logprobs: null`` turns scores off (up to 0.28)."""
    textless_chunks: str = "kept"
    """Chunks whose parser delta is empty: ``kept`` when ids or scores were asked (0.32), ``ids`` = kept only when ids
    were asked (0.16 to 0.28), ``dropped`` (up to 0.12): their ids and scores are lost."""
    include_reasoning_nulls: bool = True
    """include_reasoning:false with a parser nulls ids and scores (from 0.28)."""
    usage_null_chunks: bool = False
    """completions streams end every chunk with ``"usage": null`` (up to 0.20.2)."""
    leaks_prompt_ids: bool = False
    """completions streams show prompt ids in the first chunk unasked (0.10.2)."""
    offsets_lag: bool = False
    """text_offset of completions streams lags with stop strings and echo (up to 0.28)."""
    generate: str = "0.32"
    """Which body /inference/v1/generate has: none | 0.12 | 0.20 | 0.24 | 0.28 | 0.32."""
    kv_prompt_ids: bool = True
    """kv_transfer_params.prompt_token_ids replaces templating (from 0.28)."""
    metrics_object: bool = True


V0_32 = Shape()
V0_28 = replace(
    V0_32,
    version="0.28.0",
    trim_after_stop=False,
    calls_end_by_stop=False,
    null_top_disables=True,
    textless_chunks="ids",
    offsets_lag=True,
    generate="0.28",
)
V0_24 = replace(
    V0_28,
    version="0.24.0",
    completion_details=False,
    metrics_object=False,
    include_reasoning_nulls=False,
    kv_prompt_ids=False,
    generate="0.24",
)
V0_20_2 = replace(
    V0_24,
    version="0.20.2",
    tool_calls_always=True,
    begun_is_call=True,
    routed_experts=False,
    prompt_text=False,
    fingerprint=False,
    usage_null_chunks=True,
    generate="0.20",
)
V0_16 = replace(V0_20_2, version="0.16.0", repair_context=1, generate="0.12")
V0_12 = replace(
    V0_16,
    version="0.12.0",
    reasoning_keys=("reasoning", "reasoning_content"),
    delta_reasoning_null=True,
    repair_context=0,
    engine_fails=False,
    textless_chunks="dropped",
)
V0_10_2 = replace(
    V0_12,
    version="0.10.2",
    id_digits=32,
    reasoning_keys=("reasoning_content",),
    delta_reasoning_null=False,
    filters_calls=False,
    named_is_call=True,
    required_is_call=False,
    leaks_prompt_ids=True,
    generate="none",
)
SHAPES = (V0_10_2, V0_12, V0_16, V0_20_2, V0_24, V0_28, V0_32)
