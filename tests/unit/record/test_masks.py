"""What the drift check of a recording leaves out."""

from __future__ import annotations

import re

import pytest

from fakellm.fidelity.recorded import Mask, Masks
from fakellm.record.masks import COMMON, masks_for


def masked(vendor: str, body: str) -> str:
    rules = masks_for(vendor)["servers"][vendor]
    return Masks(tuple(Mask(rule["kind"], re.compile(rule["regex"]), rule["replace"]) for rule in rules)).apply(body)


@pytest.mark.parametrize("vendor", ["somebody-new", "dynamo"])
@pytest.mark.parametrize(
    "body, expected",
    [
        ('{"id":"chatcmpl-C1xZabcdEFGH12345678"}', '{"id":"chatcmpl-ID"}'),
        ('{"id":"gen-1795979199-AbCdEfGhIjKlMnOpQrSt"}', '{"id":"gen-ID"}'),
        ('{"id":"oBUtQrM-62bZhn-9801a1ac2a5f9b29"}', '{"id":"ID"}'),
        ('{"request_id":"c6860b50:sample:0"}', '{"request_id":"ID"}'),
        ('{"id": "0d85719a-f47f-39b3-29cc-4db9f4bcf001"}', '{"id": "ID"}'),
        ('{"created":1795979199}', '{"created":0}'),
        ('{"created_at":"2026-11-29T19:05:49.123Z"}', '{"created_at":"TIME"}'),
        ('{"id":"gpt-5-mini","owned_by":"me"}', '{"id":"gpt-5-mini","owned_by":"me"}'),
        ('{"completion_tokens":12,"token_id":1795979199}', '{"completion_tokens":12,"token_id":1795979199}'),
    ],
)
def test_random_ids_and_clocks_are_left_out_and_nothing_else(vendor: str, body: str, expected: str) -> None:
    assert expected == masked(vendor, body)


def test_a_server_of_the_library_keeps_its_own_rules_before_the_common_ones() -> None:
    assert '"system_fingerprint":"vllm-0.32.0-FINGERPRINT"' == masked(
        "vllm", '"system_fingerprint":"vllm-0.32.0-1271cf25"'
    )
    assert '"system_fingerprint":"FINGERPRINT"' == masked("somebody-new", '"system_fingerprint":"fp_1"')


def test_measured_times_of_an_unknown_server_are_left_out() -> None:
    assert '{"total_duration":0,"prompt_ms":0}' == masked("somebody-new", '{"total_duration":1234,"prompt_ms":1.5}')
    assert {"timestamp", "random-id", "fingerprint", "timing", "counter"} == {rule["kind"] for rule in COMMON}
