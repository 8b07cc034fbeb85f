"""What an upstream says of itself: vendor, version, model, context length. Asked once, before recording begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import ClientError, ClientSession, ClientTimeout

from ..errors import UsageError

PATIENCE_SECONDS = 10.0
VERSION_PATHS = (("/server_info", "sglang"), ("/get_server_info", "sglang"), ("/version", "vllm"))
"""Where a version stands, and whose it is."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """``layout``: vendor-version, None when it does not say. ``fake``: it is fakellm itself, and its tokenizer ours."""

    layout: str | None = None
    model: str | None = None
    max_model_len: int | None = None
    model_path: str | None = None
    fake: bool = False


async def ask_upstream(url: str, headers: Mapping[str, str]) -> Upstream:
    """Ask it; raises UsageError when nobody answers there."""
    root = url.rstrip("/")
    async with ClientSession(timeout=ClientTimeout(PATIENCE_SECONDS), headers=dict(headers)) as session:
        fake = await _json(session, f"{root}/_fakellm/version")
        layout = None
        for path, vendor in VERSION_PATHS:
            told = await _json(session, root + path)
            if isinstance(told.get("version"), str):
                layout = f"{vendor}-{told['version']}"
                break
        rows: Any = (await _json(session, f"{root}/v1/models")).get("data")
    listed: list[Any] = cast("list[Any]", rows) if isinstance(rows, list) else []
    models = [cast("dict[str, Any]", row) for row in listed if isinstance(row, dict)]
    model = models[0] if len(models) == 1 else {}
    return Upstream(
        layout=layout,
        model=_text(model.get("id")),
        max_model_len=model.get("max_model_len") if isinstance(model.get("max_model_len"), int) else None,
        model_path=_text(model.get("root")),
        fake="version" in fake,
    )


async def _json(session: ClientSession, url: str) -> Mapping[str, Any]:
    try:
        async with session.get(url) as answer:
            found: Any = json.loads(await answer.read()) if answer.status == 200 else {}
    except (TimeoutError, ClientError, OSError) as problem:
        raise UsageError(f"the upstream does not answer: {problem}", where=url) from None
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
