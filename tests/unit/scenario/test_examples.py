"""The scenarios that ship load, can be said by the built-in tokenizer, and answer something."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from fakellm.faults.registry import parse
from fakellm.resources import resource
from fakellm.scenario.load import load_file
from fakellm.scenario.schema import json_schema
from fakellm.scenario.validate import validate
from support.asking import TOKENIZER

FOLDER = resource("scenarios")
FILES = sorted(FOLDER.rglob("*.yaml"))


def test_there_are_examples() -> None:
    assert {"hello", "pieces", "structure", "turns", "choices", "slow", "rules"} <= {file.stem for file in FILES}


def test_none_has_a_problem_or_a_note() -> None:
    report = validate([FOLDER], read_fault=parse, tokenizer=TOKENIZER)

    assert [] == [str(each) for each in (*report.problems, *report.notes)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_says_what_it_is_for(file: Path) -> None:
    scenario = load_file(file)

    assert scenario.title
    assert scenario.why


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_is_valid_by_the_schema(file: Path) -> None:
    jsonschema.validate(yaml.safe_load(file.read_text()), json_schema())
