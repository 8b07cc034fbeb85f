"""SageMaker's entrance and the orders to the engine: routes around the APIs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakellm.ask import Request
from support.vllm import VERSIONS, server, told

HI = [{"role": "user", "content": "Hi"}]


def post(path: str, body: Any) -> Request:
    return Request("POST", path, headers={"content-type": "application/json"}, body=json.dumps(body).encode())


@pytest.mark.parametrize("version", VERSIONS)
class TestInvocations:
    @pytest.mark.parametrize(
        "body, kind", [({"messages": HI}, "chat.completion"), ({"prompt": "Hi"}, "text_completion")]
    )
    def test_a_body_goes_to_the_api_that_it_fits(self, version: str, body: Any, kind: str) -> None:
        assert kind == told(server(version, says="Hello"), post("/invocations", body))["object"]

    def test_a_body_that_fits_none_is_refused(self, version: str) -> None:
        assert "error" in told(server(version, says="Hello"), post("/invocations", {"input": "Hi"}), 400)


def test_the_models_name_counts_in_0_10_2_alone() -> None:
    body = {"model": "nope", "messages": HI}
    options = ("--served-model-name", "tiny")

    assert (
        "NotFoundError" == told(server("0.10.2", *options, says="x"), post("/invocations", body), 404)["error"]["type"]
    )
    assert "tiny" == told(server("0.12.0", *options, says="x"), post("/invocations", body))["model"]


class TestOrders:
    def test_every_worker_answers_a_call(self) -> None:
        playing = server("0.28.0", "-tp", "2", says="x", env={"VLLM_SERVER_DEV_MODE": "1"})

        assert {"results": [None, None]} == told(playing, post("/collective_rpc", {"method": "sync_weights"}))

    def test_calls_need_the_development_mode_and_a_method(self) -> None:
        playing = server("0.28.0", says="x", env={"VLLM_SERVER_DEV_MODE": "1"})

        assert "detail" in told(server("0.28.0", says="x"), post("/collective_rpc", {"method": "m"}), 404)
        refused = told(playing, post("/collective_rpc", {}), 400)
        assert "Missing 'method' in request body" == refused["error"]["message"]

    @pytest.mark.parametrize("size, status", [(2, 200), (0, 400), (None, 400)])
    def test_scaling_is_done_at_once(self, size: int | None, status: int) -> None:
        answered = told(server("0.32.0", says="x"), post("/scale_elastic_ep", {"new_data_parallel_size": size}), status)

        assert ("error" in answered) == (status == 400)
