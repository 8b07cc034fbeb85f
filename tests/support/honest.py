"""Clients that expose less than the wire carries, and say so; none of them does anything wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fakellm.capture import Capture, CapturedChoice
from fakellm.conform.mutants.reference import Message, Reference


class TextOnly(Reference):
    """Declares text and finish_reason, and shows nothing else."""

    supports: Mapping[str, Any] = {**Reference.supports, "captures": ["text", "finish_reason"]}

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        return [
            CapturedChoice(index=choice.index, text=choice.text, finish_reason=choice.finish_reason)
            for choice in capture.choices
        ]


class WholeChatOnly(Reference):
    """Speaks chat without streams, and declares ids and scores alone."""

    supports: Mapping[str, Any] = {
        "apis": ["chat"],
        "stream": [False],
        "captures": ["completion_token_ids", "logprobs"],
    }

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        return [replace(choice, prompt_token_ids=None, text=None, finish_reason=None) for choice in capture.choices]


class NoScoresInStreams(Reference):
    """Declares scores, and shows none in streams: not exposed there, which is worth a warning."""

    def choices(self, message: Message, capture: Capture) -> Sequence[CapturedChoice]:
        if not message["stream"]:
            return capture.choices
        return [replace(choice, logprobs=None) for choice in capture.choices]
