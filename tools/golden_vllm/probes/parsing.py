"""What a reasoning parser and a tool parser make of an answer, in steps of every size: whole, unfinished, malformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .book import Book

SCORES: dict[str, Any] = {"logprobs": True, "return_token_ids": True}


def function(name: str, **properties: str) -> dict[str, Any]:
    """A tool whose parameters have these types."""
    members = {key: {"type": kind} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": members}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS: list[dict[str, Any]] = [
    function("add", a="integer", b="number"),
    function("find", text="string", deep="object", many="array", exact="boolean"),
    {"type": "function", "function": {"name": "now"}},
]

_ADD = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
HERMES = (
    '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2.5}}\n</tool_call>',
    '<tool_call>{"name":"now","arguments":{}}</tool_call>',
    _ADD + '\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
    'First this. <tool_call>\n{"name": "find", "arguments": {"text": "a \\"b\\" é🙂", '
    '"many": [1, {"x": null}]}}\n</tool_call>',
    '<tool_call>\n{"arguments": {"a": 3}, "name": "add"}\n</tool_call>',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b":',
    '<tool_call>\n{"name": "add", "arguments": {"a": 1}}',
    '<tool_call>\n{"name": "ad',
    "<tool_call>\nnot json\n</tool_call>",
    '<tool_call>\n{"name": "unknown", "arguments": {"a": "1"}}\n</tool_call> and more',
    '<tool_call>\n{"name": "find", "arguments": "text"}\n</tool_call>',
    "a < b and <tool_ but no call",
    '{"name": "add", "arguments": {"a": 1}}',
    '<tool_call>\n[{"name": "add", "arguments": {"a": 1}}]\n</tool_call>',
    '<tool_call>\n{"name": "find", "arguments": {"text": "line\\nbreak", "deep": {"k": {"l": []}}, '
    '"exact": true}}\n</tool_call>',
    "</tool_call> alone",
)


def called(name: str, **parameters: str) -> str:
    """A call as qwen3_coder writes it."""
    rows = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in parameters.items())
    return f"<tool_call>\n<function={name}>\n{rows}</function>\n</tool_call>"


CODER = (
    called("add", a="1", b="2.5"),
    called("now"),
    "Let me. " + called("find", text='a "b"\né🙂 < > &', exact="true"),
    called("add", a="1") + "\n" + called("now"),
    called("add", a="not a number"),
    called("find", many='[1, {"x": null}]', deep='{"k": 1}'),
    "<tool_call>\n<function=add>\n<parameter=a>\n1\n</param",
    "<tool_call>\n<function=ad",
    called("other", z="null") + " after",
    "<function=add>\n<parameter=a>\n7\n</parameter>\n</function>",
    called("find", text="", deep="None"),
    "<tool_call>\nnothing\n</tool_call>",
)

THOUGHTS = (
    "<think>I see. é🙂</think>The answer.",
    "I see, says a template</think>\n\nThe answer.",
    "<think>Never ends",
    "No thought at all.",
    "<think></think>At once.",
    "<think>One</think>two<think>three</think>four",
    "Before <think>in</think> after",
    "<think>a < b</thin k></think>x",
    "</think>",
    "<think>",
)

NAMED = {"type": "function", "function": {"name": "add"}}
FORCED = (
    '[{"name": "add", "parameters": {"a": 1, "b": 2}}]',
    '[{"name": "add", "parameters": {"a": 1}}, {"name": "now", "parameters": {}}]',
    '[{"name": "find", "parameters": {"text": "é \\"q\\" ]}", "many": []}}]',
    '[{"name": "add", "parameters": {"a": 1',
    "[]",
    "not json",
)
NAMED_SAID = ('{"a": 1, "b": 2}', '{"a": "é🙂 }', "not json", "{}", '{"a": {"b": [1, 2, {"c": null}]}}')


def hermes(book: Book) -> None:
    """A server with a hermes tool parser and a reasoning parser."""
    _calls(book, HERMES)
    _forced(book)
    _thoughts(book)


def coder(book: Book) -> None:
    """A server with a qwen3_coder tool parser and a reasoning parser."""
    _calls(book, CODER)
    _thoughts(book)


def thoughts(book: Book) -> None:
    """A server with a reasoning parser alone."""
    _thoughts(book)


def tools(book: Book) -> None:
    """A server with a tool parser alone."""
    _calls(book, HERMES)
    _forced(book)


def _calls(book: Book, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts):
        for thought in ("", "<think>Hm.</think>"):
            name = f"call-{number}{'-thought' if thought else ''}"
            chance = book.chance(name)
            for kind, stream, extra in _ways(name, chance.random):
                said = book.speech.at_random(book.chance(f"{name}{kind}"), thought + text)
                book.chat(f"{name}-{kind}", said, tools=TOOLS, stream=stream, **extra)
        said = book.speech.at_random(book.chance(f"r{number}"), text)
        functions = [{"type": "function", **tool["function"]} for tool in TOOLS]
        book.respond(f"call-{number}", said, tools=functions)
        book.respond(f"call-{number}-stream", said, tools=functions, stream=True)
        shapes = [{"name": tool["function"]["name"], "input_schema": {"type": "object"}} for tool in TOOLS]
        book.message(f"call-{number}", said, tools=shapes, max_tokens=120)
        book.message(f"call-{number}-stream", said, tools=shapes, max_tokens=120, stream=True)
        book.chat(f"call-{number}-none", said, tools=TOOLS, tool_choice="none", stream=True)
        book.chat(f"call-{number}-no-tools", said, stream=True)
        book.chat(f"call-{number}-null", said, tool_choice=None)
        book.chat(f"call-{number}-null-stream", said, tool_choice=None, stream=True)
        book.message(f"call-{number}-no-tools", said, max_tokens=120)
        book.message(f"call-{number}-no-tools-stream", said, max_tokens=120, stream=True)
        one = {"tools": TOOLS, "parallel_tool_calls": False}
        book.chat(f"call-{number}-single", said, **one)
        book.chat(f"call-{number}-single-stream", said, stream=True, **one)
        book.chat(f"call-{number}-cut", said, tools=TOOLS, max_tokens=9, stream=True, **SCORES)
        book.chat(f"call-{number}-stop", said, tools=TOOLS, stop=["arg", "para"], stream=True, **SCORES)


def _ways(name: str, chance: Callable[[], float]) -> list[tuple[str, bool, dict[str, Any]]]:
    usage = {"stream_options": {"include_usage": True, "continuous_usage_stats": chance() < 0.5}}
    return [
        ("whole", False, {}),
        ("whole-ids", False, SCORES),
        ("stream", True, {}),
        ("stream-ids", True, {**SCORES, **usage}),
        ("stream-scores", True, {"logprobs": True, "top_logprobs": 1}),
    ]


def _forced(book: Book) -> None:
    for number, text in enumerate(FORCED):
        for thought in ("", "<think>Hm.</think>"):
            for stream in (False, True):
                name = f"required-{number}{'-thought' if thought else ''}{'-stream' if stream else ''}"
                said = book.speech.at_random(book.chance(name), thought + text)
                book.chat(name, said, tools=TOOLS, tool_choice="required", stream=stream, **SCORES)
    for number, text in enumerate(NAMED_SAID):
        for thought in ("", "<think>Hm.</think>"):
            for stream in (False, True):
                name = f"named-{number}{'-thought' if thought else ''}{'-stream' if stream else ''}"
                said = book.speech.at_random(book.chance(name), thought + text)
                book.chat(name, said, tools=TOOLS, tool_choice=NAMED, stream=stream, **SCORES)
    for stream in (False, True):
        kind = "-stream" if stream else ""
        functions = [{"type": "function", **tool["function"]} for tool in TOOLS]
        said = book.speech.at_random(book.chance("rr"), FORCED[0])
        book.respond(f"required{kind}", said, tools=functions, tool_choice="required", stream=stream)
        named = book.speech.at_random(book.chance("rn"), NAMED_SAID[0])
        book.respond(
            f"named{kind}", named, tools=functions, tool_choice={"type": "function", "name": "add"}, stream=stream
        )
        shapes = [{"name": "add", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
        book.message(f"any{kind}", said, tools=shapes, tool_choice={"type": "any"}, stream=stream)
        book.message(f"tool{kind}", named, tools=shapes, tool_choice={"type": "tool", "name": "add"}, stream=stream)


def _thoughts(book: Book) -> None:
    for number, text in enumerate(THOUGHTS):
        name = f"thought-{number}"
        for kind, stream, extra in _ways(name, book.chance(name).random):
            said = book.speech.at_random(book.chance(f"{name}{kind}"), text)
            book.chat(f"{name}-{kind}", said, stream=stream, **extra)
            book.chat(f"{name}-{kind}-hidden", said, stream=stream, include_reasoning=False, **extra)
        said = book.speech.at_random(book.chance(name), text)
        for stream in (False, True):
            kind = f"{number}{'-stream' if stream else ''}"
            include = {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
            book.respond(f"thought-{kind}", said, stream=stream, **include)
            book.respond(f"thought-{kind}-messages", said, stream=stream, enable_response_messages=True)
            book.message(f"thought-{kind}", said, stream=stream)
            book.chat(f"thought-{kind}-cut", said, stream=stream, max_tokens=3, **SCORES)
            book.chat(f"thought-{kind}-stop", said, stream=stream, stop=["er", "see"], **SCORES)
            off = {"chat_template_kwargs": {"enable_thinking": False}}
            book.chat(f"thought-{kind}-off", said, stream=stream, **off)
        book.complete(f"thought-{number}", said, stream=True)
    both = book.speech.choices(*(book.speech.say(text) for text in THOUGHTS[:3]))
    book.chat("thoughts-n3", both, n=3, **SCORES)
    book.chat("thoughts-n3-stream", both, n=3, stream=True, stream_options={"include_usage": True}, **SCORES)
