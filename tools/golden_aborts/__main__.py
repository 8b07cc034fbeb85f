"""``python -m golden_aborts SERVER``: abort requests of a real server in mid-answer, and keep what became of them.

SERVER is ``vllm-0.32.0`` or ``sglang-0.5.23``. Exit code 0 when the fake tells the same, 1 when something differs. The
server is the one of ``golden_vllm`` or ``golden_sglang``: its own front, over an engine that plays a truth.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from golden_sglang import environment as sglang_environment
from golden_sglang.__main__ import SGLANG
from golden_vllm import environment as vllm_environment
from golden_vllm.running import VLLM, RealServer

from fakellm.errors import FakellmError
from fakellm.fidelity.library import Library
from fakellm.resources import resource
from fakellm.tokenizer import Tokenizer, load

from .cases import Case, cases
from .replay import Server, steps_of

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".golden"
KEPT = ROOT / "tests" / "golden" / "aborts"
SAID = "Hello world, this is a longer answer that goes on for a while and ends."
BEGINS_SECONDS, GAP_SECONDS, QUEUE_SECONDS, ABORTED_AFTER = 0.05, 0.06, 0.8, 0.4
PATIENCE_SECONDS = 60.0

TOKENIZERS = {"vllm": "scripted", "sglang": "sglang"}
OPTIONS = {
    "vllm": ("--served-model-name", "tiny", "--max-model-len", "256", "--dtype", "float32", "--enforce-eager"),
    "sglang": ("--served-model-name", "tiny", "--device", "cpu", "--skip-server-warmup"),
}
SCALE_OUT = (0, 32, 0)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("server")
@click.option("--venv", type=click.Path(path_type=Path, exists=True), help="A venv that lends its libraries.")
def main(server: str, venv: Path | None) -> int:
    """Capture what aborts leave of the real SERVER's answers and compare the fake."""
    vendor, _, version = server.partition("-")
    if vendor not in TOKENIZERS:
        raise click.UsageError("SERVER is vllm-VERSION or sglang-VERSION")
    numbers = tuple(int(number) for number in version.split(".")[:3])
    with Library([resource("golden")]) as library:
        origin = next(one for one in library.folders if one.server.tokenizer == TOKENIZERS[vendor] and one.tokenizer)
        tokenizer = load(origin.tokenizer)
        options = (*OPTIONS[vendor], *(("--enable-scale-out",) if vendor == "vllm" and numbers >= SCALE_OUT else ()))
        env = {"VLLM_SERVER_DEV_MODE": "1"} if vendor == "vllm" else {}
        model_path = "tok" if vendor == "vllm" else "tinymodel"
        described = Server(vendor, version, options, env, model_path, truth_of(tokenizer))
        prepare: Any = vllm_environment.prepare if vendor == "vllm" else sglang_environment.prepare
        running = RealServer(
            environment=prepare(HOME, version, lent=venv, say=_say),
            folder=HOME / "run" / f"aborts-{server}",
            model=origin.tokenizer or Path(),
            model_name=model_path,
            options=options,
            env=dict(env),
            kind=VLLM if vendor == "vllm" else SGLANG,
            say=_say,
        )
        with running:
            _warmed(running, next(cases(vendor, numbers)).named("q0"), described)
            exchanges = [
                _captured(running, case.named(f"q{number}"), number, described)
                for number, case in enumerate(cases(vendor, numbers), 1)
            ]
        for exchange in exchanges:
            exchange["steps"] = steps_of(described, tokenizer, exchange, origin.masks)
    KEPT.mkdir(exist_ok=True)
    place = KEPT / f"{server}.json"
    place.write_text(json.dumps({**described.to_json(), "exchanges": exchanges}, indent=1, ensure_ascii=False) + "\n")
    differing = [exchange["name"] for exchange in exchanges if exchange["steps"] is None]
    _say(f"{len(exchanges)} aborts, {len(differing)} differ: {', '.join(differing) or 'none'}")
    return 1 if differing else 0


def truth_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the engine would say if nobody stopped it: one token a step."""
    ids = [*tokenizer.encode(SAID), tokenizer.eos_ids[0]]
    tokens = [_token(token_id, -0.125 * (place % 7 + 1), tokenizer) for place, token_id in enumerate(ids)]
    choice = {"finish_reason": "stop", "tokens": tokens, "chunks": [1] * len(tokens)}
    return {"prompt_token_ids": [], "prompt_logprobs": None, "choices": [choice]}


def _token(token_id: int, logprob: float, tokenizer: Tokenizer) -> dict[str, Any]:
    rows = [(token_id, logprob), (token_id + 1, logprob - 2.0)]
    top = [
        {"id": one, "bytes": list(tokenizer.piece(one)), "logprob": score, "rank": rank}
        for rank, (one, score) in enumerate(rows, 1)
    ]
    return {**top[0], "top": top}


def _warmed(server: RealServer, case: Case, described: Server) -> None:
    """A first request, to its end: it takes a server longer than any later one, and steps would be joined."""
    server.play.write_text(json.dumps({"serial": 0, "truths": [described.truth]}))
    _post(server.port, case.path, case.body, case.headers)


def _captured(server: RealServer, case: Case, serial: int, described: Server) -> dict[str, Any]:
    """Ask, abort in the middle, and keep the answer."""
    script: dict[str, Any] = {"delay": BEGINS_SECONDS, "gap": GAP_SECONDS}
    if case.queued:
        script = {"delay": QUEUE_SECONDS, "gap": GAP_SECONDS, "queued": True}
    server.play.write_text(json.dumps({"serial": serial, "truths": [{**described.truth, "script": script}]}))
    got: list[tuple[int, str, bool]] = []
    asking = threading.Thread(target=lambda: got.append(_post(server.port, case.path, case.body, case.headers)))
    asking.start()
    time.sleep(ABORTED_AFTER)
    _post(server.port, case.order_path, case.order, {})
    asking.join(PATIENCE_SECONDS)
    if case.after is not None:
        _post(server.port, case.after, {}, {})
    status, answer, cut = got[0] if got else (0, "no answer", True)
    kept = asdict(case)
    del kept["order_path"], kept["order"], kept["after"]
    return {**kept, "status": status, "answer": answer, "cut": cut}


def _post(port: int, path: str, body: Any, headers: Any) -> tuple[int, str, bool]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode(), False
        except http.client.IncompleteRead as broken:
            return answer.status, broken.partial.decode(), True
    finally:
        connection.close()


def _say(text: str) -> None:
    click.echo(f"golden-aborts: {text}", err=True)


if __name__ == "__main__":
    try:
        sys.exit(main(standalone_mode=False))
    except FakellmError as failed:
        _say(str(failed))
        sys.exit(4)
