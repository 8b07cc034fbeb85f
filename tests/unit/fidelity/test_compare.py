"""compare: what counts as exact, what as equal, and where a difference is."""

import json
import re
from typing import Any

import pytest

from fakellm.fidelity.compare import Replayed, Verdict, compare
from fakellm.fidelity.recorded import Exchange, Mask, Masks
from support.recordings import JSON, SSE, exchange, sse

NO_MASKS = Masks()
ID_MASK = Masks((Mask("random-id", re.compile(r"(chatcmpl-)([0-9a-f]{16})"), r"\1ID"),), frozenset({"content-length"}))


def judged(recorded: Exchange, body: Any, *, tolerance: float = 0.0, masks: Masks = NO_MASKS, **answer: Any) -> Verdict:
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    headers = answer.pop("headers", recorded.response.headers)
    replayed = Replayed(answer.pop("status", recorded.response.status), headers, text, **answer)
    return compare(recorded, replayed, masks, tolerance)


def test_the_same_bytes_are_exact() -> None:
    assert Verdict("exact") == judged(exchange('{"a":1}'), '{"a":1}')


def test_another_spelling_of_the_same_values_is_equal() -> None:
    assert "equal" == judged(exchange('{"a":0.00001,"b":"é"}'), '{"a": 1e-05, "b": "\\u00e9"}').verdict


@pytest.mark.parametrize(
    ("recorded", "replayed", "where"),
    [
        ('{"a":{"b":[1,2]}}', '{"a":{"b":[1,3]}}', "body.a.b[1]"),
        ('{"a":null}', "{}", "body.a"),
        ("{}", '{"a":null}', "body.a"),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', "body"),
        ('{"a":1,"a":2}', '{"a":2}', "body.a"),
        ('{"a":[1]}', '{"a":[1,2]}', "body.a[1]"),
        ('{"a":1}', '{"a":true}', "body.a"),
        ('{"a":1}', '{"a":"1"}', "body.a"),
        ('{"a":null}', '{"a":false}', "body.a"),
        ('{"a":{}}', '{"a":[]}', "body.a"),
        ('{"x y":1}', '{"x y":2}', 'body["x y"]'),
        ("Not Found", "Nothing", "body"),
    ],
)
def test_a_difference_is_told_by_its_json_path(recorded: str, replayed: str, where: str) -> None:
    verdict = judged(exchange(recorded), replayed)

    assert ("differs", where) == (verdict.verdict, verdict.where)
    assert verdict.detail


def test_numbers_may_differ_within_the_tolerance_and_no_further() -> None:
    recorded = exchange('{"a":-0.1234567}')

    assert "equal" == judged(recorded, '{"a":-0.1234571}', tolerance=1e-6).verdict
    assert "differs" == judged(recorded, '{"a":-0.1234587}', tolerance=1e-6).verdict
    assert "differs" == judged(recorded, '{"a":-0.1234571}').verdict


def test_status_comes_first() -> None:
    assert "status" == judged(exchange("{}", status=400), "[]", status=200).where


def test_recorded_headers_are_compared_but_those_of_the_masks_and_the_connection() -> None:
    recorded = exchange("{}", headers={**JSON, "vary": "Origin", "content-length": "2", "transfer-encoding": "chunked"})

    assert "exact" == judged(recorded, "{}", masks=ID_MASK, headers={**JSON, "vary": "Origin", "x-more": "1"}).verdict
    assert "headers.vary" == judged(recorded, "{}", masks=ID_MASK, headers=JSON).where
    assert "headers.content-length" == judged(recorded, "{}", headers={**JSON, "vary": "Origin"}).where


def test_masked_ids_do_not_matter_but_their_form_does() -> None:
    recorded = exchange({"id": "chatcmpl-adcc9176b26fe7a5"})

    assert "exact" == judged(recorded, {"id": "chatcmpl-8000000000000000"}, masks=ID_MASK).verdict
    assert "body.id" == judged(recorded, {"id": "chatcmpl-8"}, masks=ID_MASK).where


def test_where_only_the_status_is_comparable_status_and_type_are_compared() -> None:
    recorded = exchange("{}", compare="status", headers={**JSON, "vary": "Origin"})

    assert Verdict("exact") == judged(recorded, "[1]", headers=JSON)
    assert "headers.content-type" == judged(recorded, "{}", headers={"content-type": "text/plain"}).where
    assert "status" == judged(recorded, "{}", status=404).where


def test_a_reserialised_recording_forgives_blanks_and_escapes_of_the_replay() -> None:
    recorded = exchange('{"a":"é","b":1e-05}', reserialised=True)

    assert "exact" == judged(recorded, '{"a": "\\u00e9", "b": 0.00001}').verdict


@pytest.mark.parametrize(("truncated", "cut"), [(True, False), (False, True)])
def test_a_stream_must_end_as_the_recorded_one_did(truncated: bool, cut: bool) -> None:
    recorded = exchange(sse({"a": 1}), headers=SSE, truncated=truncated)

    assert "end" == judged(recorded, recorded.response.body, cut=cut).where
    assert "exact" == judged(recorded, recorded.response.body, cut=truncated).verdict


class TestStreams:
    """Events and their order."""

    @pytest.mark.parametrize(
        ("replayed", "where"),
        [
            (sse({"a": 1}, {"a": 3}, done=True), "events[1].a"),
            (sse({"a": 1}, {"a": 2}), "events[2]"),
            (sse({"a": 1}, {"a": 2}, done=True) + ": ping\n\n", "events[3]"),
            ("event: x\n" + sse({"a": 1}, {"a": 2}, done=True), "events[0]"),
            (sse({"a": 2}, {"a": 1}, done=True), "events[0].a"),
        ],
    )
    def test_a_difference_is_told_by_event_and_path(self, replayed: str, where: str) -> None:
        recorded = exchange(sse({"a": 1}, {"a": 2}, done=True), headers=SSE)

        assert ("differs", where) == (judged(recorded, replayed).verdict, judged(recorded, replayed).where)

    def test_an_event_in_another_spelling_is_equal(self) -> None:
        recorded = exchange(sse('{"a":0.00001}', done=True), headers=SSE)

        assert "equal" == judged(recorded, sse('{"a": 1e-05}', done=True)).verdict

    def test_lines_of_json_are_events_too(self) -> None:
        recorded = exchange('{"a":1}\n{"a":2}\n', headers={"content-type": "application/x-ndjson"})

        assert "events[1].a" == judged(recorded, '{"a":1}\n{"a":3}\n').where

    def test_a_whole_answer_where_a_stream_is_recorded_differs(self) -> None:
        assert "differs" == judged(exchange(sse({"a": 1}), headers=SSE), '{"a":1}').verdict


class TestByChoice:
    """Events of several choices arrive by the clock: only their order within each choice counts."""

    zero, one = ({"choices": [{"index": index, "text": text}]} for index, text in ((0, "a"), (1, "b")))
    usage = {"choices": [], "usage": 1}

    def test_another_interleaving_is_exact(self) -> None:
        recorded = exchange(sse(self.one, self.zero, self.usage, done=True), headers=SSE, compare="by-choice")

        assert "exact" == judged(recorded, sse(self.zero, self.one, self.usage, done=True)).verdict

    def test_the_order_within_a_choice_counts(self) -> None:
        later = {"choices": [{"index": 0, "text": "c"}]}
        recorded = exchange(sse(self.zero, self.one, later), headers=SSE, compare="by-choice")

        assert "events[0].choices[0].text" == judged(recorded, sse(later, self.one, self.zero)).where

    def test_without_it_the_interleaving_counts(self) -> None:
        recorded = exchange(sse(self.one, self.zero), headers=SSE)

        assert "differs" == judged(recorded, sse(self.zero, self.one)).verdict


class TestRefusals:
    """A value that fits no branch of a pydantic union is told once per branch; the branches depend on libraries."""

    @staticmethod
    def refusal(*places: str, message: str = "Input should be a valid string") -> str:
        errors = "".join(
            f"\n  {{'type': 'string_type', 'loc': {place}, 'msg': '{message}', 'input': 5}}" for place in places
        )
        return json.dumps({"error": {"message": f"{len(places)} validation errors:{errors}", "code": 400}})

    two = refusal("('body', 'stop', 'str')", "('body', 'stop', 'list[str]')")

    def test_fewer_branches_with_the_same_first_error_are_equal(self) -> None:
        assert "equal" == judged(exchange(self.two, status=400), self.refusal("('body', 'stop', 'str')")).verdict

    @pytest.mark.parametrize(
        "replayed",
        [
            refusal("('body', 'input', 'str')", "('body', 'input', 'list[str]')"),
            refusal("('body', 'stop', 'str')", "('body', 'stop', 'list[str]')", message="Field required"),
            json.dumps({"error": {"message": "bad", "code": 400}}),
        ],
    )
    def test_another_first_error_differs(self, replayed: str) -> None:
        assert "body.error.message" == judged(exchange(self.two, status=400), replayed).where

    def test_the_rest_of_the_answer_must_agree(self) -> None:
        replayed = self.refusal("('body', 'stop', 'str')").replace("400", "422")

        assert "body.error.code" == judged(exchange(self.two, status=400), replayed).where

    def test_two_errors_of_two_values_are_no_union(self) -> None:
        recorded = exchange(self.refusal("'body.n'", "'body.max_tokens'"), status=400)

        assert "differs" == judged(recorded, self.refusal("'body.n'")).verdict

    def test_dotted_places_are_read_too(self) -> None:
        recorded = exchange(self.refusal("'body.stop'", "'body.stop.0'"), status=400)

        assert "equal" == judged(recorded, self.refusal("'body.stop'")).verdict


def test_text_at_which_the_server_itself_failed_is_not_compared_but_all_else_is() -> None:
    recorded = exchange({"message": {"content": "Hllo"}, "done": True}, faulty=["text"])

    assert "equal" == judged(recorded, {"message": {"content": "Hello"}, "done": True}).verdict
    assert "body.done" == judged(recorded, {"message": {"content": "Hello"}, "done": False}).where


def test_a_long_text_is_shown_where_it_parts() -> None:
    verdict = judged(exchange({"a": "x" * 500 + "y"}), {"a": "x" * 500 + "z"})

    assert verdict.detail is not None
    assert verdict.detail.startswith("from character 500: ")
    assert len(verdict.detail) < 300


def test_a_capture_that_kept_only_the_media_type_is_at_most_equal() -> None:
    recorded = exchange("{}", headers={"content-type": "text/event-stream"})
    charset = {"content-type": "text/event-stream; charset=utf-8"}

    assert "equal" == judged(recorded, "{}", headers=charset).verdict
    assert "differs" == judged(recorded, "{}", headers={"content-type": "text/event-stream-x"}).verdict
    assert (
        "differs"
        == judged(exchange("{}", headers=charset), "{}", headers={"content-type": "text/event-stream"}).verdict
    )
