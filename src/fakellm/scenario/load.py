"""Reading scenario files: one file, or every file of a folder.

``load_file`` and ``load_set`` raise :class:`ScenarioError` at the first problem; ``examine`` gives them all (for
``validate``). The rules of naming stand here: a scenario's name is its file's stem, kebab-case, unique in the set. In a
folder every ``.yaml`` and ``.yml`` counts, and a ``.json`` only when it has ``replies`` (others are recordings). This
is the one module of the scenario package that opens files, besides ``recorded.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import ScenarioError
from . import schema
from .build import Builder, FaultReader, build_server
from .model import Reply, Scenario, ServerSettings
from .problems import Problem, problems_of
from .recorded import read_recorded
from .source import Source, read_text

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 64 * 1024 * 1024
"""A scenario file larger than this is a mistake."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of one file: the scenario, or None, and every problem found."""

    scenario: Scenario | None
    problems: tuple[Problem, ...] = ()

    def result(self) -> Scenario:
        """The scenario; raises the first problem as ScenarioError."""
        if self.scenario is None:
            raise self.problems[0].error(more=len(self.problems) - 1)
        return self.scenario


def load_file(path: str | Path, *, read_fault: FaultReader | None = None) -> Scenario:
    """The scenario of one file; raises ScenarioError.

    ``read_fault``: reads one entry of ``faults:`` given with its ``where`` (``faults.registry.parse``); without it
    faults are only names.
    """
    return examine(path, read_fault=read_fault).result()


def load_set(path: str | Path, *, read_fault: FaultReader | None = None) -> dict[str, Scenario]:
    """Scenarios by name: of one file, or of all files under a folder; raises ScenarioError."""
    scenarios: dict[str, Scenario] = {}
    for file in files_of(path):
        scenario = load_file(file, read_fault=read_fault)
        if scenario.name in scenarios:
            raise twice(scenario.name, str(scenarios[scenario.name].file), str(file))
        scenarios[scenario.name] = scenario
    return scenarios


def default_of(path: str | Path, scenarios: Mapping[str, Scenario]) -> Scenario | None:
    """The scenario that answers without an address: the one file, or ``default`` of a folder; None = plain auto."""
    if Path(path).is_dir():
        return scenarios.get("default")
    return next(iter(scenarios.values()), None)


def twice(name: str, first: str, second: str) -> ScenarioError:
    """Two files of one name."""
    return ScenarioError(
        f"the name {name!r} is taken by {first}", where=second, hint="rename one: the stem of the file is the name"
    )


def files_of(path: str | Path) -> list[Path]:
    """The scenario files under a path, sorted; raises ScenarioError when there is none."""
    root = Path(path)
    try:
        if not root.is_dir():
            return [root]
        found = sorted(file for file in root.rglob("*") if file.suffix in SUFFIXES and _counts(file, root))
    except OSError as wrong:
        raise ScenarioError(f"the folder cannot be read: {wrong.strerror}", where=str(path)) from None
    if not found:
        raise ScenarioError("the folder holds no scenario", where=str(path), hint="a scenario is a .yaml file")
    return found


def _counts(file: Path, root: Path) -> bool:
    if any(part.startswith(".") for part in file.relative_to(root).parts) or not file.is_file():
        return False
    return file.suffix != ".json" or b'"replies"' in file.read_bytes()


def examine(path: str | Path, *, read_fault: FaultReader | None = None) -> Examined:
    """Read one file and find everything that is wrong with it; never raises for a bad file."""
    file = Path(path)
    try:
        source = read_text(_text(file), str(path))
        name = check_name(file.stem, str(path))
    except ScenarioError as wrong:
        return Examined(None, (Problem.from_error(wrong, str(path)),))
    return _build(source, name, read_fault, file)


def from_data(
    data: Any, name: str, *, read_fault: FaultReader | None = None, folder: str | Path | None = None
) -> Scenario:
    """A scenario made in Python, in the shape of a file; raises ScenarioError. ``folder``: where ``from:`` may read."""
    source = Source(data, f"scenario {name}")
    check_name(name, source.file)
    return _build(source, name, read_fault, None, folder).result()


def reply_from_data(data: Any, *, read_fault: FaultReader | None = None) -> Reply:
    """One reply made in Python, in the shape of an entry of ``replies:``."""
    return from_data({"replies": [data]}, "script", read_fault=read_fault).replies[0]


def from_text(text: str, name: str, *, read_fault: FaultReader | None = None) -> Scenario:
    """A scenario from YAML text (the admin API); it can read no file."""
    source = read_text(text, f"{name}.yaml")
    return _build(source, check_name(name, source.file), read_fault, None).result()


def check_name(name: str, where: str) -> str:
    """The name, when it is kebab-case."""
    if not _NAME.match(name):
        hint = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "my-scenario"
        raise ScenarioError(
            f"a scenario's name is kebab-case (a-z, 0-9, single dashes), not {name!r}",
            where=where,
            hint=f"the file's stem is the name; {hint!r} would do",
        )
    return name


def _text(file: Path) -> str:
    where = str(file)
    if file.suffix not in SUFFIXES:
        raise ScenarioError("a scenario is a .yaml, .yml or .json file", where=where)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ScenarioError(f"the file is larger than {MAX_BYTES // 2**20} MB", where=where)
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError("there is no such file", where=where) from None
    except OSError as wrong:
        raise ScenarioError(f"the file cannot be read: {wrong.strerror or wrong}", where=where) from None
    except UnicodeDecodeError as wrong:
        raise ScenarioError(
            f"the file is not UTF-8 (byte {wrong.start})", where=where, hint="save it as UTF-8"
        ) from None
    except ValueError as wrong:
        raise ScenarioError(f"this is not a path: {wrong}", where=repr(where)) from None


def _build(
    source: Source,
    name: str,
    read_fault: FaultReader | None,
    file: Path | None,
    folder: str | Path | None = None,
) -> Examined:
    try:
        form = schema.ScenarioForm.model_validate(source.data)
    except ValidationError as wrong:
        return Examined(None, tuple(problems_of(wrong, source)))
    except RecursionError:
        return Examined(None, (Problem("the data is nested too deeply", source.file),))
    home = file.parent if file is not None else None if folder is None else Path(folder)
    builder = Builder(name, source, partial(read_recorded, home), read_fault)
    problems: list[Problem] = []
    replies: list[Reply] = []
    for index, entry in enumerate(form.replies):
        try:
            replies.append(builder.reply(entry, index))
        except ScenarioError as wrong:
            problems.append(Problem.from_error(wrong, source.file))
    server = ServerSettings()
    try:
        server = build_server(form.server, source, home)
    except ScenarioError as wrong:
        problems.append(Problem.from_error(wrong, source.file))
    if problems:
        return Examined(None, tuple(problems))
    scenario = Scenario(
        name=name,
        replies=tuple(replies),
        title=form.title,
        why=form.why,
        server=server,
        file=None if file is None else str(file),
        folder=home,
    )
    return Examined(scenario)
