"""What SGLang says to a request's ``watermark`` when the server was not launched to watermark anything.

The shape is checked as SGLang does (0.5.21 on); one that fits is refused because the server has no watermark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .answers import EngineRefusal
from .loose import members

_KNOWN = frozenset({"enabled", "key", "context_window"})
_KEY = re.compile(r"(?:0[xX])?([0-9a-fA-F]*)")
_LONGEST = 16


def check_watermark(value: Any) -> None:
    """Raises EngineRefusal unless nothing is asked for."""
    if value is None:
        return
    refusal = _misshapen(value) or _unwanted(members(value))
    if refusal is not None:
        raise EngineRefusal(refusal)


def _misshapen(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return "watermark must be an object"
    given = members(value)
    if set(given) - _KNOWN:
        return "watermark contains unknown fields"
    enabled, window = given.get("enabled"), given.get("context_window")
    if enabled is not None and not isinstance(enabled, bool):
        return "watermark enabled must be a boolean"
    if given.get("key") is not None:
        wrong = _bad_key(given["key"])
        if wrong is not None:
            return wrong
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
        return "watermark context_window must be a positive integer"
    return None


def _bad_key(key: Any) -> str | None:
    if not isinstance(key, str):
        return "watermark key must be a hex string"
    digits = key[2:] if key.lower().startswith("0x") else key
    if not 1 <= len(digits) <= _LONGEST:
        return "watermark key must contain 1 to 16 hex digits"
    return None if _KEY.fullmatch(digits) else "watermark key must contain only hex digits"


def _unwanted(given: Mapping[str, Any]) -> str | None:
    if given.get("enabled") is False:
        wrong = "request watermark key cannot be combined with enabled=false"
        return wrong if given.get("key") is not None else None
    if given.get("enabled") is not True and given.get("key") is None:
        return "request watermark must set enabled or key"
    return "request watermarking requires the server to enable --enable-watermark"
