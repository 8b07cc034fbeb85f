"""What is asked and aborted: every API of a vendor, streamed and whole, begun and still in the queue.

``{id}`` stands for the word that tells one request from another. Knows no server and no version but by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

HI = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True, slots=True)
class Case:
    """One request and the order that ends it. ``queued``: the engine has not begun it then; ``after``: where to post
    before the next request."""

    name: str
    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    order_path: str
    order: Mapping[str, Any]
    queued: bool
    after: str | None = None

    def named(self, word: str) -> Case:
        """The case with its ids."""

        def filled(value: Any) -> Any:
            return json.loads(json.dumps(value).replace("{id}", word))

        return Case(
            self.name,
            self.path,
            filled(self.body),
            filled(self.headers),
            self.order_path,
            filled(self.order),
            self.queued,
            self.after,
        )


VLLM: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    (
        "chat",
        "/v1/chat/completions",
        {"messages": HI, "logprobs": True, "top_logprobs": 1, "return_token_ids": True, "max_tokens": 200},
        "chatcmpl-{id}",
    ),
    (
        "chat-held",
        "/v1/chat/completions",
        {"messages": HI, "stop": ["never said at all"], "max_tokens": 200},
        "chatcmpl-{id}",
    ),
    (
        "completions",
        "/v1/completions",
        {"prompt": "Hi", "logprobs": 1, "return_token_ids": True, "max_tokens": 200},
        "cmpl-{id}-0",
    ),
    (
        "responses",
        "/v1/responses",
        {"input": "Hi", "request_id": "resp_{id}", "max_output_tokens": 150},
        "resp_{id}_0",
    ),
    ("messages", "/v1/messages", {"messages": HI, "max_tokens": 150}, "chatcmpl-{id}"),
    (
        "tito",
        "/inference/v1/generate",
        {"token_ids": [5, 6, 7], "sampling_params": {"max_tokens": 100, "logprobs": 1}},
        "generate-tokens-{id}",
    ),
)
"""Name, path, body, and the engine's id."""

SGLANG: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("generate", "/generate", {"text": "Hi", "rid": "{id}", "return_logprob": True}),
    ("generate-plain", "/generate", {"input_ids": [5, 6, 7], "rid": "{id}"}),
    ("chat", "/v1/chat/completions", {"messages": HI, "rid": "{id}", "logprobs": True, "max_tokens": 200}),
    ("chat-plain", "/v1/chat/completions", {"messages": HI, "rid": "{id}", "max_tokens": 200}),
    ("completions", "/v1/completions", {"prompt": "Hi", "rid": "{id}", "logprobs": 1, "max_tokens": 200}),
    ("messages", "/v1/messages", {"messages": HI, "max_tokens": 150}),
    ("responses", "/v1/responses", {"input": "Hi", "request_id": "resp_{id}", "max_output_tokens": 150}),
)
"""Name, path, body; what has no id of its own is ended with everything."""

BY_IDS = (0, 28, 0)
"""Before, vLLM aborts by pausing (up to 0.16 in its front, later in the engine, which is played here)."""

OWN_EVENTS = (0, 5, 20)
"""Before, /v1/responses streams of SGLang write whatever the installed openai package has."""


def cases(vendor: str, version: tuple[int, ...]) -> Iterator[Case]:
    """Everything that is captured of a server."""
    for queued in (False, True):
        for stream in (True, False):
            mode = f"{'stream' if stream else 'whole'}-{'queued' if queued else 'begun'}"
            if vendor == "vllm":
                for name, path, body, engine_id in VLLM:
                    asked = {"model": "tiny", **body, "stream": stream}
                    headers = {"x-request-id": "{id}"}
                    if version < BY_IDS:
                        yield Case(f"{name}-{mode}", path, asked, headers, "/pause", {}, queued, "/resume")
                        continue
                    order = {"request_ids": [engine_id]}
                    yield Case(f"{name}-{mode}", path, asked, headers, "/abort_requests", order, queued)
                continue
            for name, path, body in SGLANG:
                if name == "responses" and stream and version < OWN_EVENTS:
                    continue
                asked = body if path == "/generate" else {"model": "tiny", **body}
                if path == "/generate":
                    asked = {**body, "sampling_params": {"max_new_tokens": 200}}
                rid = body.get("rid") or body.get("request_id")
                order = {"rid": rid} if rid else {"abort_all": True}
                yield Case(f"{name}-{mode}", path, {**asked, "stream": stream}, {}, "/abort_request", order, queued)
