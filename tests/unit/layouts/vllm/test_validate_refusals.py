"""A refused request gets the version's own status, words, param and headers."""

import json

import pytest

from fakellm.ask import Prompt, Request
from fakellm.layouts.vllm.launch import Settings
from fakellm.layouts.vllm.traits import TRAITS
from fakellm.layouts.vllm.validate import (
    Parsed,
    Refusal,
    check_context,
    engine_checks,
    read,
    read_query,
    refusals,
)

V10, V12, V16, V20, V24, V28, V32 = TRAITS
SETTINGS = Settings(served_names=("tiny",), max_model_len=64)
HELLO = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}
PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "tito": "/inference/v1/generate",
    "messages": "/v1/messages",
    "tokenize": "/tokenize",
    "detokenize": "/detokenize",
    "batch": "/v1/chat/completions/batch",
}


def sent(body, api="chat", version=V32, settings=SETTINGS, headers=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": "application/json"} if headers is None else headers
    return read(api, Request("POST", PATHS[api], headers=given, body=data), TRAITS[version], settings)


def refused(*args, **kwargs):
    answer = sent(*args, **kwargs)
    assert isinstance(answer, Refusal), answer
    return answer


def told(refusal):
    error = refusal.body["error"]
    return refusal.status, error["type"], error["param"], error["message"]


def after_prompt(body, tokens=4, version=V32, settings=SETTINGS, api="chat", vocab_size=2048):
    parsed = sent(body, api, version, settings)
    assert isinstance(parsed, Parsed), parsed
    prompt = Prompt(tuple(range(tokens)))
    return engine_checks(api, parsed, (prompt,), TRAITS[version], settings, vocab_size=vocab_size)


class TestAccepted:
    def test_values_are_coerced_and_defaults_filled(self):
        parsed = sent({**HELLO, "stream": "yes", "n": "2", "foo_bar": 1, "return_token_idz": True})

        assert (True, 2, None) == (parsed.values["stream"], parsed.values["n"], parsed.values["max_tokens"])
        assert ("foo_bar", "return_token_idz") == parsed.ignored
        assert "yes" == parsed.body["stream"]

    @pytest.mark.parametrize("model", [None, "", "tiny"])
    def test_an_empty_model_means_the_served_one(self, model):
        assert isinstance(sent({**HELLO, "model": model}), Parsed)

    def test_tools_without_a_choice_mean_auto(self):
        tools = [{"type": "function", "function": {"name": "f"}}]
        settings = Settings(enable_auto_tool_choice=True, tool_call_parser="hermes")

        assert "auto" == sent({**HELLO, "tools": tools}, settings=settings).values["tool_choice"]

    def test_fields_of_later_versions_are_ignored(self):
        body = {**HELLO, "return_prompt_text": True}

        assert ("return_prompt_text",) == sent(body, version=V20).ignored
        assert () == sent(body, version=V24).ignored


class TestBodies:
    @pytest.mark.parametrize("body", [b"", b"null"])
    def test_no_body(self, body):
        assert (400, "Bad Request", "body") == told(refused(body))[:3]

    def test_broken_json_names_the_byte(self):
        status, _, param, message = told(refused(b'{"model": "tiny", '))

        assert (400, "body.18") == (status, param)
        assert "Expecting property name enclosed in double quotes" in message

    def test_bytes_that_are_no_text(self):
        assert (400, "Bad Request", None, "There was an error parsing the body") == told(refused(b'{"a": "\xff"}'))

    @pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/x+json"}])
    def test_another_media_type(self, headers):
        expected = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"

        assert (400, "Bad Request", None, expected) == told(refused(HELLO, headers=headers))

    def test_broken_json_comes_before_the_media_type_only_where_it_is_read(self):
        assert "Unsupported Media Type" in told(refused(b"{", headers={"content-type": "text/plain"}))[3]

    def test_a_list_is_no_body_and_crashes_old_servers(self):
        crash = "'list' object has no attribute 'get'"

        assert (400, "Bad Request", "body") == told(refused([1, 2]))[:3]
        assert (500, "InternalServerError", None, crash) == told(refused([1, 2], version=V20))
        assert (500, "Internal Server Error") == (refused([1], version=V12).status, refused([1], version=V12).body)


class TestSpellingOfFlaws:
    BODY = {**HELLO, "stop": [1, 2]}

    def test_newest_summarises_inputs_and_joins_places(self):
        expected = (
            "3 validation errors:\n"
            "  {'type': 'string_type', 'loc': 'body.stop', 'msg': 'Input should be a valid string', "
            "'input': '<list of 2 items>'}\n"
            "  {'type': 'string_type', 'loc': 'body.stop.0', 'msg': 'Input should be a valid string', 'input': '1'}\n"
            "  {'type': 'string_type', 'loc': 'body.stop.1', 'msg': 'Input should be a valid string', 'input': '2'}"
        )

        assert (400, "Bad Request", "body.stop", expected) == told(refused(self.BODY))

    def test_0_28_keeps_inputs_and_labels(self):
        message = told(refused(self.BODY, version=V28))[3]

        assert (
            "'loc': ('body', 'stop', 'list[str]', 1), 'msg': 'Input should be a valid string', 'input': 2}" in message
        )

    def test_older_ones_add_the_file_and_the_list_again(self):
        _, _, param, message = told(refused(self.BODY, version=V24))

        assert "body.stop.str" == param
        assert 'File "/site-packages/vllm/entrypoints/serve/utils/api_utils.py"' in message
        assert "in create_chat_completion\n    POST /v1/chat/completions [{'type'" in message
        assert 2 == message.count("('body', 'stop', 'str')")

    def test_only_ten_are_listed(self):
        message = told(refused({**HELLO, "stop_token_ids": ["x"] * 12}))[3]

        assert message.startswith("12 validation errors:\n")
        assert message.endswith("\n  ...and 2 more errors")
        assert 10 == message.count("int_parsing")

    def test_long_texts_are_cut(self):
        message = told(refused({**HELLO, "n": "x" * 500}))[3]

        assert "x" * 200 + "...[truncated]'" in message

    def test_params_by_version(self):
        params = [told(refused({"model": "tiny"}, version=version))[2] for version in TRAITS]

        assert [None, None, None, None, "body.messages", "body.messages", "body.messages"] == params


class TestOwnChecks:
    TOP = {**HELLO, "top_logprobs": 2}

    def test_newest_names_the_parameter(self):
        expected = "when using `top_logprobs`, `logprobs` must be set to true. (parameter=top_logprobs)"

        assert (400, "BadRequestError", "top_logprobs", expected) == told(refused(self.TOP))

    def test_up_to_0_24_it_is_a_flaw_of_the_body_which_is_echoed(self):
        status, kind, param, message = told(refused(self.TOP, version=V24))

        assert (400, "Bad Request", "top_logprobs") == (status, kind, param)
        assert "'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, when using" in message
        assert (
            "'input': {'model': 'tiny', 'messages': [{'role': 'user', 'content': 'Hi'}], 'top_logprobs': 2}" in message
        )
        assert "VLLMValidationError('when using `top_logprobs`, `logprobs` must be set to true.')" in message

    def test_the_oldest_raise_plain_errors_without_param(self):
        _, _, param, message = told(refused(self.TOP, version=V10))

        assert param is None
        assert "'ctx': {'error': ValueError('when using `top_logprobs`, `logprobs` must be set to true.')}" in message

    def test_a_check_that_meets_a_text_crashes_where_types_are_not_looked_at(self):
        body = {**HELLO, "logprobs": True, "top_logprobs": "2"}
        crash = "'<' not supported between instances of 'str' and 'int'"

        assert "`top_logprobs` must be an integer." in told(refused(body))[3]
        assert (400, "BadRequestError", None, crash) == told(refused(body, version=V20))

    @pytest.mark.parametrize(
        ("extra", "param", "words"),
        [
            ({"stream_options": {}}, None, None),
            ({"stream_options": {"include_usage": True}}, "stream_options", "can only be defined when"),
            ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs", "not available when"),
            ({"prompt_logprobs": 0, "stream": True}, None, None),
            ({"tools": []}, "tools", "must not be an empty array"),
            ({"tool_choice": "required"}, "tool_choice", "`tools` must be set"),
            ({"tool_choice": "sometimes", "tools": [{}]}, "tool_choice", "Invalid value for `tool_choice`: sometimes!"),
            ({"cache_salt": "a/b"}, "cache_salt", "at most 128 characters"),
            ({"response_format": {"type": "json_schema"}}, "response_format", "must be provided"),
            ({"logprob_token_ids": [1]}, "logprob_token_ids", "`logprobs` must be set to true"),
            ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, None, "only use one kind of constraints"),
            ({"structured_outputs": {}}, None, "none are specified"),
            ({"thinking_token_budget": -2}, "thinking_token_budget", "non-negative integer"),
        ],
    )
    def test_checks_of_a_chat(self, extra, param, words):
        answer = sent({**HELLO, **extra})

        if words is None:
            assert isinstance(answer, Parsed)
        else:
            assert (400, "BadRequestError", param) == told(answer)[:3]
            assert words in told(answer)[3]

    def test_the_model_must_be_served(self):
        unknown = {**HELLO, "model": "nope"}
        newest = "The model `nope` does not exist. Valid aliases: tiny."

        assert (404, "NotFoundError", "model", newest) == told(refused(unknown))
        assert (404, "NotFoundError", "model", newest[:32]) == told(refused(unknown, version=V28))
        assert (404, "NotFoundError", None, newest[:32]) == told(refused(unknown, version=V12))

    def test_paths_are_cut_out_of_messages(self):
        message = told(refused({**HELLO, "model": "/srv/models/a"}))[3]

        assert message.startswith("The model `<path>` does not exist.")

    def test_tool_parsing_needs_its_options(self):
        tools = [{"type": "function", "function": {"name": "f"}}]
        named = {"type": "function", "function": {"name": "f"}}

        assert told(refused({**HELLO, "tools": tools}))[3].startswith('"auto" tool choice requires')
        text = told(refused({**HELLO, "tools": tools, "tool_choice": named}))[3]
        assert 'tool_choice=function "f" requires --tool-call-parser to be set' == text

    def test_an_empty_conversation(self):
        said = "Cannot apply chat template to an empty conversation. Provide at least one message."

        assert said == told(refused({"messages": []}))[3]
        assert f"{said} {said}" == told(refused({"messages": []}, version=V12))[3]


class TestHeaders:
    def test_refusals_of_handlers_lack_vary_where_they_escape_the_middleware(self):
        bare = [("vary", "Origin") not in refused({"messages": []}, version=version).headers for version in TRAITS]

        assert [False, False, False, True, True, False, False] == bare

    def test_what_the_handler_answers_itself_keeps_it(self):
        unknown = {**HELLO, "model": "nope"}

        assert all(("vary", "Origin") in refused(unknown, version=version).headers for version in TRAITS)


class TestContext:
    def room(self, tokens, asked, version=V32, **kwargs):
        api = kwargs.pop("api", "chat")
        return check_context(api, TRAITS[version], SETTINGS, tuple(range(tokens)), asked, **kwargs)

    def test_newest_clamps_and_older_ones_refuse(self):
        assert 4 == self.room(60, 10)
        summed = (
            "This model's maximum context length is 64 tokens. However, you requested 10 output tokens and your prompt "
            "contains at least 55 input tokens, for a total of at least 65 tokens. Please reduce the length of the "
            "input prompt or the number of requested output tokens. (parameter=input_tokens, value=55)"
        )
        assert summed == told(self.room(60, 10, V28))[3]
        assert "You passed 55 input tokens and requested 10 output tokens." in told(self.room(60, 10, V16))[3]
        assert "'max_tokens' or 'max_completion_tokens' is too large: 10." in told(self.room(60, 10, V12))[3]
        assert told(self.room(60, 10, V12))[3].endswith("(10 > 64 - 60). None")

    def test_ids_are_counted_whole_and_text_only_as_far_as_it_has_to_be(self):
        ids = {"values": {"prompt": [1, 2]}, "api": "completions"}
        text = {"values": {"prompt": "a"}, "api": "completions"}

        assert "contains 80 input tokens" in told(self.room(80, 16, **ids))[3]
        assert "contains at least 65 input tokens" in told(self.room(80, 16, **text))[3]

    def test_more_than_the_whole_context(self):
        expected = "max_tokens=99 cannot be greater than max_model_len=64. Please request fewer output tokens."

        assert f"{expected} (parameter=max_tokens, value=99)" == told(self.room(4, 99))[3]
        assert "max_completion_tokens" == told(self.room(4, 99, values={"max_completion_tokens": 99}))[2]
        assert "max_tokens=99cannot be greater" in told(self.room(4, 99, V16))[3]

    def test_everything_asked_for_is_everything_that_fits(self):
        assert 60 == self.room(4, None)


class TestEngine:
    @pytest.mark.parametrize(
        ("extra", "words"),
        [
            ({"n": 0}, "n must be at least 1, got 0."),
            ({"max_tokens": 0}, "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"),
            ({"temperature": -1}, "temperature must be non-negative, got -1.0. (parameter=temperature, value=-1.0)"),
            ({"temperature": 3}, "temperature must be in [0, 2], got 3.0. (parameter=temperature, value=3.0)"),
            ({"top_p": 0}, "top_p must be in (0, 1], got 0.0. (parameter=top_p, value=0.0)"),
            ({"top_k": -2}, "top_k must be 0 (disable), or at least 1, got -2."),
            ({"min_p": 2}, "min_p must be in [0, 1], got 2.0."),
            ({"presence_penalty": 3}, "presence_penalty must be in [-2, 2], got 3.0."),
            ({"repetition_penalty": 0}, "repetition_penalty must be greater than zero, got 0.0."),
            ({"n": 2, "temperature": 0}, "n must be 1 when using greedy sampling, got 2."),
            ({"min_tokens": 5, "max_tokens": 2}, "min_tokens must be less than or equal to max_tokens=2, got 5."),
            ({"stop": ""}, "stop cannot contain an empty string."),
            ({"bad_words": [""]}, "bad_words cannot contain an empty string. Got bad_words=['']"),
            (
                {"logit_bias": {"abc": 1}},
                "logit_bias contains key(s) that cannot be converted to integer token IDs: ['abc'] "
                "(parameter=logit_bias, value=['abc'])",
            ),
        ],
    )
    def test_sampling_parameters_are_refused_before_a_stream_begins(self, extra, words):
        refusal = after_prompt({**HELLO, **extra, "stream": True})

        assert (400, words, False) == (refusal.status, told(refusal)[3], refusal.late)

    @pytest.mark.parametrize(
        ("extra", "words"),
        [
            (
                {"logprobs": True, "top_logprobs": 21},
                "Requested sample logprobs of 21, which is greater than max allowed: 20",
            ),
            ({"stop_token_ids": [9999]}, "token_id(s) [9999] in stop_token_ids contain out-of-vocab token ids."),
            ({"allowed_token_ids": []}, "allowed_token_ids is not None and empty!"),
            ({"logit_bias": {"9999": 1}}, "token_id(s) [9999] in logit_bias contain out-of-vocab token ids."),
        ],
    )
    def test_the_engine_objects_inside_a_stream(self, extra, words):
        whole = after_prompt({**HELLO, **extra})
        streamed = after_prompt({**HELLO, **extra, "stream": True})

        assert told(whole)[3].startswith(words)
        assert (False, True) == (whole.late, streamed.late)

    def test_versions_that_take_the_request_before_they_stream(self):
        body = {**HELLO, "logprobs": True, "top_logprobs": 21, "stream": True}

        late = [after_prompt(body, version=version).late for version in TRAITS]

        assert [True, False, False, True, True, True, True] == late

    def test_the_limit_of_scores_is_the_servers(self):
        body = {**HELLO, "logprobs": True, "top_logprobs": 21}

        assert after_prompt(body, settings=Settings(max_logprobs=21)) is None
        assert after_prompt(body, settings=Settings(max_logprobs=-1)) is None

    def test_ids_outside_the_vocabulary(self):
        refusal = after_prompt({"prompt": [1, 2]}, api="completions", vocab_size=3)

        assert (400, "BadRequestError", None, "Token id 3 is out of vocabulary") == told(refusal)

    def test_old_versions_take_what_newer_ones_refuse(self):
        assert after_prompt({**HELLO, "temperature": 3}, version=V20) is None
        assert after_prompt({**HELLO, "stop_token_ids": [9999]}, version=V28) is None

    def test_echo_without_generation_is_fine(self):
        assert after_prompt({"prompt": "a", "echo": True, "max_tokens": 0}, api="completions") is None


class TestOtherApis:
    @pytest.mark.parametrize(
        ("api", "body", "param", "words"),
        [
            ("completions", {"prompt": ""}, "prompt", "Either prompt or prompt_embeds must be provided"),
            ("completions", {"prompt": []}, None, "You must pass at least one prompt"),
            ("completions", {"prompt": "a", "suffix": "b"}, "suffix", "only supported for models with FIM"),
            ("completions", {"prompt": "a", "logprobs": -3}, "logprobs", "must be a positive value or -1"),
            ("completions", {"prompt": [-1]}, "body.prompt.0", "greater than or equal to 0"),
            ("responses", {"input": "a", "include": ["nope"]}, "body.include.0", "literal_error"),
            ("responses", {"input": None}, "body.input", "list_type"),
            ("responses", {"input": []}, None, "empty conversation"),
            ("responses", {"input": "a", "background": True, "store": False}, "background", "`store` is true"),
            ("responses", {"input": "a", "prompt": {"id": "p"}}, "prompt", "prompt template is not supported"),
            ("responses", {"input": "a", "tool_choice": "required"}, "tool_choice", "must be specified with 'tools'"),
            ("tito", {"token_ids": [1]}, "body.sampling_params", "Field required"),
            ("tito", {"token_ids": [], "sampling_params": {}}, "body.token_ids", "at least 1 item"),
            ("tito", {"token_ids": [-1], "sampling_params": {}}, "body.token_ids", "must not contain negative values"),
            ("tito", {"token_ids": [1], "sampling_params": {"top_p": 2}}, "top_p", "top_p must be in (0, 1], got 2.0."),
            ("messages", {"model": "tiny", "messages": []}, "body.max_tokens", "Field required"),
            ("tokenize", {"prompt": 5}, "body.prompt", "string_type"),
            ("detokenize", {"tokens": [-1]}, "body.tokens.0", "greater_than_equal"),
            ("batch", {**HELLO, "messages": []}, "body.messages", "too_short"),
            ("batch", {**HELLO, "messages": [HELLO["messages"]], "n": 2}, "n", "do not support `n > 1`"),
        ],
    )
    def test_refused(self, api, body, param, words):
        status, _, shown, message = told(refused(body, api))

        assert (400, param) == (status, shown)
        assert words in message

    def test_messages_answer_in_their_own_shape_once_the_body_is_read(self):
        body = {"model": "nope", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
        expected = {
            "type": "error",
            "error": {"type": "NotFoundError", "message": "The model `nope` does not exist. Valid aliases: tiny."},
        }

        assert (404, expected) == (refused(body, "messages").status, refused(body, "messages").body)

    def test_background_without_a_store(self):
        body = {"input": "a", "background": True}

        assert (400, "invalid_request_error", "background") == told(refused(body, "responses"))[:3]
        assert (400, "invalid_request_error", None) == told(refused(body, "responses", version=V12))[:3]
        assert isinstance(sent(body, "responses", settings=Settings(responses_store=True)), Parsed)

    def test_ids_in_default_to_sixteen_tokens_only_in_old_versions(self):
        body = {"token_ids": [1], "sampling_params": {}}

        asked = [sent(body, "tito", version=v).values["sampling_params"]["max_tokens"] for v in (V12, V20, V24, V32)]

        assert [16, 16, None, None] == asked


class TestRoutes:
    def test_three_shapes(self):
        assert ({"error": "Unauthorized"}, (("content-type", "application/json"),)) == (
            refusals.unauthorised().body,
            refusals.unauthorised().headers,
        )
        assert {"detail": "Not Found"} == refusals.not_found().body
        assert ("allow", "POST") == refusals.method_not_allowed(("POST",)).headers[0]
        assert 403 == refusals.scale_out_disabled(TRAITS[V32]).status

    def test_responses_that_are_not_stored(self):
        newest = told(refusals.response_missing("resp_x", TRAITS[V32]))

        assert (404, "invalid_request_error", "response_id", "Response with id 'resp_x' not found.") == newest
        assert 400 == refusals.response_missing("x", TRAITS[V10]).status

    def test_query_parameters(self):
        request = Request("POST", "/sleep", {"level": "7"})

        refusal = read_query("/sleep", request, TRAITS[V32])

        assert (400, "Bad Request", "query.level") == told(refusal)[:3]
        assert {} == read_query("/sleep", request, TRAITS[V28])


class TestConversations:
    IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}

    def test_text_models_take_no_media(self):
        assert "tiny is not a multimodal model" == told(refused({"messages": [self.IMAGE]}))[3]
        assert "tiny is not a multimodal model None" == told(refused({"messages": [self.IMAGE]}, version=V12))[3]

    def test_unknown_parts_beside_known_ones(self):
        parts = [{"type": "text", "text": "a"}, {"type": "smell", "smell": "x"}]
        body = {"messages": [{"role": "user", "content": parts}]}

        assert (400, "BadRequestError", "type") == told(refused(body))[:3]
        assert "Unsupported chat content part type: 'smell'. Supported types: audio_embeds," in told(refused(body))[3]
        assert (501, "NotImplementedError", None, "Unknown part type: smell") == told(refused(body, version=V20))

    def test_parts_that_no_shape_knows_are_seen_when_they_are_walked_over(self):
        body = {"messages": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]}

        said = told(refused(body))[3].splitlines()
        assert "8 validation errors for ValidatorIterator" == said[0]
        assert "0.ChatCompletionContentPartTextParam.type" in said
        assert "  Input should be 'text' [type=literal_error, input_value='smell', input_type=str]" in said

    def test_text_parts_are_fine(self):
        content = [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}, {"text": "c"}]

        assert isinstance(sent({"messages": [{"role": "user", "content": content}]}), Parsed)

    @pytest.mark.parametrize(("version", "taken"), [(V12, False), (V28, False), (V32, True)])
    def test_tool_call_arguments_that_are_no_json(self, version, taken):
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}
        body = {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}

        assert taken == isinstance(sent(body, version=version), Parsed)
