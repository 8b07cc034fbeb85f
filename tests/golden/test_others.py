"""Servers outside of the library, run on a CPU: a recorder reads their bytes, the layout answers them again exactly.

``others/NAME.json`` holds what a real server answered (README.md there says how it was run); its truth is read off the
answers, as ``fakellm record`` would.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakellm.fidelity.library import Library
from fakellm.fidelity.run import run
from fakellm.house import Choices, House
from fakellm.record.facts import Source
from fakellm.record.line import line_of, spelled
from fakellm.record.pack import pack
from fakellm.record.taken import COMPLETE, Taken
from fakellm.record.truth import Expert
from fakellm.scenario.plain import plain_auto

HERE = Path(__file__).resolve().parent
CAPTURES = sorted((HERE / "others").glob("*.json"))
JSON = (("content-type", "application/json"),)


def taken(number: int, row: Any) -> Taken:
    """An exchange of a capture as a recorder would have taken it."""
    body, response = row["request"]["body"], row["response"]
    data = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    return Taken(
        number=number,
        at=1_795_960_000.0,
        method=row["request"]["method"],
        target=row["request"]["path"],
        request_headers=JSON,
        request_body=data.encode(),
        status=response["status"],
        response_headers=tuple(response["headers"].items()),
        chunks=((0.0, response["body"].encode()),),
        ending=COMPLETE,
    )


@pytest.fixture(scope="module")
def tokenizers() -> Any:
    """Name -> folder, out of the packed library."""
    with Library([HERE / "golden.tar.xz"]) as library:
        yield {folder.server.tokenizer: folder.tokenizer for folder in library.folders if folder.tokenizer}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_every_answer_of_the_real_server_is_made_again_exactly(
    capture: Path, tokenizers: dict[str, Path], tmp_path: Path
) -> None:
    facts = json.loads(capture.read_text(encoding="utf-8"))
    source = Source(layout=facts["layout"], tokenizer=str(tokenizers[facts["tokenizer"]]), model=facts.get("model"))
    choices = Choices(layout=source.layout, model=source.model, tokenizer=source.tokenizer)
    stage = House({}, plain_auto(), choices).fake.default
    assert stage.tokenizer is not None
    expert = Expert(stage.layout, stage.station, stage.tokenizer)
    with (tmp_path / "exchanges.jsonl").open("wb") as file:
        for number, row in enumerate(facts["exchanges"], 1):
            exchange = taken(number, row)
            file.write(spelled({**line_of(exchange, expert.read(exchange)), "name": row["name"]}))

    pack(tmp_path / "exchanges.jsonl", tmp_path / "pack", source)
    report = run([tmp_path / "pack"])

    wrong = [(one.name, one.verdict) for one in report.judged if one.verdict.verdict != "exact"]
    assert [] == [one for one in wrong if one[0] not in facts.get("known", {})]
    assert set(facts.get("known", {})) == {name for name, _ in wrong}
    assert len(facts["exchanges"]) == len(report.judged)


def test_there_are_captures() -> None:
    assert CAPTURES
