"""Which parsers an answer meets: by the launch options, the version, and what the request says about tools.

Parsers that fakellm does not know by name are stood in for by the nearest one it knows; ``notes_of`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ....tokenizer import Tokenizer
from ..launch import Settings
from .coder_old import OldCoder
from .grammar.calls import Schemas
from .grammar.qwen3 import Qwen3Reasoning, Qwen3Tools
from .hermes import Hermes
from .hermes_old import OldHermes
from .rules import ParserRules
from .stream import ReasoningParser, ToolParser
from .thinking import OpenedThinking, Thinking

REASONING = ("deepseek_r1", "qwen3")
GRAMMAR_TOOLS = ("qwen3_coder", "qwen3_xml")
TOOLS = ("hermes", *GRAMMAR_TOOLS)

NO_SCHEMAS: Schemas = {}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says about parsing. ``choice``: none | auto | required | named | unsaid (null without tools: a
    message, or a chat that says so; the tool parser of 0.24 and newer speaks then); ``name``: the named function;
    ``tools``: were tools given; ``thinking``: the chat template's enable_thinking; ``prompt_ended``: the prompt has
    already ended the reasoning; ``api``: chat (messages too) or responses."""

    choice: str = "none"
    name: str = ""
    tools: bool = False
    schemas: Schemas = field(default_factory=lambda: NO_SCHEMAS)
    include_reasoning: bool = True
    thinking: bool = True
    prompt_ended: bool = False
    api: str = "chat"

    @property
    def forced(self) -> bool:
        return self.choice in ("required", "named")


def asked_of(values: Mapping[str, Any], api: str = "chat") -> Asked:
    """Read a chat or Responses request's fields. Responses parse calls also where no tools were given (``auto``)."""
    tools = values.get("tools") or ()
    choice = values.get("tool_choice")
    kind, name = "none", ""
    named: Mapping[str, Any] = cast("Mapping[str, Any]", choice) if isinstance(choice, Mapping) else {}
    if named.get("type") in ("function", "custom"):
        kind, name = "named", str((named.get("function") or named).get("name", ""))
    elif choice == "required":
        kind = "required"
    elif (tools and choice != "none") or (choice == "auto" and api == "responses"):
        kind = "auto"
    elif choice is None and "tool_choice" in values and api != "responses":
        kind = "unsaid"
    variables: Mapping[str, Any] = values.get("chat_template_kwargs") or {}
    return Asked(
        choice=kind,
        name=name,
        tools=bool(tools),
        schemas=_schemas(tools),
        include_reasoning=values.get("include_reasoning") is not False,
        thinking=variables.get("enable_thinking", True) is not False,
        api=api,
    )


def _schemas(tools: Any) -> Schemas:
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        function: Mapping[str, Any] = tool.get("function") or tool
        parameters: Mapping[str, Any] = function.get("parameters") or {}
        properties: Any = parameters.get("properties")
        if isinstance(properties, Mapping) and function.get("name"):
            rows = cast("Mapping[str, Any]", properties)
            found[str(function["name"])] = {key: row for key, row in rows.items() if isinstance(row, Mapping)}
    return found


def parser_name(asked: str | None) -> str:
    return (asked or "").replace("-", "_")


def tool_parser_name(settings: Settings) -> str:
    """The tool parser in use; without --enable-auto-tool-choice vLLM makes none."""
    return parser_name(settings.tool_call_parser) if settings.enable_auto_tool_choice else ""


def is_grammar(name: str, rules: ParserRules) -> bool:
    """Is it one of the grammar-driven parsers in this version?"""
    return rules.qwen3 == "grammar" and (name == "qwen3" or name in GRAMMAR_TOOLS)


def make_reasoning(
    tokenizer: Tokenizer, settings: Settings, rules: ParserRules, asked: Asked
) -> ReasoningParser | None:
    name = parser_name(settings.reasoning_parser)
    if not name:
        return None
    if name != "qwen3":
        return Thinking(tokenizer, any_close=rules.any_close, bare="reasoning")
    if rules.qwen3 == "marks":
        return Thinking(tokenizer, any_close=rules.any_close, bare="content")
    if rules.qwen3 == "opened":
        return OpenedThinking(tokenizer, enabled=asked.thinking)
    return Qwen3Reasoning(tokenizer, rules, enabled=asked.thinking)


def make_tools(
    tokenizer: Tokenizer, settings: Settings, rules: ParserRules, asked: Asked, *, alone: bool
) -> ToolParser | None:
    name = tool_parser_name(settings)
    if not name:
        return None
    if name in GRAMMAR_TOOLS and rules.qwen3 != "grammar":
        return OldCoder(tokenizer, asked.schemas, bursts=rules.coder_bursts)
    if name in GRAMMAR_TOOLS:
        none = asked.choice == "none" and asked.tools
        return Qwen3Tools(tokenizer, rules, asked.schemas, alone=alone, none=none)
    return OldHermes(tokenizer, exact=rules.exact_hermes) if rules.old_hermes else Hermes()


def shows_specials(settings: Settings, rules: ParserRules, asked: Asked) -> bool:
    """Do the parsers need special tokens in the text (which switches skip_special_tokens off)?"""
    if is_grammar(parser_name(settings.reasoning_parser), rules):
        return True
    name = tool_parser_name(settings)
    if not name:
        return False
    if is_grammar(name, rules):
        return True
    hermes = name not in GRAMMAR_TOOLS and rules.hermes_shows_specials
    return hermes and asked.tools and asked.choice != "none"


def notes_of(settings: Settings, rules: ParserRules) -> tuple[str, ...]:
    """What stands in for parsers that are not known here."""
    notes: list[str] = []
    reasoning, tools = parser_name(settings.reasoning_parser), tool_parser_name(settings)
    if reasoning and reasoning not in REASONING:
        notes.append(f"--reasoning-parser {settings.reasoning_parser}: not known here, deepseek_r1 stands in for it")
    if tools and tools not in TOOLS:
        notes.append(f"--tool-call-parser {settings.tool_call_parser}: not known here, hermes stands in for it")
    if tools == "qwen3_xml" and rules.qwen3 != "grammar":
        notes.append(f"--tool-call-parser {settings.tool_call_parser}: qwen3_coder stands in for it")
    return tuple(notes)
