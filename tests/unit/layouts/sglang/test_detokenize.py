"""Incremental detokenisation: what becomes visible when, and that it adds up."""

from __future__ import annotations

import pytest

from fakellm.layouts.sglang.detokenize import Detokenizer, readable_part
from support.stages import EOS, TOKENIZER

PROMPT = TOKENIZER.encode("user: ")


def shown(text: str, *sizes: int) -> list[str]:
    """What each push of so many ids makes visible; the rest of the ids comes with the last."""
    ids = TOKENIZER.encode(text)
    writer = Detokenizer(TOKENIZER, PROMPT)
    pieces: list[str] = []
    start = 0
    for place, size in enumerate(sizes):
        stop = len(ids) if place + 1 == len(sizes) else start + size
        pieces.append(writer.push(ids[start:stop], finished=place + 1 == len(sizes)))
        start = stop
    assert "".join(pieces) == writer.text
    return pieces


def halves(text: str) -> list[int]:
    """Ids of a character that takes several."""
    ids = TOKENIZER.encode(text)
    assert len(ids) > 1
    return list(ids)


class TestGrowing:
    def test_words_are_visible_at_once(self) -> None:
        assert ["Hello", ",", " world"] == shown("Hello, world", 1, 1, 1)

    def test_half_a_character_waits_for_its_other_half(self) -> None:
        ids = halves("🦆")
        writer = Detokenizer(TOKENIZER, PROMPT)
        pieces = [writer.push([token_id]) for token_id in ids]
        assert [*[""] * (len(ids) - 1), "🦆"] == pieces

    def test_words_before_half_a_character_are_not_kept_back(self) -> None:
        ids = [*TOKENIZER.encode("so it"), *halves(" 🦆")[:-1]]
        assert "so it " == Detokenizer(TOKENIZER, PROMPT).push(ids)

    def test_half_a_character_at_the_end_is_a_replacement(self) -> None:
        writer = Detokenizer(TOKENIZER, PROMPT)
        assert "\ufffd" in writer.push(halves("🦆")[:-1], finished=True)

    @pytest.mark.parametrize("skip", [True, False])
    def test_special_tokens_are_text_only_when_asked(self, skip: bool) -> None:
        writer = Detokenizer(TOKENIZER, PROMPT, skip_special_tokens=skip)
        text = writer.push([*TOKENIZER.encode("Hi"), EOS], finished=True)
        assert ("Hi" if skip else "Hi" + TOKENIZER.piece(EOS).decode()) == text


class TestEnds:
    def test_a_matched_stop_string_is_cut_off(self) -> None:
        writer = Detokenizer(TOKENIZER, PROMPT)
        assert "one " == writer.push(TOKENIZER.encode("one STOP two"), finished=True, matched="STOP")

    def test_a_matched_stop_string_stays_when_asked(self) -> None:
        writer = Detokenizer(TOKENIZER, PROMPT, no_stop_trim=True)
        text = writer.push(TOKENIZER.encode("one STOP"), finished=True, matched="STOP")
        assert "one STOP" == text

    def test_a_matched_id_is_no_text(self) -> None:
        ids = TOKENIZER.encode("one two")
        writer = Detokenizer(TOKENIZER, PROMPT)
        assert "one" == writer.push(ids, finished=True, matched=ids[-1])

    def test_ids_that_nobody_knows_are_no_error(self) -> None:
        assert "Hi" in Detokenizer(TOKENIZER, PROMPT).push([*TOKENIZER.encode("Hi"), 10**9, None], finished=True)


@pytest.mark.parametrize(
    ("text", "readable"),
    [("one two", "one "), ("one", ""), ("line\n", "line\n"), ("漢", "漢"), ("", "")],
)
def test_the_readable_part_ends_at_a_boundary(text: str, readable: str) -> None:
    assert readable == readable_part(text)
