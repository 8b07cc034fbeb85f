"""Conformance cases inside a client's own suite: collected, run with its client, judged, told to ``--junitxml``."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from support.suites import Run

READER = '''
import json, urllib.error, urllib.request
from fakellm.testing import fakellm_cases


class Noticed(Exception):
    """The client saw that the answer cannot be trusted."""


def careful(call):
    """Whole chat answers, read as they must be: what does not fit is refused."""
    request = urllib.request.Request(
        call.base_url + "/chat/completions", json.dumps(call.request).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            body = json.load(answer)
    except (OSError, ValueError) as failure:
        raise Noticed(str(failure))
    return [row(body, choice) for choice in body["choices"]]


def row(body, choice):
    entries = (choice["logprobs"] or {}).get("content")
    return {
        "index": choice["index"],
        "prompt_token_ids": body["prompt_token_ids"],
        "completion_token_ids": choice["token_ids"],
        "logprobs": None if entries is None else [entry["logprob"] for entry in entries],
        "text": choice["message"]["content"],
        "finish_reason": choice["finish_reason"],
    }
'''
ONLY = "layouts=['vllm-0.32.0'], stream=[False]"


def test_a_client_passes_the_cases_that_it_handles(run: Run) -> None:
    result = run(
        f"""{READER}
@fakellm_cases("capture-client", {ONLY}, smoke=True)
def test_it(fakellm_case):
    fakellm_case.run(careful, refuses=Noticed)
"""
    )

    counts = result.parseoutcomes()
    assert counts.get("passed", 0) > 0
    assert {"passed"} == set(counts)


def test_a_wrong_client_is_told_the_finding_the_token_and_where_to_read_more(run: Run) -> None:
    result = run(
        f"""{READER}
@fakellm_cases("capture-client", {ONLY}, smoke=True)
def test_it(fakellm_case):
    def wrong(call):
        rows = careful(call)
        for one in rows:
            one["logprobs"].pop()
        return rows

    fakellm_case.run(wrong, refuses=Noticed)
"""
    )

    assert result.parseoutcomes().get("failed", 0) > 0
    result.stdout.fnmatch_lines(
        [
            "*FAIL align.logprobs at choices?0?.logprobs*",
            "*id told*id got*logprob told*logprob got",
            "*the last of the scores is lost*",
            "*more: fakellm explain '*'",
        ]
    )


def test_findings_stand_in_the_junit_report(run: Run, pytester: pytest.Pytester) -> None:
    run(
        f"""{READER}
@fakellm_cases("capture-client", {ONLY}, smoke=True)
def test_it(fakellm_case):
    fakellm_case.run(careful, refuses=Noticed)
""",
        "--junitxml=report.xml",
    )

    cases = ElementTree.parse(pytester.path / "report.xml").findall(".//testcase")
    assert cases
    for case in cases:
        properties = {one.attrib["name"]: one.attrib["value"] for one in case.findall("properties/property")}
        assert f"test_it[{properties['fakellm.case']}]" == case.attrib["name"]
        assert "PASS (MUST)" == properties["fakellm.align.logprobs"]


def test_an_asynchronous_client_is_awaited(run: Run) -> None:
    result = run(
        f"""{READER}
import asyncio

@fakellm_cases("capture-client", {ONLY}, smoke=True)
@pytest.mark.asyncio
async def test_it(fakellm_case):
    async def client(call):
        return await asyncio.to_thread(careful, call)

    await fakellm_case.arun(client, refuses=Noticed)
"""
    )

    assert {"passed"} == set(result.parseoutcomes())


@pytest.mark.parametrize("raised", ["Noticed('no')", "KeyError('no')"])
def test_a_healthy_answer_must_be_captured(run: Run, raised: str) -> None:
    result = run(
        f"""{READER}
@fakellm_cases("capture-client", {ONLY}, smoke=True)
def test_it(fakellm_case):
    def stubborn(call):
        careful(call)
        raise {raised}

    fakellm_case.run(stubborn, refuses=Noticed)
"""
    )

    assert {"failed"} == set(result.parseoutcomes())
    result.stdout.fnmatch_lines(["*FAIL outcome.healthy-captured at the whole answer: a healthy answer was *"])


def test_a_refusal_is_right_where_the_answer_is_an_error(run: Run) -> None:
    result = run(
        f"""{READER}
@fakellm_cases("capture-client", {ONLY}, only=["errors/unavailable*", "errors/cut*", "errors/bad-request*"])
def test_it(fakellm_case):
    def wary(call):
        careful(call)
        raise Noticed("never sure")

    fakellm_case.run(wary, refuses=Noticed)
"""
    )

    assert {"passed": 3} == result.parseoutcomes()


def test_a_case_that_is_never_run_fails(run: Run) -> None:
    result = run(f"{READER}\n@fakellm_cases({ONLY}, smoke=True)\ndef test_it(fakellm_case):\n    pass\n")

    assert {"failed"} == set(result.parseoutcomes())
    result.stdout.fnmatch_lines(["*was not judged: call fakellm_case.run(client)"])


@pytest.mark.parametrize(
    "mark, told",
    [
        ("", "*takes fakellm_case, but has no @fakellm_cases*"),
        ("@fakellm_cases(only=['scroes/*'])\n", "*no case matches 'scroes/?'*"),
        ("@fakellm_cases(apis=['smoke-signals'])\n", "*no conformance case fits*"),
    ],
)
def test_a_wish_that_nothing_fits_is_told_at_collection(run: Run, mark: str, told: str) -> None:
    result = run(f"{READER}\n{mark}def test_it(fakellm_case):\n    pass\n")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines([told])
