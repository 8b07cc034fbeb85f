"""JSON as a careful client reads it: lenient where nothing is lost, refusing where two readings are possible.

NaN and the infinities are read as what they say (whether a score may be NaN is judged later), equal duplicate keys are
one key, keys that contradict each other are refused, a BOM is dropped, trailing text is refused. Pure; knows no API.
"""

from __future__ import annotations

import json
from typing import Any

from .refusal import Refused


def parse_document(text: str | bytes) -> Any:
    """The value of a JSON text; raises Refused (unreadable, duplicate-keys) where there is no one value."""
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        return _DECODER.decode(decoded)
    except UnicodeDecodeError as wrong:
        raise Refused("unreadable", f"the body is not UTF-8: byte {wrong.start}") from None
    except json.JSONDecodeError as wrong:
        raise Refused("unreadable", f"not JSON at character {wrong.pos}: {wrong.msg}") from None
    except ValueError as wrong:
        raise Refused("unreadable", f"not JSON: {wrong}") from None
    except RecursionError:
        raise Refused("unreadable", "JSON nested too deeply to be read") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        for key, value in pairs:
            if members[key] != value or type(members[key]) is not type(value):
                raise Refused("duplicate-keys", f"the key {key!r} stands twice with different values", where=key)
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
