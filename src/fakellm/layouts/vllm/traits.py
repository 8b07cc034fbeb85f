"""What differs between vLLM versions, as one frozen set of knobs per version.

One renderer and one validator serve all versions; whatever a version does differently is a field here, with the newest
version's behaviour as the default. ``TRAITS`` holds the versions that were captured, oldest first; each entry starts
from its newer neighbour and states only what was different before. Knows no request and no I/O.

    TRAITS[(0, 12, 0)].reasoning_param      # None
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Version = tuple[int, ...]

NEWEST: Version = (0, 32, 0)


@dataclass(frozen=True, slots=True)
class Traits:
    """The knobs of one version."""

    version: Version = NEWEST

    # -- refusals -------------------------------------------------------------------------------------------------
    flaw_style: str = "summarised"
    """How a list of body flaws is written: ``summarised`` (at most ten, containers counted), ``full`` (inputs whole,
    places as tuples), ``echoed`` (as full, then the server's file and the list once more)."""
    flaw_param: str = "place"
    """The error's param: ``place`` (of the first flaw), ``check`` (only what a failed check named), ``none``."""
    typed_checks: bool = True
    """Own checks name parameter and value."""
    checks_in_schema: bool = False
    """A failed check of the body is reported as a flaw of the whole body, which is echoed."""
    checks_guard_types: bool = True
    """Checks that run on the raw body look at its types first; else a wrong type is the server's own crash."""
    bare_refusals: str = "none"
    """Which refusals of the handler lack ``vary``: ``none``, ``plain`` (bare ValueErrors), ``all``."""
    crash_answers: bool = True
    """Unexpected exceptions are answered in the error shape; else as the text ``Internal Server Error``."""
    handler_crash: str = "raised"
    """What becomes of an unexpected exception in a handler: ``raised`` to the server (from 0.20.2), ``returned`` as an
    error with status 200 (0.16), ``detailed`` = status 500 with its text (up to 0.12)."""
    messages_crash: bool = False
    """What chat raises is an internal error of messages, whatever it was (0.20.2 and 0.24)."""
    cause_shown: bool = False
    """Refusals while the prompt is made end in the exception's cause: usually the word None."""
    sanitises: str = "paths"
    """What is cut from messages: ``paths`` (files and addresses), ``addresses``, ``nothing``."""
    model_param: str | None = "model"
    """The param of an unknown model."""
    model_aliases: bool = True
    """An unknown model's message lists the served names."""
    response_id_param: str | None = "response_id"
    """The param of a response id that is not stored."""
    background_param: str | None = "background"
    """The param of background without a store."""
    context_style: str = "clamped"
    """How a prompt that is too long is refused: ``clamped`` (only the prompt counts), ``summed`` (prompt + output),
    ``passed`` ("You passed N input tokens"), ``requested`` ("your request has N input tokens")."""
    late_engine_checks: bool = True
    """Checks of the engine's front end fail inside a stream that has begun; else with status 400."""


def _table() -> dict[Version, Traits]:
    v32 = Traits()
    v28 = replace(
        v32,
        version=(0, 28, 0),
        flaw_style="full",
        model_aliases=False,
        context_style="summed",
    )
    v24 = replace(
        v28,
        version=(0, 24, 0),
        flaw_style="echoed",
        checks_in_schema=True,
        checks_guard_types=False,
        bare_refusals="plain",
        messages_crash=True,
        sanitises="addresses",
    )
    v20 = replace(v24, version=(0, 20, 2), flaw_param="check", bare_refusals="all")
    v16 = replace(
        v20,
        version=(0, 16, 0),
        bare_refusals="none",
        messages_crash=False,
        crash_answers=False,
        handler_crash="returned",
        context_style="passed",
        late_engine_checks=False,
    )
    v12 = replace(
        v16,
        version=(0, 12, 0),
        flaw_param="none",
        handler_crash="detailed",
        typed_checks=False,
        cause_shown=True,
        model_param=None,
        response_id_param=None,
        background_param=None,
        context_style="requested",
    )
    v10 = replace(v12, version=(0, 10, 2), sanitises="nothing", late_engine_checks=True)
    return {traits.version: traits for traits in (v10, v12, v16, v20, v24, v28, v32)}


TRAITS: dict[Version, Traits] = _table()
