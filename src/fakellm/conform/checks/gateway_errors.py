"""Checks on what a gateway does when the server fails, is cut off or is given up, and on headers that help. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...reading import error_told
from ..finding import Finding, Level
from ..observation import Kind, Observation
from .base import GATEWAY, NOTHING, exchange_check, failed, passed
from .sides import header, messages_of, sides_of

MID_STREAM = "https://github.com/BerriAI/litellm/issues/40578"
BREAKER = "https://github.com/sgl-project/sglang/pull/24207"


@exchange_check("gateway.answered", modes=GATEWAY, sources=("https://github.com/vllm-project/vllm/issues/40418",))
def answered(observation: Observation) -> Sequence[Finding]:
    """Every call MUST come to an end before its deadline, whatever the server does.

    A stall of this suite lasts at most a second; then the stream goes on or is cut.
    """
    if observation.ending.kind is Kind.TIMED_OUT:
        return [failed(f"the call had not ended when its deadline came: {observation.ending.message}")]
    return [passed()] if observation.ending.kind in (Kind.CAPTURED, Kind.REFUSED, Kind.ERRORED) else NOTHING


@exchange_check("gateway.error-status-kept", modes=GATEWAY, sources=(MID_STREAM, BREAKER))
def error_status_kept(observation: Observation) -> Sequence[Finding]:
    """An error status of the server MUST come back as that status; a failing server (5xx) may be told as any 5xx.

    A 400 that becomes a 500 is tried again for ever; a 429 that becomes a 500 is never waited for.
    """
    down, sent = observation.downstream, observation.sent
    if down is None or sent is None or sent.status < 400:
        return NOTHING
    if down.status == sent.status or (down.status is not None and min(down.status, sent.status) >= 500):
        return [passed()]
    words = f"the server said {sent.status}, the caller heard {down.status or down.error}"
    return [failed(words, where="status", expected=sent.status, got=down.status)]


@exchange_check("gateway.error-body-kept", modes=GATEWAY, sources=("https://github.com/NVIDIA-NeMo/Gym/issues/1206",))
def error_body_kept(observation: Observation) -> Sequence[Finding]:
    """An error body in JSON MUST come back as JSON that says it is an error, with the server's words in it.

    Clients look for "context length" in them; more words around them do not hurt.
    """
    down, sent = observation.downstream, observation.sent
    if down is None or sent is None or sent.status < 400 or down.status is None or down.status < 400:
        return NOTHING
    case = observation.case
    told = error_told(sent.body, api=case.api)
    if told is None:
        return NOTHING
    heard = error_told(down.body, api=case.api) or error_told(down.body, api=case.api, stream=True)
    if heard is None:
        return [failed("the error came back as no error body", where="error", expected=told, got=_start(down.body))]
    kept = told[:100] in down.body.decode("utf-8", errors="replace").replace('\\"', '"')
    return (
        [passed()] if kept or told[:100] in heard else [failed("the server's words are lost", expected=told, got=heard)]
    )


@exchange_check("gateway.mid-stream-error-kept", modes=GATEWAY, sources=(MID_STREAM,))
def mid_stream_error_kept(observation: Observation) -> Sequence[Finding]:
    """An error told under status 200 MUST reach the caller: as an error event, a cut, or a status of 500 and up.

    A stream that ends as if nothing had happened is taken for an answer.
    """
    down, sent = observation.downstream, observation.sent
    if down is None or sent is None or sent.status >= 400:
        return NOTHING
    case = observation.case
    if error_told(sent.body, api=case.api, stream=case.stream) is None:
        return NOTHING
    surfaced = error_told(down.body, api=case.api, stream=case.stream) is not None or _failed(observation)
    return [passed()] if surfaced else [failed("the server's error did not come back", got=_start(down.body))]


@exchange_check("gateway.cut-surfaced", modes=GATEWAY, sources=("https://github.com/vllm-project/vllm/issues/40418",))
def cut_surfaced(observation: Observation) -> Sequence[Finding]:
    """An answer that broke off at the server MUST NOT come back as a whole one.

    Any status of 500 and up, an error event or a cut says so; how, is the gateway's own.
    """
    sent = observation.sent
    if observation.downstream is None or sent is None or not sent.cut:
        return NOTHING
    case, body = observation.case, observation.downstream.body
    told = error_told(body, api=case.api, stream=case.stream) is not None
    problem = (observation.downstream.problem or "").startswith(("truncated", "unreadable"))
    if told or problem or _failed(observation):
        return [passed()]
    return [failed("an answer that broke off came back as a whole one", got=_start(body))]


def _failed(observation: Observation) -> bool:
    down = observation.downstream
    return down is not None and (down.cut or down.error is not None or down.status is None or down.status >= 500)


def _start(body: bytes) -> str:
    return body[-200:].decode("utf-8", errors="replace")


@exchange_check(
    "gateway.cancel-reaches-server",
    given_up=True,
    modes=GATEWAY,
    needs=("cancel",),
    sources=("https://github.com/vllm-project/vllm/pull/47933",),
)
def cancel_reaches_server(observation: Observation) -> Sequence[Finding]:
    """A stream that the caller gives up MUST be given up at the server too; a whole answer SHOULD.

    A gateway that reads on makes the server sample for nobody, by the thousand when a run is stopped.
    """
    if observation.case.cancel_after_ms is None or not observation.upstream:
        return NOTHING
    if observation.upstream[-1].disconnected_ms is not None:
        return [passed()]
    level = None if observation.case.stream else Level.SHOULD
    return [failed("the caller hung up, and the server went on to the end", level=level)]


@exchange_check("gateway.retry-after-kept", level=Level.SHOULD, modes=GATEWAY, sources=(BREAKER,))
def retry_after_kept(observation: Observation) -> Sequence[Finding]:
    """Retry-After SHOULD be passed on: it is the only number that knows when to come back."""
    return _header_kept(observation, "retry-after")


@exchange_check(
    "gateway.request-id-kept",
    level=Level.SHOULD,
    modes=GATEWAY,
    sources=("https://github.com/vllm-project/vllm/pull/22587",),
)
def request_id_kept(observation: Observation) -> Sequence[Finding]:
    """The server's x-request-id SHOULD be passed on: it finds the exchange in the server's log."""
    return _header_kept(observation, "x-request-id")


def _header_kept(observation: Observation, name: str) -> Sequence[Finding]:
    if observation.downstream is None or observation.sent is None:
        return NOTHING
    sent = header(observation.sent.headers, name)
    if sent is None:
        return NOTHING
    got = header(observation.downstream.headers, name)
    return [passed()] if got == sent else [failed(f"{name} did not come back", where=name, expected=sent, got=got)]


@exchange_check(
    "gateway.gzip-read",
    level=Level.SHOULD,
    modes=GATEWAY,
    sources=("https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3",),
)
def gzip_read(observation: Observation) -> Sequence[Finding]:
    """A compressed answer SHOULD be read where the gateway itself offered to take one."""
    down, sent = observation.downstream, observation.sent
    if down is None or sent is None or header(sent.headers, "content-encoding") != "gzip" or not observation.upstream:
        return NOTHING
    offered = header(observation.upstream[-1].headers, "accept-encoding") or ""
    if "gzip" not in offered:
        return NOTHING
    if down.problem is None:
        return [passed()]
    return [failed(f"the compressed answer was not read: {down.problem}", level=Level.SHOULD)]


@exchange_check(
    "gateway.chunks-kept",
    level=Level.INFO,
    modes=GATEWAY,
    sources=("https://github.com/microsoft/agent-lightning/issues/262",),
)
def chunks_kept(observation: Observation) -> Sequence[Finding]:
    """Chunks that a gateway cuts anew, and a [DONE] that it adds or leaves out, are worth knowing of."""
    sides = sides_of(observation)
    if sides is None or sides.converted or not sides.sent.stream or not sides.got.stream:
        return NOTHING
    sent, got = messages_of(observation.sent.body if observation.sent else b""), sides.got
    if (len(sent.values), sent.done) == (len(got.values), got.done):
        return [passed()]
    words = f"{len(sent.values)} events were sent, {len(got.values)} came back; [DONE]: {sent.done} and {got.done}"
    return [failed(words)]
