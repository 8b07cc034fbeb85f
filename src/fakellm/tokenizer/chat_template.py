"""Chat templates: a conversation to prompt text, by jinja2 in its sandbox, as Hugging Face's libraries run them.

Owns the environment (filters, globals, tags) and the meaning of ``continue_final_message``. It must not know tokens,
vendors or requests: what a vendor does to messages before templating (joining text parts, parsing the arguments of
tool calls) is its layout's. Facts: Hugging Face, "Chat templates", https://huggingface.co/docs/transformers/chat_templating.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn, cast

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser

from ..errors import TokenizerError
from .template_limits import LimitedSandbox, limited

CONTINUE_MARK = "CONTINUE_FINAL_MESSAGE_TAG "
"""Appended to the final content before rendering; the text is cut where it comes out. The blank tells whether the
template trims contents."""


class _Generation(jinja2.ext.Extension):
    """``{% generation %}...{% endgeneration %}``: marks what the assistant wrote; it renders to what is in it."""

    tags = {"generation"}  # noqa: RUF012  jinja2 declares it so

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(spelling: str) -> str:
    return datetime.now().strftime(spelling)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@lru_cache(maxsize=1)
def _environment() -> LimitedSandbox:
    environment = LimitedSandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols], to_json=_to_json
    )
    known: dict[str, Any] = {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    environment.globals.update(known)
    return environment


@lru_cache(maxsize=32)
def compile_template(source: str) -> jinja2.Template:
    """The compiled template; raises TokenizerError with jinja's own words when it is not one."""
    try:
        return _environment().from_string(source)
    except jinja2.TemplateError as error:
        raise TokenizerError(
            error.message or str(error), where="chat template", hint="the chat template is not valid jinja"
        ) from None
    except (SyntaxError, RecursionError, MemoryError, OverflowError):  # Python's own limits: 20 loops in each other
        raise TokenizerError("the chat template is nested too deeply", where="chat template") from None


def is_timeless(source: str) -> bool:
    """Whether equal input always gives equal text, so that a rendering may be remembered."""
    return "strftime_now" not in source


def render(
    source: str,
    messages: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Any],
    *,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
) -> str:
    """The prompt text. ``variables``: everything else that the template may name (``tools``, ``bos_token``, ...; a
    ``strftime_now`` among them replaces the machine's clock). Raises TokenizerError with the template's own words.
    """
    template = compile_template(source)
    if not continue_final_message:
        return _run(template, messages, variables, add_generation_prompt)
    if add_generation_prompt:
        raise TokenizerError(
            "a final message that is continued cannot be followed by a generation prompt",
            where="chat template",
            hint="set add_generation_prompt to false when continue_final_message is true",
        )
    marked, final_text = _mark_final(messages)
    return _cut_at_mark(_run(template, marked, variables, False), final_text)


def _run(
    template: jinja2.Template,
    messages: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Any],
    add_generation_prompt: bool,
) -> str:
    try:
        given = {**variables, "messages": messages, "add_generation_prompt": add_generation_prompt}
        with limited():
            return template.render(given)
    except jinja2.TemplateError as error:
        raise TokenizerError(error.message or str(error), where="chat template") from None
    except RecursionError:
        raise TokenizerError("the chat template recurses without end", where="chat template") from None
    except MemoryError:
        raise TokenizerError("the chat template needs more memory than there is", where="chat template") from None
    # A template is a foreign program: adding a number to a text in it raises what Python raises.
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        raise TokenizerError(f"{type(error).__name__}: {error}", where="chat template") from None


def _mark_final(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """The conversation with the mark after its last text, and that text."""
    nothing = TokenizerError("the final message has no text that could be continued", where="messages")
    if not messages:
        raise nothing
    final: dict[str, Any] = copy.deepcopy(dict(messages[-1]))
    content: Any = final.get("content")
    if isinstance(content, str):
        final["content"] = content + CONTINUE_MARK
        return [*messages[:-1], final], content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    for part in reversed(parts):
        text: Any = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            part["text"] = text + CONTINUE_MARK
            return [*messages[:-1], final], text
    raise nothing


def _cut_at_mark(rendered: str, final_text: str) -> str:
    at = rendered.rfind(CONTINUE_MARK.strip())
    if at < 0 or final_text.strip() not in rendered:
        raise TokenizerError(
            "the final message cannot be continued: the chat template does not show it as it is", where="chat template"
        )
    if rendered.startswith(CONTINUE_MARK, at):
        return rendered[:at]
    return rendered[:at].rstrip()
