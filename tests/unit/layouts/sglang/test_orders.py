"""What is seldom asked of a server: orders, weights, other models' routes, texts that are read without an engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from support.sglang import NEWEST, server, told
from support.stages import chat, post, spoken

SAYS = spoken("one two three")
VERSIONS = ("0.5.6", "0.5.9", "0.5.12", "0.5.17", NEWEST)


def ask(path: str, method: str = "POST", **query: str) -> Request:
    return Request(method, path, query, {}, b"")


def answer(version: str, path: str, body: Any = None) -> tuple[int, str]:
    request = ask(path) if body is None else post(path, body)
    wire = server(version).answer(request).wire
    return wire.status, b"".join(frame.data for frame in wire.frames).decode()


class TestWhichVersionHasARoute:
    @pytest.mark.parametrize(
        ("path", "absent", "present"),
        [
            ("/v1/classify", "0.5.3", "0.5.6"),
            ("/set_trace_level", "0.5.9", "0.5.12"),
            ("/weights_checker", "0.5.3", "0.5.6"),
            ("/clear_hicache_storage_backend", NEWEST, "0.5.20"),
            ("/get_weight_version", NEWEST, "0.5.6"),
            ("/pd_role_switch", "0.5.20", NEWEST),
        ],
    )
    def test_a_route_comes_and_goes(self, path: str, absent: str, present: str) -> None:
        missing = (404, '{"detail":"Not Found"}')
        assert missing == answer(absent, path)
        assert missing != answer(present, path)

    def test_a_refused_method_is_told_which_are_taken(self) -> None:
        wire = server().answer(ask("/start_profile", "DELETE")).wire
        assert (405, "GET, POST") == (wire.status, dict(wire.headers)["allow"])

    def test_the_checker_takes_get_since_0_5_13(self) -> None:
        asked = ask("/weights_checker", "GET")
        assert [405, 200] == [server(version).answer(asked).wire.status for version in ("0.5.12", NEWEST)]


class TestOrders:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("/start_profile", "Start profiling.\n"),
            ("/stop_profile", "Stop profiling. This will take some time.\n"),
            ("/start_expert_distribution_record", "Start recording the expert distribution.\n"),
            ("/dump_expert_distribution_record", "Dump expert distribution record.\n"),
            ("/freeze_gc", "Garbage collection frozen.\n"),
        ],
    )
    def test_an_order_without_a_body(self, version: str, path: str, said: str) -> None:
        assert (200, said) == answer(version, path)

    def test_a_session_is_opened_once_and_again_when_it_was_closed(self) -> None:
        playing = server()
        opened, closed = post("/open_session", {"capacity_of_str_len": 9, "session_id": "mine"}), {"session_id": "mine"}
        statuses = [
            playing.answer(request).wire.status for request in (opened, opened, post("/close_session", closed), opened)
        ]
        assert [200, 400, 200, 200] == statuses

    def test_adapters_need_the_option(self) -> None:
        status, body = answer(NEWEST, "/load_lora_adapter", {"lora_name": "a", "lora_path": "b"})
        assert (400, "LoRA is not enabled. Please set `--enable-lora` to enable LoRA.") == (
            status,
            json.loads(body)["error_message"],
        )

    def test_an_input_that_does_not_fit_is_refused_twice_by_a_struct(self) -> None:
        message = json.loads(answer(NEWEST, "/slow_down", {})[1])["message"]
        assert message.startswith("2 validation errors:\n  {'type': 'is_instance_of'")

    def test_and_once_by_a_dataclass(self) -> None:
        message = json.loads(answer("0.5.9", "/slow_down", {})[1])["message"]
        assert message.startswith("1 validation error:\n  {'type': 'missing', 'loc': ('body', 'forward_sleep_time')")


class TestWeights:
    def test_an_update_that_names_a_version_makes_it_the_servers(self) -> None:
        playing = server(says=SAYS)
        playing.answer(post("/update_weights_from_ipc", {"zmq_handles": {}, "weight_version": "step-7"}))

        body = told(playing, chat())

        assert "step-7" == body["metadata"]["weight_version"]

    def test_the_update_says_what_the_model_runner_says(self) -> None:
        told_by_ipc = json.loads(answer(NEWEST, "/update_weights_from_ipc", {"zmq_handles": {}})[1])
        assert "IPC weight update completed successfully" == told_by_ipc["message"]

    def test_tensors_are_sent_in_base64(self) -> None:
        path = "/update_weights_from_tensor"
        statuses = [answer(NEWEST, path, {"serialized_named_tensors": [text]})[0] for text in ("aGk=", "a")]
        assert [200, 400] == statuses


class TestOtherModels:
    @pytest.mark.parametrize(
        ("path", "body", "said"),
        [
            ("/v1/embeddings", {"input": "Hi"}, "This model does not appear to be an embedding model by default."),
            ("/v1/embeddings", {"input": ""}, "Input cannot be empty"),
            ("/v1/rerank", {"query": "a", "documents": []}, "Documents cannot be empty"),
            ("/v1/score", {"query": "a", "items": ["b"]}, "label_token_ids is required"),
            ("/classify", {}, "At least one of text, input_ids, image, video, or audio should be provided"),
        ],
    )
    def test_a_text_model_refuses(self, path: str, body: Any, said: str) -> None:
        status, text = answer(NEWEST, path, body)
        assert (400, True) == (status, said in text)


class TestTexts:
    def test_calls_are_read_from_a_text(self) -> None:
        tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
        text = 'So <tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
        body = {"text": text, "tools": [tool], "tool_call_parser": "qwen25"}

        read = json.loads(answer(NEWEST, "/parse_function_call", body)[1])

        assert {"normal_text": "So", "calls": [{"tool_index": 0, "name": "add", "parameters": '{"a": 1}'}]} == read

    def test_reasoning_is_separated(self) -> None:
        body = {"text": "<think>a</think>b", "reasoning_parser": "qwen3"}
        read = json.loads(answer(NEWEST, "/separate_reasoning", body)[1])
        assert {"reasoning_text": "a", "text": "b"} == read

    def test_a_parser_that_nobody_knows_breaks_the_route(self) -> None:
        assert 500 == answer(NEWEST, "/separate_reasoning", {"text": "a", "reasoning_parser": "nope"})[0]


class TestHosted:
    BATCH: Any = {"instances": [{"text": "Hi"}], "parameters": {"sampling_params": {"max_new_tokens": 2}}}

    @pytest.mark.parametrize("version", ["0.5.9", "0.5.18", NEWEST])
    def test_predictions_stand_around_a_batch(self, version: str) -> None:
        assert ["predictions"] == list(told(server(version, says=SAYS), post("/vertex_generate", self.BATCH)))

    def test_but_not_from_0_5_10_to_0_5_17(self) -> None:
        assert 1 == len(told(server("0.5.12", says=SAYS), post("/vertex_generate", self.BATCH)))

    def test_invocations_are_chats(self) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        answered = told(server(says=SAYS), post("/invocations", body))
        assert "one two three" == answered["choices"][0]["message"]["content"]
