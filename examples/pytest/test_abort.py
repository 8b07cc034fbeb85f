"""Does my trainer keep the half of an answer that an abort left, and know that it is a half?"""

import json
import urllib.request

import pytest


def post(url: str, body: dict) -> urllib.request.Request:
    return urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})


def until_aborted(server: str) -> dict:
    """The client under test: it reads a token, aborts its request by the server's own route, and reads the rest."""
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    asked |= {"logprobs": True, "return_token_ids": True}
    ids, scores, ended = [], [], None
    with urllib.request.urlopen(post(f"{server}/v1/chat/completions", asked)) as stream:
        for line in stream:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            choice = chunk["choices"][0]
            ids += choice.get("token_ids") or []
            scores += [entry["logprob"] for entry in (choice["logprobs"] or {}).get("content", ())]
            ended = choice["finish_reason"]
            if len(ids) == 1 and ended is None:
                urllib.request.urlopen(post(f"{server}/abort_requests", {"request_ids": [chunk["id"]]})).read()
    return {"completion_token_ids": ids, "logprobs": scores, "finish_reason": ended}


@pytest.mark.fakellm(layout="vllm-0.32.0", env={"VLLM_SERVER_DEV_MODE": "1"})
def test_the_half_that_was_sampled_is_kept(fakellm):
    fakellm.say("one two three four five six seven").timing(first_token_ms=0, between_ms=60_000)

    captured = until_aborted(fakellm.base_url.removesuffix("/v1"))

    assert captured["finish_reason"] == "abort"
    assert len(captured["completion_token_ids"]) == 1
    fakellm.assert_captured(captured)  # the truth is now what the engine had sampled by then
