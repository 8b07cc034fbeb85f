"""Values that are absent, misplaced, late or oddly spelled in bodies, on a hand-made rendering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fakellm import wire
from fakellm.ask import Ask
from fakellm.errors import FaultError
from fakellm.message import Message, Rendering
from support.faulty import IDS, LAYOUT, LOGPROBS, PROMPT, ask, choice, distorted, rendered, told

WHOLE = ask()
STREAM = ask(stream=True, usage=True)
TWO = ask(stream=True, n=2, usage=True)


def after(entry: Any, request: Ask = WHOLE, subject: Any = None) -> Rendering:
    healthy = rendered(subject or (told(choice(0), choice(1)) if request.n == 2 else told()), request)
    return distorted(entry, healthy, request)


def body(rendering: Rendering) -> dict[str, Any]:
    return rendering.messages[0].body


def first_choice(rendering: Rendering) -> dict[str, Any]:
    return body(rendering)["choices"][0]


def chunks(rendering: Rendering) -> list[Message]:
    return [message for message in rendering.messages if isinstance(message.body, dict)]


def rows(rendering: Rendering) -> list[dict[str, Any]]:
    return [row for message in chunks(rendering) for row in message.body["choices"] or ()]


class TestAbsent:
    @pytest.mark.parametrize(
        ("what", "key", "where"),
        [("prompt-ids", "prompt_token_ids", body), ("completion-ids", "token_ids", first_choice)],
    )
    def test_ids(self, what: str, key: str, where: Any) -> None:
        assert key not in where(after(f"{what}-missing"))
        assert where(after(f"{what}-null"))[key] is None
        assert [] == where(after(f"{what}-empty"))[key]

    def test_scores(self) -> None:
        assert "logprobs" not in first_choice(after("logprobs-missing"))
        assert first_choice(after("logprobs-null"))["logprobs"] is None
        assert {"content": []} == first_choice(after("logprobs-empty"))["logprobs"]

    def test_one_choice_of_two(self) -> None:
        changed = after({"completion-ids-null": {"choice": 1}}, ask(n=2), told(choice(0), choice(1)))

        assert [list(IDS), None] == [row["token_ids"] for row in body(changed)["choices"]]

    def test_every_chunk_of_a_stream(self) -> None:
        assert not [row for row in rows(after("completion-ids-missing", STREAM)) if "token_ids" in row]

    def test_an_error_is_left_alone(self) -> None:
        refused = Rendering(400, (), (Message("body", {"error": {}}),))

        assert refused == distorted("prompt-ids-null", refused)


class TestPlaces:
    def test_nested_under_the_choice(self) -> None:
        changed = after({"ids-nested-under-choice": {"prompt": True, "completion": True}})

        assert "prompt_token_ids" not in body(changed)
        assert (list(PROMPT), list(IDS)) == (
            first_choice(changed)["prompt_token_ids"],
            first_choice(changed)["token_ids"],
        )

    def test_at_the_top(self) -> None:
        request = ask("completions")
        row = {"index": 0, "text": "a", "prompt_token_ids": [1, 2], "token_ids": [3]}
        healthy = Rendering(200, (), (Message("body", {"id": "x", "choices": [row]}),))

        changed = body(distorted("prompt-ids-at-the-top", healthy, request))

        assert [1, 2] == changed["prompt_token_ids"]
        assert "prompt_token_ids" not in changed["choices"][0]

    def test_where_they_stand_anyway(self) -> None:
        with pytest.raises(FaultError, match="the prompt ids stand at the top anyway"):
            after("prompt-ids-at-the-top")

    def test_places_that_no_layout_has(self) -> None:
        assert list(IDS) == body(after("completion-ids-at-the-top"))["x_response_token_ids"]
        assert {"tokens": {"ids": list(IDS)}} == first_choice(after("completion-ids-nested-deeper"))["x_details"]

    @pytest.mark.parametrize(("chunk", "kind"), [("finish", "finish"), ("usage", "usage")])
    def test_late(self, chunk: str, kind: str) -> None:
        changed = after({"prompt-ids-late": {"chunk": chunk}}, STREAM)

        assert [(kind, list(PROMPT))] == [
            (message.kind, message.body["prompt_token_ids"])
            for message in chunks(changed)
            if "prompt_token_ids" in message.body
        ]

    def test_on_a_chunk_of_their_own(self) -> None:
        changed = after("prompt-ids-on-own-chunk", STREAM)
        carriers = [message.body for message in chunks(changed) if "prompt_token_ids" in message.body]

        assert [([], list(PROMPT))] == [(carrier["choices"], carrier["prompt_token_ids"]) for carrier in carriers]


class TestScores:
    def scores(self, rendering: Rendering) -> list[tuple[list[Any], Any]]:
        return [
            ([entry["logprob"] for entry in (row["logprobs"] or {}).get("content", [])], row["finish_reason"])
            for row in rows(rendering)
        ]

    def test_the_last_score_comes_behind_the_finish(self) -> None:
        changed = after("late-eos-score", STREAM)

        assert [([], "stop"), ([-0.4], None)] == self.scores(changed)[-2:]
        assert [2] == rows(changed)[-2]["token_ids"]
        assert "token_ids" not in rows(changed)[-1]
        assert ["usage", "done"] == [message.kind for message in changed.messages[-2:]]

    def test_of_one_choice_only(self) -> None:
        late = [row for row in rows(after({"late-eos-score": {"choice": 1}}, TWO)) if row["delta"] == {}]

        assert [(0, [-0.4]), (1, []), (1, [-0.4])] == [
            (row["index"], [entry["logprob"] for entry in row["logprobs"]["content"]]) for row in late
        ]

    def test_in_a_whole_answer_nothing_is_late(self) -> None:
        with pytest.raises(FaultError, match="not a stream"):
            after("late-eos-score")

    def test_an_event_of_the_responses_api(self) -> None:
        from fakellm.layouts.base import Accessor

        table = {("responses", True): (Accessor("logprobs", "logprobs[].logprob"),)}
        layout = replace(LAYOUT, accessors=table)
        request = ask("responses", stream=True)
        events = tuple(
            Message("event", {"delta": text, "logprobs": scores, "sequence_number": number}, event=name)
            for number, (name, text, scores) in enumerate(
                [
                    ("response.output_text.delta", "a", [{"logprob": -1.0}]),
                    ("response.output_text.delta", "b", [{"logprob": -2.0}]),
                    ("response.output_text.done", "ab", []),
                ]
            )
        )
        from fakellm.faults.compose import compose

        changed = compose(["late-eos-score"], request, layout).rendering(Rendering(200, (), events, stream=True))

        assert [("a", 1, 0), ("b", 0, 1), ("", 1, 2), ("ab", 0, 3)] == [
            (each.body["delta"], len(each.body["logprobs"]), each.body["sequence_number"]) for each in changed.messages
        ]

    def test_scores_on_chunks_of_their_own(self) -> None:
        changed = after("logprobs-on-empty-delta", STREAM)

        assert list(LOGPROBS) == [logprob for scores, _ in self.scores(changed) for logprob in scores]
        assert all(row["delta"] == {} for row in rows(changed) if row["logprobs"])

    @pytest.mark.parametrize(("entry", "word"), [("logprob-nan", b"NaN"), ("logprob-infinity", b"-Infinity")])
    def test_words_that_are_no_json(self, entry: str, word: bytes) -> None:
        for request in (WHOLE, STREAM):
            data = b"".join(wire.event(message) for message in after({entry: {"at": 1}}, request).messages)

            assert b'"logprob":' + word in data
            assert 1 == data.count(word)

    def test_a_position_that_is_not_there(self) -> None:
        with pytest.raises(FaultError, match="position 4 is outside"):
            after({"logprob-nan": {"at": 4}})


class TestPromptScores:
    request = replace(ask(), wants=replace(ask().wants, prompt_logprobs=1))
    healthy = Rendering(200, (), (Message("body", {"prompt_logprobs": [None, {"9": {"rank": 1}, "10": {"rank": 2}}]}),))

    def test_sorted_by_key(self) -> None:
        changed = body(distorted("prompt-logprobs-sorted", self.healthy, self.request))

        assert ["10", "9"] == list(changed["prompt_logprobs"][1])

    def test_without_the_leading_null(self) -> None:
        changed = body(distorted("prompt-logprobs-first-missing", self.healthy, self.request))

        assert [{"9": {"rank": 1}, "10": {"rank": 2}}] == changed["prompt_logprobs"]

    def test_nothing_to_sort(self) -> None:
        with pytest.raises(FaultError, match="no prompt scores of that form"):
            distorted("prompt-logprobs-sorted", rendered(told(), WHOLE), self.request)


class TestChoices:
    def order(self, rendering: Rendering) -> list[Any]:
        return [row["index"] for message in chunks(rendering) for row in message.body["choices"]]

    def test_a_whole_answer_in_reverse(self) -> None:
        assert [1, 0] == self.order(after("choices-out-of-order", ask(n=2), told(choice(0), choice(1))))

    def test_a_stream_one_after_the_other(self) -> None:
        assert [1, 1, 1, 1, 0, 0, 0, 0] == self.order(after("choices-out-of-order", TWO))

    def test_due_times_never_go_back(self) -> None:
        for name in ("choices-out-of-order", "choices-interleaved"):
            due = [message.due_ms for message in after(name, TWO).messages]

            assert sorted(due) == due

    def test_interleaved_keeps_each_choices_order(self) -> None:
        changed = after("choices-interleaved", TWO)

        assert self.order(rendered(told(choice(0), choice(1)), TWO)) != self.order(changed)
        for index in (0, 1):
            ids = [row.get("token_ids", []) for row in rows(changed) if row["index"] == index]
            assert [each + 100 * index for each in IDS] == [token for piece in ids for token in piece]

    def test_one_chunk_speaks_of_both(self) -> None:
        changed = after("choices-in-one-chunk", TWO)

        assert [[0, 1]] * 4 == [[row["index"] for row in m.body["choices"]] for m in chunks(changed)[:-1]]

    def test_index(self) -> None:
        assert {"no"} == {row.get("index", "no") for row in rows(after("choice-index-missing", TWO))}
        assert {1, 2} == {row["index"] for row in rows(after("choice-index-from-one", TWO))}
        assert {0} == {row["index"] for row in rows(after("choice-index-constant", TWO))}

    def test_what_a_client_may_do_without_index(self) -> None:
        from fakellm.faults.registry import parse

        assert (("recover",), ("refuse",)) == (
            parse("choice-index-missing").may(WHOLE),
            parse("choice-index-missing").may(TWO),
        )


class TestEnds:
    @pytest.mark.parametrize(("name", "reason"), [("finish-reason-null", None), ("finish-reason-empty", "")])
    def test_no_reason(self, name: str, reason: Any) -> None:
        assert {reason} == {row["finish_reason"] for row in rows(after(name, STREAM))}

    def test_no_key(self) -> None:
        assert "finish_reason" not in first_choice(after("finish-reason-missing"))

    def test_early(self) -> None:
        assert [None, "stop", None, "stop"] == [
            row["finish_reason"] for row in rows(after("finish-reason-early", STREAM))
        ]

    def test_usage_absent(self) -> None:
        assert "usage" not in body(after("usage-absent"))
        assert "usage" not in [message.kind for message in after("usage-absent", STREAM).messages]

    def test_usage_early(self) -> None:
        kinds = [message.kind for message in after("usage-early", STREAM).messages]

        assert ["usage", "finish", "done"] == kinds[-3:]

    def test_usage_on_every_chunk_grows_to_the_final_one(self) -> None:
        counts = [
            message.body["usage"]["completion_tokens"] for message in chunks(after("usage-on-every-chunk", STREAM))
        ]

        assert [1, 2, 3, 4, 4] == counts

    def test_usage_with_choices_null(self) -> None:
        assert chunks(after("usage-choices-null", STREAM))[-1].body["choices"] is None


class TestEnvelope:
    def test_model(self) -> None:
        assert "another-model" == body(after("model-renamed"))["model"]

    def test_milliseconds(self) -> None:
        assert 1_800_000_000_000 == body(after("created-in-milliseconds"))["created"]

    def test_ids(self) -> None:
        identities = [message.body["id"] for message in chunks(after("id-changes-in-mid-stream", STREAM))]

        assert ("chatcmpl-1", 5, 5) == (identities[0], len(identities), len(set(identities)))

    def test_roles(self) -> None:
        assert all(row["delta"]["role"] == "assistant" for row in rows(after("role-on-every-chunk", STREAM)))

    def test_unknown_fields(self) -> None:
        assert {"x_region", "x_debug"} <= set(first_choice(after("unknown-fields")))

    def test_a_delta_that_is_null(self) -> None:
        assert rows(after("delta-null", STREAM))[-1]["delta"] is None


class TestTools:
    request = replace(STREAM, tools=({},))

    def pieces(self, name: str) -> list[dict[str, Any]]:
        return [
            piece
            for message in chunks(distorted(name, self.stream(), self.request))
            for row in message.body["choices"]
            for piece in row["delta"].get("tool_calls", ())
        ]

    def stream(self) -> Rendering:
        calls = [
            {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": ""}},
            {"index": 0, "function": {"arguments": '{"a":1}'}},
            {"index": 1, "id": "call_2", "type": "function", "function": {"name": "add", "arguments": "{}"}},
        ]
        messages = tuple(
            Message("delta", {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}, 0)
            for call in calls
        )
        return Rendering(200, (), messages, stream=True)

    def test_each_oddity(self) -> None:
        assert [False] * 3 == ["id" in piece for piece in self.pieces("tool-delta-without-id")]
        assert [False] * 3 == ["index" in piece for piece in self.pieces("tool-delta-without-index")]
        assert [1, 1, 2] == [piece["index"] for piece in self.pieces("tool-index-from-one")]
        assert [0, 0, 0] == [piece["index"] for piece in self.pieces("tool-index-constant")]
        assert ["add", "", "add"] == [piece["function"]["name"] for piece in self.pieces("tool-name-empty")]
        assert ["call_1", None, "call_2"] == [piece["id"] for piece in self.pieces("tool-delta-nulls")]

    def test_content_is_null(self) -> None:
        changed = distorted("content-null", self.stream(), self.request)

        assert {None} == {row["delta"]["content"] for row in rows(changed)}

    def test_a_stream_without_a_call(self) -> None:
        with pytest.raises(FaultError, match="calls no tool"):
            after("tool-delta-nulls", self.request)


class TestErrors:
    @pytest.mark.parametrize(
        ("entry", "status"),
        [("http-429", 429), ("http-503", 503), ({"http-error": {"status": 418}}, 418), ("error-body-with-200", 200)],
    )
    def test_a_status_in_place_of_the_answer(self, entry: Any, status: int) -> None:
        changed = after(entry)

        assert (status, True) == (changed.status, "error" in body(changed))

    @pytest.mark.parametrize("entry", ["http-429", "http-503"])
    def test_retry_after(self, entry: str) -> None:
        assert "7" == dict(after({entry: {"retry_after": 7}}).headers)["retry-after"]
        assert "retry-after" not in dict(after({entry: {"retry_after": None}}).headers)

    def test_html(self) -> None:
        changed = after("http-500-html", STREAM)

        assert (500, False, "text/html") == (changed.status, changed.stream, dict(changed.headers)["content-type"])
        assert changed.messages[0].body.startswith("<html>")

    def test_an_event_breaks_the_stream_off(self) -> None:
        changed = after({"error-event": {"at": 2}}, STREAM)

        assert ["role", "delta", "error"] == [message.kind for message in changed.messages]

    def test_and_done_follows(self) -> None:
        changed = after({"error-event-then-done": {"at": -1}}, STREAM)

        assert ["role", "delta", "delta", "finish", "error", "done"] == [message.kind for message in changed.messages]

    def test_after_the_finish(self) -> None:
        changed = after("error-after-finish", STREAM)

        assert ["finish", "error", "usage", "done"] == [message.kind for message in changed.messages[-4:]]

    def test_an_error_in_a_side_field(self) -> None:
        last = after("error-with-choices-null", STREAM).messages[-2].body

        assert (None, "upstream failed") == (last["choices"], last["error"]["message"])

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ("own", {"error": {"message": "Bad request", "type": "BadRequestError", "code": 400}}),
            ("text", {"error": "Bad request"}),
        ],
    )
    def test_whose_shape(self, shape: str, words: Any) -> None:
        assert words == body(after({"http-error": {"shape": shape}}))

    def test_times_lets_the_retry_through(self) -> None:
        healthy = rendered(told(), WHOLE)

        assert 503 == distorted({"http-503": {"times": 1}}, healthy, ordinal=0).status
        assert healthy == distorted({"http-503": {"times": 1}}, healthy, ordinal=1)
