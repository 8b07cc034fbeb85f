"""What aborts left of the answers of real servers: the fake, aborted after as many steps, leaves the same.

``python -m golden_aborts vllm-0.32.0`` captures them (tools/golden_aborts): the real front of a server over an engine
that plays a truth; in the middle, or while the request waits, its own abort route is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_aborts.replay import Server, agrees, answered, load

from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Folder
from fakellm.resources import resource
from fakellm.tokenizer import load as load_tokenizer

CAPTURES = sorted(Path(__file__).with_name("aborts").glob("*.json"))
TOKENIZERS = {"vllm": "scripted", "sglang": "sglang"}
ASKED = [
    pytest.param(path, exchange, id=f"{path.stem}-{exchange['name']}")
    for path in CAPTURES
    for exchange in load(path)[1]
]


@pytest.fixture(scope="module")
def origins() -> Iterator[dict[str, Folder]]:
    """For each vendor a folder of the library with the tokenizer that its servers ran with."""
    with Library([resource("golden")]) as library:
        yield {
            vendor: next(one for one in library.folders if one.server.tokenizer == name and one.tokenizer)
            for vendor, name in TOKENIZERS.items()
        }


@pytest.mark.parametrize(("path", "exchange"), ASKED)
def test_the_fake_leaves_what_the_server_left(path: Path, exchange: dict[str, Any], origins: dict[str, Folder]) -> None:
    server, _ = load(path)
    origin = origins[server.vendor]

    told = answered(server, load_tokenizer(origin.tokenizer), exchange, exchange["steps"])

    assert agrees(exchange, told, origin.masks), told.body


def test_real_servers_were_asked() -> None:
    servers: list[Server] = [load(path)[0] for path in CAPTURES]

    assert {"vllm", "sglang"} == {server.vendor for server in servers}
    assert all(exchange["steps"] for path in CAPTURES for exchange in load(path)[1] if not exchange["queued"])
