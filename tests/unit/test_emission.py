"""What an engine does between sampling and serving, on truths small enough to read."""

from __future__ import annotations

from fakellm.ask import Sampling
from fakellm.emission import EmittedChoice, EngineRules, decode
from fakellm.generation import Choice, Token
from fakellm.tokenizer import Tokenizer, load

TOKENIZER: Tokenizer = load(None)
EOS = TOKENIZER.eos_ids[0]


def tokens(*pieces: str) -> tuple[Token, ...]:
    """One token per piece of text; every byte of a piece that is no token of its own becomes one token."""
    out: list[Token] = []
    for piece in pieces:
        ids = TOKENIZER.encode(piece)
        out.extend(Token(token_id, TOKENIZER.piece(token_id), -0.5) for token_id in ids)
    return tuple(out)


def spelled(text: str) -> tuple[Token, ...]:
    """One token per byte."""
    found = [TOKENIZER.id_of(bytes([byte])) for byte in text.encode()]
    assert None not in found
    return tuple(Token(token_id, TOKENIZER.piece(token_id), -0.5) for token_id in found if token_id is not None)


NEWEST = EngineRules()


def emitted(choice: Choice, rules: EngineRules = NEWEST, **sampling: object) -> EmittedChoice:
    return decode(choice, Sampling(**sampling), (), TOKENIZER, rules=rules)  # type: ignore[arg-type]


END = Token(EOS, TOKENIZER.piece(EOS), -0.1)


class TestEnd:
    """Where the ids alone end an answer."""

    def test_eos_is_kept_but_not_shown(self) -> None:
        answer = emitted(Choice((*spelled("ab"), END)))

        assert "ab" == answer.text
        assert 3 == len(answer.tokens)
        assert ("stop", None) == (answer.finish_reason, answer.stop_reason)
        assert ["a", "b", ""] == [step.text for step in answer.steps]

    def test_max_tokens_cuts_with_length(self) -> None:
        answer = emitted(Choice((*spelled("abc"), END)), max_tokens=2)

        assert ("ab", "length", 2) == (answer.text, answer.finish_reason, len(answer.tokens))

    def test_eos_at_the_limit_is_a_stop(self) -> None:
        answer = emitted(Choice((*spelled("a"), END)), max_tokens=2)

        assert "stop" == answer.finish_reason

    def test_ignore_eos_plays_on(self) -> None:
        answer = emitted(Choice((END, *spelled("a")), finish_reason="length"), ignore_eos=True)

        assert ("a", "length", 2) == (answer.text, answer.finish_reason, len(answer.tokens))

    def test_a_stop_id_is_the_stop_reason(self) -> None:
        stop = spelled("b")[0]
        answer = emitted(Choice((*spelled("abc"), END)), stop_token_ids=(stop.id,))

        assert ("a", "stop", stop.id, 2) == (answer.text, answer.finish_reason, answer.stop_reason, len(answer.tokens))

    def test_min_tokens_defers_the_end(self) -> None:
        answer = emitted(Choice((END, *spelled("a"), END)), min_tokens=2)

        assert 3 == len(answer.tokens)

    def test_an_engine_failure_tells_nothing_of_its_step(self) -> None:
        choice = Choice(spelled("abc"), finish_reason="error", finish_at=2)
        answer = emitted(choice)

        assert answer.failure is not None
        assert ["a"] == [step.text for step in answer.steps]
        assert answer.finish_reason is None

    def test_an_old_engine_plays_on_over_its_failure(self) -> None:
        choice = Choice(spelled("ab"), finish_reason="error")
        answer = emitted(choice, EngineRules(fails=False))

        assert answer.failure is None
        assert "ab" == answer.text

    def test_an_abort_may_come_in_a_step_without_token(self) -> None:
        answer = emitted(Choice(spelled("a"), steps=(1, 0), finish_reason="abort"))

        assert [(0, 1), (1, 1)] == [step.tokens for step in answer.steps]
        assert [None, "abort"] == [step.finish_reason for step in answer.steps]

    def test_nothing_sampled_still_ends(self) -> None:
        answer = emitted(Choice((), finish_reason="abort"))

        assert ["abort"] == [step.finish_reason for step in answer.steps]


class TestStopStrings:
    """Stop strings and the characters that are held back for them."""

    def test_the_text_ends_before_the_stop_and_keeps_its_tokens(self) -> None:
        answer = emitted(Choice((*spelled("one STOP two"), END)), stop=("STOP",))

        assert ("one ", "stop", "STOP", 8) == (
            answer.text,
            answer.finish_reason,
            answer.stop_reason,
            len(answer.tokens),
        )

    def test_a_stop_is_found_wherever_a_long_text_ends(self) -> None:
        for length in range(250, 270):
            said = "abcdefg " * 100
            answer = emitted(Choice((*spelled(said[:length] + "STOP two"), END)), stop=("STOP", "never there"))

            assert (said[:length], "STOP") == (answer.text, answer.stop_reason)
            assert said[:length] == "".join(step.text for step in answer.steps)

    def test_characters_that_may_begin_a_stop_are_held_back(self) -> None:
        answer = emitted(Choice((*spelled("abcd"), END)), stop=("xyz",))

        assert ["", "", "a", "b", "cd"] == [step.text for step in answer.steps]

    def test_an_engine_that_looks_holds_back_only_what_may_begin_a_stop(self) -> None:
        answer = emitted(Choice((*spelled("abxyc"), END)), EngineRules(holds_prefix=True), stop=("xyz",))

        assert ["a", "b", "", "", "xyc", ""] == [step.text for step in answer.steps]

    def test_included_stops_are_shown_and_nothing_is_held_back(self) -> None:
        answer = emitted(Choice((*spelled("ab."), END)), stop=("b.",), include_stop=True)

        assert ["a", "b", "."] == [step.text for step in answer.steps]

    def test_joined_tokens_after_the_stop_are_dropped_by_new_engines_only(self) -> None:
        choice = Choice(spelled("abcd"), steps=(4,), finish_reason="length")

        assert 2 == len(emitted(choice, stop=("b",)).tokens)
        assert 4 == len(emitted(choice, EngineRules(trim_after_stop=False), stop=("b",)).tokens)

    def test_text_is_never_lost_or_doubled_by_holding_back(self) -> None:
        answer = emitted(Choice((*spelled("hello wor"), END)), stop=("world",))

        assert "hello wor" == answer.text == "".join(step.text for step in answer.steps)


class TestSteps:
    """How engine steps become deliveries."""

    def test_an_interval_joins_steps_but_for_the_first_and_the_last(self) -> None:
        answer = emitted(Choice((*spelled("abcde"), END)), EngineRules(interval=3))

        assert [(0, 1), (1, 4), (4, 6)] == [step.tokens for step in answer.steps]
        assert ["a", "bcd", "e"] == [step.text for step in answer.steps]

    def test_half_a_character_shows_when_it_is_whole(self) -> None:
        answer = emitted(Choice((*spelled("é"), END)))

        assert ["", "é", ""] == [step.text for step in answer.steps]

    def test_due_times_are_those_of_the_step(self) -> None:
        answer = decode(Choice((*spelled("ab"), END)), Sampling(), (), TOKENIZER, due=lambda step: 10.0 * step)

        assert [0.0, 10.0, 20.0] == [step.due_ms for step in answer.steps]
