"""Starts Dynamo's frontend and a worker on loopback: ``python start.py UPSTREAM PORT``; ends both when it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from model import write

UPSTREAM, PORT = sys.argv[1:3]
LOOPBACK = "127.0.0.1"
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Runs until one of the two ends, or until a signal."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    with tempfile.TemporaryDirectory() as place:
        folder, store = Path(place) / "model", Path(place) / "store"
        folder.mkdir()
        write(folder)
        environment = {
            **os.environ,
            "DYN_DISCOVERY_BACKEND": "file",
            "DYN_FILE_KV": str(store),
            "DYN_REQUEST_PLANE": "tcp",
            "DYN_EVENT_PLANE": "zmq",
            "DYN_TCP_RPC_HOST": LOOPBACK,
            "DYN_TCP_RESPONSE_STREAM_HOST": LOOPBACK,
            "DYN_EVENT_PLANE_HOST": LOOPBACK,
            "HF_HUB_OFFLINE": "1",
            "DYN_LOG": "error",
        }
        frontend = [
            "-m",
            "dynamo.frontend",
            "--http-host",
            LOOPBACK,
            "--http-port",
            PORT,
            "--router-mode",
            "round-robin",
        ]
        commands = ([str(HERE / "worker.py"), UPSTREAM, str(folder)], frontend)
        children = [subprocess.Popen([sys.executable, *words], env=environment) for words in commands]
        try:
            os.waitpid(-1, 0)
            return 1
        finally:
            for child in children:
                child.terminate()


if __name__ == "__main__":
    sys.exit(main())
