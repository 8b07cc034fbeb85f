"""What ``say: {from: FILE}`` reads: the truth of a recorded exchange or of the golden library.

Four shapes are understood: one truth; a ``truths.json`` (id -> truth); an exchange, whose ``truth`` names entries of
the ``truths.json`` beside it or one folder up, or holds them; and a ``.jsonl`` recording with one exchange a line. No
path may leave the scenario's folder, not through ``..`` and not through a link. This module gives data, and knows no
matching.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import CaptureError, ScenarioError, did_you_mean
from ..generation import Choice, Generation


def read_recorded(
    folder: Path | None, name: str, truth: str | None = None, exchange: str | None = None
) -> tuple[Generation, ...]:
    """One Generation per prompt of the recorded request; raises ScenarioError (without ``where``)."""
    if folder is None:
        raise ScenarioError("`from` needs a scenario that stands in a file", hint="write the reply out, or load a file")
    path = inside(folder, name)
    data = _read(path, name, exchange)
    if isinstance(data, Mapping):
        row = cast(Mapping[str, Any], data)
        if "choices" in row and "prompt_token_ids" in row:
            return (_generation(row, name),)
        if "truth" in row:
            return _of_exchange(row, path, folder, name)
        if row and all(isinstance(entry, Mapping) and "choices" in entry for entry in row.values()):
            return (_generation(_pick(row, truth, name), name),)
    raise ScenarioError(
        f"{name} holds neither a truth nor an exchange with a truth", hint="`fakellm record --pack` writes such files"
    )


def inside(folder: Path, name: str) -> Path:
    """The file of that name in the folder; raises ScenarioError for one outside of it."""
    try:
        root = folder.resolve()
        path = (root / name).resolve()
    except (OSError, ValueError, RuntimeError) as wrong:
        raise ScenarioError(f"{name!r} is not a path: {wrong}") from None
    if not path.is_relative_to(root):
        raise ScenarioError(f"{name} lies outside of the scenario's folder", hint="copy the file into the folder")
    return path


def _read(path: Path, name: str, exchange: str | None) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as wrong:
        raise ScenarioError(f"{name} cannot be read: {wrong.strerror or wrong}") from None
    except UnicodeDecodeError as wrong:
        raise ScenarioError(f"{name} is not UTF-8 (byte {wrong.start})") from None
    try:
        if path.suffix != ".jsonl":
            return json.loads(text)
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as wrong:
        raise ScenarioError(f"{name} is not JSON: {wrong}") from None
    objects = [cast(dict[str, Any], row) for row in rows if isinstance(row, dict)]
    named = {str(row.get("name", number)): row for number, row in enumerate(objects, start=1)}
    return _pick(named, exchange, name, "exchange")


def _pick(rows: Mapping[str, Any], wanted: str | None, name: str, key: str = "truth") -> Mapping[str, Any]:
    if wanted is None:
        if len(rows) == 1:
            return next(iter(rows.values()))
        raise ScenarioError(f"{name} holds {len(rows)} entries", hint=f"say which one by `{key}: NAME`")
    if wanted not in rows:
        raise ScenarioError(f"{name} has no {key} {wanted!r}", hint=did_you_mean(wanted, rows))
    return rows[wanted]


def _of_exchange(row: Mapping[str, Any], path: Path, folder: Path, name: str) -> tuple[Generation, ...]:
    links = row["truth"]
    if not links:
        note = f": {row['note']}" if row.get("note") else ""
        raise ScenarioError(f"{name} has no truth{note}", hint="record it with the flags that ask for ids and logprobs")
    truths: list[Mapping[str, Any]] = []
    for link in cast(Sequence[Any], links) if isinstance(links, list) else [links]:
        truths.append(_linked(link, path, folder, name) if isinstance(link, str) else link)
    generations = tuple(_generation(truth, name) for truth in truths)
    return _rechunked(generations, row.get("chunks"), name)


def _linked(link: str, path: Path, folder: Path, name: str) -> Mapping[str, Any]:
    for parent in (path.parent, path.parent.parent):
        library = parent / "truths.json"
        if library.is_file() and library.resolve().is_relative_to(folder.resolve()):
            found = _read(library, "truths.json", None)
            if isinstance(found, Mapping):
                return _pick(cast(Mapping[str, Any], found), link, "truths.json")
    raise ScenarioError(
        f"the truths.json that {name} points to is not in the scenario's folder", hint="copy it beside the exchange"
    )


def _generation(truth: Any, name: str) -> Generation:
    if not isinstance(truth, Mapping):
        raise ScenarioError(f"{name} holds a truth that is not an object")
    try:
        return Generation.from_truth(cast(Mapping[str, Any], truth))
    except CaptureError as wrong:
        raise ScenarioError(f"{name}: {wrong.message}") from None


def _rechunked(generations: tuple[Generation, ...], chunks: Any, name: str) -> tuple[Generation, ...]:
    """The steps in which this very exchange was delivered, where it tells them for every choice."""
    if not isinstance(chunks, list):
        return generations
    rows = cast(list[list[int]], chunks)
    if len(rows) != sum(len(generation.choices) for generation in generations):
        return generations
    try:
        remaining = iter(rows)
        return tuple(
            replace(generation, choices=tuple(_with_steps(choice, next(remaining)) for choice in generation.choices))
            for generation in generations
        )
    except (TypeError, ValueError) as wrong:
        raise ScenarioError(f"{name} has chunks that do not fit its truth: {wrong}") from None


def _with_steps(choice: Choice, steps: Sequence[int]) -> Choice:
    """Tokens that were never delivered follow one a step."""
    rest = len(choice.tokens) - sum(steps)
    return replace(choice, steps=(*steps, *(1,) * rest))
