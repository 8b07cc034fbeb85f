"""A server folder in the golden format: ``server.json``, ``truths.json``, ``exchanges/``, and ``masks.json`` where the
library's masks do not hide everything that is random. Writes files, no more.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from fakellm.fidelity.recorded import Mask

from .capture import Captor
from .wanted import Plan

SCRIPTED = {
    "vllm": "the real vLLM API server, tokenizer, detokenizer and parsers; only the engine core was replaced by a "
    "player of truths (ids, scores, steps, ends)",
    "sglang": "the real SGLang HTTP server, tokenizer manager, detokenizer, output streamer and stop logic; only the "
    "scheduler was replaced by a player of truths (ids, scores, steps, ends)",
}
REAL = "a real vLLM (CPU build) running the model {model}; what its engine core said was written down on the way"

CALL_ID = Mask("random-id", re.compile("call_[0-9a-f]{24}(?![0-9a-f])"), "call_ID")
"""qwen3_coder up to 0.20.2 makes ids of 24 digits, of which the library's masks hide 16."""


def write(home: Path, plan: Plan, version: str, captor: Captor, *, scripted: bool) -> Path:
    """Write what was captured; an earlier capture of the same name is replaced."""
    place = home / plan.name
    shutil.rmtree(place, ignore_errors=True)
    (place / "exchanges").mkdir(parents=True)
    _dump(place / "server.json", _server(plan, version, captor, scripted=scripted), indent=2)
    _dump(place / "truths.json", captor.truths)
    for name, exchange in captor.exchanges.items():
        _dump(place / "exchanges" / f"{name}.json", exchange, indent=2)
    if any(CALL_ID.regex.search(exchange["response"]["body"]) for exchange in captor.exchanges.values()):
        _dump(place / "masks.json", _masks(plan, captor), indent=2)
    return place


def _masks(plan: Plan, captor: Captor) -> dict[str, Any]:
    rules = (CALL_ID, *captor.masks.rules)
    rows = [{"kind": rule.kind, "regex": rule.regex.pattern, "replace": rule.replace} for rule in rules]
    return {"headers": sorted(captor.masks.headers), "servers": {plan.server.server: rows}}


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
