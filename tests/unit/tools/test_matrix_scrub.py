"""Nothing of the machine is published: a text comes out without it, and so did every result in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matrix.scrub import Machine, scrubbed, scrubbed_all

MACHINE = Machine("/srv/repo", "box7.lan", "ann", "/srv/ann", "/scratch")
RESULTS = Path(__file__).parents[3] / "conformance" / "results"
GIVES_AWAY = re.compile(
    r"(127\.0\.0\.1|localhost):\d{2,5}\b|/ho" + r"me/\w|/Us" + r"ers/\w|site-packages/|node_modules/\.\."
)


@pytest.mark.parametrize(
    "given, shown",
    [
        ("http://127.0.0.1:41873/c/1-00001/v1", "http://127.0.0.1:PORT/c/1-00001/v1"),
        ("('127.0.0.1', 41873)", "('127.0.0.1', PORT)"),
        ("connect localhost:8000 failed", "connect localhost:PORT failed"),
        ("/srv/repo/conformance/adapters/x/adapter.py", "conformance/adapters/x/adapter.py"),
        ("/srv/repo/a/.venv/lib/python3.11/site-packages/openai/_base.py", "openai/_base.py"),
        ("file:/" + "//srv/repo/a/node_modules/openai/core.mjs", "node_modules/openai/core.mjs"),
        ("/srv/ann/.cache/litellm", "~"),
        ("/scratch/abc123/config.yaml is gone", "TMP is gone"),
        ("from box7.lan and box7, not box77", "from HOST and HOST, not box77"),
        ("<object at 0x7f3a2b1c4d50>", "<object at 0x…>"),
        ('"created":1795970608,"model"', '"created":1700000000,"model"'),
        ('"created":1795970608000,"model"', '"created":1700000000000,"model"'),
        ("[pid 4711] gone", "[pid N] gone"),
        ('"response_sent_to_client_ts":1795980678.91}', '"response_sent_to_client_ts":1700000000.0}'),
    ],
)
def test_a_text_comes_out_without_the_machine(given: str, shown: str) -> None:
    assert shown == scrubbed(given, MACHINE)


@pytest.mark.parametrize("text", ["the ratio 3:41873", "gpt-4.1-mini", "token_id:41873", "choices[0].logprobs[17]"])
def test_what_gives_nothing_away_stays(text: str) -> None:
    assert text == scrubbed(text, MACHINE)


def test_every_string_of_a_document_is_cleaned() -> None:
    document = {"at /srv/repo/x": [{"url": "http://127.0.0.1:5000"}, 7, None]}

    assert {"at x": [{"url": "http://127.0.0.1:PORT"}, 7, None]} == scrubbed_all(document, MACHINE)


def test_no_published_result_gives_a_machine_away() -> None:
    found = {
        f"{path.name}: {hit[0]}"
        for path in sorted(RESULTS.rglob("*"))
        if path.suffix in (".jsonl", ".html", ".md")
        for hit in GIVES_AWAY.finditer(path.read_text(encoding="utf-8"))
    }

    assert set() == found
