"""Recorded exchanges, built by hand: the smallest that a test needs."""

import json
from pathlib import Path
from typing import Any

from fakellm.fidelity.recorded import Exchange, Folder, Masks, RecordedRequest, RecordedResponse, Server

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def exchange(
    body: Any = "{}",
    *,
    name: str = "case",
    status: int = 200,
    headers: dict[str, str] | None = None,
    request: RecordedRequest | None = None,
    truncated: bool = False,
    reserialised: bool = False,
    **members: Any,
) -> Exchange:
    """An exchange whose answer is ``body`` (text, or a value that is written compactly)."""
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    return Exchange(
        name=name,
        request=request or RecordedRequest("POST", "/v1/chat/completions", {}, body={"model": "tiny"}),
        response=RecordedResponse(status, JSON if headers is None else headers, text, truncated, reserialised),
        **members,
    )


def folder(*exchanges: Exchange, truths: dict[str, Any] | None = None, masks: Masks | None = None) -> Folder:
    """A recorded server around some exchanges."""
    return Folder(
        name="vllm-0.32.0",
        server=Server("vllm", "0.32.0"),
        truths=truths or {},
        exchanges={one.name: one for one in exchanges},
        masks=masks or Masks(),
    )


def write_folder(
    root: Path, name: str, server: dict[str, Any], exchanges: dict[str, Any], truths: dict[str, Any] | None = None
) -> Path:
    """The same on disk, in the library's format."""
    place = root / name
    (place / "exchanges").mkdir(parents=True)
    (place / "server.json").write_text(json.dumps(server))
    (place / "truths.json").write_text(json.dumps(truths or {}))
    for case, content in exchanges.items():
        (place / "exchanges" / f"{case}.json").write_text(json.dumps(content))
    return place


def sse(*data: Any, done: bool = False) -> str:
    """A stream of unnamed events."""
    events = [one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in data]
    return "".join(f"data: {one}\n\n" for one in [*events, *(["[DONE]"] if done else [])])
