"""What one exchange showed, in one frozen type for client, gateway and server mode.

Drivers make an :class:`Observation`, checks judge it: this file is the whole of what they agree on. A check is a pure
function ``judge(observation) -> Sequence[Finding]`` (checks over a whole run get all observations instead). Nothing
here reads bytes or talks to anybody; values that a mode does not have are None or empty.

    truth       what the healthy layout tells for this request, before any fault
    sent        the bytes that left the fake, and the values in them
    upstream    the requests that reached the fake (client mode: the client's own; gateway mode: side B)
    downstream  gateway and server mode: what the reference client got (side D)
    outcome     what came of the call: captured, refused, skipped, errored, timed-out, never-called
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ..capture import Capture

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Mode(StrEnum):
    """Who is being judged."""

    CLIENT = "client"
    GATEWAY = "gateway"
    SERVER = "server"


class May(StrEnum):
    """What a client may do with a fault (CONFORMANCE section 2); where several are declared any one suffices."""

    RECOVER = "recover"
    NULL = "null"
    REFUSE = "refuse"
    AS_SENT = "as-sent"


class Kind(StrEnum):
    """What came of a call."""

    CAPTURED = "captured"
    REFUSED = "refused"
    SKIPPED = "skipped"
    ERRORED = "errored"
    TIMED_OUT = "timed-out"
    NEVER_CALLED = "never-called"
    REQUEST_ONLY = "request-only"
    """``--per-case`` without a capture line: only the request side is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampering:
    """A fault that was active. ``values``: the capture values it touches (empty = the answer as a whole)."""

    id: str
    client_may: frozenset[May]
    parameters: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss that a healthy layout declares for this api and mode; judged like a fault with null, refuse, as-sent."""

    value: str
    words: str
    client_may: frozenset[May] = frozenset({May.NULL, May.REFUSE, May.AS_SENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The case as the checks see it. ``request``: the complete body that the client was asked to send; ``flags``: the
    part of it that asks for ids and scores (the layout's own table); ``area``: the first part of the id."""

    id: str
    area: str
    api: str
    stream: bool
    layout: str
    n: int = 1
    profile: str = "capture-client"
    axes: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    faults: tuple[Tampering, ...] = ()
    request: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    flags: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    conversation: str | None = None
    turn: int = 1
    cancel_after_ms: float | None = None
    core: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the healthy layout tells: every value that it would carry for this request, less its declared losses.

    ``capture.choices[].token_texts`` and ``prompt_texts`` are the pieces for display. ``carried``: the values of
    ``capture.VALUES`` (and top_logprobs, prompt_logprobs, usage) that the healthy answer has on the wire.
    ``token_bytes``: exact bytes per choice and token. ``text_is_bytes``: no stop string, parser or skipped special
    token stands between bytes and text. ``error``: the healthy layout itself answers with an error status here.
    """

    capture: Capture
    carried: frozenset[str] = frozenset()
    losses: tuple[Loss, ...] = ()
    token_bytes: tuple[tuple[bytes, ...], ...] = ()
    text_is_bytes: bool = False
    error: int | None = None
    prompt_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What left the fake: ``capture`` = the values in it after all faults, as a lenient reader finds them
    (``as-sent``). ``carried``: values really on the wire, where ``[]`` counts as not on the wire. ``cut``: ended before
    its end."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    capture: Capture = field(default_factory=Capture)
    carried: frozenset[str] = frozenset()
    cut: bool = False
    messages: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request that reached the fake. ``path`` without the token prefix. ``at_ms``: since the call began.
    ``disconnected_ms``: when the peer went away before the answer's end, or None."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    at_ms: float = 0.0
    disconnected_ms: float | None = None
    answered_status: int | None = None
    answered_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """What the reference client got (gateway side D, or the server under test). ``capture`` None: unreadable, and
    ``problem`` says why. ``error``: the connection itself failed. ``request_*``: what was sent (side A)."""

    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    capture: Capture | None = None
    problem: str | None = None
    cut: bool = False
    error: str | None = None
    elapsed_ms: float = 0.0
    request_path: str = ""
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What came of the call. ``refusal``: the kind a client gave its typed refusal."""

    kind: Kind
    capture: Capture | None = None
    refusal: str | None = None
    message: str = ""
    traceback: str = ""
    issue_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Supports:
    """What a client declared. ``layouts`` empty = not declared (the run's default)."""

    name: str
    version: str = ""
    apis: frozenset[str] = frozenset()
    stream: frozenset[bool] = frozenset({False, True})
    captures: frozenset[str] = frozenset()
    layouts: tuple[str, ...] = ()
    max_parallel: int = 1
    language: str = ""
    homepage: str | None = None
    issues: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One exchange, seen from all sides. ``siblings``: earlier turns of the same conversation, oldest first.
    ``related``: the same call in another mode (``whole``), for server mode's comparisons. ``probes``: what further
    calls of server mode found: ``tokenize``, ``detokenize``, ``fed-back``, ``stopped``; a probe that is not there was
    not possible.
    """

    mode: Mode
    case: Situation
    truth: Truth
    sent: Sent | None
    ending: Ending
    client: Supports
    upstream: tuple[Received, ...] = ()
    downstream: Downstream | None = None
    siblings: tuple[Observation, ...] = ()
    related: Mapping[str, Observation] = field(default_factory=lambda: EMPTY)
    probes: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
