"""The built-in ranks are what the training script makes of the texts beside it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from fakellm.tokenizer import load

SCRIPT = Path(__file__).parents[2] / "tools" / "train_tokenizer.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_tokenizer", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_training_again_gives_the_shipped_pieces(script: ModuleType) -> None:
    shipped = [load().piece(index) for index in range(4096 - 7)]

    assert shipped == script.train()


def test_the_most_frequent_pair_is_joined_first_and_ties_go_to_the_smaller_bytes(script: ModuleType) -> None:
    trainer = script.Trainer({b"abab": 2, b"cd": 4, b"xy": 5})

    assert [b"xy", b"ab", b"cd", b"abab"] == [trainer.join_best() for _ in range(4)]


def test_a_corpus_that_is_used_up_is_told(script: ModuleType) -> None:
    trainer = script.Trainer({b"ab": 1})
    trainer.join_best()

    with pytest.raises(SystemExit, match="too small"):
        trainer.join_best()
