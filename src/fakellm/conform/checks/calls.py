"""The check that something happened at all: without a call there is nothing to judge. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..finding import Finding, Level, Outcome
from ..observation import Kind, Observation
from .base import BOTH, GATEWAY, NOTHING, exchange_check, failed, passed, run_check


@exchange_check(
    "call.made", modes=BOTH, given_up=True, sources=("https://github.com/modelcontextprotocol/conformance",)
)
def call_made(observation: Observation) -> Sequence[Finding]:
    """A call that is reported on MUST have reached the server; one that is skipped is not tested.

    A client that answers without asking passes every check that looks at its answer alone; suites that forget this
    call a program that does nothing conformant. A gateway may keep a request from the server only by saying so.
    """
    ending = observation.ending
    if ending.kind is Kind.NEVER_CALLED:
        return [failed(f"no request reached the server {ending.message}".strip(), observation=observation)]
    if ending.kind is Kind.SKIPPED:
        words = f"skipped although the client declares this API and mode: {ending.message}".rstrip(": ")
        return [replace(passed(observation), outcome=Outcome.UNTESTED, message=words)]
    return [passed(observation)]


@run_check("gateway.carriers", level=Level.INFO, modes=GATEWAY, sources=("https://github.com/http-tests/cache-tests",))
def carriers(observations: Sequence[Observation]) -> Sequence[Finding]:
    """Marks by which a caller knows its request again behind a gateway are worth knowing: path, header, user, metadata
    and prompt are tried one at a time.

    The gateway runner tries them with calls of its own and gives the finding; among the cases there is nothing to see.
    """
    return NOTHING
