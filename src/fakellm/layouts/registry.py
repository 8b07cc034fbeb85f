"""Finding a layout by name: ``vendor[-version]``.

Without a version the newest is meant; versions are compared by their release numbers alone (``0.10.2.post2`` is
0.10.2); a version that is not known takes the nearest lower one, told in the note (DESIGN section 6). Vendors register
one builder each in ``VENDORS``; user layouts come by the entry point ``fakellm.layouts``. Knows no socket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from ..errors import LayoutError, did_you_mean
from .base import Layout

VENDORS: dict[str, str] = {
    "vllm": "fakellm.layouts.vllm",
    "sglang": "fakellm.layouts.sglang",
    "dynamo": "fakellm.layouts.dynamo",
    "openai": "fakellm.layouts.openai",
    **dict.fromkeys(
        ("tensorrt-llm", "lmdeploy", "llama-cpp", "tgi", "mlx-lm", "ollama", "fireworks", "together", "mistral",
         "deepseek", "openrouter", "nemo", "atropos", "prime-rl", "tinker", "litellm"),
        "fakellm.layouts.compatible.vendors",
    ),
}  # fmt: skip
"""vendor -> module with ``layouts() -> Sequence[Layout]``, imported when first asked for; a module may make the layouts
of several vendors."""

_NAME = re.compile(r"^(?P<vendor>[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*?)(?:-(?P<version>\d.*))?$")


@dataclass(frozen=True, slots=True)
class Found:
    """A layout, the version that was asked for (``/version`` answers it), and a note when another one stands in."""

    layout: Layout
    asked_version: str | None
    note: str | None = None


def release(version: str) -> tuple[int, ...]:
    """The release numbers of a version: ``1.7.0.dev20261026`` -> (1, 7, 0); trailing zeros do not matter.

    >>> release("0.10.2.post2")
    (0, 10, 2)
    """
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    if match is None:
        raise LayoutError(f"{version!r} is not a version", hint="write it as numbers, for example 0.32.0")
    numbers = [int(number) for number in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


@cache
def vendor_layouts(vendor: str) -> tuple[Layout, ...]:
    """Every layout of a vendor, oldest first."""
    if vendor in VENDORS:
        try:
            module = import_module(VENDORS[vendor])
        except ModuleNotFoundError as missing:
            if missing.name and VENDORS[vendor].startswith(missing.name):
                return ()
            raise
        build: Callable[[], Sequence[Layout]] | None = getattr(module, "layouts", None)
        made = [layout for layout in (build() if build else ()) if layout.vendor == vendor]
        return tuple(sorted(made, key=lambda layout: layout.version))
    for entry in entry_points(group="fakellm.layouts"):
        if entry.name == vendor:
            builder: Callable[[], list[Layout]] = entry.load()
            return tuple(sorted(builder(), key=lambda layout: layout.version))
    return ()


def vendors() -> tuple[str, ...]:
    """Names of all vendors that have at least one layout here."""
    plugged = {entry.name for entry in entry_points(group="fakellm.layouts")}
    return tuple(vendor for vendor in [*VENDORS, *sorted(plugged - set(VENDORS))] if vendor_layouts(vendor))


def all_layouts() -> tuple[Layout, ...]:
    """Every layout, by vendor and then by version."""
    return tuple(layout for vendor in vendors() for layout in vendor_layouts(vendor))


def find(name: str) -> Found:
    """The layout of that name; raises LayoutError with a "did you mean" for an unknown one."""
    match = _NAME.match(name)
    vendor = _vendor_of(name) or (match["vendor"] if match else "")
    known = vendor_layouts(vendor) if vendor else ()
    for layout in known or all_layouts():
        if layout.name == name:
            return Found(layout, _version_text(layout))
    if match is None or not known or match["vendor"] != vendor:
        names = [*vendors(), *(layout.name for layout in all_layouts())]
        raise LayoutError(
            f"there is no layout {name!r}", hint=did_you_mean(name, names) or f"known: {', '.join(names)}"
        )
    versioned = [layout for layout in known if layout.version] or list(known)
    if match["version"] is None:
        return Found(versioned[-1], _version_text(versioned[-1]))
    asked = release(match["version"])
    lower = [layout for layout in versioned if _trim(layout.version) <= asked]
    chosen = lower[-1] if lower else versioned[0]
    note = None
    if _trim(chosen.version) != asked:
        note = f"{name} is not known; {chosen.name} stands in for it (the nearest {'lower' if lower else 'known'} one)"
    return Found(replace(chosen), match["version"], note)


def _vendor_of(name: str) -> str | None:
    """The vendor whose name this begins with: the longest, because one vendor's name may begin another's."""
    fits = [vendor for vendor in VENDORS if name == vendor or name.startswith(f"{vendor}-")]
    return max(fits, key=len, default=None)


def _trim(version: tuple[int, ...]) -> tuple[int, ...]:
    while version and version[-1] == 0:
        version = version[:-1]
    return version


def _version_text(layout: Layout) -> str | None:
    return ".".join(map(str, layout.version)) if layout.version else None
