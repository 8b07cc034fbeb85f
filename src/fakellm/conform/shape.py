"""Is this a message that such a server sends? Key sets and types taken from real captures, never from a renderer.

``tools/derive_shapes.py`` learned from the golden library, per vendor, api and kind of message, which members objects
were seen to have and which types stood where, and in which versions. ``violations`` checks one message against that;
the conformance runner and the tests hold every message of the fake against it. A fault that lies on purpose must say
so. This module knows no layout's code and renders nothing.

>>> violations("vllm-0.32.0", "chat", {"object": "chat.completion"}, stream=False)[0]
'id: missing'
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypedDict, cast

from ..layouts.registry import release
from ..resources import resource

ENOUGH = 8
"""So many captured answers that show an object make "always there" a rule and "never there" a fact for a version. Found
by leaving captures out: with fewer, messages that real servers sent were called wrong (tests/golden/test_shapes.py)."""

VARIANT_PARENTS = frozenset({"output", "content", "item", "part", "content_block", "delta", "summary"})
"""Below these members an object's ``type`` says which members it has."""


class Node(TypedDict, total=False):
    """What was seen at one place. ``seen`` / ``objects``: how often (as an object), per version's index; ``answers``:
    in how many captured answers an object stood there."""

    seen: dict[str, int]
    types: list[str]
    objects: dict[str, int]
    answers: dict[str, int]
    keys: dict[str, Node]
    items: Node
    variants: dict[str, Node]
    each: Node
    """Every member of a map whose keys are token texts or ids."""
    any: bool
    """What stands here is not the server's own: requests echoed, opaque values."""


def kind_of(api: str, value: Any, *, stream: bool, event: str | None = None) -> str:
    """Which kind of message a JSON value is, so that like is held against like.

    A whole answer is ``body``, ``error`` or ``detail`` (the web framework's own refusals); an event is what its
    ``type`` or its name says, else (chat and its like) one of ``usage``, ``finish``, ``role`` and ``delta``.
    """
    if not isinstance(value, dict):
        return "other"
    message = cast("dict[str, Any]", value)
    if "detail" in message:
        return "detail"
    if message.get("error") is not None or message.get("object") == "error":
        return "error"
    if not stream:
        return "body"
    if event is not None and api not in ("responses", "messages"):
        return f"event {event}"
    if api in ("responses", "messages"):
        return str(message.get("type"))
    if api == "generate":
        meta = message.get("meta_info")
        return "finish" if isinstance(meta, dict) and cast("dict[str, Any]", meta).get("finish_reason") else "delta"
    return _chunk_kind(message.get("choices"))


def _chunk_kind(choices: Any) -> str:
    if not isinstance(choices, list) or not choices:
        return "usage"
    first = cast("list[Any]", choices)[0]
    if not isinstance(first, dict):
        return "delta"
    choice = cast("dict[str, Any]", first)
    if choice.get("finish_reason") is not None:
        return "finish"
    delta = choice.get("delta")
    return "role" if isinstance(delta, dict) and cast("dict[str, Any]", delta).get("role") else "delta"


def type_of(value: Any) -> str:
    """The JSON type of a value; whole numbers are told from others."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


class Shapes:
    """Everything that was learned: per vendor its versions, and per api, mode and kind one node."""

    def __init__(self, learned: Mapping[str, Any]) -> None:
        self._learned = learned
        nodes = (node for vendor in learned.values() for node in vendor["shapes"].values())
        self._variants = frozenset(name for node in nodes for name in _variants(node))

    def violations(
        self, layout: str, api: str, value: Any, *, stream: bool, event: str | None = None, kind: str | None = None
    ) -> list[str]:
        """What no such server was seen to send: one line per place. [] also where nothing is known (see ``knows``)."""
        vendor, _, version = layout.partition("-")
        node = self._node(vendor, api, stream, kind or kind_of(api, value, stream=stream, event=event))
        if node is None:
            return []
        return list(_differences(node, value, "", self._version(vendor, version), self._variants))

    def knows(self, layout: str, api: str, *, stream: bool, kind: str) -> bool:
        """Was such a message captured from that vendor?"""
        return self._node(layout.partition("-")[0], api, stream, kind) is not None

    def _node(self, vendor: str, api: str, stream: bool, kind: str) -> Node | None:
        shapes: Mapping[str, Node] = self._learned.get(vendor, {}).get("shapes", {})
        return shapes.get(shape_name(api, stream, kind))

    def _version(self, vendor: str, version: str) -> int:
        """The index of the captured version that stands for this one: itself or the nearest lower one."""
        versions = [release(known) for known in self._learned[vendor]["versions"]]
        if not version:
            return len(versions) - 1
        lower = [at for at, known in enumerate(versions) if known <= release(version)]
        return lower[-1] if lower else 0


def shape_name(api: str, stream: bool, kind: str) -> str:
    """The name of a shape; whole refusals are alike on all apis but ``messages``."""
    if kind in ("error", "detail") and not stream and api != "messages":
        return kind
    return f"{api}/{'stream' if stream else 'whole'}/{kind}"


@cache
def shapes() -> Shapes:
    """The shapes that ship with fakellm."""
    return Shapes(json.loads(lzma.decompress(resource("shapes").read_bytes())))


def violations(
    layout: str, api: str, value: Any, *, stream: bool, event: str | None = None, kind: str | None = None
) -> list[str]:
    """:meth:`Shapes.violations` of the shapes that ship with fakellm."""
    return shapes().violations(layout, api, value, stream=stream, event=event, kind=kind)


def _variants(node: Node) -> Iterator[str]:
    """Every ``type`` that was seen below a node, at any vendor's."""
    yield from node.get("variants", {})
    inner = [*node.get("variants", {}).values(), *node.get("keys", {}).values(), node.get("items"), node.get("each")]
    for child in inner:
        if child is not None:
            yield from _variants(child)


def _differences(node: Node, value: Any, path: str, version: int, others: frozenset[str]) -> Iterator[str]:
    if node.get("any"):
        return
    kind = type_of(value)
    known = node.get("types", [])
    if kind not in known and not (kind == "integer" and "number" in known):
        yield f"{path or 'message'}: is {kind}, seen only as {' or '.join(known)}"
        return
    if kind == "array":
        item = node.get("items")
        if item is not None:
            for at, element in enumerate(cast("list[Any]", value)):
                yield from _differences(item, element, f"{path}[{at}]", version, others)
    elif kind == "object":
        yield from _object_differences(node, cast("dict[str, Any]", value), path, version, others)


def _object_differences(
    node: Node, value: dict[str, Any], path: str, version: int, others: frozenset[str]
) -> Iterator[str]:
    """``others``: values of ``type`` that some vendor was seen to send; what this one makes of them is not known."""
    each = node.get("each")
    if each is not None:
        for key, member in value.items():
            yield from _differences(each, member, f"{path}[{key!r}]", version, others)
        return
    variants = node.get("variants")
    if variants is not None:
        kind = str(value.get("type"))
        if kind not in variants:
            if kind not in others:
                yield f"{path}.type: {kind!r} was never seen, only {', '.join(sorted(variants))}"
            return
        node = variants[kind]
    for key, member in value.items():
        place = f"{path}.{key}" if path else key
        child = node.get("keys", {}).get(key)
        if child is None:
            yield f"{place}: never seen here"
        elif not _belongs(child, node, version):
            yield f"{place}: not seen in this version"
        else:
            yield from _differences(child, member, place, version, others)
    for key, child in node.get("keys", {}).items():
        if key not in value and _always(child, node, version):
            yield f"{path}.{key}: missing" if path else f"{key}: missing"


def _belongs(child: Node, holder: Node, version: int) -> bool:
    """May this version have the member? Where it was captured often enough without it, only versions on both sides of
    it that have it would say so."""
    if holder.get("answers", {}).get(str(version), 0) < ENOUGH or str(version) in child.get("seen", {}):
        return True
    having = [int(seen) for seen in child.get("seen", {})]
    return min(having) < version < max(having)


def _always(child: Node, holder: Node, version: int) -> bool:
    if holder.get("answers", {}).get(str(version), 0) < ENOUGH:
        return False
    return child.get("seen", {}).get(str(version), 0) == holder.get("objects", {}).get(str(version), 0)
