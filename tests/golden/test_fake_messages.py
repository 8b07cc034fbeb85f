"""Every message that the fake sends has the members and types that captures show, whatever the engine says.

Each recorded request is replayed with its own truth and with that of another exchange, which no capture shows. What
comes out is held against the learned shapes, and for vLLM 0.32.0 also against the OpenAPI description that the server
gave of itself.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from derive_shapes import classified

from fakellm.conform.shape import violations
from fakellm.errors import FakellmError
from fakellm.fidelity import documents
from fakellm.fidelity.compare import Replayed
from fakellm.fidelity.library import Library
from fakellm.fidelity.play import launch_of, play
from fakellm.fidelity.recorded import Exchange, Folder, RecordedResponse
from fakellm.layouts import registry
from fakellm.resources import resource
from fakellm.tokenizer import load

LIBRARY = Library([resource("golden")])
SERVERS = {folder.name: folder for folder in LIBRARY.folders if not folder.server.gateway}


@pytest.fixture(scope="module", autouse=True)
def _close_the_library() -> Iterator[None]:
    yield
    LIBRARY.__exit__()


def replays(folder: Folder, exchanges: list[Exchange]) -> Iterator[tuple[Exchange, Replayed]]:
    """Every exchange as the fake answers it. What the fake refuses to play is fidelity's affair."""
    if not registry.vendor_layouts(folder.server.server):
        pytest.skip(f"there is no layout of {folder.server.server} yet")
    layout = registry.find(folder.server.layout).layout
    launch = launch_of(folder, load(folder.tokenizer))
    for exchange in exchanges:
        try:
            yield exchange, play(folder, exchange, lambda: layout.start(launch))
        except FakellmError:
            continue


def with_another_truth(folder: Folder) -> list[Exchange]:
    """The exchanges of one prompt, each with the truth of the next: other texts, scores and steps than captured.

    Not where the request shaped what the engine did: none stops at an EOS that it was told to ignore, or has scores of
    ids that it was not asked for.
    """
    told = [
        one
        for one in folder.exchanges.values()
        if one.truth
        and len(one.truth) == 1
        and not one.after
        and not any(shaping in str(one.request.body) for shaping in ("ignore_eos", "token_ids_logprob"))
    ]
    return [
        replace(one, truth=other.truth, chunks=None) for one, other in zip(told, [*told[1:], *told[:1]], strict=True)
    ]


def wrong(folder: Folder, exchange: Exchange, replayed: Replayed) -> Iterator[str]:
    response = RecordedResponse(replayed.status, dict(replayed.headers), replayed.body)
    for api, stream, kind, value in classified(replace(exchange, response=response)):
        if folder.server.layout.startswith("dynamo") and value.get("status") == "incomplete":
            continue  # no Dynamo response was captured that its limit cut short
        streamed = value["delta"]["type"] if kind == "content_block_delta" else None
        if folder.server.layout.startswith("vllm") and streamed == "input_json_delta":
            continue  # the library shows no call in a message's stream; probes.tar.xz does, compared to the byte
        for found in violations(folder.server.layout, api, value, stream=stream, kind=kind):
            yield f"{exchange.name} ({api}, {kind}): {found}"


@pytest.mark.parametrize("name", SERVERS)
def test_replayed_messages_have_the_captured_shape(name: str) -> None:
    folder = SERVERS[name]

    answered = list(replays(folder, list(folder.exchanges.values())))

    assert answered
    assert [] == [found for exchange, replayed in answered for found in wrong(folder, exchange, replayed)]


@pytest.mark.parametrize("name", SERVERS)
def test_messages_with_other_tokens_have_the_captured_shape(name: str) -> None:
    folder = SERVERS[name]

    answered = list(replays(folder, with_another_truth(folder)))

    assert [] == [found for exchange, replayed in answered for found in wrong(folder, exchange, replayed)]


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    """vLLM 0.32.0's description of itself, as captured."""
    return documents.plain(documents.parse(SERVERS["vllm-0.32.0-plain"].exchanges["get-openapi"].response.body))


@pytest.mark.parametrize("name", ["vllm-0.32.0-plain", "vllm-0.32.0-scripted-base", "vllm-0.32.0-parsers"])
def test_what_vllm_describes_is_what_the_fake_sends(name: str, openapi: dict[str, Any]) -> None:
    checked = 0
    for exchange, replayed in replays(SERVERS[name], list(SERVERS[name].exchanges.values())):
        for schema, value in described(openapi, exchange, replayed):
            jsonschema.validate(value, {**schema, "components": openapi["components"]})
            checked += 1

    assert checked


def described(openapi: dict[str, Any], exchange: Exchange, replayed: Replayed) -> Iterator[tuple[dict[str, Any], Any]]:
    """The schema of each JSON message of an answer, where the description has one."""
    path = exchange.request.path.partition("?")[0]
    route = openapi["paths"].get(path, {}).get(exchange.request.method.lower(), {})
    content = route.get("responses", {}).get(str(replayed.status), {}).get("content", {})
    blocks = documents.blocks(replayed.body, replayed.headers.get("content-type", ""))
    if blocks is not None:
        if path == "/inference/v1/generate":
            for value in (documents.plain(documents.event(block).data) for block in blocks):
                if isinstance(value, dict) and value.get("output_mode") == "tokens":
                    yield {"$ref": "#/components/schemas/GenerateTokensStreamResponse"}, value
        return
    schema = content.get("application/json", {}).get("schema")
    if path == "/inference/v1/generate" and '"output_mode":"tokens"' in replayed.body:
        schema = {"$ref": "#/components/schemas/GenerateTokensResponse"}
    if schema and '{"detail":' not in replayed.body:  # the web framework's own refusals are not described
        yield schema, documents.plain(documents.parse(replayed.body))
