"""Learn from the golden library which members, of which types, each kind of message was seen to have.

    python tools/derive_shapes.py [LIBRARY] [tests/golden/shapes.json.xz]

Without arguments it reads the packed library of this repository. The result is what ``fakellm.conform.shape`` checks
messages against; it is derived from captures alone and never from a renderer. Equal libraries give equal bytes.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from fakellm.conform.shape import VARIANT_PARENTS, Node, kind_of, shape_name, type_of
from fakellm.fidelity import documents
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Exchange, Folder
from fakellm.layouts.registry import release

ROOT = Path(__file__).resolve().parent.parent

APIS = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/generate": "generate",
    "/inference/v1/generate": "tito",
    "/tokenize": "tokenize",
    "/v1/tokenize": "tokenize",
    "/detokenize": "detokenize",
    "/v1/detokenize": "detokenize",
    "/v1/models": "models",
}

OPAQUE = {
    "kv_transfer_params", "ec_transfer_params", "metadata", "tools", "engine_data", "parameters", "details", "detail",
    "input_messages", "output_messages", "tool_choice", "text_config", "input", "prompt", "matched_stop",
    "instructions",
}  # fmt: skip
"""Members whose content is the caller's or the engine's, not the server's."""

MAPS = {"top_logprobs", "prompt_logprobs", "prompt_token_id_logprobs"}
"""Members whose objects, where they have no ``token`` or ``logprob``, are keyed by token texts or ids."""

Learned = dict[str, dict[str, Any]]


def derive(folders: Iterable[Folder]) -> Learned:
    """Vendor -> its versions, oldest first, and a node per shape name."""
    served = [folder for folder in folders if not folder.server.gateway]
    learned: Learned = {}
    for vendor in sorted({folder.server.server for folder in served}):
        own = [folder for folder in served if folder.server.server == vendor]
        versions = sorted({_version(folder) for folder in own}, key=release)
        shapes: dict[str, Node] = {}
        learner = Learner()
        for folder in own:
            for exchange in folder.exchanges.values():
                learner.answer()
                for name, value in messages(exchange):
                    learner.observe(shapes.setdefault(name, Node()), value, str(versions.index(_version(folder))))
        learned[vendor] = {"versions": versions, "shapes": shapes}
    return learned


def messages(exchange: Exchange) -> Iterator[tuple[str, Any]]:
    """Every JSON message of an answer with the name of its shape."""
    for api, stream, kind, value in classified(exchange):
        yield shape_name(api, stream, kind), value


def classified(exchange: Exchange) -> Iterator[tuple[str, bool, str, Any]]:
    """Every JSON message of an answer: api, streamed or not, kind, value."""
    path = exchange.request.path.partition("?")[0]
    api = "responses" if path.startswith("/v1/responses/resp_") else APIS.get(path)
    if exchange.compare == "status" or api is None:
        return
    content_type = exchange.response.headers.get("content-type", "")
    blocks = documents.blocks(exchange.response.body, content_type)
    if blocks is None:
        value = documents.plain(documents.parse(exchange.response.body))
        if isinstance(value, dict):
            kind = kind_of(api, value, stream=False)
            yield api, False, "error" if kind == "body" and exchange.response.status >= 400 else kind, value
        return
    for block in blocks:
        event = documents.event(block)
        value = documents.plain(event.data)
        if isinstance(value, dict):
            yield api, True, kind_of(api, value, stream=True, event=event.name), value


class Learner:
    """Adds examples to nodes; ``answer`` starts a new captured answer, so that a long stream counts once."""

    def __init__(self) -> None:
        self._counted: set[int] = set()

    def answer(self) -> None:
        self._counted.clear()

    def observe(self, node: Node, value: Any, version: str, parent: str = "") -> None:
        """Add one example to what is known of a place."""
        _count(node.setdefault("seen", {}), version)
        if parent in OPAQUE:
            node["any"] = True
            return
        kind = type_of(value)
        node["types"] = sorted({*node.get("types", []), kind})
        if kind == "array":
            for element in cast("list[Any]", value):
                self.observe(node.setdefault("items", Node()), element, version, parent)
        elif kind == "object":
            self._observe_object(node, cast("dict[str, Any]", value), version, parent)

    def _observe_object(self, node: Node, value: dict[str, Any], version: str, parent: str) -> None:
        if parent in MAPS and not {"token", "logprob"} & set(value):
            each = node.setdefault("each", Node())
            for member in value.values():
                self.observe(each, member, version)
            return
        if parent in VARIANT_PARENTS and isinstance(value.get("type"), str):
            node = node.setdefault("variants", {}).setdefault(value["type"], Node())
        _count(node.setdefault("objects", {}), version)
        if id(node) not in self._counted:
            self._counted.add(id(node))
            _count(node.setdefault("answers", {}), version)
        for key, member in value.items():
            self.observe(node.setdefault("keys", {}).setdefault(key, Node()), member, version, key)


def _count(counts: dict[str, int], version: str) -> None:
    counts[version] = counts.get(version, 0) + 1


def _version(folder: Folder) -> str:
    return ".".join(map(str, release(folder.server.version)))


def packed(learned: Learned) -> bytes:
    """The file's content."""
    text = json.dumps(learned, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> int:
    library = Path(arguments[0]) if arguments else ROOT / "tests/golden/golden.tar.xz"
    target = Path(arguments[1]) if len(arguments) > 1 else ROOT / "tests/golden/shapes.json.xz"
    with Library([library]) as opened:
        learned = derive(opened.folders)
    target.write_bytes(packed(learned))
    count = sum(len(vendor["shapes"]) for vendor in learned.values())
    print(f"{count} kinds of message, {target.stat().st_size:,} bytes in {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
