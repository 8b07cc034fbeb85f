"""Adapter for the traces of rllm-model-gateway: what it recorded of a call that went through it.

The gateway runs in this process on a loopback port, one per call because its workers are fixed when it starts. The call
goes through ``/sessions/S/v1/...``, the capture is read off ``/sessions/S/traces``; a trace knows one choice only.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from rllm_model_gateway.models import GatewayConfig, WorkerConfig
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


async def run(message: Message) -> Answer:
    worker = WorkerConfig(url=message["root_url"], api_path="/v1")
    config = GatewayConfig(store_worker="memory", sync_traces=True, health_check_interval=3600, workers=[worker])
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(config), log_level="error", lifespan="on"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            while not server.started and not serving.done():
                await asyncio.sleep(0.005)
            return await through(f"http://127.0.0.1:{listening.getsockname()[1]}/sessions/s", message)
        finally:
            server.should_exit = True
            await serving


async def through(session: str, message: Message) -> Answer:
    async with httpx.AsyncClient(timeout=message["deadline_ms"] / 1000) as client:
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
