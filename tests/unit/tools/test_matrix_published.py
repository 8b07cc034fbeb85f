"""What the published results say, held against what is known of released software; and that they lie well on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matrix import findings, packing, publish, recipe, result

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "conformance" / "results"
WHOLE = "[api=chat,layout=vllm-0.32.0,stream=false]"
STREAM = "[api=chat,layout=vllm-0.32.0,stream=true]"
TITO = "[api=tito,layout=vllm-0.28.0,stream=false]"


def case(run: str, name: str) -> dict[str, Any]:
    row = result.read(RESULTS / f"{run}.jsonl").case(name)
    assert row is not None, name
    return dict(row)


@pytest.mark.parametrize(
    "run, name, value, state",
    [
        ("litellm-openai-builder", f"happy/plain{STREAM}", "logprobs", "null"),
        ("openai-python-helper", f"happy/plain{STREAM}", "completion_token_ids", "null"),
        ("litellm-openai", f"scores/late-eos{STREAM}", "logprobs", "changed"),
        ("litellm-hosted-vllm", f"scores/late-eos{STREAM}", "logprobs", "changed"),
        ("rllm-model-gateway-traces", f"ids/nested-under-choice{WHOLE}", "prompt_token_ids", "changed"),
        ("cooperbench", f"ids/nested-under-choice{WHOLE}", "prompt_token_ids", "kept"),
        ("litellm-hosted-vllm", f"happy/plain{STREAM}", "prompt_token_ids", "null"),
        ("litellm-openai", f"happy/plain{STREAM}", "prompt_token_ids", "kept"),
    ],
)
def test_what_became_of_a_value_is_what_is_known(run: str, name: str, value: str, state: str) -> None:
    assert state == case(run, name)["values"][value]


@pytest.mark.parametrize(
    "run, name, ending, fails",
    [
        ("verifiers-0.3.0-chat", f"scores/one-short{WHOLE}", "captured", True),
        ("renderers-vllm-0.28", f"scores/one-short{TITO}", "refused", False),
    ],
)
def test_a_length_mismatch_is_taken_by_one_and_refused_by_the_other(
    run: str, name: str, ending: str, fails: bool
) -> None:
    row = case(run, name)

    assert ending == row["ending"]
    assert fails == ("align.ids-vs-logprobs" in [one["check"] for one in row["failed"]])


def test_every_claim_has_its_evidence_in_the_published_results() -> None:
    recipes = recipe.load(ROOT)
    claims = findings.load(recipes)

    page = findings.document(claims, publish.results_of(ROOT, recipes))

    assert [] == [one.model.title for one in claims if one.model.title not in page]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_result_reads_back_as_it_was_written(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == result.written(result.read(path))


def test_what_rows_say_alike_is_said_once() -> None:
    finding = {"check": "text.kept", "level": "MUST", "outcome": "FAIL", "standing": "expected", "reason": "known"}
    odd = {"check": "text.kept", "level": "SHOULD", "outcome": "FAIL", "message": "odd"}
    common: dict[str, Any] = {"type": "case", "title": "A title", "why": "a why", "faults": ["one"]}
    common |= {"passed": ["x"], "values": {}}
    cases: list[dict[str, Any]] = [
        {**common, "id": "a/b[stream=false]", "failed": [finding], "reproduce": "run --only 'a/b[stream=false]'"},
        {**common, "id": "a/b[stream=true]", "failed": [odd], "faults": [], "reproduce": "something else"},
    ]

    header, rows = packing.packed({"name": "one"}, cases)

    assert 1 == json.dumps([header, *rows]).count("A title")
    assert [{"check": "text.kept", "reason": 0}] == rows[0]["failed"]
    assert ({"name": "one"}, cases) == packing.unpacked(header, rows)
