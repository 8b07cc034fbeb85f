"""Fuzzed requests: no layout breaks down, whatever comes in; refusals are in the vendor's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakellm.ask import Request
from fakellm.stage import Stage
from support.examples import EXAMPLES, SOAKING
from support.stages import Spoken, body_of, spoken, stage

LAYOUTS = ("vllm-0.32.0", "vllm-0.10.2", "sglang", "dynamo")
PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/generate", "/tokenize")
FIELDS = (
    "model messages prompt input text sampling_params stream n max_tokens logprobs top_logprobs prompt_logprobs stop "
    "temperature tools tool_choice stream_options return_token_ids echo response_format chat_template_kwargs seed "
    "logit_bias min_tokens input_ids return_logprob best_of stop_token_ids"
).split()
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(("user", "assistant", "tool", "auto", "none", "json_schema", "Hi", "<|im_end|>"))
)
NAMES = st.sampled_from((*FIELDS, "role", "content", "type", "function", "name", "arguments", "schema")) | st.text(
    max_size=5
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))
PLAIN: dict[str, Any] = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "Hi"}],
    "prompt": "Hi",
    "input": "Hi",
    "text": "Hi",
    "max_tokens": 4,
}
BODIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4).map(
    lambda odd: json.dumps({**PLAIN, **odd}).encode()
)
ANYTHING = BODIES | VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)

_STAGES: dict[str, Stage] = {}


def playing(layout: str) -> Stage:
    if layout not in _STAGES:
        _STAGES[layout] = stage(Spoken(spoken("Hello")), layout)
    return _STAGES[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=2 * EXAMPLES, deadline=None, derandomize=not SOAKING, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(PATHS), body=ANYTHING)
def test_no_request_breaks_a_layout(layout: str, path: str, body: bytes) -> None:
    answer = playing(layout).answer(Request("POST", path, {}, {"content-type": "application/json"}, body))

    assert answer.problem is None, answer.problem
    assert b"Traceback" not in body_of(answer)
