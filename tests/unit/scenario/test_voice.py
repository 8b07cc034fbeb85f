"""Structure as the models behind different parsers write it."""

from __future__ import annotations

import json

import pytest

from fakellm.ask import Ask
from fakellm.scenario.model import ToolCall
from fakellm.scenario.voice import TOOL_FORMATS, Voice, voice_for, voice_of
from support.asking import ask

ADD = ToolCall("add", {"a": 1, "b": [True, None]})
NOW = ToolCall("now", {})


@pytest.mark.parametrize(
    ("reasoning", "content", "calls", "raw"),
    [
        (None, "Hi.", (), "Hi."),
        ("", "Hi.", (), "<think></think>Hi."),
        ("Hm.", None, (), "<think>Hm.</think>"),
        (None, None, (NOW,), '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'),
        (
            None,
            "Sure.",
            (NOW, NOW),
            'Sure.<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>\n<tool_call>\n'
            '{"name": "now", "arguments": {}}\n</tool_call>',
        ),
        (None, None, (ToolCall("x", "{broken"),), '<tool_call>\n{"name": "x", "arguments": {broken}\n</tool_call>'),
        (None, None, (ToolCall('q"', {"ü": 1}),), '<tool_call>\n{"name": "q\\"", "arguments": {"ü": 1}}\n</tool_call>'),
        (None, None, (), ""),
    ],
)
def test_the_default_voice_writes_think_tags_and_hermes_calls(
    reasoning: str | None, content: str | None, calls: tuple[ToolCall, ...], raw: str
) -> None:
    assert raw == Voice().spell(reasoning, content, calls)


@pytest.mark.parametrize(
    ("parser", "raw"),
    [
        ("hermes", '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [true, null]}}\n</tool_call>'),
        ("qwen25", '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [true, null]}}\n</tool_call>'),
        ("llama3_json", '<|python_tag|>{"name": "add", "parameters": {"a": 1, "b": [true, null]}}'),
        ("mistral", '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": [true, null]}}]'),
        ("pythonic", "[add(a=1, b=[True, None])]"),
        (
            "qwen3_coder",
            "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n[true, null]\n</parameter>\n"
            "</function>\n</tool_call>",
        ),
        ("some-other", '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [true, null]}}\n</tool_call>'),
    ],
)
def test_each_parser_has_its_format(parser: str, raw: str) -> None:
    assert raw == voice_of(tool_parser=parser).spell(None, None, [ADD])


@pytest.mark.parametrize("parser", sorted(TOOL_FORMATS))
def test_variants_differ_only_in_blanks(parser: str) -> None:
    voice = voice_of(tool_parser=parser)

    variants = [voice.spell("Hm.", None, [NOW, ADD], variant=variant) for variant in range(4)]

    assert 4 == len(set(variants))
    assert 1 == len({"".join(raw.split()) for raw in variants})


def test_a_varied_call_is_still_json() -> None:
    raw = Voice().spell(None, None, [ADD], variant=3)

    inner = raw.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")
    assert {"name": "add", "arguments": {"a": 1, "b": [True, None]}} == json.loads(inner)


@pytest.mark.parametrize(
    ("voice", "request_", "lead"),
    [
        (Voice(), ask("x"), ""),
        (voice_of("qwen3"), ask("x"), "<think></think>"),
        (voice_of("qwen3"), ask("x", api="responses"), "<think></think>"),
        (voice_of("qwen3"), ask(api="completions", prompts=["x"]), ""),
        (voice_of("qwen3"), ask("x", chat_template_kwargs={"enable_thinking": False}), ""),
        (voice_of("qwen3"), ask("x", chat_template_kwargs={"enable_thinking": True}), "<think></think>"),
        (voice_of("kimi"), ask("x", chat_template_kwargs="odd"), "◁think▷◁/think▷"),
    ],
)
def test_content_without_reasoning_is_marked_where_a_server_expects_reasoning(
    voice: Voice, request_: Ask, lead: str
) -> None:
    assert lead == voice.lead(request_)
    assert f"{lead}Hi." == voice.spell(None, "Hi.", lead=lead)
    assert "Hm." in voice.spell("Hm.", "Hi.", lead=lead)


@pytest.mark.parametrize(
    ("options", "voice"),
    [
        ((), Voice()),
        (("--reasoning-parser", "qwen3", "--tool-call-parser", "hermes"), Voice(thinks=True)),
        (("--reasoning-parser=kimi", "--port", "1"), Voice("◁think▷", "◁/think▷", thinks=True)),
        (("--reasoning_parser", "mistral"), Voice("[THINK]", "[/THINK]", thinks=True)),
        (("--enable-auto-tool-choice", "--tool-call-parser", "llama3_json"), Voice(tools=TOOL_FORMATS["llama3_json"])),
        (("--tool-call-parser",), Voice()),
    ],
)
def test_the_voice_follows_the_parsers_of_the_command_line(options: tuple[str, ...], voice: Voice) -> None:
    assert voice == voice_for(options)
