"""What every suite that these tests run finds: a client beside it, and modules that are loaded already.

A pytester run in process forgets the modules that it imports; those that were there before it stay.
"""

from __future__ import annotations

import urllib.request
from textwrap import dedent

import pytest

from fakellm.testing import Fakellm
from support.suites import CLIENT, HEAD, QUIET, Run

ASK = b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "logprobs": true}'


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """One exchange with each of the layouts that these tests play."""
    for layout in ("vllm-0.32.0", "sglang-0.5.23"):
        with Fakellm(layout=layout) as fake:
            fake.say("x")
            headers = {"content-type": "application/json"}
            urllib.request.urlopen(urllib.request.Request(f"{fake.base_url}/chat/completions", ASK, headers)).read()
            with pytest.raises(AssertionError):
                fake.assert_captured(logprobs=None)


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run a suite of one file."""
    pytester.makepyfile(client=CLIENT)
    pytester.syspathinsert()

    def running(suite: str, *words: str, apart: bool = False) -> pytest.RunResult:
        pytester.makepyfile(test_it=HEAD + dedent(suite))
        start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        return start(*QUIET, *words)

    return running
