"""A server folder in the golden format: ``server.json``, ``truths.json``, ``exchanges/``. Writes files, no more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from .capture import Captor
from .wanted import Plan

SCRIPTED = {
    "vllm": "the real vLLM API server, tokenizer, detokenizer and parsers; only the engine core was replaced by a player "
    "of truths (ids, scores, steps, ends)",
    "sglang": "the real SGLang HTTP server, tokenizer manager, detokenizer, output streamer and stop logic; only the "
    "scheduler was replaced by a player of truths (ids, scores, steps, ends)",
}
REAL = "a real vLLM (CPU build) running the model {model}; what its engine core said was written down on the way"


def write(home: Path, plan: Plan, version: str, captor: Captor, *, scripted: bool) -> Path:
    """Write what was captured; an earlier capture of the same name is replaced."""
    place = home / plan.name
    shutil.rmtree(place, ignore_errors=True)
    (place / "exchanges").mkdir(parents=True)
    _dump(place / "server.json", _server(plan, version, captor, scripted=scripted), indent=2)
    _dump(place / "truths.json", captor.truths)
    for name, exchange in captor.exchanges.items():
        _dump(place / "exchanges" / f"{name}.json", exchange, indent=2)
    return place


def _server(plan: Plan, version: str, captor: Captor, *, scripted: bool) -> dict[str, Any]:
    server = plan.server
    return {
        "server": server.server,
        "version": version,
        "variant": plan.name.removeprefix(f"{server.server}-{version}-"),
        "how": SCRIPTED[server.server] if scripted else REAL.format(model=server.model_path),
        "launch": list(server.launch),
        "env": dict(server.env),
        "model": server.model,
        "max_model_len": server.max_model_len,
        "tokenizer": server.tokenizer,
        "gateway": False,
        "tolerance": 0.0,
        "model_path": server.model_path,
        "engine": captor.engine,
    }


def _dump(path: Path, value: Any, indent: int | None = None) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")
