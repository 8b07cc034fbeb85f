"""Adapter for the traces of rllm-model-gateway: what it recorded of a call that went through it.

The gateway runs in this process on a loopback port, with the fake as its only worker. The call goes through
``/sessions/S/v1/...``, the capture is read off ``/sessions/S/traces``; a trace knows one choice only.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from rllm_model_gateway.models import GatewayConfig
from rllm_model_gateway.server import create_app

sys.path.append(str(Path(__file__).parents[1]))

from kit import VALUES, Answer, Message, captured, row, serve

CLIENT = {
    "name": "rllm-model-gateway traces",
    "version": version("rllm-model-gateway"),
    "homepage": "https://github.com/rllm-org/rllm",
    "issues": "https://github.com/rllm-org/rllm/issues",
}
SUPPORTS = {"apis": ["chat"], "captures": VALUES, "layouts": ["vllm-0.32.0"]}


class Refused(Exception):
    """The gateway answered with an error status."""


STARTED: dict[str, Any] = {}
"""The one gateway of this process: its url and its task."""


async def gateway() -> str:
    """Its root URL; the first call starts it."""
    if not STARTED:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        config = GatewayConfig(store_worker="memory", sync_traces=True, health_check_interval=3600)
        server = uvicorn.Server(uvicorn.Config(create_app(config), log_level="error", lifespan="on"))
        STARTED["task"] = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.005)
        STARTED["url"] = f"http://127.0.0.1:{listening.getsockname()[1]}"
    return STARTED["url"]


async def run(message: Message) -> Answer:
    root = await gateway()
    async with httpx.AsyncClient(timeout=message["deadline_ms"] / 1000) as client:
        worker = {"url": message["root_url"], "api_path": "/v1"}
        added = (await client.post(f"{root}/admin/workers", json=worker)).json()
        try:
            return await through(client, f"{root}/sessions/s{uuid.uuid4().hex}", message)
        finally:
            await client.delete(f"{root}/admin/workers/{added['worker_id']}")


async def through(client: httpx.AsyncClient, session: str, message: Message) -> Answer:
    answer = await client.post(f"{session}/v1/chat/completions", json=message["request"])
    if answer.status_code >= 400:
        raise Refused(f"{answer.status_code}: {answer.text[:200]}")
    traces: Any = (await client.get(f"{session}/traces")).json()
    rows = traces if isinstance(traces, list) else traces["traces"]
    return captured([read(trace) for trace in rows])


def read(trace: dict[str, Any]) -> dict[str, Any]:
    names = ("prompt_token_ids", "completion_token_ids", "logprobs", "finish_reason")
    said = trace["response_message"].get("content")
    return row(0, **{name: trace[name] for name in names}, text=said)


if __name__ == "__main__":
    serve(CLIENT, SUPPORTS, run, (Refused, httpx.HTTPError))
