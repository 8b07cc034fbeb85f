"""Requests in one line, for tests that match and compose without a layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakellm.ask import Ask, Prompt, Request, Wants
from fakellm.tokenizer import Tokenizer, load

TOKENIZER: Tokenizer = load(None)
SCORED = Wants(logprobs=True)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def ask(
    *messages: Mapping[str, Any] | str,
    api: str = "chat",
    model: str | None = "tiny",
    n: int = 1,
    stream: bool = False,
    prompts: Sequence[str] | None = None,
    wants: Wants = SCORED,
    headers: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    **body: Any,
) -> Ask:
    """A request with these messages (a str is the user's); ``body``: further fields of its JSON."""
    rows = tuple(user(row) if isinstance(row, str) else row for row in messages)
    texts = prompts if prompts is not None else ["".join(f"{row['role']}: {row.get('content')}\n" for row in rows)]
    return Ask(
        api=api,
        request=Request("POST", "/", headers=headers or {}),
        body={"model": model, "messages": list(rows), **body},
        prompts=tuple(Prompt(TOKENIZER.encode(text), text) for text in texts),
        model=model,
        stream=stream,
        n=n,
        messages=rows,
        wants=wants,
        options=options or {},
    )
