"""Text becomes visible as on real servers: the oracle is the decode stream of Hugging Face's library itself."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.decoders import DecodeStream

from fakellm.detokenizer import Detokenizer
from fakellm.tokenizer import load
from fakellm.tokenizer.byte_level import spell

BUILTIN = load()
EMOJI = "😀".encode()
MARKER = BUILTIN.encode("<|im_end|>")[0]


def library_twin() -> tokenizers.Tokenizer:
    """The built-in vocabulary in Hugging Face's library; it only decodes, so it needs no merges."""
    markers = range(BUILTIN.vocab_size - 7, BUILTIN.vocab_size)
    vocabulary = {spell(BUILTIN.piece(index)): index for index in range(BUILTIN.vocab_size) if index not in markers}
    twin = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    twin.decoder = tokenizers.decoders.ByteLevel()
    for index in markers:
        add = twin.add_special_tokens if index in BUILTIN.special_ids else twin.add_tokens
        add([BUILTIN.piece(index).decode()])
    return twin


TWIN = library_twin()
# Bytes of characters of all lengths, broken ones, U+FFFD itself, whole words, markers.
IDS = st.one_of(
    st.sampled_from([*EMOJI, *"é€".encode(), *"\ufffd".encode(), 0xFF, 0xC0, ord("a")]),
    st.integers(0, 255),
    st.integers(0, BUILTIN.vocab_size - 1),
    st.sampled_from(sorted(BUILTIN.special_ids)),
)
SEQUENCES = st.lists(IDS, max_size=12)


@given(SEQUENCES, st.booleans())
def test_each_id_shows_what_the_librarys_stream_shows(ids: list[int], skip: bool) -> None:
    stream = DecodeStream(skip_special_tokens=skip)
    detokenizer = Detokenizer(BUILTIN, skip_special_tokens=skip)

    expected = [stream.step(TWIN, index) or "" for index in ids]
    assert expected == [detokenizer.push([index]) for index in ids]


@given(SEQUENCES, SEQUENCES, st.booleans())
def test_a_prompt_before_it_counts_as_a_stream_that_read_it(prompt: list[int], ids: list[int], skip: bool) -> None:
    stream = DecodeStream(skip_special_tokens=skip)
    for index in prompt:
        stream.step(TWIN, index)
    detokenizer = Detokenizer(BUILTIN, prompt, skip_special_tokens=skip)

    expected = [stream.step(TWIN, index) or "" for index in ids]
    assert expected == [detokenizer.push([index]) for index in ids]


@given(SEQUENCES, st.lists(st.integers(0, 12), max_size=4), st.booleans())
def test_no_text_is_lost_or_doubled_however_ids_arrive(ids: list[int], cuts: list[int], skip: bool) -> None:
    detokenizer = Detokenizer(BUILTIN, skip_special_tokens=skip)

    bounds = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    shown = [detokenizer.push(ids[start:end]) for start, end in pairwise(bounds)]
    assert BUILTIN.decode(ids, skip_special_tokens=skip) == "".join(shown) + detokenizer.flush()


@given(SEQUENCES, st.booleans())
def test_ids_at_once_show_what_they_show_one_by_one(ids: list[int], skip: bool) -> None:
    one_by_one, at_once = (Detokenizer(BUILTIN, skip_special_tokens=skip) for _ in range(2))

    shown = "".join(one_by_one.push([index]) for index in ids)
    assert (shown, one_by_one.flush()) == (at_once.push(ids), at_once.flush())


def test_half_a_character_is_held_back_and_comes_whole() -> None:
    detokenizer = Detokenizer(BUILTIN)

    assert ["", "", "", "😀"] == [detokenizer.push([byte]) for byte in EMOJI]


def test_waiting_tells_whether_text_is_held_back() -> None:
    detokenizer = Detokenizer(BUILTIN)
    seen = [detokenizer.waiting]
    for byte in "é".encode():
        detokenizer.push([byte])
        seen.append(detokenizer.waiting)

    assert [False, True, False] == seen


def test_bytes_that_become_no_character_come_with_the_text_after_them() -> None:
    detokenizer = Detokenizer(BUILTIN)

    assert ["a", "", "", "\ufffd\ufffdb"] == [detokenizer.push([byte]) for byte in b"a\xff\xffb"]


def test_what_is_held_back_at_the_end_is_given_by_flush_and_only_once() -> None:
    detokenizer = Detokenizer(BUILTIN)
    detokenizer.push(EMOJI[:2])

    assert ["\ufffd", "", "a"] == [detokenizer.flush(), detokenizer.flush(), detokenizer.push(b"a")]


def test_a_hidden_marker_does_not_separate_the_bytes_around_it() -> None:
    ids = [EMOJI[0], EMOJI[1], MARKER, EMOJI[2], EMOJI[3]]

    assert "😀" == Detokenizer(BUILTIN).push(ids)
    assert (
        "\ufffd<|im_end|>\ufffd\ufffd"
        == (shown := Detokenizer(BUILTIN, skip_special_tokens=False)).push(ids) + shown.flush()
    )


def test_a_character_that_the_prompt_began_is_finished() -> None:
    assert "😀" == Detokenizer(BUILTIN, EMOJI[:3]).push(EMOJI[3:])


def test_ids_outside_the_vocabulary_show_nothing() -> None:
    assert "ab" == Detokenizer(BUILTIN).push([97, 10**6, -1, 98])


@pytest.mark.parametrize("byte", [0xFF, 0xE2, ord("a")])
def test_the_cost_of_an_id_does_not_grow_with_the_text(byte: int) -> None:
    def seconds(count: int) -> float:
        detokenizer = Detokenizer(BUILTIN)
        start = time.process_time()
        for _ in range(count):
            detokenizer.push((byte,))
        return time.process_time() - start

    seconds(1_000)

    # Ten times the ids: linear work takes about ten times as long, quadratic work a hundred times.
    assert seconds(100_000) < 40 * max(seconds(10_000), 0.001)
