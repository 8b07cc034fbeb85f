"""Everything that can be told about scenario files before they are played.

``validate`` reads files and folders and collects problems (a file that cannot be used) and notes (one that can, but
does not do what it seems to): replies that can never answer, words that nothing serves, and, when a tokenizer is given,
replies that it cannot say. It prints nothing; the command line does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ask import Ask, Prompt, Request
from ..errors import FakellmError, ScenarioError, did_you_mean
from ..tokenizer import Tokenizer
from .build import FaultReader
from .compose import compose
from .load import examine, files_of, twice
from .match import Matched
from .model import Reply, Scenario, ServerSettings
from .problems import Problem
from .rules import OneOf, When

ServerCheck = Callable[[ServerSettings], None]
"""Raises a FakellmError for a ``server:`` section that no layout can be started with."""
APIS = ("chat", "completions", "responses", "generate", "tito", "messages", "batch", "ollama")
"""The apis that most layouts serve; others are possible, so an unknown one is only a note."""


@dataclass(frozen=True, slots=True)
class Report:
    """What ``validate`` found. A file with a problem has no scenario."""

    scenarios: tuple[Scenario, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Every file can be used, and there was one."""
        return bool(self.scenarios) and not self.problems

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "scenarios": [
                {
                    "name": scenario.name,
                    "file": scenario.file,
                    "title": scenario.title,
                    "replies": len(scenario.replies),
                }
                for scenario in self.scenarios
            ],
            "problems": [problem.to_json() for problem in self.problems],
            "notes": [note.to_json() for note in self.notes],
        }


def validate(
    paths: Iterable[str | Path],
    *,
    read_fault: FaultReader | None = None,
    check_server: ServerCheck | None = None,
    tokenizer: Tokenizer | None = None,
) -> Report:
    """Examine files and folders; never raises for what stands in them."""
    scenarios: dict[str, Scenario] = {}
    problems: list[Problem] = []
    notes: list[Problem] = []
    for file in _files(paths, problems):
        examined = examine(file, read_fault=read_fault)
        problems += examined.problems
        scenario = examined.scenario
        if scenario is None:
            continue
        if scenario.name in scenarios:
            wrong = twice(scenario.name, str(scenarios[scenario.name].file), str(file))
            problems.append(Problem.from_error(wrong, str(file)))
            continue
        found = [*_server_problems(scenario, check_server), *_unsayable(scenario, tokenizer)]
        problems += found
        if not found:
            scenarios[scenario.name] = scenario
        notes += notes_of(scenario)
    return Report(tuple(scenarios.values()), tuple(problems), tuple(notes))


def _files(paths: Iterable[str | Path], problems: list[Problem]) -> list[Path]:
    files: dict[Path, None] = {}
    for path in paths:
        try:
            files.update(dict.fromkeys(files_of(path)))
        except ScenarioError as wrong:
            problems.append(Problem.from_error(wrong, str(path)))
    return list(files)


def _server_problems(scenario: Scenario, check: ServerCheck | None) -> list[Problem]:
    if check is None:
        return []
    try:
        check(scenario.server)
    except FakellmError as wrong:
        return [Problem(wrong.message, f"{scenario.file or scenario.name}, field server", wrong.hint)]
    return []


def _unsayable(scenario: Scenario, tokenizer: Tokenizer | None) -> list[Problem]:
    """Replies that cannot be composed with this tokenizer: pieces that are no token, scores or steps that do not
    fit."""
    if tokenizer is None:
        return []
    ask = Ask(api="chat", request=Request("POST", "/"), body={}, prompts=(Prompt(()),))
    found: list[Problem] = []
    for index, head in enumerate(scenario.replies):
        for turn, reply in enumerate((head, *head.then)):
            try:
                compose(Matched(scenario.name, reply, index, turn, 0, stateless=True), ask, tokenizer)
            except ScenarioError as wrong:
                found.append(Problem.from_error(wrong, reply.where))
    return found


def notes_of(scenario: Scenario) -> list[Problem]:
    """What looks wrong in a scenario that can be used."""
    notes: list[Problem] = []
    earlier: dict[When, int] = {}
    for index, reply in enumerate(scenario.replies):
        hidden_by = next((earlier[when] for when in (When(), reply.when) if when in earlier), None)
        if hidden_by is not None:
            notes.append(
                _note(f"replies[{index}] never answers: replies[{hidden_by}] comes first", reply, "change the order")
            )
        if reply.limit is None:
            _remember(earlier, reply, index)
        notes += _unknown_apis(reply)
    return notes


def _remember(earlier: dict[When, int], reply: Reply, index: int) -> None:
    try:
        earlier.setdefault(reply.when, index)
    except TypeError:  # an object to compare with, which cannot be looked up
        return


def _unknown_apis(reply: Reply) -> list[Problem]:
    return [
        _note(f"no layout of fakellm's own serves an api {word!r}", reply, did_you_mean(word, APIS))
        for condition in reply.when.conditions
        if condition.field == "api" and isinstance(condition.rule, OneOf)
        for word in condition.rule.words
        if word not in APIS
    ]


def _note(message: str, reply: Reply, hint: str | None) -> Problem:
    return Problem(message, reply.where, hint, level="note")
