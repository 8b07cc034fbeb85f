"""What a request may say besides sampling: conversations, inputs of Responses, blocks of messages, utility routes."""

from __future__ import annotations

from typing import Any

from .book import CHAT, COMPLETIONS, HI, MESSAGES, RESPONSES, Book

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
    {"role": "assistant", "content": "Sure, "},
]
CALLED = [
    {"role": "user", "content": "Add."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "2"},
]
SCORES: dict[str, Any] = {"logprobs": True, "return_token_ids": True}


def fill(book: Book) -> None:
    _chats(book)
    _formats(book)
    _responses(book)
    _messages(book)
    _utilities(book)
    _errors(book)


def _chats(book: Book) -> None:
    say = book.speech.say
    for stream in (False, True):
        kind = "-stream" if stream else ""
        last = {"add_generation_prompt": False, "continue_final_message": True}
        book.chat(f"continue{kind}", say("it is."), messages=TALK, stream=stream, **last, **SCORES)
        book.chat(f"continue-echo{kind}", say("it is."), messages=TALK, stream=stream, echo=True, **last, **SCORES)
        book.chat(f"continue-echo-n2{kind}", say("it is."), messages=TALK, stream=stream, echo=True, n=2, **last)
        book.chat(f"echo{kind}", say("Hello"), stream=stream, echo=True, **SCORES)
        book.chat(f"echo-user{kind}", say("Hello"), messages=TALK[:2], stream=stream, echo=True, **SCORES)
        book.chat(f"no-prompt{kind}", say("Hello"), messages=TALK, add_generation_prompt=False, stream=stream, **SCORES)
        book.chat(f"called{kind}", say("Two."), messages=CALLED, stream=stream, **SCORES)
        book.chat(f"usage{kind}", say("Hello"), stream=True, stream_options={"include_usage": stream})
        book.chat(f"role{kind}", say("Hello"), messages=[{"role": "developer", "content": "x"}], stream=stream)
        book.chat(
            f"named{kind}", say("Hello"), messages=[{"role": "user", "content": "x", "name": "ann"}], stream=stream
        )
    book.chat(
        "continue-user", say("it is."), messages=TALK[:2], add_generation_prompt=False, continue_final_message=True
    )
    book.chat("continue-both", say("it is."), messages=TALK, add_generation_prompt=True, continue_final_message=True)
    book.chat("special-tokens", say("Hello"), add_special_tokens=True, **SCORES)
    book.chat("template-variables", say("Hello"), chat_template_kwargs={"add_generation_prompt": False}, **SCORES)
    book.chat("template", say("Hello"), chat_template="{{ messages[0].content }}", return_token_ids=True)
    book.chat("documents", say("Hello"), documents=[{"title": "a", "text": "b"}], return_token_ids=True)
    for side in ("left", "right"):
        for count in (-1, 1, 5, 200):
            limit = {"truncate_prompt_tokens": count, "truncation_side": side}
            book.chat(f"truncated-{side}-{count}", say("Hello"), **limit, **SCORES)
            book.complete(
                f"truncated-{side}-{count}", say("Hello"), prompt="Hi user Hi", return_token_ids=True, **limit
            )
    long = [{"role": "user", "content": "Hi " * 100}]
    for limit in (10, 60, 300):
        book.chat(f"long-{limit}", say("Hello"), messages=long, max_tokens=limit)
        book.complete(f"long-{limit}", say("Hello"), prompt="Hi " * 100, max_tokens=limit)
    book.chat("too-long", say("Hello"), messages=[{"role": "user", "content": "Hi " * 400}])
    book.chat("too-long-stream", say("Hello"), messages=[{"role": "user", "content": "Hi " * 400}], stream=True)
    book.chat(
        "too-long-truncated",
        say("Hello"),
        messages=[{"role": "user", "content": "Hi " * 400}],
        truncate_prompt_tokens=9,
    )
    book.complete("too-long", say("Hello"), prompt="Hi " * 400)
    book.complete("too-long-ids", say("Hello"), prompt=[42] * 256)
    book.complete("just-fits", say("Hello"), prompt=[42] * 255, return_token_ids=True)
    book.generate("just-fits", say("Hello"), ids=(42,) * 255)
    book.generate("too-long", say("Hello"), ids=(42,) * 256)
    book.respond("too-long", say("Hello"), given="Hi " * 400)
    book.respond("too-long-stream", say("Hello"), given="Hi " * 400, stream=True)
    book.message("too-long", say("Hello"), messages=[{"role": "user", "content": "Hi " * 400}])
    book.message("too-long-stream", say("Hello"), messages=[{"role": "user", "content": "Hi " * 400}], stream=True)


def _formats(book: Book) -> None:
    say = book.speech.say
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    formats: tuple[tuple[str, Any], ...] = (
        ("text", {"type": "text"}),
        ("object", {"type": "json_object"}),
        ("schema", {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}),
        ("schema-strict", {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}),
        ("schema-bad", {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nope"}}}),
        ("schema-nameless", {"type": "json_schema", "json_schema": {"schema": schema}}),
        ("unknown", {"type": "yaml"}),
        ("tag", {"type": "structural_tag", "structures": [], "triggers": []}),
    )
    for name, value in formats:
        book.chat(f"format-{name}", say('{"a": 1}'), response_format=value)
        book.complete(f"format-{name}", say('{"a": 1}'), response_format=value)
    structures: tuple[tuple[str, Any], ...] = (
        ("json", {"json": schema}),
        ("json-text", {"json": '{"type": "object"}'}),
        ("json-bad", {"json": "{"}),
        ("regex", {"regex": "[a-z]+"}),
        ("choice", {"choice": ["a", "b"]}),
        ("choice-none", {"choice": []}),
        ("grammar", {"grammar": 'root ::= "a"'}),
        ("object", {"json_object": True}),
        ("two", {"regex": "a", "choice": ["a"]}),
        ("none", {}),
        ("unknown", {"yaml": "x"}),
    )
    for name, value in structures:
        book.chat(f"structure-{name}", say("a"), structured_outputs=value)
        book.complete(f"structure-{name}", say("a"), structured_outputs=value)
        book.generate(f"structure-{name}", say("a"), sampling={"structured_outputs": value})
        book.respond(f"structure-{name}", say("a"), structured_outputs=value)


def _responses(book: Book) -> None:
    say = book.speech.say
    inputs: tuple[tuple[str, Any], ...] = (
        ("messages", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]),
        ("typed", [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]),
        ("answered", [*HI, {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "Go on"}]),
        (
            "output",
            [
                *HI,
                {
                    "type": "message",
                    "role": "assistant",
                    "id": "m",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "Yo", "annotations": []}],
                },
            ],
        ),
        (
            "called",
            [
                *HI,
                {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "2"},
            ],
        ),
        (
            "reasoned",
            [
                *HI,
                {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
                {"role": "user", "content": "So?"},
            ],
        ),
        ("image", [{"role": "user", "content": [{"type": "input_image", "image_url": "x", "detail": "auto"}]}]),
        ("unknown-item", [{"type": "nope"}]),
        ("empty", []),
        ("blank", ""),
        ("number", [1]),
    )
    for name, given in inputs:
        for stream in (False, True):
            book.respond(f"input-{name}{'-stream' if stream else ''}", say("Hello"), given=given, stream=stream)
    include = {"include": ["message.output_text.logprobs"]}
    for top in (0, 2, 20):
        for stream in (False, True):
            kind = f"{top}{'-stream' if stream else ''}"
            said = say("Hél 🙂 x", steps=(1, 2), ranks={1: 3}, low=(2,))
            book.respond(f"top-{kind}", said, top_logprobs=top, stream=stream, **include)
            book.respond(
                f"messages-{kind}", said, top_logprobs=top, stream=stream, enable_response_messages=True, **include
            )
    for stream in (False, True):
        kind = "-stream" if stream else ""
        book.respond(f"length{kind}", say("Hello world foo"), max_output_tokens=2, stream=stream, **include)
        book.respond(f"stop{kind}", say("Hello world foo"), stop=["wor"], stream=stream, **include)
        book.respond(f"instructions{kind}", say("Hello"), instructions="Be brief.", stream=stream)
        book.respond(
            f"metadata{kind}", say("Hello"), metadata={"a": "b"}, user="u", stream=stream, temperature=0.5, top_p=0.9
        )
        book.respond(f"format{kind}", say("{}"), stream=stream, text={"format": {"type": "json_object"}})
        schema = {"type": "json_schema", "name": "x", "schema": {"type": "object"}, "strict": True}
        book.respond(f"schema{kind}", say("{}"), stream=stream, text={"format": schema, "verbosity": "low"})
        book.respond(f"effort{kind}", say("Hello"), stream=stream, reasoning={"effort": "low"})
        book.respond(f"truncation{kind}", say("Hello"), stream=stream, truncation="auto")
        book.respond(f"tier{kind}", say("Hello"), stream=stream, service_tier="flex")
        book.respond(f"unstored{kind}", say("Hello"), stream=stream, store=False)
        book.respond(f"named{kind}", say("Hello"), stream=stream, request_id="resp_mine")
        book.respond(f"characters{kind}", say("é🙂日", steps=(1, 1, 2)), stream=stream, **include)
        for place, tool in enumerate(
            (
                {"type": "web_search_preview"},
                {"type": "code_interpreter", "container": {"type": "auto"}},
                {"type": "custom", "name": "c"},
                {"type": "nope"},
                {"type": "function"},
            )
        ):
            book.respond(f"tool-{place}{kind}", say("Hello"), stream=stream, tools=[tool])
    book.ask("resp-get-missing", f"{RESPONSES}/resp_none", method="GET")
    book.ask("resp-get-odd", f"{RESPONSES}/none", method="GET")
    book.ask("resp-cancel-missing", f"{RESPONSES}/resp_none/cancel", {})
    book.respond("background", background=True)
    book.respond("background-unstored", background=True, store=False)


def _messages(book: Book) -> None:
    say = book.speech.say
    talks: tuple[tuple[str, Any], ...] = (
        ("blocks", [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "you"}]}]),
        ("answered", [*HI, {"role": "assistant", "content": "Yo"}, {"role": "user", "content": "Go on"}]),
        ("prefilled", [*HI, {"role": "assistant", "content": "Yo"}]),
        (
            "called",
            [
                *HI,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me."},
                        {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "2"}]},
            ],
        ),
        (
            "result-blocks",
            [
                *HI,
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "2"}]}
                    ],
                },
            ],
        ),
        (
            "thought",
            [
                *HI,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                        {"type": "text", "text": "Yo"},
                    ],
                },
                *HI,
            ],
        ),
        (
            "image",
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
                    ],
                }
            ],
        ),
        ("unknown", [{"role": "user", "content": [{"type": "nope"}]}]),
        ("system-role", [{"role": "system", "content": "x"}, *HI]),
        ("empty", []),
        ("blank", [{"role": "user", "content": ""}]),
    )
    for name, messages in talks:
        book.message(f"talk-{name}", say("Hello"), messages=messages)
        book.message(f"talk-{name}-stream", say("Hello"), messages=messages, stream=True)
        body = {"model": book.model, "messages": messages}
        book.ask(f"msg-count-{name}", f"{MESSAGES}/count_tokens", body)
    for stream in (False, True):
        kind = "-stream" if stream else ""
        book.message(f"length{kind}", say("Hello world foo"), max_tokens=2, stream=stream)
        book.message(f"stop{kind}", say("Hello world foo"), stop_sequences=["wor"], stream=stream)
        book.message(f"system{kind}", say("Hello"), system="Be brief.", stream=stream)
        book.message(
            f"system-blocks{kind}",
            say("Hello"),
            system=[{"type": "text", "text": "Be"}, {"type": "text", "text": "brief"}],
            stream=stream,
        )
        book.message(f"characters{kind}", say("é🙂日", steps=(1, 1, 2)), stream=stream)
        book.message(
            f"thinking{kind}", say("Hello"), thinking={"type": "enabled", "budget_tokens": 1024}, stream=stream
        )
        book.message(
            f"format{kind}",
            say("{}"),
            stream=stream,
            output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}},
        )
        book.message(f"effort{kind}", say("Hello"), stream=stream, output_config={"effort": "low"})
        book.message(f"unknown-model{kind}", say("Hello"), stream=stream, model="nope")


def _utilities(book: Book) -> None:
    model = {"model": book.model}
    bodies: tuple[tuple[str, Any], ...] = (
        ("text", {**model, "prompt": "Hi é🙂 user", "return_token_strs": True}),
        ("no-model", {"prompt": "Hi", "add_special_tokens": False}),
        ("chat", {**model, "messages": TALK}),
        ("chat-open", {**model, "messages": TALK, "add_generation_prompt": False, "continue_final_message": True}),
        ("chat-both", {**model, "messages": TALK, "add_generation_prompt": True, "continue_final_message": True}),
        ("chat-called", {**model, "messages": CALLED, "return_token_strs": True}),
        ("both", {**model, "messages": HI, "prompt": "Hi"}),
        ("neither", model),
        ("blank", {**model, "prompt": ""}),
        ("list", {**model, "prompt": ["a", "b"]}),
        ("unknown-model", {"model": "nope", "prompt": "x"}),
        ("specials", {**model, "prompt": "<|im_end|> <think>", "return_token_strs": True}),
    )
    for name, body in bodies:
        book.ask(f"tok-{name}", "/tokenize", body)
    for name, tokens in (
        ("specials", [1, 936, 2]),
        ("broken", book.speech.ids("🙂")[:1]),
        ("out", [99999]),
        ("minus", [-1]),
        ("none", []),
    ):
        book.ask(f"detok-{name}", "/detokenize", {**model, "tokens": tokens})
    for path in (
        "/health",
        "/ping",
        "/load",
        "/version",
        "/v1/models",
        "/v1/models/tiny",
        "/tokenizer_info",
        "/nope",
        "/v1",
        "/docs/x",
    ):
        book.ask(f"get{path.replace('/', '-')}", path, method="GET")
    for path in ("/health", "/v1/models", "/version", "/tokenize", "/v1/chat/completions", "/load"):
        book.ask(f"delete{path.replace('/', '-')}", path, method="DELETE")
        book.ask(f"post{path.replace('/', '-')}-empty", path)
    book.ask("options-chat", CHAT, method="OPTIONS")
    origin = {"origin": "http://a.example", "access-control-request-method": "POST"}
    book.ask("preflight-chat", CHAT, method="OPTIONS", headers=origin)
    book.ask("origin-health", "/health", method="GET", headers={"origin": "http://a.example"})
    for name, value in (("short", "abc"), ("long", "x" * 200), ("odd", "a b/c")):
        book.ask(f"named-chat-{name}", CHAT, {**model, "messages": HI}, headers={"x-request-id": value})
        book.ask(f"named-comp-{name}", COMPLETIONS, {**model, "prompt": "Hi"}, headers={"x-request-id": value})
        book.ask(
            f"named-msg-{name}", MESSAGES, {**model, "messages": HI, "max_tokens": 5}, headers={"x-request-id": value}
        )


def _errors(book: Book) -> None:
    raws = (
        ("empty", ""),
        ("blank", " "),
        ("word", "hello"),
        ("cut", '{"model": "tiny", "messages": [{"role": "user"'),
        ("comma", '{"model": "tiny",}'),
        ("single", "{'model': 'tiny'}"),
        ("list", "[]"),
        ("null", "null"),
        ("number", "7"),
        ("text", '"x"'),
        ("nan", '{"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "temperature": NaN}'),
        ("doubled", '{"model": "nope", "model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}'),
        ("tail", '{"model": "tiny"} x'),
        ("surrogate", '{"model": "tiny", "messages": [{"role": "user", "content": "\\ud83d"}]}'),
        ("deep", "[" * 50 + "]" * 50),
    )
    for name, raw in raws:
        for kind, path in (
            ("chat", CHAT),
            ("comp", COMPLETIONS),
            ("resp", RESPONSES),
            ("msg", MESSAGES),
            ("tok", "/tokenize"),
        ):
            book.ask(f"raw-{kind}-{name}", path, raw=raw)
    messages: tuple[tuple[str, Any], ...] = (
        ("no-role", [{"content": "Hi"}]),
        ("no-content", [{"role": "user"}]),
        ("null-content", [{"role": "user", "content": None}]),
        ("number", [{"role": "user", "content": 7}]),
        ("word", ["Hi"]),
        ("odd-role", [{"role": "robot", "content": "Hi"}]),
        ("odd-part", [{"role": "user", "content": [{"type": "nope", "text": "x"}]}]),
        ("text-parts", [{"role": "user", "content": ["Hi", "there"]}]),
        ("mixed-parts", [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "nope"}]}]),
        ("system-part", [{"role": "system", "content": [{"type": "nope"}]}, *HI]),
        ("assistant-part", [*HI, {"role": "assistant", "content": [{"type": "nope"}]}]),
        ("second-part", [{"role": "user", "content": [{"type": "nope"}, {"kind": "x"}]}]),
        ("odd-call-type", [*HI, {"role": "assistant", "tool_calls": [{"id": "c", "type": "x", "function": {}}]}]),
        ("word-call", [*HI, {"role": "assistant", "tool_calls": ["x"]}]),
        (
            "custom-call",
            [
                *HI,
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}],
                },
            ],
        ),
        ("untyped-part", [{"role": "user", "content": [{"text": "x"}]}]),
        (
            "image",
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}],
        ),
        (
            "audio",
            [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]}],
        ),
        ("tool-no-id", [*HI, {"role": "tool", "content": "2"}]),
        (
            "call-no-name",
            [{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"arguments": "{}"}}]}],
        ),
        (
            "call-odd-arguments",
            [
                *CALLED[:1],
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}],
                },
            ],
        ),
        (
            "call-object-arguments",
            [
                *CALLED[:1],
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
                },
            ],
        ),
        ("empty-calls", [*HI, {"role": "assistant", "content": "x", "tool_calls": []}]),
        ("extra-member", [{"role": "user", "content": "Hi", "mood": "good"}]),
        ("refusal", [*HI, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]),
        ("reasoning", [*HI, {"role": "assistant", "reasoning": "Hm.", "content": "Yo"}, *HI]),
    )
    for name, given in messages:
        book.chat(f"messages-{name}", messages=given, return_token_ids=True)
    for name, options in (
        ("odd-member", {"foo": True}),
        ("continuous", {"continuous_usage_stats": True}),
        ("null", None),
    ):
        book.chat(f"options-{name}", stream=True, stream_options=options)
        book.complete(f"options-{name}", stream=True, stream_options=options)
