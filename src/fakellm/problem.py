"""Answers of fakellm's own, which no vendor has: an address that names nothing, no reply, code that breaks.

They are shaped like an OpenAI error, so that clients show them, and say ``"fakellm": {...}`` beside it. Pure.
"""

from __future__ import annotations

import traceback
from typing import Any

from . import wire
from .message import Frame, Wire


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
