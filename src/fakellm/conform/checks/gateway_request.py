"""Checks on what a gateway does to the request: side A, as the caller sent it, and side B, as it reached the server.

Values are compared, never bytes; whitespace and key order do not matter. Where the gateway converts one API into
another, the meaning is compared instead. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..finding import Finding, Level
from ..observation import Observation
from .base import GATEWAY, NOTHING, exchange_check, failed, passed
from .documented import DOCUMENTED
from .requests import MISSING, first_missing
from .sides import Sides, sides_of

PORTKEY = "https://github.com/Portkey-AI/gateway"
ROUTER = "https://github.com/NVIDIA-NeMo/ProRL-Agent-Server/issues/52"
DYNAMO = "https://github.com/ai-dynamo/dynamo/issues/18095"
ROUTED_BY = frozenset({"model"})
"""Fields that a gateway has to read and may rewrite."""


@exchange_check("gateway.flags-forwarded", given_up=True, modes=GATEWAY, sources=(ROUTER, PORTKEY))
def flags_forwarded(observation: Observation) -> Sequence[Finding]:
    """The fields that ask for ids and logprobs MUST reach the server as the caller sent them.

    Portkey 1.15.2 and sglang-router 0.3.2 strip return_token_ids in silence; the server then answers 200 without ids.
    """
    sides = sides_of(observation)
    if sides is None or sides.converted or not observation.case.flags:
        return NOTHING
    flags = {name: sides.asked[name] for name in observation.case.flags if name in sides.asked}
    return _compared(flags, sides.forwarded, "the flag")


@exchange_check("gateway.request-kept", given_up=True, modes=GATEWAY, sources=(ROUTER, PORTKEY))
def request_kept(observation: Observation) -> Sequence[Finding]:
    """No field of the request MUST be lost or changed on its way through, known to the gateway or not.

    What a gateway does not know it hands on: tomorrow's flag is today's unknown field. The model name is its own.
    """
    sides = sides_of(observation)
    if sides is None or sides.converted:
        return NOTHING
    apart = ROUTED_BY | observation.case.flags.keys()
    own = {name: value for name, value in sides.asked.items() if name not in apart}
    return _compared(own, sides.forwarded, "the field")


def _compared(right: Mapping[str, Any], got: Mapping[str, Any], what: str) -> Sequence[Finding]:
    found = first_missing(right, got) or _grown(right, got)
    if found is None:
        return [passed()]
    where, wanted, there = found
    lost = there is MISSING
    words = f"{what} {where} {'did not reach the server' if lost else 'reached the server changed'}"
    return [failed(words, where=where, expected=wanted, got=None if lost else there)]


def _grown(right: Mapping[str, Any], got: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """The first object that has members now which it had not; include_usage has a check of its own."""
    for name, value in right.items():
        inner: Any = got.get(name)
        if name == "stream_options" or not isinstance(value, Mapping) or not isinstance(inner, Mapping):
            continue
        before, after = cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", inner)
        if any(after[key] is not None for key in after.keys() - before.keys()):
            return name, before, after
    return None


@exchange_check("gateway.request-not-extended", modes=GATEWAY, sources=(ROUTER,))
def request_not_extended(observation: Observation) -> Sequence[Finding]:
    """No documented field MUST be added to a request: a default that a gateway writes down overrides the server's own.

    sglang-router writes ignore_eos and no_stop_trim into every request. include_usage has a check of its own.
    """
    sides = sides_of(observation)
    if sides is None or sides.converted:
        return NOTHING
    documented = DOCUMENTED[sides.asked_api] - {"stream_options"}
    added = [name for name in _added(sides) if name in documented]
    if not added:
        return [passed()]
    words = f"the field {added[0]} was added to the request"
    return [failed(words, where=added[0], got=sides.forwarded[added[0]])]


@exchange_check("gateway.unknown-fields-added", level=Level.INFO, modes=GATEWAY, sources=(ROUTER,))
def unknown_fields_added(observation: Observation) -> Sequence[Finding]:
    """Fields that nobody documents and that a gateway adds to the request are worth knowing of."""
    sides = sides_of(observation)
    if sides is None or sides.converted:
        return NOTHING
    added = [name for name in _added(sides) if name not in DOCUMENTED[sides.asked_api]]
    return [failed(f"added to the request: {', '.join(added)}", where=added[0])] if added else [passed()]


@exchange_check(
    "gateway.usage-asked", level=Level.INFO, modes=GATEWAY, sources=("https://github.com/BerriAI/litellm/issues/3276",)
)
def usage_asked(observation: Observation) -> Sequence[Finding]:
    """A gateway that asks for usage on the caller's behalf is worth a note when it takes the extra chunk out again.

    Left in, the chunk reaches a caller that never asked for it; that is ``gateway.answer-not-extended``'s business.
    """
    sides = sides_of(observation)
    if sides is None or not sides.forwarded.get("stream"):
        return NOTHING
    asked, forwarded = _include_usage(sides.asked), _include_usage(sides.forwarded)
    if forwarded and not asked:
        return [failed("stream_options.include_usage was added to the request", where="stream_options")]
    return [passed()]


def _include_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(cast("Mapping[str, Any]", options).get("include_usage"))


def _added(sides: Sides) -> list[str]:
    return [name for name, value in sides.forwarded.items() if name not in sides.asked and value is not None]


@exchange_check("gateway.conversion-asks", modes=GATEWAY, needs=("conversion",), sources=(DYNAMO,))
def conversion_asks(observation: Observation) -> Sequence[Finding]:
    """A request that is converted into another API MUST still ask for the scores that the caller asked for.

    Responses ``include`` and ``top_logprobs`` become ``logprobs: true`` with that count in chat; ``top_logprobs`` alone
    asks for nothing (litellm 1.110.2 and Dynamo 1.6.1 send it so).
    """
    sides = sides_of(observation)
    if sides is None or not sides.converted:
        return NOTHING
    wanted, got = _scores_asked(sides.asked, sides.asked_api), _scores_asked(sides.forwarded, sides.forwarded_api)
    if wanted == got:
        return [passed()]
    words = f"the caller asked for {_said(wanted)}, the server was asked for {_said(got)}"
    return [failed(words, where="logprobs", expected=wanted, got=got)]


def _scores_asked(body: Mapping[str, Any], api: str) -> int | None:
    """How many alternatives are asked for beside the scores; None = no scores."""
    if api == "responses":
        include: Any = body.get("include") or []
        asked = "message.output_text.logprobs" in include
        return int(body.get("top_logprobs") or 0) if asked else None
    if api == "chat":
        return int(body.get("top_logprobs") or 0) if body.get("logprobs") else None
    if api == "completions":
        count = body.get("logprobs")
        return None if count is None else int(count)
    sampling: Any = body.get("sampling_params") or {}
    count = body.get("top_logprobs_num") if body.get("return_logprob") else sampling.get("logprobs")
    return None if count is None and not body.get("return_logprob") else int(count or 0)


def _said(count: int | None) -> str:
    return "no scores" if count is None else f"scores with {count} alternatives"


@exchange_check(
    "gateway.stream-stays-stream", modes=GATEWAY, sources=("https://github.com/microsoft/agent-lightning/issues/262",)
)
def stream_stays_stream(observation: Observation) -> Sequence[Finding]:
    """A stream MUST stay a stream and a whole answer a whole answer, on both sides of the gateway.

    A fake stream of one chunk, made from a whole answer, takes the caller's time to the first token away.
    """
    sides = sides_of(observation)
    if sides is None or not sides.got.values or not sides.sent.values or observation.case.faults:
        return NOTHING
    asked, forwarded = bool(sides.asked.get("stream")), bool(sides.forwarded.get("stream"))
    if asked != forwarded:
        return [failed(f"stream is {asked} for the caller and {forwarded} for the server", where="stream")]
    if sides.got.stream != sides.sent.stream:
        kind = "events" if sides.got.stream else "one document"
        return [failed(f"the answer came back as {kind}", where="stream", expected=sides.sent.stream)]
    return [passed()]
