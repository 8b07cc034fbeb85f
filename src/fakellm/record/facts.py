"""What a recording was made of, and what of it the answers depend on: ``server.json``.

The vendor, version, launch options and model are told by whoever records; what only the answers show (weight version,
which timings the server measures) is read off them. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from .. import __version__
from ..layouts.registry import find

HOW = f"recorded by fakellm {__version__} from a running server; the truth is what its answers show"


PINNED_TRANSFORMERS = 4
"""What the SGLang versions whose answers show it (up to 0.5.9) ask for; no answer tells what is really installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Who was recorded. ``layout``: vendor-version as the server told it. ``tokenizer``: a folder, None = the built-in
    one."""

    layout: str
    launch: tuple[str, ...] = ()
    model: str | None = None
    max_model_len: int | None = None
    model_path: str | None = None
    tokenizer: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "launch": list(self.launch)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Source:
        """Read what ``to_json`` made; unknown members are left out."""
        known: dict[str, Any] = {name: row[name] for name in cls.__dataclass_fields__ if name in row}
        known["launch"] = tuple(known.get("launch", ()))
        return cls(**known)


def server_json(source: Source, lines: Iterable[Mapping[str, Any]], tokenizer: str | None) -> dict[str, Any]:
    """The facts of a golden folder. ``tokenizer``: the name of its folder beside it, None = the built-in one."""
    vendor = find(source.layout).layout.vendor
    version = source.layout.removeprefix(vendor).removeprefix("-")
    engine: dict[str, Any] = {"weight_version": _weight_version(lines)}
    timings = _timings(lines)
    if timings:
        engine["timings"] = timings
    if vendor == "sglang":
        engine["transformers"] = PINNED_TRANSFORMERS
    return {
        "server": vendor,
        "version": version,
        "variant": None,
        "how": HOW,
        "launch": list(source.launch),
        "env": {},
        "model": source.model,
        "max_model_len": source.max_model_len,
        "tokenizer": tokenizer,
        "gateway": False,
        "tolerance": 0.0,
        "model_path": source.model_path,
        "engine": engine,
    }


def served_model(source: Source, lines: Iterable[Mapping[str, Any]]) -> str | None:
    """The served name; None when the server answered requests for other models too, as a fake without a name does."""
    for line in lines:
        if line["response"]["status"] == 200 and line["kind"] is not None:
            asked = [document.get("model") for document in _documents(line["request"].get("raw") or "")]
            if any(name is not None and name != source.model for name in asked):
                return None
    return source.model


def _weight_version(lines: Iterable[Mapping[str, Any]]) -> str | None:
    """The version that most answers told, None when none did."""
    told: Counter[str] = Counter()
    for line in lines:
        body = str(line["response"]["body"])
        if '"weight_version' in body:
            told.update(version for document in _documents(body) for version in _versions(document))
    return told.most_common(1)[0][0] if told else None


def _versions(value: Any) -> Iterable[str]:
    """Weight versions anywhere in a document: ``weight_version``, or ``version`` in a list of ``weight_versions``."""
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _versions(one)
    elif isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if isinstance(members.get("weight_version"), str):
            yield members["weight_version"]
        spans: Any = members.get("weight_versions")
        if isinstance(spans, list):
            rows = [cast("dict[str, Any]", span) for span in cast("list[Any]", spans) if isinstance(span, dict)]
            yield from (row["version"] for row in rows if isinstance(row.get("version"), str))
        for one in members.values():
            yield from _versions(one)


def _timings(lines: Iterable[Mapping[str, Any]]) -> Sequence[str]:
    """The members of vLLM's metrics object that had a value in some answer."""
    names: dict[str, None] = {}
    for line in lines:
        body = str(line["response"]["body"])
        if '"metrics":{' in body:
            for document in _documents(body):
                metrics: Any = document.get("metrics")
                if isinstance(metrics, dict):
                    members = cast("dict[str, Any]", metrics)
                    names.update((name, None) for name, value in members.items() if value is not None)
    return list(names)


def _documents(body: str) -> Iterable[Mapping[str, Any]]:
    for text in [body, *(line[6:] for line in body.splitlines() if line.startswith("data: {"))]:
        try:
            found: Any = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield cast("dict[str, Any]", found)
