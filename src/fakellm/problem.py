"""Answers of fakellm's own, which no vendor has: an address that names nothing, no reply, code that breaks.

They are shaped like an OpenAI error, so that clients show them, and say ``"fakellm": {...}`` beside it. Pure.
"""

from __future__ import annotations

import traceback
from typing import Any

from . import wire
from .message import Frame, Wire

DEEP = 100
"""Brackets within brackets from which on it is the body that is too deep, not our code that recurses without end."""


def problem_wire(status: int, problem: Any, kind: str | None) -> Wire:
    """An answer of fakellm's own: ``{"fakellm": {...}}``, which no vendor has, beside an OpenAI-like error."""
    body = (
        problem
        if not isinstance(problem, str)
        else {
            "error": {"message": problem, "type": kind, "param": None, "code": status},
            "fakellm": {"problem": problem},
        }
    )
    headers = (("content-type", "application/json"), ("x-fakellm", "problem"))
    return Wire(status, headers, (Frame(wire.dumps(body)),))


def breakdown(broken: Exception) -> str:
    """A defect of ours in one line: what, and where in the code."""
    place = traceback.extract_tb(broken.__traceback__)[-1]
    name = place.filename.replace("\\", "/").rpartition("/")[2]
    return f"fakellm broke down: {type(broken).__name__}: {broken} ({name}:{place.lineno}); please report this"


def nesting(body: bytes) -> int:
    """How deep brackets stand within brackets; those in texts count too, so that any bytes have an answer.

    >>> nesting(b'{"a": [1, [2]]}')
    3
    """
    deepest = depth = 0
    for byte in body:
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def ran_too_deep(broken: Exception, body: bytes) -> bool:
    """Whether it was the body's nesting that broke something: Python's recursion or orjson's (254 levels)."""
    return "recursion" in str(broken).lower() and nesting(body) > DEEP


def limit_wire(body: Any) -> Wire:
    """The refusal of a request beyond a limit of fakellm's own; ``body``: the vendor's own error."""
    return Wire(400, (("content-type", "application/json"), ("x-fakellm", "limit")), (Frame(wire.dumps(body)),))
