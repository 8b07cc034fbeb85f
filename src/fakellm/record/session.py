"""One recording from start to end: find out what the upstream is, stand before it, and pack what was written.

What was found out is kept beside the file (``exchanges.source.json``), so that a recording whose recorder was killed
can be packed later.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CaptureError, TokenizerError, UsageError
from ..house import Choices, House
from ..layouts.registry import find
from ..scenario.plain import plain_auto
from ..stage import Stage
from .desk import RecordingDesk
from .facts import Source
from .file import Appender
from .pack import Outcome, pack
from .proxy import recording
from .surplus import Surplus
from .taken import Taken
from .truth import Expert, Read
from .upstream import Upstream, ask_upstream

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be recorded, and where to. ``launch``: the upstream's own launch options."""

    upstream: str
    file: Path
    ask_ids: bool = False
    layout: str | None = None
    tokenizer: str | None = None
    launch: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


async def run(
    plan: Plan, ready: Callable[[str], None], until: Callable[[], Awaitable[None]], say: Say
) -> Source | None:
    """Record until ``until`` ends; gives what was recorded, None when the upstream is of no known layout."""
    upstream = await ask_upstream(plan.upstream, plan.headers)
    source = _source(plan, upstream)
    stage = None if source is None else _stage(source, None if upstream.fake else source.model, say)
    knows = stage is not None and (plan.tokenizer is not None or upstream.fake)
    if stage is None:
        say("note: the upstream does not say what it is: bytes are recorded, no truth (give --layout)")
    elif not knows:
        say("note: without --tokenizer no truth is read, only bytes are recorded")
    if plan.ask_ids and stage is None:
        raise UsageError("--ask-ids needs to know the upstream's layout", hint="give --layout, for example vllm-0.32.0")
    expert = _expert(stage) if stage is not None and knows else None
    surplus = Surplus(stage) if plan.ask_ids and stage is not None else None
    with Appender(plan.file) as appender:
        if source is not None:
            _beside(plan.file).write_text(json.dumps(source.to_json(), indent=1), encoding="utf-8")
        desk = RecordingDesk(appender, expert, surplus=surplus, told=lambda taken, read: say(_told(taken, read)))
        async with recording(plan.upstream, desk, plan.host, plan.port) as url:
            ready(url)
            await until()
    if desk.lost:
        words = f"{desk.lost} exchanges could not be written down, and their clients were cut off: {desk.lost_why}"
        raise CaptureError(words, where=str(plan.file))
    return source


def facts_beside(file: Path, layout: str | None, tokenizer: str | None, launch: tuple[str, ...]) -> Source:
    """What was found out when this file was recorded, with the words of the command line before it."""
    place = _beside(file)
    try:
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = {}
    except (OSError, ValueError) as problem:
        raise CaptureError(f"it cannot be read: {problem}", where=str(place)) from None
    found |= {name: value for name, value in (("layout", layout), ("tokenizer", tokenizer)) if value is not None}
    if launch:
        found["launch"] = launch
    if "layout" not in found:
        hint = "give --layout, for example vllm-0.32.0"
        raise UsageError("what was recorded is not known", where=str(file), hint=hint)
    return Source.from_json(found)


def packed(file: Path, folder: Path, source: Source, others: str) -> Outcome:
    """Make the golden folder and the scenario of a recording."""
    return pack(file, folder, source, others)


def _beside(file: Path) -> Path:
    return file.with_suffix(".source.json")


def _source(plan: Plan, upstream: Upstream) -> Source | None:
    layout = plan.layout or upstream.layout
    if layout is None:
        return None
    found = find(layout)
    named = layout if found.asked_version is None else f"{found.layout.vendor}-{found.asked_version}"
    return Source(
        layout=named,
        launch=plan.launch,
        model=upstream.model,
        max_model_len=upstream.max_model_len,
        model_path=upstream.model_path,
        tokenizer=plan.tokenizer,
    )


def _stage(source: Source, model: str | None, say: Say) -> Stage:
    """A fake of the upstream: its station reads requests, its answers show what flags change."""
    choices = Choices(layout=source.layout, model=model, options=source.launch, tokenizer=source.tokenizer)
    house = House({}, plain_auto(), choices)
    for note in house.notes:
        say(f"note: {note}")
    return house.fake.default


def _expert(stage: Stage) -> Expert:
    if stage.tokenizer is None:
        raise TokenizerError("the upstream's tokenizer is not known")
    return Expert(stage.layout, stage.station, stage.tokenizer)


def _told(taken: Taken, read: Read) -> str:
    words = [f"#{taken.number} {taken.method} {taken.path} -> {taken.status}", f"{len(taken.response_body)} bytes"]
    if read.truths is not None:
        tokens = sum(len(choice["tokens"]) for truth in read.truths for choice in truth["choices"])
        words.append(f"{tokens} tokens")
    return "; ".join([*words, *([read.note] if read.note else [])])
