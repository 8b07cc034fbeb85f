"""Starts the litellm proxy on loopback: ``python start.py UPSTREAM PORT PROVIDER``, with one model, ``conform``.

The configuration lies in a temporary folder that goes away with the proxy. No key, no telemetry, no price list.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

UPSTREAM, PORT, PROVIDER = sys.argv[1:4]
PARAMS = {"model": f"{PROVIDER}/conform", "api_base": f"{UPSTREAM}/v1", "api_key": "none"}
CONFIG = {
    "model_list": [{"model_name": "conform", "litellm_params": PARAMS}],
    "litellm_settings": {"num_retries": 0, "telemetry": False},
    "router_settings": {"num_retries": 0, "allowed_fails": 1_000_000, "disable_cooldowns": True},
}
ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "DISABLE_SCHEMA_UPDATE": "true"}
ENVIRONMENT["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # loopback, and nothing behind it

with tempfile.TemporaryDirectory() as folder:
    config = Path(folder) / "config.yaml"
    config.write_text(json.dumps(CONFIG))
    program = Path(sys.executable).with_name("litellm")
    words = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", PORT, "--telemetry", "False"]
    proxy = subprocess.Popen(words, env={**os.environ, **ENVIRONMENT})
    signal.signal(signal.SIGTERM, lambda *_: proxy.terminate())
    sys.exit(proxy.wait())
