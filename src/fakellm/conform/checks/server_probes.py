"""Checks on what a server's further calls say of the first: /tokenize, ids fed back, a stop string. Pure.

A probe that is not there was not possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..finding import Finding
from ..observation import Observation
from .base import NOTHING, SERVER, exchange_check, failed, passed
from .compare import difference, equal_ids

PREFIX = "https://github.com/PrimeIntellect-ai/prime-rl/issues/1334"


@exchange_check(
    "server.prompt-ids", modes=SERVER, needs=("prompt_token_ids", "tokenize"), together=True, sources=(PREFIX,)
)
def prompt_ids(observation: Observation) -> Sequence[Finding]:
    """The prompt ids MUST be those that the server's own /tokenize gives for the same prompt."""
    tokenised = observation.probes.get("tokenize")
    capture = None if observation.downstream is None else observation.downstream.capture
    if tokenised is None or capture is None:
        return NOTHING
    for number, choice in enumerate(capture.by_index()):
        if choice.prompt_token_ids is None:
            continue
        apart = difference(tuple(tokenised), choice.prompt_token_ids, equal_ids)
        if apart is not None:
            where = f"choices[{number}].prompt_token_ids[{apart.position}]"
            return [failed(f"not what /tokenize gives: {apart.sentence}", where=where, position=apart.position)]
        return [passed()]
    return NOTHING


@exchange_check(
    "server.fed-back", modes=SERVER, needs=("prompt_token_ids", "fed-back"), together=True, sources=(PREFIX,)
)
def fed_back(observation: Observation) -> Sequence[Finding]:
    """Prompt and completion ids that are sent back as a prompt MUST come back as they were sent: no re-tokenising."""
    fed: Mapping[str, Any] | None = observation.probes.get("fed-back")
    if fed is None or fed["returned"] is None:
        return NOTHING
    apart = difference(tuple(fed["sent"]), tuple(fed["returned"]), equal_ids)
    if apart is not None:
        where = f"prompt_token_ids[{apart.position}]"
        return [
            failed(f"ids sent as a prompt came back changed: {apart.sentence}", where=where, position=apart.position)
        ]
    return [passed()]


@exchange_check("server.stop", modes=SERVER, sources=("https://github.com/vllm-project/vllm/issues/36830",))
def stop(observation: Observation) -> Sequence[Finding]:
    """A stop string MUST end the answer: the text ends before it, and finish_reason is stop."""
    stopped: Mapping[str, Any] | None = observation.probes.get("stopped")
    if stopped is None or stopped["text"] is None:
        return NOTHING
    expected = stopped["whole"].partition(stopped["stop"])[0]
    if stopped["text"] != expected:
        words = f"the text does not end before the stop string {stopped['stop']!r}"
        return [failed(words, where="text", expected=expected, got=stopped["text"])]
    if stopped["finish_reason"] != "stop":
        return [failed("finish_reason is not stop", where="finish_reason", got=stopped["finish_reason"])]
    return [passed()]
