"""Ending answers that are on their way, as SGLang's tokenizer manager and scheduler do it.

A request that runs is told to finish and still makes one more step, whose tokens are part of the answer ("Aborted").
One that has not begun leaves the queue at once: its native object has few members and no tokens ("Abort in waiting
queue"). An id must be in flight to mean anything; then it also means every other that begins with it (the scheduler
compares prefixes). Here a request waits until its first step is due. Facts: scheduler.abort_request, _handle_abort_req.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ask import Ask
from ...generation import Choice, EngineFailure
from ...message import Rendering
from ...told import Told, ToldChoice
from ..base import Context, Which
from . import answers
from .call import Call, call_of, named
from .traits import Trait, Traits

if TYPE_CHECKING:
    from .station import SglangStation

QUEUED = EngineFailure("Abort in waiting queue", None)
QUEUED_BEFORE = EngineFailure("Abort before prefill", None)
"""The same up to 0.5.5."""


def engine_ids(ask: Ask, context: Context) -> Sequence[str]:
    """The rid of every choice."""
    call = call_of(named(ask, context))
    return [call.rid(choice) for choice in range(len(call.items) * max(call.n, 1))]


def aborted(choice: Choice, steps: int, traits: Traits) -> Choice:
    """What the scheduler leaves: nothing of what has not begun, else one step more."""
    if not steps:
        words = QUEUED if traits.has(Trait.QUEUED_ABORT_KEEPS) else QUEUED_BEFORE
        return Choice((), (0,), "abort", failure=words)
    made = choice.steps[: steps + 1]
    return Choice(choice.tokens[: sum(made)], made, "abort")


def never_began(choice: ToldChoice) -> bool:
    """Whether it was taken from the queue."""
    return choice.failure in (QUEUED, QUEUED_BEFORE)


def queued_object(
    choice: ToldChoice, call: Call, version: str | None, latency: float, traits: Traits
) -> dict[str, Any]:
    """The native object of a request that never began. ``latency``: seconds in the queue."""
    reason = {"type": "abort", "message": choice.failure.message}
    meta: dict[str, Any] = {"id": call.rid(choice.index), "finish_reason": reason}
    if not traits.has(Trait.QUEUED_ABORT_KEEPS):
        return {"text": "", "meta_info": {**meta, "prompt_tokens": 0, "completion_tokens": 0}}
    if traits.has(Trait.QUEUED_ABORT_VERSION):
        meta |= {"weight_version": version, "e2e_latency": latency}
    return {"text": "", "output_ids": [], "meta_info": meta}


def broken(told: Told, ask: Ask, traits: Traits) -> Rendering | None:
    """What becomes of an OpenAI answer that never began where the route looks for a member that its object does not
    have (a KeyError, which ends streams before their first event). None = no such answer."""
    if ask.api not in ("chat", "completions", "messages") or not all(map(never_began, told.choices)):
        return None
    member = _missed(ask, traits)
    if member is None:
        return None
    if ask.api == "completions" and ask.stream:
        due_ms = max(choice.steps[-1].due_ms for choice in told.choices)
        return answers.events([answers.stream_error(f"'{member}'", "BadRequestError", 400, due_ms)])
    if ask.stream:
        return answers.broken_stream()
    if ask.api == "messages":
        error = {"type": "internal_error", "message": "Internal server error"}
        return answers.json_answer({"type": "error", "error": error}, 500)
    return answers.error(f"Internal server error: '{member}'", "InternalServerError", 500)


def _missed(ask: Ask, traits: Traits) -> str | None:
    """The member that the route looks for in vain."""
    if traits.has(Trait.QUEUED_ABORT_BREAKS):
        return "prompt_tokens"
    if traits.has(Trait.QUEUED_ABORT_KEEPS):
        return None
    if ask.wants.logprobs:
        return "output_token_logprobs"
    return None if ask.stream else "weight_version"


def abort(station: SglangStation, which: Which) -> None:
    """End what is meant; a call that means nothing is not counted."""
    ended = station.flights.abort(which)
    if ended or which.ids is None:
        station.state.count("num_aborted_requests_total")


def abort_all(station: SglangStation) -> None:
    """What pausing and updating weights do first."""
    abort(station, Which())


def abort_one(station: SglangStation, rid: Any) -> None:
    """The request of this id, and those whose ids begin with it. An empty id means none; up to 0.5.12 it could only
    mean a request whose own id is empty."""
    if isinstance(rid, str) and rid:
        abort(station, Which((rid,), prefix=True))
