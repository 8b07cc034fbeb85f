"""Write the reference pages that are made from the code: ``docs/reference/*.md`` and what tutorials show of real runs.

    python tools/doc_pages.py [FOLDER]          (default: docs)

Nothing of it is committed; ``make docs`` and a test make it anew. What a page says stands in the code that it is about:
help texts, docstrings, accessor tables, the JSON Schema of scenario files.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import yaml

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "pytest" / "test_capture.py"
RIGHT, WRONG = "if choice.logprobs is not None:", "if choice.logprobs is not None and choice.delta.content:"
ADAPTERS = "conformance/adapters/*/adapter.yaml"
GENERATED = "Generated from the code by `tools/doc_pages.py`."


def main(arguments: list[str]) -> int:
    docs = Path(arguments[0]) if arguments else ROOT / "docs"
    reference = docs / "reference"
    reference.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (reference / f"{name}.md").write_text(make(), encoding="utf-8")
    (docs / "generated").mkdir(exist_ok=True)
    (docs / "generated" / "wrong-client.txt").write_text(wrong_client(), encoding="utf-8")
    (docs / "generated" / "adapters.md").write_text(adapters(), encoding="utf-8")
    return 0


def page(title: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", GENERATED, *(block for block in blocks if block)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(one) for one in line) + " |" for line in lines)


def cell(value: Any) -> str:
    """Text that stays in its cell."""
    return str(value).replace("|", "\\|").replace("\n", " ")


def code(value: Any) -> str:
    return f"`{value}`" if value not in (None, "") else ""


def paragraphs(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("``", "`")


# ------------------------------------------------------------------- commands


def commands() -> str:
    """Every command with its help, options and examples, read off click."""
    from fakellm.cli import COMMANDS, root

    context = click.Context(root, info_name="fakellm")
    blocks = [table(["command", ""], ((f"[`{name}`](#{name})", row[2]) for name, row in COMMANDS.items()))]
    for name in COMMANDS:
        found = root.get_command(context, name)
        assert found is not None
        blocks += list(_command(found, [name], context))
    exits = "Exit codes: 0 well, 1 something is red, 2 interrupted, 3 an error of ours, 4 usage, 5 nothing ran."
    return page("Commands", "Every command takes `--help`; data goes to stdout, talk to stderr.", exits, *blocks)


def _command(command: click.Command, words: list[str], above: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=words[-1], parent=above)
    yield f"{'#' * (len(words) + 1)} {' '.join(words)}"
    yield paragraphs(command.help)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, [*words, name], context)
        return
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    records = [record for one in command.params if (record := one.get_help_record(context)) is not None]
    if records:
        yield table(["option", ""], ((code(names), words) for names, words in records))
    if command.epilog:
        yield f"```text\n{paragraphs(command.epilog.replace(chr(8), ''))}\n```"


# ------------------------------------------------------------- layouts, checks


def layouts() -> str:
    """How each layout is known, and where its values stand, API by API."""
    from fakellm.layouts.listing import layout_rows

    rows = layout_rows()
    overview = table(
        ["layout", "known by", "APIs"],
        (
            (
                f"[{row['name']}](#{anchor(row['name'])})",
                row["evidence"],
                ", ".join(dict.fromkeys(one["api"] for one in row["apis"])),
            )
            for row in rows
        ),
    )
    text = (
        "Where each server puts ids and scores, and which fields of a request ask for them. *captured*: held against "
        "bytes of the real server; *source*: read in its code; *documents*: from its documentation. The same tables "
        "serve the reader, the faults and the oracle."
    )
    return page("Layouts", text, overview, *(_layout(row) for row in rows))


def anchor(name: str) -> str:
    """The anchor that Markdown makes of a heading."""
    return "".join(char for char in name.lower().replace(" ", "-") if char.isalnum() or char in "-_")


def _layout(row: Mapping[str, Any]) -> str:
    blocks = [f"## {row['name']}", row["notes"]]
    for api in row["apis"]:
        blocks.append(f"**{api['api']}**, {'streamed' if api['stream'] else 'whole'}")
        values = [
            (
                one["value"].replace("_", " "),
                code(one["path"]),
                code(json.dumps(one["flags"])) if one["flags"] else "",
                one["loss"] or "",
            )
            for one in api["values"]
        ]
        blocks.append(table(["value", "where", "asked for by", "lost even when healthy"], values))
    return "\n\n".join(block for block in blocks if block)


def checks() -> str:
    """Every requirement of the suite, with why it is one."""
    from fakellm.conform.checks import all_checks

    every = all_checks()
    overview = table(
        ["check", "level", "holds", "requirement"],
        ((f"[{one.id}](#{anchor(one.id)})", one.level, ", ".join(sorted(one.modes)), one.requirement) for one in every),
    )
    return page("Checks", "`fakellm explain CHECK` prints the same.", overview, *(_check(one) for one in every))


def _check(check: Any) -> str:
    sources = "\n".join(f"* <{source}>" for source in check.sources)
    needs = f"It arises for clients that capture {' or '.join(sorted(check.needs))}." if check.needs else ""
    words = paragraphs(check.page).removeprefix(check.requirement).strip()
    return "\n\n".join(part for part in (f"## {check.id}", f"**{check.requirement}**", words, needs, sources) if part)


def cases() -> str:
    """Every case by area."""
    from fakellm.conform.case import load
    from fakellm.conform.session import case_files

    areas: dict[str, list[Any]] = {}
    for template in load(case_files()):
        areas.setdefault(template.area, []).append(template)
    blocks = [
        f"## {area}\n\n"
        + table(["case", "", "why"], ((code(one.slug), one.model.title, one.model.why) for one in rows))
        for area, rows in areas.items()
    ]
    return page("Cases", "What the suite asks and plays. `fakellm conform list` shows them over their axes.", *blocks)


# ------------------------------------------------------------- scenario, pytest


def scenario() -> str:
    """Every key of a scenario file, from its JSON Schema."""
    from fakellm.scenario.schema import json_schema

    schema = json_schema()
    forms: Mapping[str, Any] = schema["$defs"]
    text = "`fakellm schema` prints the JSON Schema for your editor; [how to write one](../how-to/scenarios.md)."
    blocks = [f"## A scenario file\n\n{_members(schema, forms)}"]
    blocks += [f"## {name}\n\n{form.get('description', '')}\n\n{_members(form, forms)}" for name, form in forms.items()]
    return page("Scenario files", text, *blocks)


def _members(form: Mapping[str, Any], forms: Mapping[str, Any]) -> str:
    required = form.get("required", ())
    rows = [
        (f"`{name}`{' (required)' if name in required else ''}", _type(member, forms), member.get("description", ""))
        for name, member in form.get("properties", {}).items()
    ]
    return table(["key", "value", ""], rows)


def _type(member: Mapping[str, Any], forms: Mapping[str, Any]) -> str:
    """A JSON Schema type in words."""
    if "$ref" in member:
        name = member["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    for key in ("anyOf", "oneOf"):
        if key in member:
            kinds = [_type(one, forms) for one in member[key] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    if "enum" in member or "const" in member:
        return ", ".join(code(one) for one in member.get("enum", [member.get("const")]))
    if member.get("type") == "array":
        return f"list of {_type(member.get('items', {}), forms)}"
    words = {"object": "mapping", "string": "text", "integer": "whole number", "boolean": "true or false"}
    return words.get(str(member.get("type")), str(member.get("type", "anything")))


def pytest_page() -> str:
    """Fixtures, marker, options and methods, from their docstrings."""
    from fakellm import pytest_plugin
    from fakellm.testing import CaseHandle, Fakellm, Saying, Seen, Settings, Truth, fakellm_cases

    fixtures = [
        (code(name), paragraphs(inspect.getdoc(fixture)))
        for name, fixture in _fixtures(pytest_plugin)
        if not name.startswith("_")
    ]
    settings = ", ".join(code(one.name) for one in dataclasses.fields(Settings) if one.name != "folder")
    options = [
        (code(f"--fakellm-{name}"), code(f"fakellm_{name}"), words) for name, words in pytest_plugin.OPTIONS.items()
    ]
    return page(
        "The pytest plugin",
        "[A tutorial](../tutorials/client-author.md) shows it at work; [cases](../how-to/cases.md) run in it too.",
        f"## Fixtures\n\n{table(['fixture', ''], fixtures)}",
        "## Marker\n\n`@pytest.mark.fakellm(...)` on a test, a class or a module. It wins over the command line, which "
        f"wins over the ini file.\n\n{paragraphs(inspect.getdoc(Settings))}\n\nThe settings are {settings}.",
        f"## Options\n\n{table(['command line', 'ini file', ''], options)}",
        *(_class(one) for one in (Fakellm, Saying, Seen, Truth, CaseHandle)),
        f"## fakellm_cases\n\n```python\nfakellm_cases{inspect.signature(fakellm_cases)}\n```\n\n"
        f"{paragraphs(inspect.getdoc(fakellm_cases))}",
    )


def _fixtures(module: ModuleType) -> Iterator[tuple[str, Any]]:
    members: Mapping[str, Any] = vars(module)
    for name, member in members.items():
        if type(member).__name__ == "FixtureFunctionDefinition" or hasattr(member, "_pytestfixturefunction"):
            yield name, member


def _class(kind: type) -> str:
    rows: list[tuple[str, str]] = []
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            rows.append((code(name), paragraphs(inspect.getdoc(member))))
        elif inspect.isfunction(member):
            signature = str(inspect.signature(member)).replace("self, ", "").replace("(self)", "()")
            rows.append((code(name + signature.replace("'", "")), paragraphs(inspect.getdoc(member))))
    return f"## {kind.__name__}\n\n{paragraphs(inspect.getdoc(kind))}\n\n{table(['', ''], rows)}"


def admin() -> str:
    """The admin API's routes."""
    from fakellm.server.admin import PREFIX, ROUTES

    rows = [(code(f"{method} {PREFIX}{path}"), paragraphs(inspect.getdoc(handler))) for method, path, handler in ROUTES]
    text = (
        "JSON over HTTP, under `/_fakellm/` of the server or on a port of its own (`--admin-port`). Bound elsewhere "
        "than on loopback it wants its token, in the header `x-fakellm-admin-token` or as bearer. Clients and gateways "
        "never need it."
    )
    return page("The admin API", text, table(["route", ""], rows))


def adapters() -> str:
    """The clients that the project judges itself, and how each is driven."""
    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob(ADAPTERS))]
    text = (
        "These are judged by the project itself (`make matrix CLIENT=NAME`). Their adapters, in "
        "`conformance/adapters/`, are the shortest code that drives each; `conformance/results/` has what came of it."
    )
    rows = [(f"[{one['name']}]({one['homepage']})", one["driven"]) for one in found]
    return f"{text}\n\n{table(['client', 'what is driven'], rows)}\n"


# ------------------------------------------------------------------- real runs


def wrong_client() -> str:
    """What pytest says of the tutorial's wrong client."""
    with tempfile.TemporaryDirectory() as folder:
        text = EXAMPLE.read_text(encoding="utf-8")
        assert RIGHT in text
        Path(folder, "test_capture.py").write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        environment = {**os.environ, "COLUMNS": "100"}
        ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("E  ", ">  ", "#", "FAILED"))]
    assert any("the last of the scores is lost" in line for line in lines), ended.stdout + ended.stderr
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------- limits


def limits() -> str:
    """What the fake takes, and what happens beyond it."""
    from limit_rows import sections

    blocks = [
        "Nothing here makes the fake hang or fall: beyond each limit there is an answer or an error that says so. All "
        "but a few are held by a test that fails when the guard is taken out."
    ]
    for heading, rows in sections():
        body = table(("what", "limit", "beyond it"), ((row.what, row.number, row.beyond) for row in rows))
        blocks += [f"## {heading}", body]
    return page("Limits", *blocks)


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "layouts": layouts,
    "checks": checks,
    "cases": cases,
    "scenario": scenario,
    "pytest": pytest_page,
    "admin": admin,
    "limits": limits,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
