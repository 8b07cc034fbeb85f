"""Completion and prompt ids that are told wrongly: their type, number and order."""

from __future__ import annotations

import pytest

from fakellm.errors import FaultError
from fakellm.told import Told, ToldChoice
from support import faulty
from support.faulty import IDS, PROMPT, ask, by_step, choice, distorted, told
from support.stages import TOKENIZER


def one(changed: Told) -> ToldChoice:
    return changed.choices[0]


class TestTypes:
    def test_strings(self) -> None:
        changed = distorted("completion-ids-as-strings", told())

        assert ("11", "12", "13", "2") == one(changed).ids

    def test_floats(self) -> None:
        changed = distorted("completion-ids-as-floats", told())

        assert [float] * 4 == [type(each) for each in one(changed).ids or ()]

    def test_only_the_choice_that_is_named(self) -> None:
        changed = distorted({"completion-ids-as-strings": {"choice": 1}}, told(choice(0), choice(1)), ask(n=2))

        assert IDS == changed.choices[0].ids
        assert ("111", "112", "113", "102") == changed.choices[1].ids


class TestNumber:
    def test_every_step_twice(self) -> None:
        changed = one(distorted("completion-ids-doubled", told()))

        assert [[11, 11], [12, 13, 12, 13], [2, 2]] == by_step(changed)

    def test_cumulative_chunks(self) -> None:
        changed = one(distorted("completion-ids-cumulative", told(), ask(stream=True)))

        assert [[11], [11, 12, 13], [11, 12, 13, 2]] == by_step(changed)

    def test_cumulative_makes_no_sense_in_whole_answers(self) -> None:
        with pytest.raises(FaultError, match=r"completion-ids-cumulative.*not a stream"):
            distorted("completion-ids-cumulative", told())

    def test_without_the_end_token(self) -> None:
        changed = one(distorted("completion-ids-without-eos", told()))

        assert [[11], [12, 13], []] == by_step(changed)
        assert 4 == len(changed.scores or ())

    def test_an_answer_that_ran_out_of_tokens_has_no_end_token_to_lose(self) -> None:
        cut = told(choice())
        cut = cut.with_choices(tuple(faulty.replace(each, finish_reason="length") for each in cut.choices))

        with pytest.raises(FaultError, match="no choice of this answer ends with an EOS"):
            distorted("completion-ids-without-eos", cut)

    def test_ids_past_the_stop_have_no_scores(self) -> None:
        changed = one(distorted("completion-ids-past-stop", told()))

        assert (*IDS, 11, 12) == changed.ids
        assert 4 == len(changed.scores or ())

    def test_ids_past_the_stop_with_scores(self) -> None:
        changed = one(distorted({"completion-ids-past-stop": {"count": 1, "scores": True}}, told()))

        assert (5, 5) == (len(changed.ids or ()), len(changed.scores or ()))

    def test_the_prompts_tail_in_front(self) -> None:
        changed = one(distorted({"completion-ids-with-prompt-tail": {"count": 2}}, told()))

        assert [[102, 103, 11], [12, 13], [2]] == by_step(changed)

    def test_steps_without_text_vanish_with_their_scores(self) -> None:
        changed = one(distorted("completion-ids-lost-without-text", told()))

        assert (11, 12, 13) == changed.ids
        assert 3 == len(changed.scores or ())


class TestTokenisation:
    def test_completion_tokens_split_in_two_and_spell_the_same(self) -> None:
        ids = TOKENIZER.encode("Hello there")
        hello = faulty.replace(choice(steps=(4,)), ids=tuple(ids))
        hello = faulty.replace(hello, steps=(faulty.replace(hello.steps[0], ids=(0, len(ids))),))

        changed = one(distorted("completion-ids-retokenised", told(hello), tokenizer=TOKENIZER))

        assert len(ids) + 1 == len(changed.ids or ())
        assert "Hello there" == TOKENIZER.decode(changed.ids or ())

    def test_usage_agrees_with_a_prompt_that_is_tokenised_otherwise(self) -> None:
        prompt = faulty.replace(told().prompts[0], token_ids=TOKENIZER.encode("Hello there"))
        healthy = faulty.replace(told(), prompts=(prompt,))

        changed = distorted("prompt-ids-retokenised", healthy, tokenizer=TOKENIZER)

        assert "Hello there" == TOKENIZER.decode(changed.prompts[0].token_ids or ())
        assert (healthy.usage.prompt_tokens or 0) + 1 == changed.usage.prompt_tokens

    def test_without_a_tokenizer_the_error_says_so(self) -> None:
        with pytest.raises(FaultError, match="no tokenizer"):
            distorted("prompt-ids-retokenised", told())


class TestPrompt:
    def test_another_prompt_of_the_same_length(self) -> None:
        changed = distorted("prompt-ids-of-another-prompt", told())

        assert (102, 103, 101) == changed.prompts[0].token_ids

    def test_several_prompts_get_each_others_ids(self) -> None:
        two = faulty.replace(told(), prompts=(told().prompts[0], faulty.replace(told().prompts[0], token_ids=(7,))))

        changed = distorted("prompt-ids-of-another-prompt", two)

        assert [(7,), PROMPT] == [prompt.token_ids for prompt in changed.prompts]

    def test_the_first_ids_are_lost_and_usage_stays(self) -> None:
        changed = distorted({"prompt-ids-without-first": {"count": 2}}, told())

        assert ((103,), 3) == (changed.prompts[0].token_ids, changed.usage.prompt_tokens)


class TestJudgement:
    def test_a_contradiction_needs_something_to_contradict(self) -> None:
        from fakellm.faults.registry import parse

        call = parse("completion-ids-doubled")
        silent = ask(stream=True)
        silent = faulty.replace(silent, wants=faulty.replace(silent.wants, logprobs=False))

        assert ("refuse",) == call.may(ask())
        assert ("refuse",) == call.may(ask(stream=True))
        assert ("as-sent",) == call.may(silent)
