"""Small test suites of somebody else, run by pytest in a folder of their own; ``tests/plugin`` judges how they end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CLIENT = """
import json, urllib.error, urllib.request

ASK = {"model": "tiny", "logprobs": True, "return_token_ids": True}


def call(fakellm, text="Hi", **more):
    body = {**ASK, "messages": [{"role": "user", "content": text}], **more}
    request = urllib.request.Request(
        fakellm.base_url + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return json.load(refused)


def text(answer):
    return answer["choices"][0]["message"]["content"]


def capture(answer):
    choice = answer["choices"][0]
    return {
        "prompt_token_ids": answer["prompt_token_ids"],
        "completion_token_ids": choice["token_ids"],
        "logprobs": [entry["logprob"] for entry in choice["logprobs"]["content"]],
    }
"""
"""A client in a dozen lines: what those suites call the fake with."""

HEAD = "import pytest\nfrom client import call, capture, text\n"
"""Stands before every suite."""

QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-o", "asyncio_default_fixture_loop_scope=function")

Run = Callable[..., pytest.RunResult]
"""(suite, command line words, apart: in a process of its own) -> how it ended."""
