"""The servers that the probes need: launch options, and which probes go to which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from golden_vllm.probes.speech import Speech
from golden_vllm.wanted import Plan, Wanted

from fakellm.fidelity.recorded import Server
from fakellm.layouts.registry import release
from fakellm.tokenizer import load

from . import fields, parsing, routes, sampling
from .book import Book

BASE = ("--served-model-name", "tiny", "--device", "cpu", "--skip-server-warmup")
CALLS = ("--tool-call-parser",)
THINKS = ("--reasoning-parser",)
CONTEXT = 512
Fill = Callable[[Book], None]


def plans(version: str, tokenizer: Path) -> list[Plan]:
    """All probes for a version; ``tokenizer``: the folder of the library's SGLang servers."""
    return [
        _plan(version, tokenizer, "probes-fields", (), fields.fill),
        _plan(version, tokenizer, "probes-plain", (), sampling.fill),
        _plan(version, tokenizer, "probes-others", (), fields.fill_others),
        _plan(version, tokenizer, "probes-hermes", (*CALLS, "qwen25", *THINKS, "qwen3"), parsing.hermes),
        _plan(version, tokenizer, "probes-llama", (*CALLS, "llama3", *THINKS, "deepseek-r1"), parsing.llama),
        _plan(version, tokenizer, "probes-mistral", (*CALLS, "mistral"), parsing.mistral),
        _plan(version, tokenizer, "probes-thoughts", (*THINKS, "qwen3"), parsing.thoughts),
        _plan(version, tokenizer, "probes-tools", (*CALLS, "qwen25"), parsing.tools),
        _plan(version, tokenizer, "probes-routes", (), routes.fill, routes.fill_weights),
    ]


def _plan(version: str, tokenizer: Path, variant: str, options: Sequence[str], *fills: Fill) -> Plan:
    book = Book(Speech(load(tokenizer)))
    book.version = release(version)
    for fill in fills:
        fill(book)
    server = Server(
        server="sglang",
        version=version,
        variant=variant,
        launch=(*BASE, *options),
        model="tiny",
        max_model_len=CONTEXT,
        tokenizer=tokenizer.name,
        model_path="tinymodel",
    )
    pages = [_one_by_one(page) if book.single else page for page in book.pages.values()]
    return Plan(f"sglang-{version}-{variant}", server, tokenizer, tuple(pages))


def _one_by_one(page: Wanted) -> Wanted:
    """The request with truths that tell one token per step."""
    truths = [
        {**truth, "choices": [{**choice, "chunks": [1] * len(choice["tokens"])} for choice in truth["choices"]]}
        for truth in page.truths
    ]
    return replace(page, truths=tuple(truths))
