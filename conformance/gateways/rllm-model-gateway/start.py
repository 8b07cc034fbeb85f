"""Starts rllm-model-gateway on loopback: ``python start.py UPSTREAM PORT``; without a session clients use ``/v1``."""

from __future__ import annotations

import sys

import uvicorn
from rllm_model_gateway.models import GatewayConfig, WorkerConfig
from rllm_model_gateway.server import create_app

UPSTREAM, PORT = sys.argv[1:3]
config = GatewayConfig(
    store_worker="memory",
    sync_traces=True,
    health_check_interval=3600,
    workers=[WorkerConfig(url=UPSTREAM, api_path="/v1")],
)
uvicorn.run(create_app(config), host="127.0.0.1", port=int(PORT), log_level="warning")
