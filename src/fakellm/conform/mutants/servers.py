"""Every fault as a mutant server: the fake with one fault on all its answers, where it applies.

``LAYOUTS`` names the server that is mutated where the newest vLLM shows nothing of a fault; ``UNSEEN`` the faults that
no rule of server mode can see, with the reason (``conformance/NOT_TESTED.md`` says the same to people). Runs the fake;
judges nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...faults.registry import FaultCall
from ...faults.registry import parse as parse_fault
from ...house import Choices, House
from ...scenario.load import from_data
from ...scenario.plain import plain_auto

VLLM = "vllm-0.32.0"
LAUNCH: Mapping[str, tuple[str, ...]] = MappingProxyType({VLLM: ("--enable-scale-out",)})
LOSSY = "sglang-0.5.23"
"""A layout that declares losses of ids or scores: what kills the rule about them, which no fault does."""
LAYOUTS: Mapping[str, str] = MappingProxyType({})
READERS = "any reader of the format takes it, and nothing is missing"
NO_TOOLS = "no call of server mode makes the model think or call a tool"
ONE_TURN = "server mode has conversations of one turn only"
NOT_ASKED = "no call of server mode asks for it"
NO_SUCH_TOKEN = "it needs a token that is a piece of a character, which nobody can make a real model sample"
UNSEEN: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "usage-early",
                "usage-on-every-chunk",
                "usage-choices-null",
                "unknown-fields",
                "role-on-every-chunk",
                "delta-null",
                "choices-out-of-order",
                "choices-interleaved",
                "choices-in-one-chunk",
                "sse-crlf",
                "sse-cr",
                "sse-no-space",
                "sse-comments",
                "sse-empty-data",
                "sse-multi-line-data",
                "sse-event-fields",
                "sse-byte-order-mark",
                "split-inside-utf8",
                "split-inside-crlf",
                "many-events-in-one-packet",
                "gzip",
                "json-line-separators",
                "json-duplicate-keys",
                "huge-body",
                "deep-nesting",
                "json-whitespace",
                "json-key-order",
                "slow-dribble",
                "stall",
            ),
            READERS,
        ),
        **dict.fromkeys(
            (
                "tool-arguments-reserialised",
                "tool-delta-without-id",
                "tool-delta-without-index",
                "tool-delta-nulls",
                "tool-index-from-one",
                "tool-index-constant",
                "tool-name-empty",
                "content-null",
                "logprobs-lost-in-reasoning",
                "logprobs-lost-in-tool-calls",
            ),
            NO_TOOLS,
        ),
        **dict.fromkeys(
            (
                "turn-prompt-drifts",
                "turn-prompt-compacted",
                "turn-ids-vanish",
            ),
            ONE_TURN,
        ),
        **dict.fromkeys(
            (
                "tokens-as-token-ids-ignored",
                "echo-ignored",
                "include-ignored",
                "seed-ignored",
                "prompt-logprobs-sorted",
                "prompt-logprobs-first-missing",
            ),
            NOT_ASKED,
        ),
        **dict.fromkeys(
            ("token-bytes-replacement",),
            NO_SUCH_TOKEN,
        ),
    }
)


def _where_it_applies(entry: Any, where: str) -> FaultCall:
    return replace(parse_fault(entry, where), optional=True)


@asynccontextmanager
async def serving(layout: str, *faults: str) -> AsyncGenerator[str]:
    """The root URL of a fake of this layout that has these faults on every answer to which they apply."""
    from aiohttp import web

    from ...server.app import make_app

    reply: dict[str, Any] = {"say": {"auto": {}}, "faults": list(faults)}
    scenario = from_data({"replies": [reply]}, "mutant", read_fault=_where_it_applies) if faults else plain_auto()
    house = House({}, scenario, Choices(layout=layout, options=LAUNCH.get(layout, ())))
    runner = web.AppRunner(make_app(house.fake), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
