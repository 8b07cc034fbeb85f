"""A chat template may be anybody's: what would take hours or all memory is refused, and real ones never notice."""

from __future__ import annotations

import json
from typing import Any

import jinja2.ext
import jinja2.sandbox
import pytest

from fakellm.errors import TokenizerError
from fakellm.tokenizer import template_limits
from fakellm.tokenizer.chat_template import render

LOOPS = "{% for i in range(9000) %}{% for j in range(9000) %}BODY{% endfor %}{% endfor %}"
GROW = "{% set ns = namespace(a='xxxxxxxxxx') %}{% for i in range(60) %}{% set ns.a = MORE %}{% endfor %}{{ ns.a }}"
WORK = {
    "loops": LOOPS.replace("BODY", ""),
    "loops of text": LOOPS.replace("BODY", "hello"),
    "loops under names of ours": "{% set tick = 1 %}{% set joined = 2 %}" + LOOPS.replace("BODY", "{{ i ~ j }}"),
    "a counter that is turned back": (
        "{% for i in range(9000) %}{{ [-99999]|map('fakellm tick')|list }}"
        "{% for j in range(9000) %}{% endfor %}{% endfor %}"
    ),
    "a macro that calls itself twice": (
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}"
    ),
    "sorting again and again": "{% for i in range(90000) %}{{ range(90000)|sort|length }}{% endfor %}",
    "a text that doubles": GROW.replace("MORE", "ns.a ~ ns.a"),
    "a list that doubles": GROW.replace("MORE", "[ns.a] + [ns.a]").replace("'xxxxxxxxxx'", "[1]"),
    "lists of lists": GROW.replace("MORE", "[ns.a, ns.a]"),
    "dicts of dicts": GROW.replace("MORE", "{'a': ns.a, 'b': ns.a}"),
    "namespaces of namespaces": GROW.replace("MORE", "namespace(a=ns.a, b=ns.a)"),
    "a block of large texts": (
        "{% set b = 'x' * 1000000 %}{% set x %}{% for i in range(90000) %}{{ b }}{% endfor %}{% endset %}"
    ),
}
SIZES = {
    "a product": "{{ 'x' * 1000000000 }}",
    "a product the other way round": "{{ 1000000000 * [1] }}",
    "a power": "{{ 10 ** 100000000 }}",
    "a width by %": "{{ '%999999999d' % 1 }}",
    "a width by % from elsewhere": "{{ '%*d' % (999999999, 1) }}",
    "a width by the filter format": "{{ '%999999999d'|format(1) }}",
    "a width by the method format": "{{ '{:>999999999}'.format(1) }}",
    "a width by the method format from elsewhere": "{{ '{:>{}}'.format(1, 999999999) }}",
    "center": "{{ 'x'|center(999999999) }}",
    "ljust": "{{ 'x'.ljust(999999999) }}",
    "expandtabs": "{{ '\t'.expandtabs(999999999) }}",
    "replace": "{% set a = 'x' * 30000 %}{{ a.replace('x', a) }}",
    "the filter replace": "{% set a = 'x' * 30000 %}{{ a|replace('x', a) }}",
    "replacing nothing": "{% set a = 'x' * 30000 %}{{ a.replace('', a) }}",
    "join": "{% set a = 'x' * 30000 %}{{ a.join(a) }}",
    "the filter join": "{% set a = ['x' * 1000000] * 100000 %}{{ a|join }}",
    "indent": "{{ 'x\ny'|indent(999999999) }}",
    "tojson": "{{ [1]|tojson(indent=999999999) }}",
    "batch": "{{ [1]|batch(999999999, 1)|list|length }}",
    "a template of 300,000 characters": "x" * 300_000,
    "loops within loops": "{% for a in b %}" * 30 + "{% endfor %}" * 30,
    "parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
}
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "  there "}]},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, None]}}}]},
    {"role": "tool", "content": "50 % of {} is *"},
]
REAL = """{%- set ns = namespace(found=false, text='') -%}
{%- macro shown(content, strip) -%}
{%- if content is string -%}{{ content | trim if strip else content }}
{%- elif content is none -%}{{ '' }}
{%- else -%}{% for part in content %}{{ part.text ~ ('|' if not loop.last else '') }}{% endfor %}{%- endif -%}
{%- endmacro -%}
{{ bos_token }}{% for m in messages %}{% if m.role == 'user' and not ns.found %}{% set ns.found = true %}{% endif %}
{{ '<|' + m.role + '|>' + '\\n' }}{{ shown(m['content'], true) }}
{%- if m.tool_calls %}{% for call in m.tool_calls %}{{ call.function | tojson }}{% endfor %}{% endif %}
{% set ns.text = ns.text ~ m.role[:1] %}{% endfor %}
{% for k, v in {'a': 1, 'b': [1, (2, 3)]}.items() %}{{ k }}={{ v }};{% endfor %}{{ ns.text | upper }}
{{ messages | selectattr('role', 'equalto', 'user') | list | length }}
{{ messages[::-1] | map(attribute='role') | join(', ') }}
{{ '%s-%05.1f' % ('x', 2.5) }} {{ 'a,b'.split(',') }} {{ '{:>5}|{}'.format('x', 1) }} {{ 7 // 2 ** 2 }} {{ missing }}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""


def plain(source: str, **variables: Any) -> str:
    """What jinja2's own sandbox makes of it."""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(source).render(**variables, add_generation_prompt=True)


@pytest.mark.parametrize("name", WORK)
def test_work_without_end_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "MAX_WORK", 100_000)

    with pytest.raises(TokenizerError, match="steps of work"):
        render(WORK[name], [], {})


@pytest.mark.parametrize("name", SIZES)
def test_what_is_too_large_is_refused_before_it_is_made(name: str) -> None:
    with pytest.raises(TokenizerError, match="chat template"):
        render(SIZES[name], [], {})


def test_a_real_template_gives_what_jinja_gives() -> None:
    assert plain(REAL, messages=CHAT, bos_token="<s>") == render(REAL, CHAT, {"bos_token": "<s>"})


def test_a_chat_of_a_thousand_messages_takes_less_than_a_tenth_of_what_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "MAX_WORK", template_limits.MAX_WORK // 10)

    assert "<|user|>" in render(REAL, CHAT * 250, {"bos_token": "<s>"})


def test_limits_are_of_one_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_limits, "MAX_WORK", 10_000)

    assert 2 == len({render("{% for i in range(4000) %}{% endfor %}" + text, [], {}) for text in "ab"})
