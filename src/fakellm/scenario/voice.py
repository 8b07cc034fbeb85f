"""How the model behind a server writes structure: reasoning, content and tool calls as one raw text.

A real model emits text; reasoning and tool parsers of the server take it apart again. A :class:`Voice` is the model's
side: ``voice_of`` finds it by the parsers that the server was started with (the vendors' own names), so that what a
scenario says as structure comes back as structure. Without parsers the default voice is used and the marks show, as
they do on a real server. This module tokenises nothing and parses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from ..ask import Ask
from .model import ToolCall


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """How tool calls are written. ``before``/``after`` stand around all of them, ``open``/``close`` around each,
    ``separator`` between two. ``style``: json | parameters (JSON whose arguments are called so) | list (JSON objects of
    one array) | xml | python | named (the name, a mark, the arguments)."""

    open: str = "<tool_call>\n"
    close: str = "\n</tool_call>"
    separator: str = "\n"
    before: str = ""
    after: str = ""
    style: str = "json"


HERMES = ToolFormat()
QWEN_XML = ToolFormat(style="xml")
MISTRAL = ToolFormat(open="", close="", separator=", ", before="[TOOL_CALLS] [", after="]")
LLAMA_JSON = ToolFormat(open="", close="", separator="; ", before="<|python_tag|>", style="parameters")
PYTHONIC = ToolFormat(open="", close="", separator=", ", before="[", after="]", style="python")
DEEPSEEK = ToolFormat(
    open="<｜tool▁call▁begin｜>",
    close="<｜tool▁call▁end｜>",
    separator="\n",
    before="<｜tool▁calls▁begin｜>",
    after="<｜tool▁calls▁end｜>",
    style="named",
)

TOOL_FORMATS: Mapping[str, ToolFormat] = {
    "hermes": HERMES,
    "qwen": HERMES,
    "qwen25": HERMES,
    "qwen3_coder": QWEN_XML,
    "qwen3_xml": QWEN_XML,
    "mistral": MISTRAL,
    "llama3_json": LLAMA_JSON,
    "llama4_json": LLAMA_JSON,
    "llama3": LLAMA_JSON,
    "pythonic": PYTHONIC,
    "llama4_pythonic": PYTHONIC,
    "deepseek_v31": DEEPSEEK,
    "deepseekv31": DEEPSEEK,
}
"""The tool parsers (vLLM's and SGLang's names) whose writing is known here; the others get HERMES."""

REASONING_MARKS: Mapping[str, tuple[str, str]] = {
    "mistral": ("[THINK]", "[/THINK]"),
    "magistral": ("[THINK]", "[/THINK]"),
    "kimi": ("◁think▷", "◁/think▷"),
}
"""The reasoning parsers that look for other marks than <think> and </think>."""
PARSED_APIS = frozenset(("chat", "batch", "responses", "messages", "ollama"))
"""The apis whose answers go through the parsers."""


@dataclass(frozen=True, slots=True)
class Voice:
    """How structure is written. ``reasoning_open`` is empty where the chat template opened the reasoning already.
    ``forced_json``: a forced tool choice binds the engine to plain JSON, as vLLM up to 0.20 does it: the arguments of a
    named function, an array of name and parameters for ``required``; there is no content then. ``forced_array``: it is
    an array for both, as in SGLang up to 0.5.10. ``thinks``: the server has a reasoning parser, which may take an
    answer without marks for reasoning."""

    reasoning_open: str = "<think>"
    reasoning_close: str = "</think>"
    tools: ToolFormat = HERMES
    forced_json: bool = False
    forced_array: bool = False
    thinks: bool = False

    def lead(self, ask: Ask) -> str:
        """What stands before content without reasoning: empty reasoning where the server would otherwise take the
        content for reasoning, else nothing."""
        if not self.thinks or ask.api not in PARSED_APIS:
            return ""
        given: Any = ask.body.get("chat_template_kwargs")
        switches = cast(Mapping[str, Any], given if isinstance(given, Mapping) else {})
        off = switches.get("enable_thinking") is False or switches.get("thinking") is False
        return "" if off else f"{self.reasoning_open}{self.reasoning_close}"

    def spell(
        self,
        reasoning: str | None,
        content: str | None,
        tool_calls: Sequence[ToolCall] = (),
        *,
        variant: int = 0,
        forced: str = "",
        lead: str = "",
    ) -> str:
        """The raw text. Nothing is added that a parser would hand on as part of reasoning or content. ``variant``: so
        many spaces more inside the last tool call, where no parser minds them: other tokens, the same structure.
        ``forced``: the request's tool choice, see :func:`forced_by`; ``lead``: see :meth:`lead`."""
        text = lead if reasoning is None else f"{self.reasoning_open}{reasoning}{self.reasoning_close}"
        if tool_calls and forced and self.forced_array:
            return text + _forced(tool_calls, "required", variant)
        if tool_calls and forced and self.forced_json:
            return text + _forced(tool_calls, forced, variant)
        text += content or ""
        if tool_calls:
            form = self.tools
            last = len(tool_calls) - 1
            calls = [_call(form, call, variant if at == last else 0) for at, call in enumerate(tool_calls)]
            text += form.before + form.separator.join(f"{form.open}{call}{form.close}" for call in calls) + form.after
        return text


def voice_of(
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    *,
    forced_json: bool = False,
    forced_array: bool = False,
) -> Voice:
    """The voice that these parsers understand; names may be spelled with dashes or underscores. ``forced_json``: as
    vLLM up to 0.20 reads a forced tool choice (later versions leave it to the tool parser); ``forced_array``: as SGLang
    up to 0.5.10 does.

    >>> voice_of("qwen3", "hermes").spell("Hm.", "Yes.")
    '<think>Hm.</think>Yes.'
    """
    marks = REASONING_MARKS.get((reasoning_parser or "").replace("-", "_"), ("<think>", "</think>"))
    form = TOOL_FORMATS.get((tool_parser or "").replace("-", "_"), HERMES)
    return Voice(*marks, form, forced_json, forced_array, thinks=bool(reasoning_parser))


def voice_for(options: Sequence[str], *, forced_json: bool = False) -> Voice:
    """The voice for a server that was started with these words of a command line."""
    words = [part for word in options for part in (word.split("=", 1) if word.startswith("--") else [word])]
    named = {word: following for word, following in pairwise(words) if word.startswith("--")}
    named = {word.replace("_", "-"): following for word, following in named.items()}
    return voice_of(named.get("--reasoning-parser"), named.get("--tool-call-parser"), forced_json=forced_json)


def forced_by(tool_choice: Any) -> str:
    """What a request's ``tool_choice`` forces: "" (nothing), ``required``, or ``named `` and the function's name."""
    if isinstance(tool_choice, Mapping):
        choice = cast(Mapping[str, Any], tool_choice)
        function: Any = choice.get("function")
        named = cast(Mapping[str, Any], function) if isinstance(function, Mapping) else choice
        return f"named {named['name']}" if isinstance(named.get("name"), str) else ""
    return "required" if tool_choice == "required" else ""


def _forced(calls: Sequence[ToolCall], forced: str, variant: int) -> str:
    blanks = " " * variant
    if forced == "required":
        rows = [f'{{"name": {_json(call.name)}, "parameters": {_arguments(call)}}}' for call in calls]
        return f"[{', '.join(rows)}{blanks}]"
    wanted = next((call for call in calls if f"named {call.name}" == forced), calls[0])
    return _arguments(wanted)[:1] + blanks + _arguments(wanted)[1:]


def _arguments(call: ToolCall) -> str:
    given: Any = call.arguments
    return given if isinstance(given, str) else _json(given)


def _call(form: ToolFormat, call: ToolCall, variant: int) -> str:
    given: Any = call.arguments
    blanks = " " * variant
    arguments = blanks + _arguments(call)
    rows = cast(Mapping[str, Any], given).items() if isinstance(given, Mapping) else None
    if form.style == "xml" and rows is not None:
        inner = "".join(f"<parameter={key}>\n{_plain(value)}\n</parameter>\n" for key, value in rows)
        return f"<function={call.name}>\n{blanks}{inner}</function>"
    if form.style == "python" and rows is not None:
        return f"{call.name}({blanks}{', '.join(f'{key}={value!r}' for key, value in rows)})"
    if form.style == "named":
        return f"{call.name}<｜tool▁sep｜>{arguments}"
    key = "parameters" if form.style == "parameters" else "arguments"
    return f'{{"name": {_json(call.name)}, "{key}": {arguments}}}'


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
