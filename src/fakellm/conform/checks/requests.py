"""Checks on the request side: what the caller asked for reaches the server, once and unchanged. Pure.

Bodies are compared as JSON values. A member that the client adds is its own business here; one that it drops, changes
or replaces is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...reading.documents import parse_document
from ...reading.refusal import Refused
from ..finding import Finding
from ..observation import Kind, Mode, Observation, Received
from .base import BOTH, NOTHING, exchange_check, failed, passed
from .oracle import OWN_PROMPT

API_PATHS = ("/chat/completions", "/completions", "/responses", "/generate")
RETRIED = frozenset({408, 409, 429})
MISSING = object()
OWN_PROMPT_FLAGS = frozenset({"return_token_ids"})
"""Where the prompt ids are the caller's own, nobody has to ask for them back; completion ids come unasked there."""


@exchange_check(
    "request.flags-sent",
    given_up=True,
    sources=("https://github.com/eval-protocol/python-sdk/pull/457", "https://github.com/NVIDIA-NeMo/Gym/pull/1013"),
)
def flags_sent(observation: Observation) -> Sequence[Finding]:
    """The fields that ask for ids and logprobs MUST really be sent, with the values that were asked for.

    A flag that stays in the client's configuration makes the server answer without ids, with status 200.
    """
    body = sent_body(observation)
    if body is None or not observation.case.flags:
        return NOTHING
    own = set(OWN_PROMPT_FLAGS if observation.case.api in OWN_PROMPT else ())
    if observation.case.api == "completions" and body.get("logprobs") == 0 and observation.case.flags["logprobs"] == 1:
        own.add("logprobs")  # 0 asks for the sampled token's score all the same
    found = first_missing({name: value for name, value in observation.case.flags.items() if name not in own}, body)
    if found is None:
        return [passed()]
    where, right, got = found
    return [_unlike(where, right, got, "the flag")]


@exchange_check(
    "request.fields-kept",
    given_up=True,
    sources=(
        "https://github.com/microsoft/agent-lightning/issues/326",
        "https://github.com/sgl-project/sglang/pull/26555",
    ),
)
def fields_kept(observation: Observation) -> Sequence[Finding]:
    """Everything else that the caller put into the request MUST reach the server unchanged.

    Above all the caller's own extra fields: they are merged with the flag for ids, never replaced by it. A
    ``stream: false`` may be left out, and max_tokens be called max_completion_tokens: both mean the same.
    """
    body = sent_body(observation)
    if body is None:
        return NOTHING
    own = {key: value for key, value in observation.case.request.items() if key not in observation.case.flags}
    if own.get("stream") is False and "stream" not in body:
        del own["stream"]
    if "max_tokens" not in body and own.get("max_tokens") == body.get("max_completion_tokens"):
        own.pop("max_tokens", None)
    found = first_missing(own, body)
    if found is None:
        return [passed()]
    where, right, got = found
    return [_unlike(where, right, got, "the caller's field")]


def _unlike(where: str, right: Any, got: Any, what: str) -> Finding:
    verb = "was not sent" if got is MISSING else "was changed"
    return failed(f"{what} {where} {verb}", where=where, expected=right, got=None if got is MISSING else got)


@exchange_check(
    "request.one-call", given_up=True, modes=BOTH, sources=("https://github.com/openai/openai-python#retries",)
)
def one_call(observation: Observation) -> Sequence[Finding]:
    """One call MUST reach the server once; another only after 408, 409, 429, 5xx or a connection that failed.

    A blind retry samples a second time: the tokens that are trained on may not be those that the caller saw.
    """
    if observation.ending.kind in (Kind.SKIPPED, Kind.NEVER_CALLED):
        return NOTHING
    calls = api_calls(observation)
    if not calls:
        return [failed("the server was never asked", where="upstream", expected=1, got=0)]
    for call in calls[:-1]:
        if not _retryable(call):
            words = f"{len(calls)} calls reached the server, though status {call.answered_status} is no reason to retry"
            return [failed(words, where="upstream", expected=1, got=len(calls), diagnosis="called twice")]
    return [passed()]


def _retryable(call: Received) -> bool:
    status = call.answered_status
    if status is None:
        return True
    return status in RETRIED or status >= 500


def api_calls(observation: Observation) -> list[Received]:
    """The requests that ask for tokens; catalogues, health and tokenizers may be asked as often as anybody likes."""
    return [
        call
        for call in observation.upstream
        if call.method == "POST" and call.path.split("?")[0].rstrip("/").endswith(API_PATHS)
    ]


def sent_body(observation: Observation) -> Mapping[str, Any] | None:
    """The body of the last call that asked for tokens, or None."""
    calls = api_calls(observation)
    if observation.mode is not Mode.CLIENT or not calls:
        return None
    return json_object(calls[-1].body)


def json_object(body: bytes) -> Mapping[str, Any] | None:
    """A body as JSON object, or None."""
    try:
        value = parse_document(body)
    except Refused:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def first_missing(right: Mapping[str, Any], got: Mapping[str, Any], where: str = "") -> tuple[str, Any, Any] | None:
    """(place, wanted, found) of the first member of ``right`` that ``got`` lacks or has otherwise; it may have more."""
    for key, value in right.items():
        place = f"{where}.{key}" if where else key
        if key not in got:
            return (place, value, MISSING) if value is not None else None
        found = _unequal(value, got[key], place)
        if found is not None:
            return found
    return None


def _unequal(right: Any, got: Any, place: str) -> tuple[str, Any, Any] | None:
    if isinstance(right, Mapping) and isinstance(got, Mapping):
        return first_missing(cast("Mapping[str, Any]", right), cast("Mapping[str, Any]", got), place)
    if isinstance(right, list) and isinstance(got, list):
        rows, others = cast("list[Any]", right), cast("list[Any]", got)
        if len(rows) != len(others):
            return place, rows, others
        pairs = enumerate(zip(rows, others, strict=True))
        return next((found for at, (a, b) in pairs if (found := _unequal(a, b, f"{place}[{at}]")) is not None), None)
    same = isinstance(right, bool) == isinstance(got, bool) and bool(right == got)
    return None if same else (place, cast("Any", right), got)
