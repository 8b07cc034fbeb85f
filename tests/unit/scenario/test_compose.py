"""From a reply to the truth: tokens, scores, steps, choices and prompts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Ask, Wants
from fakellm.errors import ScenarioError
from fakellm.generation import Choice, EngineFailure, Generation
from fakellm.scenario.compose import ASKED_IDS, KEPT_SCORES, compose, kept
from fakellm.scenario.load import from_data
from fakellm.scenario.match import Script
from fakellm.scenario.plain import plain_auto
from fakellm.scenario.voice import Voice, voice_of
from support.asking import TOKENIZER, ask, user

EOS = TOKENIZER.eos_ids[0]


def composed(
    request: Ask, *, seed: int = 0, name: str = "story", voice: Voice | None = None, **reply: Any
) -> tuple[Generation, ...]:
    script = Script(from_data({"replies": [reply]}, name))
    return compose(script.match(request), request, TOKENIZER, seed=seed, voice=voice)


def one(say: Any, request: Ask | None = None, **reply: Any) -> Choice:
    return composed(request or ask("hi"), say=say, **reply)[0].choices[0]


def text(choice: Choice) -> str:
    return b"".join(token.bytes for token in choice.tokens).decode()


def scores(generation: Generation) -> list[float]:
    """Every score of a generation: prompt and all choices."""
    prompt = [token.logprob for token in generation.prompt_logprobs or () if token is not None]
    own = [token.logprob for choice in generation.choices for token in choice.tokens]
    return [score for score in (*prompt, *own) if score is not None]


class TestTokens:
    def test_text_is_tokenised_and_ends_with_the_end_token(self) -> None:
        choice = one("Hello, world!")

        assert (*TOKENIZER.encode("Hello, world!"), EOS) == tuple(token.id for token in choice.tokens)
        assert "stop" == choice.finish_reason
        assert (1,) * len(choice.tokens) == choice.steps

    def test_pieces_and_ids_are_taken_as_they_are(self) -> None:
        choice = one({"tokens": ["H", 65, "V", "ING"]})

        assert "HAVING<|im_end|>" == text(choice)
        assert [token.id for token in choice.tokens][:2] == [TOKENIZER.id_of(b"H"), 65]
        assert TOKENIZER.encode("HAVING") != tuple(token.id for token in choice.tokens)[:-1]

    def test_an_end_token_that_is_written_is_not_doubled(self) -> None:
        assert [65, EOS] == [token.id for token in one({"tokens": [65, EOS]}).tokens]
        assert [65, EOS] == [token.id for token in one({"tokens": [65, "<|im_end|>"]}).tokens]

    @pytest.mark.parametrize(
        ("options", "ends"),
        [
            ({}, True),
            ({"finish_reason": "length"}, False),
            ({"finish_reason": "abort"}, False),
            ({"eos": False}, False),
            ({"stop_reason": "END"}, False),
            ({"finish_reason": "length", "eos": True}, True),
            ({"error_at": 1}, True),
        ],
    )
    def test_the_end_token_follows_where_the_engine_would_sample_it(self, options: Any, ends: bool) -> None:
        assert ends == (one({"text": "Hello", **options}).tokens[-1].id == EOS)

    def test_a_piece_that_is_no_token_is_told_with_its_parts(self) -> None:
        with pytest.raises(ScenarioError, match="'HAVING a' is not one token of builtin") as caught:
            one({"tokens": ["HAVING a"]})

        assert "write its pieces ['H', " in (caught.value.hint or "")

    @pytest.mark.parametrize("token_id", [-1, TOKENIZER.vocab_size])
    def test_an_id_outside_of_the_vocabulary_is_told(self, token_id: int) -> None:
        with pytest.raises(ScenarioError, match="is not in the vocabulary"):
            one({"tokens": [token_id]})

    def test_structure_is_spelled_by_the_voice(self) -> None:
        say = {"reasoning": "Hm.", "content": "Four.", "tool_calls": [{"name": "add", "arguments": {"a": 2}}]}

        raw = text(one(say))

        assert (
            '<think>Hm.</think>Four.<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call><|im_end|>' == raw
        )

    def test_another_voice_spells_otherwise(self) -> None:
        generations = composed(ask("hi"), say={"reasoning": "Hm."}, voice=Voice("[THINK]", "[/THINK]"))

        assert "[THINK]Hm.[/THINK]<|im_end|>" == text(generations[0].choices[0])

    @pytest.mark.parametrize(
        ("say", "api", "raw"),
        [
            ("Hi.", "chat", "<think></think>Hi."),
            ("Hi.", "completions", "Hi."),
            ("<think>Hm.</think>Hi.", "chat", "<think>Hm.</think>Hi."),
            ({"text": "Hi."}, "chat", "Hi."),
            ({"content": "Hi."}, "chat", "<think></think>Hi."),
            ({"content": "Hi.", "reasoning": "Hm."}, "chat", "<think>Hm.</think>Hi."),
        ],
    )
    def test_a_plain_answer_stays_content_where_reasoning_is_expected(self, say: Any, api: str, raw: str) -> None:
        generations = composed(ask("x", api=api), say=say, voice=voice_of("qwen3"))

        assert f"{raw}<|im_end|>" == text(generations[0].choices[0])

    @pytest.mark.parametrize("count", [1, 2, 7, 50, 300])
    def test_auto_text_has_as_many_tokens_as_asked_for(self, count: int) -> None:
        choice = one({"auto": {"tokens": count}})

        assert count == len(choice.tokens)
        assert EOS == choice.tokens[-1].id

    def test_auto_text_without_end_has_as_many_too(self) -> None:
        choice = one({"auto": {"tokens": 20}, "finish_reason": "length"})

        assert 20 == len(choice.tokens)
        assert EOS not in [token.id for token in choice.tokens]

    def test_tokens_hold_the_bytes_of_their_ids(self) -> None:
        choice = one("naïve 日本 🌍")

        assert [TOKENIZER.piece(token.id or 0) for token in choice.tokens] == [token.bytes for token in choice.tokens]
        assert "naïve 日本 🌍<|im_end|>" == text(choice)


class TestEngine:
    @pytest.mark.parametrize(
        ("steps", "expected"),
        [
            (1, (1, 1, 1, 1, 1)),
            (2, (2, 2, 1)),
            (9, (5,)),
            ([3, 2], (3, 2)),
            ([2], (2, 1, 1, 1)),
            ([0, 5, 0], (0, 5, 0)),
        ],
    )
    def test_tokens_are_delivered_in_steps(self, steps: Any, expected: tuple[int, ...]) -> None:
        assert expected == one({"tokens": [65, 66, 67, 68]}, steps=steps).steps

    def test_steps_for_more_tokens_than_there_are_are_told(self) -> None:
        with pytest.raises(
            ScenarioError, match=r"the steps deliver 9 tokens, but there are 3 \(the end token included\)"
        ):
            one({"tokens": [65, 66], "steps": [9]})

    def test_a_failing_engine_has_its_whole_answer_and_says_where_it_ends(self) -> None:
        choice = one({"tokens": [65, 66, 67], "error_at": 2, "error": {"message": "boom", "code": 500}})

        assert (2, "error", EngineFailure("boom", 500), 4) == (
            choice.finish_at,
            choice.finish_reason,
            choice.failure,
            len(choice.tokens),
        )

    def test_an_aborted_answer_is_no_failure(self) -> None:
        choice = one({"tokens": [65, 66], "abort_at": 1})

        assert (1, "abort", None) == (choice.finish_at, choice.finish_reason, choice.failure)

    def test_an_end_beyond_the_tokens_is_told(self) -> None:
        with pytest.raises(ScenarioError, match="cannot end after 9 tokens: there are 2"):
            one({"tokens": [65], "error_at": 9})

    def test_what_the_engine_reports_besides_tokens(self) -> None:
        generation = composed(
            ask("hi"),
            say="x",
            cached_tokens=3,
            weight_version="v7",
            extras={"routed_experts": [1]},
            prompt_token_ids=[9, 8],
        )[0]

        assert (3, "v7", {"routed_experts": [1]}, (9, 8)) == (
            generation.cached_tokens,
            generation.weight_version,
            generation.extras,
            generation.prompt_token_ids,
        )


class TestScores:
    def test_explicit_scores_are_kept_as_they_are_written(self) -> None:
        choice = one({"tokens": [65, 66, 67], "logprobs": [-0.1, None, "-inf", -2]})

        assert [-0.1, None, -math.inf, -2.0] == [token.logprob for token in choice.tokens]

    def test_explicit_alternatives_are_kept(self) -> None:
        score = {"logprob": -2, "rank": 3, "top": [{"token": "A", "logprob": -0.5}, {"token": 66, "logprob": -1}]}

        token = one({"tokens": [67], "eos": False, "logprobs": [score]}).tokens[0]

        assert (3, [(65, b"A", -0.5, 1), (66, b"B", -1.0, 2)]) == (
            token.rank,
            [(each.id, each.bytes, each.logprob, each.rank) for each in token.top],
        )

    def test_a_wrong_number_of_scores_is_told(self) -> None:
        with pytest.raises(ScenarioError, match=r"there are 2 scores for 3 tokens \(the end token included\)"):
            one({"tokens": [65, 66], "logprobs": [-1, -2]})

    @pytest.mark.parametrize(("asked", "kept", "count"), [(0, 0, 0), (5, 0, 5), (0, 3, 3), (2, 3, 3)])
    def test_the_truth_holds_as_many_alternatives_as_are_wanted(self, asked: int, kept: int, count: int) -> None:
        choice = one("Hello", ask("hi", wants=Wants(logprobs=True, top_logprobs=asked)), top=kept)

        assert {count} == {len(token.top) for token in choice.tokens}

    def test_the_whole_vocabulary_can_be_asked_for(self) -> None:
        choice = one({"tokens": [65], "eos": False}, ask("hi", wants=Wants(logprobs=True, top_logprobs=-1)))

        assert TOKENIZER.vocab_size == len({each.id for each in choice.tokens[0].top})

    def test_scores_do_not_depend_on_how_many_alternatives_are_asked_for(self) -> None:
        few, many = (
            one("Hello", ask("hi", wants=Wants(logprobs=True, top_logprobs=count))).tokens for count in (1, 20)
        )

        assert [(token.logprob, token.rank, token.top) for token in few] == [
            (token.logprob, token.rank, token.top[:1]) for token in many
        ]

    def test_ids_asked_for_by_number_are_scored(self) -> None:
        token = one({"tokens": [65, 66]}, ask("hi", options={ASKED_IDS: [65, 300]})).tokens[0]

        assert [65, 300] == [each.id for each in token.asked]
        assert token.logprob == token.asked[0].logprob
        assert token.rank == token.asked[0].rank

    def test_scores_do_not_depend_on_the_prompt(self) -> None:
        assert one("Hello", ask("short")) == one("Hello", ask("quite another prompt"))

    def test_a_prompt_has_scores_where_they_are_asked_for(self) -> None:
        plain = composed(ask("hi"), say="x")[0]
        asked = composed(ask("hi", wants=Wants(prompt_logprobs=2)), say="x")[0]

        assert plain.prompt_logprobs is None
        assert asked.prompt_logprobs is not None
        assert asked.prompt_logprobs[0] is None
        assert list(asked.prompt_token_ids[1:]) == [row.id for row in asked.prompt_logprobs[1:] if row is not None]
        assert {2} == {len(row.top) for row in asked.prompt_logprobs[1:] if row is not None}

    def test_an_echo_with_scores_needs_those_of_the_prompt(self) -> None:
        assert composed(ask("hi", wants=Wants(echo=True, logprobs=True)), say="x")[0].prompt_logprobs is not None

    def test_prompt_scores_can_be_written(self) -> None:
        rows = composed(ask("hi"), say="x", prompt_token_ids=[1, 2, 3], prompt_logprobs=[None, -1, -2])[
            0
        ].prompt_logprobs

        assert rows is not None
        assert [None, -1.0, -2.0] == [row and row.logprob for row in rows]


SAYS: list[Any] = [
    "Hello, world!",
    "",
    "x",
    {"tokens": [65]},
    {"tokens": [65, EOS]},
    {"reasoning": "Hm.", "content": "Four."},
    {"tool_calls": [{"name": "add", "arguments": {"a": 2}}]},
    {"tool_calls": [{"name": "add", "arguments": "not json"}], "content": ""},
    {"auto": {"tokens": 12}},
    {"auto": {"tokens": 300}},
    {"auto": {"from_request": True}},
    {"choices": ["a", "b"]},
    {"text": "cut", "finish_reason": "length"},
]


class TestManyChoices:
    @pytest.mark.parametrize("say", SAYS, ids=str)
    def test_choices_differ_in_their_ids(self, say: Any) -> None:
        generation = composed(ask("What is the weather?", n=16), say=say)[0]

        ids = [tuple(token.id for token in choice.tokens) for choice in generation.choices]
        assert 16 == len(set(ids))

    def test_the_first_choice_is_what_is_written(self) -> None:
        generation = composed(ask("hi", n=3), say={"choices": ["a", "b"]})[0]

        assert ["a<|im_end|>", "b<|im_end|>"] == [text(choice) for choice in generation.choices[:2]]
        assert text(generation.choices[2]).startswith("a ")

    def test_varied_tool_calls_keep_their_structure(self) -> None:
        say = {"tool_calls": [{"name": "add", "arguments": {"a": 2}}]}
        generation = composed(ask("hi", n=2), say=say)[0]

        first, second = (text(choice) for choice in generation.choices)
        assert first != second
        assert first.split() == second.split()

    def test_each_prompt_of_a_batch_has_its_choices(self) -> None:
        request = ask(api="completions", prompts=["one", "two"], n=2)

        generations = composed(request, say="x")

        assert [TOKENIZER.encode("one"), TOKENIZER.encode("two")] == [each.prompt_token_ids for each in generations]
        assert 4 == len({tuple(token.id for token in choice.tokens) for each in generations for choice in each.choices})


class TestSelfIdentifying:
    @given(
        say=st.sampled_from(SAYS),
        seed=st.integers(0, 2**63),
        n=st.integers(1, 6),
        prompt=st.text("abc ", min_size=1, max_size=30),
    )
    @settings(max_examples=60, deadline=None)
    def test_no_two_positions_of_a_request_share_a_score(self, say: Any, seed: int, n: int, prompt: str) -> None:
        request = ask(prompt, n=n, wants=Wants(logprobs=True, prompt_logprobs=0))

        found = scores(composed(request, say=say, seed=seed)[0])

        assert len(found) == len({round(score, 5) for score in found})


class TestReproducible:
    @given(say=st.sampled_from(SAYS), seed=st.integers(0, 5), n=st.integers(1, 3))
    @settings(max_examples=30, deadline=None)
    def test_equal_requests_have_equal_truth(self, say: Any, seed: int, n: int) -> None:
        first, second = (composed(ask("hi", n=n), say=say, seed=seed) for _ in range(2))

        assert first == second

    def test_what_is_kept_is_what_would_be_made(self) -> None:
        script = Script(from_data({"replies": [{"say": {"auto": {"tokens": 30}}}]}, "kept"))
        request = ask("hi", n=2)

        first = compose(script.match(request), request, TOKENIZER)
        again = compose(script.match(request), request, TOKENIZER)

        assert all(one is other for one, other in zip(first[0].choices, again[0].choices, strict=True))
        assert first == composed(request, name="kept", say={"auto": {"tokens": 30}})

    def test_another_scenario_of_the_same_name_is_not_mistaken_for_it(self) -> None:
        assert text(one("first")) != text(one("second"))

    def test_what_is_kept_is_bounded(self) -> None:
        for seed in range(20):
            composed(ask("hi", wants=Wants(logprobs=True, top_logprobs=20)), seed=seed, say={"auto": {"tokens": 1_000}})

        assert 0 < kept.scores <= KEPT_SCORES

    def test_more_requests_than_are_kept_change_nothing(self) -> None:
        first = one("Hello")
        for seed in range(1_100):
            composed(ask("hi"), seed=seed, say={"tokens": [65]})

        assert first == one("Hello")


class TestPlainAuto:
    def answer(self, request: Ask) -> str:
        script = Script(plain_auto())
        return text(compose(script.match(request), request, TOKENIZER)[0].choices[0])

    def test_the_answer_takes_up_words_of_the_request(self) -> None:
        assert 'You asked about "What is the weather in Paris".' in self.answer(ask("What is the weather in Paris?"))

    def test_the_answer_belongs_to_the_request(self) -> None:
        assert self.answer(ask("a")) != self.answer(ask("b"))
        assert self.answer(ask("a")) == self.answer(ask("a"))

    def test_marks_in_the_request_are_not_repeated(self) -> None:
        answer = self.answer(ask("<|im_end|> stop </think> here"))

        assert 1 == answer.count("<|im_end|>")
        assert "</think>" not in answer

    @pytest.mark.parametrize(
        "request_", [ask(), ask(user("")), ask(api="tito", prompts=["x"]), ask(api="embeddings", prompts=[])]
    )
    def test_any_request_gets_an_answer(self, request_: Ask) -> None:
        script = Script(plain_auto())
        matched = script.match(request_)

        assert len(request_.prompts) == len(compose(matched, request_, TOKENIZER))
        assert matched.stateless
