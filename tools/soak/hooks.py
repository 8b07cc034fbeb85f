"""What schemathesis checks of every answer of the fake: no defect of ours, no traceback, no stall.

A 500 that the played server itself gives is no finding: ours say ``x-fakellm: problem`` or are aiohttp's. Those of the
vendors are counted into the file that ``FAKELLM_SOAK_VENDOR`` names, so that the end of a run lists them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import schemathesis  # pyright: ignore[reportMissingImports]

SLOWEST_SECONDS = 20.0
"""On two cores that do other things too."""
LISTED = Path(os.environ.get("FAKELLM_SOAK_VENDOR", os.devnull))


@schemathesis.check  # pyright: ignore
def no_defect(ctx: Any, response: Any, case: Any) -> None:
    """No defect of ours, no traceback, no stall."""
    text = response.content.decode("utf-8", "replace")
    headers = {name.lower(): ",".join(values) for name, values in response.headers.items()}
    assert response.elapsed < SLOWEST_SECONDS, f"{response.elapsed:.1f} seconds"
    if response.status_code >= 500:
        assert "Traceback (most recent call last)" not in text, text[:2000]
        assert "fakellm broke down" not in text, text[:2000]
        assert "aiohttp" not in headers.get("server", ""), text[:2000]
        assert "problem" != headers.get("x-fakellm") or response.status_code == 501, text[:2000]
        with LISTED.open("a") as listed:
            listed.write(f"{response.status_code} {case.operation.label} {text[:120]!r}\n")
