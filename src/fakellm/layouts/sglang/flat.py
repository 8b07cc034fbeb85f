"""Alternatives told as one list of scores and one of ids, or as their bytes in base64 (``return_flat_raw_*``).

Row and column of a score follow from its place: the leading positions without alternatives are counted and left out.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any


def flat_members(side: str, rows: Sequence[Any], width: int, *, packed: bool) -> dict[str, Any]:
    """The members of ``meta_info`` for one side (``input`` | ``output``). ``rows``: triples per position, None where
    there are none; ``width``: alternatives per position."""
    nulls = next((place for place, row in enumerate(rows) if row is not None), len(rows))
    told = [triple for row in rows[nulls:] for triple in row]
    scores, ids = [triple[0] for triple in told], [triple[1] for triple in told]
    name = f"{side}_top_logprobs"
    lists: dict[str, Any] = {f"{name}_val_flat": scores, f"{name}_idx_flat": ids}
    if packed:
        lists = {
            f"{name}_val_flat_b64": _packed("f", scores),
            f"{name}_idx_flat_b64": _packed("i", ids),
            f"{name}_val_flat_b64_dtype": "float32",
            f"{name}_idx_flat_b64_dtype": "int32",
        }
    return {**lists, f"{name}_shape": [len(rows) - nulls, width], f"{name}_null_prefix": nulls}


def _packed(kind: str, values: Sequence[Any]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}{kind}", *values)).decode()
