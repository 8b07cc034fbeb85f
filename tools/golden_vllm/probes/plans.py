"""The servers that the probes need: launch options, and which probes go to which."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from fakellm.fidelity.recorded import Server
from fakellm.layouts.registry import release
from fakellm.tokenizer import load

from ..wanted import Plan
from . import fields, parsing, routes, sampling, talking
from .book import Book
from .speech import Speech

BASE = ("--served-model-name", "tiny", "--max-model-len", "256", "--dtype", "float32", "--enforce-eager")
CALLS = ("--enable-auto-tool-choice", "--tool-call-parser")
THINKS = ("--reasoning-parser",)
Fill = Callable[[Book], None]
RUINOUS = re.compile(r"-n-(high|huge)$")
"""Up to 0.16 a server makes all the samples that a request wants before anything bounds them: it takes every byte of
memory there is."""


def plans(version: str, tokenizer: Path) -> list[Plan]:
    """All probes for a version; ``tokenizer``: the folder of the library's scripted servers."""
    return [
        _plan(version, tokenizer, "probes-plain", (), sampling.fill),
        _plan(version, tokenizer, "probes-talking", (), talking.fill),
        _plan(version, tokenizer, "probes-fields", (), fields.fill),
        _plan(version, tokenizer, "probes-routes", (), routes.fill),
        _plan(version, tokenizer, "probes-hermes", (*CALLS, "hermes", *THINKS, "qwen3"), parsing.hermes),
        _plan(version, tokenizer, "probes-coder", (*CALLS, "qwen3_coder", *THINKS, "deepseek_r1"), parsing.coder),
        _plan(version, tokenizer, "probes-thoughts", (*THINKS, "qwen3"), parsing.thoughts),
        _plan(version, tokenizer, "probes-tools", (*CALLS, "hermes"), parsing.tools),
    ]


def _plan(version: str, tokenizer: Path, variant: str, options: Sequence[str], *fills: Fill) -> Plan:
    book = Book(Speech(load(tokenizer)))
    for fill in fills:
        fill(book)
    bounded = release(version) >= (0, 20)
    pages = [page for name, page in book.pages.items() if bounded or not RUINOUS.search(name)]
    launch = (*BASE, *options, *_scale_out(version))
    server = Server(
        server="vllm",
        version=version,
        variant=variant,
        launch=launch,
        env={"VLLM_SERVER_DEV_MODE": "1"},
        model="tiny",
        max_model_len=256,
        tokenizer=tokenizer.name,
        model_path="tok",
    )
    return Plan(f"vllm-{version}-{variant}", server, tokenizer, tuple(pages))


def _scale_out(version: str) -> tuple[str, ...]:
    """The switch that opens /inference and the render routes, in the versions that have it."""
    return ("--enable-scale-out",) if release(version) >= (0, 32) else ()
