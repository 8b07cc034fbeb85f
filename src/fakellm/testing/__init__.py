"""What a test works with: the handle behind the ``fakellm`` fixture, its script, its server, conformance cases.

The pytest plugin is a thin skin over this package; a test of another framework may use it directly:

    with Fakellm() as fakellm:
        fakellm.say("Hello").fault("late-eos-score")
        ...
        fakellm.verify()

Names are imported when they are asked for, so that a test module which only wants ``fakellm_cases`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .marks import fakellm_cases

if TYPE_CHECKING:
    from .casework import Call, CaseHandle
    from .handle import Fakellm
    from .scripting import Saying
    from .seen import Seen, Truth
    from .settings import Settings

__all__ = ["Call", "CaseHandle", "Fakellm", "Saying", "Seen", "Settings", "Truth", "fakellm_cases"]

_HOMES = {
    "Call": "casework",
    "CaseHandle": "casework",
    "Fakellm": "handle",
    "Saying": "scripting",
    "Seen": "seen",
    "Settings": "settings",
    "Truth": "seen",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
