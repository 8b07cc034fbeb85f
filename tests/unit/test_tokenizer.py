"""The built-in tokenizer, and how tokenizers are found by name or path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakellm
from fakellm.errors import TokenizerError
from fakellm.tokenizer import Tokenizer, load

BUILTIN = load()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


class TestVocabulary:
    def test_has_4096_ids_that_each_have_bytes_of_their_own(self) -> None:
        pieces = {BUILTIN.piece(index) for index in range(BUILTIN.vocab_size)}

        assert (4096, 4096) == (BUILTIN.vocab_size, len(pieces))
        assert b"" not in pieces

    def test_has_every_single_byte(self) -> None:
        assert list(range(256)) == [BUILTIN.id_of(bytes((byte,))) for byte in range(256)]

    @pytest.mark.parametrize("marker", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    def test_chatml_markers_are_special(self, marker: str) -> None:
        (index,) = BUILTIN.encode(marker)

        assert index in BUILTIN.special_ids
        assert "ab" == BUILTIN.decode([97, index, 98])
        assert f"a{marker}b" == BUILTIN.decode([97, index, 98], skip_special_tokens=False)

    @pytest.mark.parametrize("marker", ["<think>", "</think>", "<tool_call>", "</tool_call>"])
    def test_parser_markers_are_single_ids_that_stay_visible(self, marker: str) -> None:
        (index,) = BUILTIN.encode(marker)

        assert index not in BUILTIN.special_ids
        assert marker == BUILTIN.decode([index])

    def test_the_end_of_turn_comes_before_the_end_of_text(self) -> None:
        assert [b"<|im_end|>", b"<|endoftext|>"] == [BUILTIN.piece(index) for index in BUILTIN.eos_ids]

    def test_finds_pieces_by_their_bytes_and_spells_them_as_files_do(self) -> None:
        index = BUILTIN.id_of(b" the")

        assert index is not None
        assert (b" the", "Ġthe") == (BUILTIN.piece(index), BUILTIN.vocab_piece(index))
        assert BUILTIN.id_of(b"no such piece") is None
        assert BUILTIN.id_of(b"") is None

    @pytest.mark.parametrize("index", [-1, 4096, 10**9])
    def test_an_id_outside_the_vocabulary_has_no_bytes_and_no_text(self, index: int) -> None:
        assert (b"", "", "ab") == (BUILTIN.piece(index), BUILTIN.vocab_piece(index), BUILTIN.decode([97, index, 98]))


class TestEncoding:
    @given(TEXTS)
    def test_decoding_gives_the_text_back(self, text: str) -> None:
        assert text == BUILTIN.decode(BUILTIN.encode(text), skip_special_tokens=False)

    @given(st.lists(st.integers(0, BUILTIN.vocab_size - 1)))
    def test_decoding_is_the_utf8_of_the_pieces(self, ids: list[int]) -> None:
        joined = b"".join(BUILTIN.piece(index) for index in ids)

        assert joined.decode("utf-8", "replace") == BUILTIN.decode(ids, skip_special_tokens=False)

    @pytest.mark.parametrize(
        "pieces", [(b" H", b"AV", b"ING"), (b" H", b"AVING"), (b" ", b"H", b"A", b"V", b"I", b"N", b"G")]
    )
    def test_one_text_has_several_tokenisations(self, pieces: tuple[bytes, ...]) -> None:
        ids = [BUILTIN.id_of(piece) for piece in pieces]

        assert None not in ids
        assert " HAVING" == BUILTIN.decode([index for index in ids if index is not None])

    def test_only_one_of_them_is_what_encoding_gives(self) -> None:
        spelled_out = tuple(b" HAVING")

        assert spelled_out != BUILTIN.encode(" HAVING")
        assert BUILTIN.decode(spelled_out) == BUILTIN.decode(BUILTIN.encode(" HAVING"))

    def test_rare_characters_are_split_over_tokens(self) -> None:
        ids = BUILTIN.encode("𠮷")

        assert len(ids) > 1
        assert all("\ufffd" in BUILTIN.decode([index]) for index in ids)

    def test_common_words_are_one_token(self) -> None:
        assert [b"The", b" capital", b" of", b" France", b" is", b" Paris"] == [
            BUILTIN.piece(index) for index in BUILTIN.encode("The capital of France is Paris")
        ]

    @pytest.mark.parametrize("character", ["a", " ", "!", "\n", "1", "é", "'"])
    def test_monotonous_text_of_100_000_characters_is_encoded(self, character: str) -> None:
        text = character * 100_000

        assert text == BUILTIN.decode(BUILTIN.encode(text))

    def test_a_lone_surrogate_is_an_error_that_says_where(self) -> None:
        with pytest.raises(TokenizerError, match=r"U\+D83D, at character 2"):
            BUILTIN.encode("ab\ud83d")


class TestChatTemplate:
    def test_is_chatml(self) -> None:
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]

        expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        assert expected == BUILTIN.render_chat(messages)

    def test_text_parts_are_joined(self) -> None:
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

        assert "<|im_start|>user\nab<|im_end|>\n" == BUILTIN.render_chat(
            [{"role": "user", "content": parts}], add_generation_prompt=False
        )

    @pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}])
    def test_tool_calls_and_their_results_are_told_in_hermes_style(self, arguments: object) -> None:
        call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": arguments}}
        messages = [
            {"role": "assistant", "content": None, "tool_calls": [call, call]},
            {"role": "tool", "tool_call_id": "1", "content": "2"},
            {"role": "tool", "tool_call_id": "1", "content": "3"},
        ]

        told = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
        results = "\n<tool_response>\n2\n</tool_response>\n<tool_response>\n3\n</tool_response>"
        assert (
            f"<|im_start|>assistant\n{told}\n{told}<|im_end|>\n<|im_start|>user{results}<|im_end|>\n"
            == BUILTIN.render_chat(messages, add_generation_prompt=False)
        )

    def test_tools_stand_in_the_system_message(self) -> None:
        tool = {"type": "function", "function": {"name": "add", "description": "<é>"}}
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]

        text = BUILTIN.render_chat(messages, tools=[tool])

        assert 1 == text.count("<|im_start|>system")
        assert text.startswith("<|im_start|>system\nBe brief.\n\n# Tools")
        assert '{"type": "function", "function": {"name": "add", "description": "<é>"}}' in text

    @pytest.mark.parametrize(
        "message",
        [
            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."},
            {"role": "assistant", "content": "Yes.", "reasoning": "hm", "reasoning_content": "hm"},
        ],
    )
    def test_reasoning_of_earlier_turns_is_left_out(self, message: dict[str, str]) -> None:
        assert "<|im_start|>assistant\nYes.<|im_end|>\n" == BUILTIN.render_chat([message], add_generation_prompt=False)

    def test_the_template_refuses_in_its_own_words(self) -> None:
        with pytest.raises(TokenizerError) as refused:
            BUILTIN.render_chat([{"role": "pirate", "content": "Arr"}])

        assert "Unexpected message role: pirate" == refused.value.message

    def test_its_markers_become_single_ids(self) -> None:
        ids = BUILTIN.encode(BUILTIN.render_chat([{"role": "user", "content": "Hi"}]))

        assert [b"<|im_start|>", b"user", b"\n", b"Hi", b"<|im_end|>", b"\n", b"<|im_start|>", b"assistant", b"\n"] == [
            BUILTIN.piece(index) for index in ids
        ]


class TestFinding:
    def test_none_and_builtin_are_the_same(self) -> None:
        assert load() is load("builtin")

    def test_a_misspelt_name_is_told_the_nearest(self) -> None:
        with pytest.raises(TokenizerError, match="did you mean 'cl100k_base'"):
            load("cl100k-base")

    def test_a_folder_that_is_not_there_is_told_by_its_path(self) -> None:
        with pytest.raises(TokenizerError, match="models/nowhere: there is no file or folder"):
            load("models/nowhere")

    def test_importing_it_loads_no_library(self) -> None:
        program = (
            f"import sys; sys.path.insert(0, {str(Path(fakellm.__file__).parents[1])!r});"
            "import fakellm.tokenizer, fakellm.detokenizer;"
            "print([name for name in ('tiktoken', 'tokenizers', 'jinja2') if name in sys.modules])"
        )

        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

        assert "[]" == done.stdout.strip()


def test_the_builtin_keeps_the_protocol() -> None:
    tokenizer: Tokenizer = BUILTIN

    assert ("builtin", None) == (tokenizer.name, tokenizer.model_max_length)
    assert tokenizer.render_chat([{"role": "user", "content": "Hi"}]) == tokenizer.render_chat(
        [{"role": "user", "content": "Hi"}], template=tokenizer.config["chat_template"]
    )
