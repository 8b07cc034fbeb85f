"""What is random or made by the clock in answers that the library does not hold: rules beside the library's own.

Written as ``masks.json`` into a captured folder, where ``fakellm fidelity`` finds it.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from fakellm.resources import resource

FURTHER: tuple[dict[str, str], ...] = (
    {
        "kind": "random-id",
        "regex": r"fc_[0-9a-f]{8}(?![0-9a-f])",
        "replace": "fc_ID",
        "why": "calls in /v1/responses have short ids",
    },
    {"kind": "random-id", "regex": r'^"[0-9a-f]{32}"$', "replace": '"ID"', "why": "/open_session"},
    {
        "kind": "timestamp",
        "regex": r'"(timestamp|ts_tic)":("[^"]+"|[0-9.e+]+)',
        "replace": r'"\1":0',
        "why": "/v1/loads, /get_load",
    },
)


def write(folder: Path) -> None:
    """The library's masks and these into a captured folder."""
    with tarfile.open(resource("golden")) as library:
        packed = library.extractfile("masks.json")
        if packed is None:
            raise FileNotFoundError("the packed library has no masks.json")
        masks: dict[str, Any] = json.load(packed)
    masks["servers"]["sglang"] = [*masks["servers"]["sglang"], *FURTHER]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "masks.json").write_text(json.dumps(masks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
