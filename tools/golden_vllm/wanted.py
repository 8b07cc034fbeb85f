"""What is to be captured: requests with the truth that the engine is to speak, and the server they are meant for.

They come from the golden library (the requests of the same version, or of the nearest lower one: the way to a new
version) or from ``probes``. Nothing here starts or sends anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakellm.fidelity.recorded import Exchange, Folder, RecordedRequest, Server
from fakellm.layouts.registry import release

STATEFUL = re.compile(r"^/(?!v1/|inference/|tokenize|detokenize)")
"""Utility routes: some change what later answers show, so they are asked last."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request. ``truths``: what the engine is to say, one per prompt; ``marks``: members of the exchange that steer
    a replay (``compare``, ``after``, ``note``); ``recorded``: the body whose ids later requests of the library name."""

    name: str
    request: RecordedRequest
    truths: tuple[Mapping[str, Any], ...]
    marks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    after: tuple[str, ...] = ()
    recorded: str = ""
    rejoined: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """One server and what is asked of it. ``tokenizer``: the folder that it is started on."""

    name: str
    server: Server
    tokenizer: Path
    requests: tuple[Wanted, ...]


def nearest(folders: Iterable[Folder], version: str, server: str = "vllm") -> list[Folder]:
    """The folders of a server in this version, or in the nearest lower one that the library has."""
    ours = [folder for folder in folders if folder.server.server == server]
    lower = [release(folder.server.version) for folder in ours if release(folder.server.version) <= release(version)]
    return [folder for folder in ours if lower and release(folder.server.version) == max(lower)]


def plan_of(folder: Folder, version: str, spoken: Mapping[str, Any]) -> Plan:
    """The same requests for another version. ``spoken``: what the engine says where the library has no truth."""
    tokenizer = folder.tokenizer
    if tokenizer is None:
        raise ValueError(f"{folder.name} has no tokenizer")
    server = folder.server
    name = folder.name.replace(f"{server.server}-{server.version}", f"{server.server}-{version}")
    requests = tuple(_wanted(folder, exchange, spoken) for exchange in in_order(folder.exchanges))
    return Plan(name, server, tokenizer, requests)


def in_order(exchanges: Mapping[str, Exchange]) -> Iterator[Exchange]:
    """Those that may change the server's state last, and whatever follows another one right after it."""
    followers: dict[str, list[Exchange]] = {}
    for exchange in exchanges.values():
        if exchange.after:
            followers.setdefault(exchange.after[-1], []).append(exchange)
    firsts = [exchange for exchange in exchanges.values() if not exchange.after]
    waiting = sorted(firsts, key=_may_change_state)
    while waiting:
        exchange = waiting.pop(0)
        yield exchange
        waiting[:0] = followers.get(exchange.name, [])


def _may_change_state(exchange: Exchange) -> bool:
    return exchange.request.method != "GET" and STATEFUL.match(exchange.request.path) is not None


def _wanted(folder: Folder, exchange: Exchange, spoken: Mapping[str, Any]) -> Wanted:
    truths: Sequence[Mapping[str, Any]] = [folder.truths[name] for name in exchange.truth or ()]
    marks = {"family": exchange.family, "kind": exchange.kind, "compare": exchange.compare, "note": exchange.note}
    return Wanted(
        name=exchange.name,
        request=exchange.request,
        truths=tuple(truths) or (spoken,),
        marks={name: value for name, value in marks.items() if value is not None},
        after=tuple(exchange.after),
        recorded=exchange.response.body,
        rejoined=exchange.chunks is not None,
    )
