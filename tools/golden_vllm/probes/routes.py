"""Routes that serve something else than one of the APIs: SageMaker's entrance, engine orders, tasks the model lacks."""

from __future__ import annotations

from typing import Any

from .book import CHAT, HI, Book

OTHER_TASKS = (
    *("/v1/embeddings", "/classify", "/pooling", "/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank"),
    *("/v1/audio/transcriptions", "/v1/audio/translations", "/generative_scoring", "/v2/embed"),
)
ORDERS: tuple[tuple[str, Any], ...] = (
    ("/collective_rpc", {"method": "sync_weights"}),
    ("/collective_rpc", {"method": "sync_weights", "args": [1], "kwargs": {"a": 2}, "timeout": 5}),
    ("/collective_rpc", {}),
    ("/is_scaling_elastic_ep", None),
    ("/scale_elastic_ep", {}),
    ("/scale_elastic_ep", {"new_data_parallel_size": 0}),
    ("/start_profile", None),
    ("/stop_profile", None),
    ("/weight_checker", {}),
    ("/fault_tolerance/apply", {}),
    ("/cohere/v2/chat", {"model": "tiny", "messages": HI}),
)


def fill(book: Book) -> None:
    model = {"model": book.model}
    bodies: tuple[tuple[str, Any], ...] = (
        ("chat", {**model, "messages": HI, "max_tokens": 3, "return_token_ids": True}),
        ("chat-stream", {**model, "messages": HI, "max_tokens": 3, "stream": True}),
        ("completion", {**model, "prompt": "Hi", "max_tokens": 3, "logprobs": 1}),
        ("completion-stream", {**model, "prompt": "Hi", "max_tokens": 3, "stream": True}),
        ("both", {**model, "messages": HI, "prompt": "Hi"}),
        ("input", {**model, "input": "Hi"}),
        ("neither", {**model}),
        ("odd-messages", {**model, "messages": 7}),
        ("unknown-model", {"model": "nope", "messages": HI}),
        ("list", []),
    )
    for name, body in bodies:
        book.ask(f"invocations-{name}", "/invocations", body)
    book.ask("invocations-word", "/invocations", raw="hello")
    book.ask("invocations-get", "/invocations", method="GET")
    for path in OTHER_TASKS:
        book.ask(f"task{path.replace('/', '-')}", path, {**model, "input": "Hi"})
    for number, (path, body) in enumerate(ORDERS):
        book.ask(f"order-{number}{path.replace('/', '-')}", path, body)
        book.ask(f"order-{number}{path.replace('/', '-')}-get", path, method="GET")
    for path in ("/fault_tolerance/status", "/ready", "/readyz", "/get_world_size", "/redoc"):
        book.ask(f"get{path.replace('/', '-')}", path, method="GET")
    for path in ("/health", "/v1/models", CHAT):
        book.ask(f"head{path.replace('/', '-')}", path, method="HEAD")
