"""Where the files that ship beside the code lie: in the wheel under ``fakellm/_data``, in a checkout in place.

Scenarios, the conformance cases, profiles and adapters, and the packed golden library are data, not code; all that
needs one asks here, so that a checkout and an installed wheel behave the same. Knows paths only, reads nothing.
"""

from __future__ import annotations

from pathlib import Path

from .errors import UsageError

_PACKAGE = Path(__file__).resolve().parent
_DATA = _PACKAGE / "_data"
_CHECKOUT = _PACKAGE.parent.parent

_PLACES = {
    "scenarios": "scenarios",
    "conformance": "conformance",
    "golden": "tests/golden/golden.tar.xz",
    "shapes": "tests/golden/shapes.json.xz",
}
"""name -> path in a checkout; the wheel keeps the same last component under ``_data``."""


def resource(name: str) -> Path:
    """The file or folder of that name; raises UsageError when this installation lacks it."""
    found = find(name)
    if found is None:
        raise UsageError(
            f"this installation has no {name!r} files",
            hint="reinstall fakellm-conformance, or run from a complete checkout",
        )
    return found


def find(name: str) -> Path | None:
    """The same, or None."""
    in_checkout = Path(_PLACES[name])
    for place in (_DATA / in_checkout.name, _CHECKOUT / in_checkout):
        if place.exists():
            return place
    return None


def golden() -> Path | None:
    """The packed golden library, or None where it is not shipped."""
    return find("golden")
