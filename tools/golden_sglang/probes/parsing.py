"""What a reasoning parser and a tool parser make of an answer, in steps of every size: whole, unfinished, malformed.

The texts are those of vLLM's probes where both vendors read the same format.
"""

from __future__ import annotations

from typing import Any

from golden_vllm.probes.parsing import FORCED, HERMES, NAMED, NAMED_SAID, THOUGHTS, TOOLS

from .book import Book

SCORES: dict[str, Any] = {"logprobs": True}
CUT = (
    '<tool_call>\n{"name": "find", "arguments": {"text": "a b',
    '<tool_call>\n{"name": "find", "arguments": {"text": "a ',
    '<tool_call>\n{"name": "find", "arguments": {"exact": tr',
    '<tool_call>\n{"name": "find", "arguments": {"exact": nu ',
    '<tool_call>\n{"name": "add", "arguments": {"a": 12.',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1 x',
    '<tool_call>\n{"name": "add", "arguments": {"a": -',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1e',
    '<tool_call>\n{"name": "find", "arguments": {"many": [1, 2',
    '<tool_call>\n{"name": "find", "arguments": {"many": [1, {"x": "',
    '<tool_call>\n{"name": "find", "arguments": {"text": "\\u00e',
    '<tool_call>\n{"name": "find", "arguments": {"text": "\\',
    '<tool_call>\n{"name": "find", "argum',
    '<tool_call>\n{"name": "add"',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1}} trailing\n</tool_call>',
    '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call><tool_call>\n{"name": "no',
    '<tool_call>\n{"name": "add", "parameters": {"a": 1}}\n</tool_call>',
)
"""Calls that stop or stumble in the middle."""


LLAMA = (
    '<|python_tag|>{"name": "add", "parameters": {"a": 1, "b": 2.5}}',
    '{"name": "add", "parameters": {"a": 1}}',
    '{"name": "add", "parameters": {"a": 1}}; {"name": "now", "parameters": {}}',
    'First this. <|python_tag|>{"name": "find", "parameters": {"text": "é🙂 \\"q\\"", "many": [1, null]}}',
    '<|python_tag|>{"name": "add", "arguments": {"a": 1}}',
    '<|python_tag|>{"name": "add", "parameters": {"a": 1',
    '<|python_tag|>{"name": "ad',
    "<|python_tag|>not json",
    '{"name": "unknown", "parameters": {}}',
    '{"a": 1}',
    "no call at all",
    '[{"name": "add", "parameters": {"a": 1}}]',
)
MISTRAL = (
    '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": 2.5}}]',
    '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}, {"name": "now", "arguments": {}}]',
    'First this. [TOOL_CALLS] [{"name": "find", "arguments": {"text": "é🙂 ] \\"q\\"", "many": [1, [2]]}}] after',
    '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1',
    '[TOOL_CALLS] [{"name": "ad',
    "[TOOL_CALLS] not json",
    "[TOOL_CALLS]",
    '[{"name": "add", "arguments": {"a": 1}}]',
    '[TOOL_CALLS] {"name": "add", "arguments": {"a": 1}}',
    '[TOOL_CALLS] [{"name": "unknown", "arguments": {}}]',
    '[TOOL_CALLS] [{"name": "find", "arguments": "text"}]',
    "no call at all",
)


def hermes(book: Book) -> None:
    """A server whose model writes calls as JSON between marks, and thinks."""
    _calls(book, (*HERMES, *CUT))
    _forced(book)
    _thoughts(book)


def llama(book: Book) -> None:
    """A server whose model writes calls as bare JSON, and thinks from its first word on."""
    _calls(book, LLAMA)
    _thoughts(book)


def mistral(book: Book) -> None:
    """A server whose model writes its calls as one list behind a mark."""
    _calls(book, MISTRAL)


def thoughts(book: Book) -> None:
    """A server with a reasoning parser alone."""
    _thoughts(book)


def tools(book: Book) -> None:
    """A server with a tool parser alone."""
    _calls(book, (*HERMES, *CUT))
    _forced(book)


def _calls(book: Book, texts: tuple[str, ...]) -> None:
    functions = [{"type": "function", **tool["function"]} for tool in TOOLS]
    shapes = [{"name": tool["function"]["name"], "input_schema": {"type": "object"}} for tool in TOOLS]
    for number, text in enumerate(texts):
        for kind in ("", "-stream"):
            stream: dict[str, Any] = {"stream": bool(kind)}
            for steps in ("ones", "random"):
                name = f"call-{number}-{steps}{kind}"
                chance = book.chance(name)
                said = book.speech.say(text) if steps == "ones" else book.speech.at_random(chance, text)
                book.chat(name, said, tools=TOOLS, **stream)
                thought = book.speech.at_random(chance, f"<think>Hm.</think>{text}")
                book.chat(f"{name}-thought", thought, tools=TOOLS, **stream, **SCORES)
            said = book.speech.at_random(book.chance(f"c{number}{kind}"), text)
            book.chat(f"call-{number}-none{kind}", said, tools=TOOLS, tool_choice="none", **stream)
            book.chat(f"call-{number}-no-tools{kind}", said, **stream)
            book.chat(f"call-{number}-single{kind}", said, tools=TOOLS, parallel_tool_calls=False, **stream)
            book.chat(f"call-{number}-cut{kind}", said, tools=TOOLS, max_tokens=9, **stream, **SCORES)
            book.chat(f"call-{number}-stop{kind}", said, tools=TOOLS, stop=["arg", "para"], **stream, **SCORES)
            book.chat(
                f"call-{number}-n2{kind}", book.speech.choices(said, book.speech.say("x")), tools=TOOLS, n=2, **stream
            )
            book.respond(f"call-{number}{kind}", said, tools=functions, **stream)
            book.message(f"call-{number}{kind}", said, tools=shapes, max_tokens=120, **stream)
            ids: dict[str, Any] = {} if kind else {"return_token_ids": True, "return_meta_info": True}
            book.chat(f"call-{number}-ids{kind}", said, tools=TOOLS, return_output_ids_in_sglext=True, **stream, **ids)


def _forced(book: Book) -> None:
    for kind in ("", "-stream"):
        stream: dict[str, Any] = {"stream": bool(kind)}
        for number, text in enumerate(FORCED):
            said = book.speech.at_random(book.chance(f"forced{number}{kind}"), text)
            book.chat(f"required-{number}{kind}", said, tools=TOOLS, tool_choice="required", **stream)
            book.chat(f"auto-{number}{kind}", said, tools=TOOLS, tool_choice="auto", **stream)
            functions = [{"type": "function", **tool["function"]} for tool in TOOLS]
            book.respond(f"required-{number}{kind}", said, tools=functions, tool_choice="required", **stream)
        for number, text in enumerate((*NAMED_SAID, *FORCED)):
            said = book.speech.at_random(book.chance(f"named{number}{kind}"), text)
            book.chat(f"named-{number}{kind}", said, tools=TOOLS, tool_choice=NAMED, **stream)
    choices: tuple[tuple[str, dict[str, Any]], ...] = (
        ("no-tools", {"tool_choice": "required"}),
        ("empty", {"tools": [], "tool_choice": "auto"}),
        ("unknown", {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nope"}}}),
        ("auto-no-tools", {"tool_choice": "auto"}),
        ("none-no-tools", {"tool_choice": "none"}),
        ("strict", {"tools": [{**TOOLS[0], "function": {**TOOLS[0]["function"], "strict": True}}]}),
        ("twice", {"tools": [TOOLS[0], TOOLS[0]]}),
        ("no-parameters", {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}),
        ("format", {"tools": TOOLS, "response_format": {"type": "json_object"}}),
    )
    for name, members in choices:
        book.chat(f"choice-{name}", book.speech.say(HERMES[0]), **members)
        book.chat(f"choice-{name}-stream", book.speech.say(HERMES[0]), stream=True, **members)


def _thoughts(book: Book) -> None:
    for number, text in enumerate(THOUGHTS):
        for kind in ("", "-stream"):
            stream: dict[str, Any] = {"stream": bool(kind)}
            for steps in ("ones", "random"):
                name = f"think-{number}-{steps}{kind}"
                said = book.speech.say(text) if steps == "ones" else book.speech.at_random(book.chance(name), text)
                book.chat(name, said, **stream, **SCORES)
                book.chat(f"{name}-together", said, separate_reasoning=False, **stream)
                book.chat(f"{name}-late", said, stream_reasoning=False, **stream)
                book.chat(f"{name}-off", said, chat_template_kwargs={"enable_thinking": False}, **stream)
                book.chat(f"{name}-cut", said, max_tokens=4, **stream, **SCORES)
            said = book.speech.at_random(book.chance(f"t{number}{kind}"), text)
            usage = {"stream_options": {"include_usage": True}} if kind else {}
            book.chat(f"think-{number}-usage{kind}", said, n=2, **stream, **usage)
            book.respond(f"think-{number}{kind}", said, **stream)
            book.message(f"think-{number}{kind}", said, max_tokens=120, **stream)
            book.native(f"think-{number}{kind}", said, return_logprob=True, **stream)
