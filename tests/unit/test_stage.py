"""A stage answers from a source, keeps plans for equal requests, and never shows a traceback."""

from __future__ import annotations

import json

import pytest

from fakellm.errors import FakellmError
from fakellm.plan import ROOMY_TOKENS
from fakellm.plans import MAX_PLANS
from fakellm.shelf import Shelf
from fakellm.stage import Unmatched
from fakellm.timing import Timing
from support.stages import NOON, Spoken, body_of, chat, post, spoken, stage


class TestAnswers:
    """What comes back for one request."""

    def test_a_chat_request_gets_the_truth(self) -> None:
        playing = stage(Spoken(spoken("Hello")))

        answer = playing.answer(chat(return_token_ids=True, logprobs=True))

        choice = json.loads(body_of(answer))["choices"][0]
        truth = spoken("Hello").tokens
        assert "Hello" == choice["message"]["content"]
        assert [token.id for token in truth] == choice["token_ids"]
        assert [token.logprob for token in truth] == [entry["logprob"] for entry in choice["logprobs"]["content"]]

    def test_the_journal_can_read_what_was_behind(self) -> None:
        answer = stage(Spoken(spoken("Hello"))).answer(chat())

        played = answer.behind()

        assert played is not None
        assert "chat" == played.ask.api
        assert spoken("Hello") == played.generations[0].choices[0]

    def test_a_truth_that_was_let_go_is_the_same_when_it_is_read_again(self) -> None:
        source = Spoken(spoken("Hello"), key=None)
        playing = stage(source)
        playing._shelf = Shelf(max_tokens=1)
        answer = playing.answer(chat(return_token_ids=True))
        before = answer.behind()

        playing.answer(chat("something else"))
        again = answer.behind()

        assert before is not None
        assert again is not None
        assert again is not before
        assert (before.generations, before.told) == (again.generations, again.told)
        assert 2 == source.asked

    def test_no_reply_is_a_501_with_the_sources_own_words(self) -> None:
        class Nothing:
            def reply(self, ask: object) -> object:
                raise Unmatched({"error": {"message": "no reply fits"}})

        answer = stage(Nothing()).answer(chat())

        assert (501, True) == (answer.wire.status, answer.unmatched)
        assert b"no reply fits" in body_of(answer)

    def test_an_error_of_ours_is_a_clear_body(self) -> None:
        class Broken:
            def reply(self, ask: object) -> object:
                raise FakellmError("the recording is gone", where="hello.yaml:3", hint="record it again")

        answer = stage(Broken()).answer(chat())

        assert 500 == answer.wire.status
        assert b"hello.yaml:3" in body_of(answer)
        assert "record it again" in str(answer.problem)

    def test_a_utility_route_needs_no_source(self) -> None:
        source = Spoken(spoken("Hello"))

        answer = stage(source).answer(post("/tokenize", {"prompt": "Hi"}))

        assert 200 == answer.wire.status
        assert 0 == source.asked

    def test_a_whole_answer_leaves_when_its_last_step_is_due(self) -> None:
        playing = stage(Spoken(spoken("Hello"), timing=Timing(first_token_ms=50, between_ms=20)))

        whole, streamed = (playing.answer(chat(stream=stream)).wire for stream in (False, True))

        assert [50.0 + 20.0 * (len(spoken("Hello").tokens) - 1)] == [frame.due_ms for frame in whole.frames]
        assert whole.frames[0].due_ms == streamed.frames[-1].due_ms


class TestDeterminism:
    """Bytes depend on seed, request and ordinal alone."""

    def test_two_stages_say_the_same(self) -> None:
        first, second = (stage(Spoken(spoken("Hello"))) for _ in range(2))

        assert [body_of(first.answer(chat())) for _ in range(3)] == [body_of(second.answer(chat())) for _ in range(3)]

    def test_equal_requests_get_ids_of_their_own(self) -> None:
        playing = stage(Spoken(spoken("Hello")))

        ids = {json.loads(body_of(playing.answer(chat())))["id"] for _ in range(5)}

        assert 5 == len(ids)

    def test_no_id_appears_twice_even_after_a_request_was_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fakellm.stage.MAX_ORDINALS", 2)
        playing = stage(Spoken(spoken("Hello")))
        texts = ("a", "a", "b", "c", "d", "a", "b", "a")

        ids = [json.loads(body_of(playing.answer(chat(text))))["id"] for text in texts]

        assert len(texts) == len(set(ids))

    def test_another_seed_gives_other_ids(self) -> None:
        answers = {body_of(stage(Spoken(spoken("Hello")), seed=seed).answer(chat())) for seed in (1, 2)}

        assert 2 == len(answers)

    def test_other_requests_in_between_change_nothing(self) -> None:
        alone, mixed = (stage(Spoken(spoken("Hello"))) for _ in range(2))
        mixed.answer(chat("something else"))

        assert body_of(alone.answer(chat())) == body_of(mixed.answer(chat()))


class TestPlans:
    """The fast path: equal requests are answered from pieces."""

    def test_the_source_is_asked_until_there_is_a_plan(self) -> None:
        source = Spoken(spoken("Hello"))
        playing = stage(source)

        for _ in range(4):
            playing.answer(chat())

        assert 2 == source.asked

    def test_planned_bytes_are_rendered_bytes(self) -> None:
        usage = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
        for body in (
            {},
            {"stream": True, "logprobs": True, **usage},
            {"n": 2, "temperature": 1, "return_token_ids": True},
            {"stream": True, "n": 2, "temperature": 1, "return_token_ids": True},
            {"max_tokens": 2, "return_token_ids": True},
        ):
            fast, slow = (
                stage(Spoken(spoken("Hello"), spoken("World", first=-1)), plans=keep) for keep in (True, False)
            )
            for text in ("Hi", "Hi", "Hi there", "something longer, éé", "Hi"):
                assert body_of(slow.answer(chat(text, **body))) == body_of(fast.answer(chat(text, **body)))

    def test_long_answers_are_planned_too_and_cut_where_they_must_be(self) -> None:
        said = spoken("so and on " * (ROOMY_TOKENS // 3))
        assert len(said.tokens) > ROOMY_TOKENS
        for body in ({}, {"stream": True, "logprobs": True, "return_token_ids": True}):
            fast, slow = (stage(Spoken(said), plans=keep) for keep in (True, False))
            for limit in (6000, 6000, 6000, ROOMY_TOKENS + 1, 6000):
                assert body_of(slow.answer(chat(max_tokens=limit, **body))) == body_of(
                    fast.answer(chat(max_tokens=limit, **body))
                )

    def test_a_prompt_that_fills_the_context_still_cuts_the_answer(self) -> None:
        playing = stage(Spoken(spoken("Hello, world")), "vllm-0.32.0", "--max-model-len", "40")
        playing.answer(chat("Hi"))

        answer = json.loads(body_of(playing.answer(chat("one two three four five six seven " * 4))))

        assert "length" == answer["choices"][0]["finish_reason"]

    def test_the_clock_goes_on(self) -> None:
        time = [NOON]
        playing = stage(Spoken(spoken("Hello")), now=lambda: time[0])
        playing.answer(chat())
        time[0] += 7

        assert int(NOON) + 7 == json.loads(body_of(playing.answer(chat())))["created"]

    def test_a_reply_with_state_is_asked_each_time(self) -> None:
        source = Spoken(spoken("Hello"), key=None)
        playing = stage(source)

        for _ in range(3):
            playing.answer(chat())

        assert 3 == source.asked

    def test_headers_that_a_rule_may_read_keep_requests_apart(self) -> None:
        source = Spoken(spoken("Hello"))
        playing = stage(source)
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}

        playing.answer(post("/v1/chat/completions", body, x_tenant="a"))
        playing.answer(post("/v1/chat/completions", body, x_tenant="b"))

        assert 2 == source.asked

    def test_plans_are_bounded(self) -> None:
        playing = stage(Spoken(spoken("Hello")))

        for number in range(MAX_PLANS + 50):
            playing.answer(post("/v1/completions", {"model": f"{number}", "prompt": "Hi", "max_tokens": 1}))

        assert MAX_PLANS == len(playing._plans)
