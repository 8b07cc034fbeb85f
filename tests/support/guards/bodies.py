"""Probes of bodies: enormous, packed, deep, not UTF-8, asking for too much; templates and patterns that would hang."""

from __future__ import annotations

import gzip
import json
import random

from fakellm.ask import Request
from fakellm.pattern import Pattern
from fakellm.scenario.load import from_text
from fakellm.tokenizer.chat_template import render

from ..stages import Spoken, body_of, spoken, stage
from .arena import here
from .mechanism import Arena, Guard, chat, connection, head_of, post, refused

LIMIT = 1_000_000
LAYOUTS = ("vllm-0.32.0", "sglang", "dynamo", "openai", "ollama")


async def a_body_without_end_is_refused(arena: Arena) -> None:
    """413 while it is still being sent, whether it said its length or not."""
    said = b"POST /v1/models HTTP/1.1\r\nhost: a\r\ncontent-length: 5000000000\r\n\r\n" + b"x" * 2 * LIMIT
    chunk = b"%x\r\n%b\r\n" % (100_000, b"x" * 100_000)
    endless = b"POST /v1/models HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n" + chunk * 20
    async with here(max_body_bytes=LIMIT) as server:
        for sent in (said, endless):
            async with connection(server.address) as (reader, writer):
                writer.write(sent)
                assert (await head_of(reader)).startswith(b"HTTP/1.1 413 ")
                assert b"larger than 1000000 bytes" in await reader.readuntil(b"}")


async def a_packed_body_is_not_unpacked(arena: Arena) -> None:
    """Three hundred kilobytes would become three hundred megabytes; and no server that is played unpacks bodies."""
    packed = gzip.compress(b"[" * 3_000_000)
    async with here(max_body_bytes=LIMIT) as server, connection(server.address) as (reader, writer):
        writer.write(post(packed, "/v1/chat/completions", b"content-encoding: gzip"))
        assert (await head_of(reader)).startswith(b"HTTP/1.1 400 ")
        assert b"error parsing the body" in await reader.readuntil(b"}")


async def a_body_of_brackets_is_refused(arena: Arena) -> None:
    """However deep, in any member, by every family of layouts, with 400 and not as a defect of ours."""
    for layout in LAYOUTS:
        playing = stage(Spoken(spoken("Hello")), layout)
        for depth in (200, 300, 900, 990, 3_000, 100_000):
            for left, right in ((b"[", b"]"), (b'{"a":', b"}")):
                deep = left * depth + b"1" + right * depth
                for member in (b"metadata", b"tools", b"stop"):
                    head = b'{"model":"tiny","messages":[{"role":"user","content":"x"}],"input":"x",'
                    for path in ("/v1/chat/completions", "/v1/responses", "/api/chat"):
                        body = head + b'"%b":%b}' % (member, deep)
                        answer = playing.answer(Request("POST", path, {}, {"content-type": "application/json"}, body))
                        assert answer.problem is None, (layout, depth, path, answer.problem)


async def a_defect_of_ours_is_an_answer(arena: Arena) -> None:
    """Code that breaks gives 500 with words, and the connection goes on."""

    class Broken:
        def reply(self, ask: object) -> object:
            raise ZeroDivisionError("as if")

    async with here(stage(Broken())) as server, connection(server.address) as (reader, writer):
        for _ in range(2):
            writer.write(post(chat()))
            assert (await head_of(reader)).startswith(b"HTTP/1.1 500 ")
            assert b"fakellm broke down: ZeroDivisionError: as if" in await reader.readuntil(b"}}")


async def bytes_that_are_no_utf8_are_refused(arena: Arena) -> None:
    """In the vendor's words."""
    for layout in LAYOUTS:
        for body in (b"\xff\xfe{}", b'{"model": "\xc3\x28"}', b'{"prompt": "\xed\xa0\x80"}'):
            answer = stage(Spoken(spoken("Hello")), layout).answer(
                Request("POST", "/v1/chat/completions", {}, {"content-type": "application/json"}, body)
            )
            assert answer.problem is None, (layout, answer.problem)
            assert 400 <= answer.wire.status < 500, (layout, answer.wire.status, body_of(answer))


async def who_asks_for_a_million_choices_is_refused(arena: Arena) -> None:
    """At once; the next request finds a server that answers."""
    source = Spoken(spoken("Hello"))
    playing = stage(source, "sglang")
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "x"}], "n": 20_000}).encode()

    answer = playing.answer(Request("POST", "/v1/chat/completions", {}, {"content-type": "application/json"}, body))

    assert 400 == answer.wire.status
    assert b"choices are asked for" in body_of(answer)
    assert not source.asked


async def a_template_that_would_never_end_is_refused(arena: Arena) -> None:
    """A template is a foreign program."""
    loops = "{% for i in range(400) %}{% for j in range(4000) %}{% endfor %}{% endfor %}"
    with refused("steps of work"):
        render(loops, [], {})


async def a_template_that_would_fill_the_memory_is_refused(arena: Arena) -> None:
    """Before the value is made."""
    with refused("makes a value"):
        render("{{ ('x' * 40000000)|length }}", [], {})


async def a_pattern_that_would_hang_is_given_up(arena: Arena) -> None:
    """A regex of a scenario on a text of a request."""
    pattern = Pattern("(a|b)*a(a|b){300}c")
    text = "".join(random.Random(1).choices("ab", k=20_000))
    with refused("too much work"):
        pattern.found_in(text)


async def only_the_beginning_of_an_enormous_text_is_searched(arena: Arena) -> None:
    """A tenth of a second of it."""
    assert not Pattern("needle").found_in("x" * 2_000_001 + "needle")


async def yaml_that_refers_to_itself_is_refused(arena: Arena) -> None:
    """Ten lines of it can be a billion values."""
    lines = ['a0: &a0 ["x"]', *(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 6))]
    with refused("the anchor &a0 is not allowed"):
        from_text("\n".join([*lines, "replies: [{say: Hello}]"]), "probe")


async def a_scenario_of_brackets_is_refused(arena: Arena) -> None:
    """A thousand brackets are told by their line, not by a traceback."""
    with refused("nesting deeper"):
        from_text("replies: " + "[" * 300 + "]" * 300, "probe")


STAGE = "fakellm.stage:Stage."
GUARDS = (
    Guard(
        "endless-body",
        a_body_without_end_is_refused,
        "fakellm.server.run:make_app_with_admin",
        "client_max_size=bound.max_body_bytes",
        "client_max_size=2**40",
    ),
    Guard(
        "endless-body-direct",
        a_body_without_end_is_refused,
        "fakellm.server.direct:Direct._take",
        "head.length > self._desk.max_body or ",
        "",
    ),
    Guard(
        "packed-body",
        a_packed_body_is_not_unpacked,
        "fakellm.server.run:_runner",
        "auto_decompress=False",
        "auto_decompress=True",
    ),
    Guard(
        "deep-body",
        a_body_of_brackets_is_refused,
        STAGE + "answer",
        "ran_too_deep(broken, request.body)",
        "False",
    ),
    Guard("defect", a_defect_of_ours_is_an_answer, STAGE + "answer", "except Exception as", "except KeyError as"),
    Guard(
        "not-utf8",
        bytes_that_are_no_utf8_are_refused,
        "fakellm.layouts.vllm.validate.read:_json_body",
        "except (ValueError, RecursionError):",
        "except RecursionError:",
    ),
    Guard("choices", who_asks_for_a_million_choices_is_refused, "fakellm.stage:MAX_CHOICES", "", "2**60"),
    Guard(
        "template-work",
        a_template_that_would_never_end_is_refused,
        "fakellm.tokenizer.template_limits:MAX_WORK",
        "",
        "2**60",
    ),
    Guard(
        "template-size",
        a_template_that_would_fill_the_memory_is_refused,
        "fakellm.tokenizer.template_limits:MAX_VALUE",
        "",
        "2**60",
    ),
    Guard("pattern-work", a_pattern_that_would_hang_is_given_up, "fakellm.pattern:MAX_WORK", "", "2**60"),
    Guard("pattern-text", only_the_beginning_of_an_enormous_text_is_searched, "fakellm.pattern:MAX_TEXT", "", "2**60"),
    Guard(
        "yaml-aliases",
        yaml_that_refers_to_itself_is_refused,
        "fakellm.scenario.source:_Reader._value",
        "if event.anchor is not None:",
        "if False:",
    ),
    Guard("yaml-depth", a_scenario_of_brackets_is_refused, "fakellm.scenario.source:MAX_DEPTH", "", "2**60"),
)
