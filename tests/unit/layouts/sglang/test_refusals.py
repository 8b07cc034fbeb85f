"""What SGLang refuses, in which words and where: schema, contract, engine, version by version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from fakellm.layouts.sglang.contract import contract_error
from fakellm.layouts.sglang.kinds import BOOL, FLOAT, INT, STR, listed, nullable
from fakellm.layouts.sglang.schema import REQUIRED, Field, Model, read
from support.sglang import NEWEST, data_of, server, told
from support.stages import body_of, chat, post, spoken

SAYS = spoken("one two three")
MODEL = Model(
    "Body",
    (
        Field("name", STR, REQUIRED),
        Field("count", nullable(INT)),
        Field("share", FLOAT, 1.0),
        Field("flag", BOOL, False),
        Field("words", nullable(listed(STR))),
    ),
)


def generate(**parameters: Any) -> Request:
    return post("/generate", {"text": "Hi", "sampling_params": parameters})


class TestSchema:
    def test_values_are_coerced_as_pydantic_does(self) -> None:
        reading = read(MODEL, {"name": "x", "count": "3", "share": 2, "flag": "yes"})
        assert not reading.errors
        assert {"name": "x", "count": 3, "share": 2.0, "flag": True, "words": None} == dict(reading.values)

    @pytest.mark.parametrize(
        ("body", "kind", "place"),
        [
            ({}, "missing", ("body", "name")),
            ({"name": 5}, "string_type", ("body", "name")),
            ({"name": "x", "count": "three"}, "int_parsing", ("body", "count")),
            ({"name": "x", "count": 1.5}, "int_from_float", ("body", "count")),
            ({"name": "x", "share": []}, "float_type", ("body", "share")),
            ({"name": "x", "flag": "perhaps"}, "bool_parsing", ("body", "flag")),
            ({"name": "x", "words": "one"}, "list_type", ("body", "words")),
            ({"name": "x", "words": ["one", 2]}, "string_type", ("body", "words", 1)),
        ],
    )
    def test_refusals_say_what_and_where(self, body: Any, kind: str, place: tuple[Any, ...]) -> None:
        assert [(kind, place)] == [(found["type"], found["loc"]) for found in read(MODEL, body).errors]

    def test_every_offender_is_told(self) -> None:
        errors = read(MODEL, {"count": "x", "flag": []}).errors
        assert ["name", "count", "flag"] == [found["loc"][-1] for found in errors]


class TestEveryMember:
    @pytest.mark.parametrize(
        ("version", "member", "known"),
        [
            ("0.5.13", "return_token_ids", False),
            ("0.5.17", "return_token_ids", True),
            ("0.5.18", "return_output_ids_in_sglext", False),
            ("0.5.20", "return_output_ids_in_sglext", True),
            ("0.5.3", "stop_regex", False),
            ("0.5.6", "stop_regex", True),
        ],
    )
    def test_a_version_refuses_only_members_that_it_has(self, version: str, member: str, known: bool) -> None:
        answer = server(version, says=SAYS).answer(chat(**{member: {"odd": 1}}))
        assert (400 if known else 200) == answer.wire.status

    def test_an_old_name_of_the_rank_is_read_as_the_new_one(self) -> None:
        refused = told(server(), chat(data_parallel_rank="x"), status=400)
        assert refused["message"].startswith("2 validation errors:")

    @pytest.mark.parametrize(
        ("messages", "words"),
        [
            ([{"role": "robot", "content": "x"}], "'role' must be one of 'system', 'assistant'"),
            ([{"role": "user", "content": None}], "'content', 'str'"),
            ([{"role": "user", "content": [{"type": "text"}]}], "'ChatCompletionMessageContentTextPart', 'text'"),
            ([{"role": "user", "content": [{"type": "thinking", "thinking": "x"}]}], "only valid in assistant"),
            ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], "'tool_calls', 0, 'function'"),
        ],
    )
    def test_messages_are_refused_where_they_are_wrong(self, messages: Any, words: str) -> None:
        body = {"model": "tiny", "messages": messages}
        assert words in told(server(), post("/v1/chat/completions", body), status=400)["message"]

    @pytest.mark.parametrize(
        ("ids", "words"),
        [
            (["a"], "elements must be int or list; got str"),
            ([1, "a"], "contains non-int64 element"),
            ([[1], ["a"]], "row 1: elements must be int; got str"),
            ("text", "must be list or null; got str"),
        ],
    )
    def test_prompt_ids_are_looked_at_as_a_whole(self, ids: Any, words: str) -> None:
        assert words in told(server(), post("/generate", {"input_ids": ids}), status=400)["message"]

    def test_a_schema_outside_of_its_place_is_understood(self) -> None:
        form = {"type": "json_schema", "schema": {"title": "T", "type": "object"}}
        told(server(says=SAYS), chat(response_format=form))


class TestContract:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"temprature": 1}, "unknown field `temprature`, expected one of `max_new_tokens`"),
            ({"temperature": "hot"}, 'invalid type: string "hot", expected f64'),
            ({"max_new_tokens": 1.5}, "invalid type: floating point `1.5`, expected i64"),
            ({"ignore_eos": 1}, "invalid type: integer `1`, expected a boolean"),
            ([{"n": 1}, {"top_k": True}], "invalid type: boolean `true`, expected i64"),
        ],
    )
    def test_the_words_of_serde(self, parameters: Any, words: str) -> None:
        assert words in (contract_error({"text": "Hi", "sampling_params": parameters}) or "")

    @pytest.mark.parametrize("parameters", [{}, {"temperature": None}, {"temperature": 1}, [{"n": 2}], None])
    def test_what_it_lets_through(self, parameters: Any) -> None:
        assert contract_error({"text": "Hi", "sampling_params": parameters}) is None

    @pytest.mark.parametrize(
        ("member", "value", "words"),
        [
            ("stream", 1, "invalid type: integer `1`, expected a boolean"),
            ("top_logprobs_num", "7", 'string "7", expected a value or an array of values for Int64OrList'),
            ("input_ids", [[1], ["x"]], 'invalid type: string "x", expected i64'),
            ("rid", 'a "b"', ""),
            ("cache_salt", ["a", 'b "c"', 1], "invalid type: integer `1`, expected a string"),
            ("max_thinking_tokens", -1, "invalid value: integer `-1`, expected u64"),
        ],
    )
    def test_members_of_the_body_itself(self, member: str, value: Any, words: str) -> None:
        assert words in (contract_error({member: value}) or "")

    def test_texts_are_not_escaped(self) -> None:
        assert 'invalid type: string "a "b"", expected i64' == contract_error({"priority": 'a "b"'})

    def test_versions_before_ignore_or_crash(self) -> None:
        answer = server("0.5.20", says=SAYS).answer(generate(temprature=1))
        assert b"expected one of" not in body_of(answer)


class TestEngine:
    @pytest.mark.parametrize(
        ("version", "words"),
        [
            ("0.5.13", "temperature must be non-negative, got -1."),
            ("0.5.17", "temperature must be a non-negative finite number, got -1."),
        ],
    )
    def test_a_cold_temperature_by_version(self, version: str, words: str) -> None:
        assert {"error": {"message": words}} == told(server(version), generate(temperature=-1), status=400)

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"top_p": 2}, "top_p must be in (0, 1]"),
            ({"top_k": -5}, "top_k"),
            ({"min_p": 2}, "min_p must be in [0, 1]"),
            ({"frequency_penalty": 3}, "frequency_penalty must be in [-2, 2]"),
            ({"max_new_tokens": -1}, "max_new_tokens must be"),
            ({"stop": ["x"] * 40}, "stop"),
        ],
    )
    def test_limits_of_sampling(self, parameters: dict[str, Any], words: str) -> None:
        assert words in told(server(), generate(**parameters), status=400)["error"]["message"]

    def test_a_prompt_longer_than_the_context(self) -> None:
        playing = server(NEWEST, "--context-length", "16", says=SAYS)
        refused = told(playing, post("/generate", {"input_ids": [5] * 20}), status=400)
        assert "is longer than the model's context length (16 tokens)" in refused["error"]["message"]

    def test_a_prompt_and_a_limit_longer_than_the_context(self) -> None:
        playing = server(NEWEST, "--context-length", "16", says=SAYS)
        request = post("/generate", {"input_ids": [5] * 10, "sampling_params": {"max_new_tokens": 10}})
        assert "Requested token count exceeds" in told(playing, request, status=400)["error"]["message"]

    def test_ids_outside_of_the_vocabulary_are_checked_only_where_scores_are_asked(self) -> None:
        prompt = {"input_ids": [5, 10**9]}
        told(server(says=SAYS), post("/generate", prompt))
        refused = told(server(), post("/generate", {**prompt, "token_ids_logprob": [10**9]}), status=400)
        assert "out-of-vocabulary token id 1000000000" in refused["error"]["message"]

    def test_nothing_to_say_anything_about(self) -> None:
        assert "should be provided" in told(server(), post("/generate", {}), status=400)["error"]["message"]

    def test_one_prompt_cannot_have_two_ids_of_its_own(self) -> None:
        refused = told(server(), post("/generate", {"text": ["a", "b"], "rid": ["x", "x"]}), status=400)
        assert "Duplicate request IDs" in refused["error"]["message"]


class TestOpenAIRoutes:
    def test_the_error_object(self) -> None:
        refused = told(server(), chat(top_p=2), status=400)
        assert ("error", "BadRequestError", None, 400) == tuple(
            refused[name] for name in ("object", "type", "param", "code")
        )

    def test_all_schema_errors_in_one_message(self) -> None:
        refused = told(server(), post("/v1/chat/completions", {"model": 5, "n": "x"}), status=400)
        assert refused["message"].startswith("3 validation errors:")
        for place in ("'messages'", "'model'", "'n'"):
            assert place in refused["message"]

    def test_old_streams_refuse_in_an_event(self) -> None:
        answer = server("0.5.9").answer(chat(top_p=2, stream=True))
        event, done = data_of(body_of(answer))
        assert (200, "[DONE]") == (answer.wire.status, done)
        assert "top_p must be in" in json.loads(event)["error"]["message"]

    def test_newer_streams_refuse_before_they_begin(self) -> None:
        assert "top_p" in told(server("0.5.12"), chat(top_p=2, stream=True), status=400)["message"]

    @pytest.mark.parametrize("body", [b"", b"{", b"null", b'{"a": NaN', b"\xff\xfe", b"[]", b"5"])
    def test_bodies_that_are_no_object(self, body: bytes) -> None:
        for path in ("/v1/chat/completions", "/generate", "/v1/completions", "/v1/messages", "/v1/responses"):
            request = Request("POST", path, {}, {"content-type": "application/json"}, body)
            answer = server().answer(request)
            broken = path == "/v1/chat/completions" and body in (b"[]", b"5")
            assert (500 if broken else 400, None) == (answer.wire.status, answer.problem), (path, body_of(answer))
            assert broken or json.loads(body_of(answer))

    @pytest.mark.parametrize(("version", "words"), [("0.5.13", "Expecting"), (NEWEST, "JSON")])
    def test_the_reader_of_bodies_shows_in_its_words(self, version: str, words: str) -> None:
        request = Request("POST", "/v1/chat/completions", {}, {"content-type": "application/json"}, b'{"a": }')
        answer = server(version).answer(request)
        assert words in body_of(answer).decode()


class TestChatChecks:
    TOOL: dict[str, Any] = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}
    SCHEMA: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "t", "schema": {"type": "object"}}}

    @pytest.mark.parametrize(
        ("version", "more", "words"),
        [
            (NEWEST, {"messages": []}, "Messages cannot be empty."),
            (NEWEST, {"tool_choice": "required"}, "Tools cannot be empty if tool choice is set to required."),
            (NEWEST, {"chat_template_kwargs": {"chat_template": "x"}}, "Request-supplied chat_template is not allowed"),
            (NEWEST, {"return_sampling_mask": True}, "return_sampling_mask requires return_meta_info=true."),
            (
                NEWEST,
                {"regex": "a", "ebnf": "b"},
                "Only one of json_schema, regex, ebnf, or structural_tag can be set.",
            ),
            (NEWEST, {"regex": "a", "response_format": SCHEMA}, "Only one of json_schema"),
            ("0.5.12", {"regex": "a", "response_format": SCHEMA}, "Only one of regex, json_schema, or ebnf"),
            (NEWEST, {"response_format": {"type": "json_schema"}}, "schema_ is required"),
            (NEWEST, {"logit_bias": {"x": 1}}, "invalid literal for int()"),
        ],
    )
    def test_what_is_refused_in_which_words(self, version: str, more: dict[str, Any], words: str) -> None:
        assert words in told(server(version), chat(**more), status=400)["message"]

    def test_a_named_tool_must_be_there(self) -> None:
        choice = {"type": "function", "function": {"name": "weather"}}
        refused = told(server(), chat(tools=[self.TOOL], tool_choice=choice), status=400)
        assert "Tool 'weather' not found in tools list." == refused["message"]

    @pytest.mark.parametrize(("version", "refused"), [("0.5.17", False), ("0.5.18", True), (NEWEST, True)])
    def test_a_forced_tool_and_a_grammar(self, version: str, refused: bool) -> None:
        asked = chat(tools=[self.TOOL], tool_choice="required", response_format=self.SCHEMA)
        assert (400 if refused else 200) == server(version, says=SAYS).answer(asked).wire.status

    @pytest.mark.parametrize(("version", "refused"), [("0.5.13", False), ("0.5.17", True)])
    def test_images_for_a_text_model(self, version: str, refused: bool) -> None:
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
        body = {"model": "tiny", "messages": [{"role": "user", "content": [part]}]}
        answer = server(version, says=SAYS).answer(post("/v1/chat/completions", body))
        assert (400 if refused else 200) == answer.wire.status

    def test_tools_of_messages_count(self) -> None:
        spoken_to = [{"role": "system", "content": "x", "tools": [self.TOOL]}, {"role": "user", "content": "Hi"}]
        body = {"model": "tiny", "messages": spoken_to, "tools": [self.TOOL]}
        refused = told(server(), post("/v1/chat/completions", body), status=400)
        assert "Tool names must be unique across request and message tools." == refused["message"]


class TestPatterns:
    def test_a_pattern_that_is_none_breaks_the_server(self) -> None:
        answer = server(says=SAYS).answer(generate(stop_regex="("))
        assert (500, b"Internal Server Error") == (answer.wire.status, body_of(answer))
        assert "unterminated subpattern" in told(server(), chat(stop_regex="("), status=500)["message"]

    @pytest.mark.parametrize(("version", "status"), [("0.5.10", 500), ("0.5.12", 200)])
    def test_null_parameters(self, version: str, status: int) -> None:
        assert status == server(version, says=SAYS).answer(generate(temperature=None)).wire.status

    def test_top_k_does_not_matter_without_temperature(self) -> None:
        told(server(says=SAYS), generate(temperature=0, top_k=0))
