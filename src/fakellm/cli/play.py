"""``fakellm play``: the bytes that a scenario would send, on one layout or several side by side, without a socket."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError

PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "generate": "/generate",
    "tito": "/inference/v1/generate",
}

EPILOG = """Examples:

\b
  fakellm play scenarios/basics/hello.yaml
  fakellm play scenarios/basics/hello.yaml --layout vllm-0.10.2,vllm-0.32.0 --stream
  fakellm play hello.yaml --api completions --body '{"prompt": "Hi", "logprobs": 1}'"""


@click.command("play", epilog=EPILOG)
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@click.option("--layout", "layouts", default="", help="One or more, with commas; several show their differences.")
@click.option("--api", type=click.Choice(list(PATHS)), default="chat", show_default=True)
@click.option("--stream", is_flag=True, help="Ask for a stream.")
@click.option("--body", help="The request's JSON body (or @file); default: hello, with ids and scores asked for.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--tokenizer", help="As for serve.")
@click.option("--truth", is_flag=True, help="Show the truth (token, id, score) instead of the bytes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument("vendor_options", nargs=-1, type=click.UNPROCESSED)
def play(
    scenario: Path | None,
    layouts: str,
    api: str,
    stream: bool,
    body: str | None,
    seed: int,
    tokenizer: str | None,
    truth: bool,
    as_json: bool,
    vendor_options: tuple[str, ...],
) -> int:
    """Show what a scenario would send for one request, on a clock that stands still."""
    from ..house import Choices, House

    names: list[str | None] = [name.strip() for name in layouts.split(",") if name.strip()] or [None]
    rows: list[dict[str, Any]] = []
    for name in names:
        choices = Choices(layout=name, tokenizer=tokenizer, options=vendor_options, seed=seed)
        house = House.open(scenario, choices, now=lambda: 1_700_000_000.0)
        for note in house.notes:
            click.echo(f"note: {note}", err=True)
        rows.append(_played(house, _request(house, api, stream, body)))
    if as_json:
        click.echo(json.dumps({"played": rows}))
    elif truth:
        click.echo(_truth(rows[0]))
    else:
        click.echo(_side_by_side(rows))
    return 0


def _request(house: Any, api: str, stream: bool, body: str | None) -> Any:
    from ..ask import Request

    layout = house.fake.default.layout
    value = _body(body) if body is not None else _default_body(layout, api, stream)
    if stream:
        value["stream"] = True
    return Request("POST", PATHS[api], {}, {"content-type": "application/json"}, json.dumps(value).encode())


def _body(text: str) -> dict[str, Any]:
    try:
        value = json.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except OSError as problem:
        raise UsageError(f"cannot be read: {problem.strerror}", where=text[1:]) from None
    except ValueError as problem:
        raise UsageError(f"is not JSON: {problem}", where="--body") from None
    if not isinstance(value, dict):
        raise UsageError("is not a JSON object", where="--body")
    return value  # pyright: ignore[reportUnknownVariableType]


def _default_body(layout: Any, api: str, stream: bool) -> dict[str, Any]:
    """A small request that asks for ids and scores with the flags of the layout's own table."""
    text = "Say hello."
    prompts: dict[str, dict[str, Any]] = {
        "chat": {"messages": [{"role": "user", "content": text}]},
        "messages": {"messages": [{"role": "user", "content": text}], "max_tokens": 64},
        "completions": {"prompt": text},
        "responses": {"input": text},
        "generate": {"text": text},
        "tito": {"token_ids": [1, 2, 3], "sampling_params": {}},
    }
    body: dict[str, Any] = {"model": "tiny", **prompts[api]}
    for accessor in layout.accessors.get((api, stream), ()):
        if accessor.value in ("prompt_token_ids", "completion_token_ids", "logprobs"):
            for key, value in accessor.flags.items():
                merged = isinstance(value, dict) and isinstance(body.get(key), dict)
                body[key] = {**body[key], **value} if merged else value
    return body


def _played(house: Any, request: Any) -> dict[str, Any]:
    answer, exchange = house.fake.answer(request)
    detail = exchange.detail()
    return {
        "layout": house.fake.default.layout.name,
        "status": answer.wire.status,
        "headers": [list(pair) for pair in answer.wire.headers],
        "body": detail["response"]["body"],
        "truth": detail["truth"],
    }


def _printable(text: str) -> str:
    """Token text is data: control characters never reach a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)


def _truth(row: dict[str, Any]) -> str:
    lines: list[str] = []
    truths: list[dict[str, Any]] = row["truth"] or []
    for number, generation in enumerate(truths):
        lines.append(f"prompt {number}: {generation['prompt_token_ids']}")
        choices: list[dict[str, Any]] = generation["choices"]
        for index, choice in enumerate(choices):
            lines.append(f"choice {index}: {choice['finish_reason']}")
            tokens: list[dict[str, Any]] = choice["tokens"]
            for token in tokens:
                piece = bytes(token["bytes"]).decode("utf-8", "backslashreplace")
                lines.append(f"  {token['id']:>8} {token['logprob']!s:>24} {_printable(json.dumps(piece))}")
    return "\n".join(lines)


def _side_by_side(rows: list[dict[str, Any]]) -> str:
    first = rows[0]
    blocks = [_head(first) + _printable(str(first["body"]))]
    for row in rows[1:]:
        difference = difflib.unified_diff(
            _lines(first["body"]), _lines(row["body"]), first["layout"], row["layout"], lineterm="", n=1
        )
        blocks.append(_head(row) + _printable("\n".join(difference)))
    return "\n".join(blocks)


def _head(row: dict[str, Any]) -> str:
    return f"== {row['layout']}: {row['status']}\n"


def _lines(body: Any) -> list[str]:
    """A body as lines that can be compared: one member a line."""
    out: list[str] = []
    for line in str(body).split("\n"):
        data = line.removeprefix("data: ")
        try:
            out.extend(json.dumps(json.loads(data), indent=1, ensure_ascii=False).split("\n"))
        except ValueError:
            out.append(line)
    return out
