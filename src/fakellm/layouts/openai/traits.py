"""OpenAI's chat and completions as traits: no ids, scores of the visible text only, no end token. Data only."""

from __future__ import annotations

from ..compatible.errors import openai_error
from ..compatible.traits import Traits

OPENAI = Traits(
    name="openai",
    vendor="openai",
    evidence="source",
    notes="from the types of openai-python 3.57 and OpenAI's reference; strict: unknown members are refused",
    closed=True,
    own=frozenset(("reasoning",)),
    eos=(False, False),
    fragments="escaped",
    sentinel=-9999.0,
    reasoning=None,
    content_only=True,
    message={"refusal": None, "annotations": []},
    envelope={"service_tier": "default", "system_fingerprint": "fp_fa4e11f4ke"},
    usage_details={
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    },
    error=openai_error,
    owner="system",
)
