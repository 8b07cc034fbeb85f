"""Hugging Face folders: the files that are read, what they mean, and how a broken one is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from fakellm.errors import TokenizerError
from fakellm.tokenizer import load
from fakellm.tokenizer.byte_level import ALPHABET, spell, unspell

MERGES = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("Ġ", "w"), ("2", "2")]
MARKERS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]


def byte_level() -> tokenizers.Tokenizer:
    """256 bytes in byte order, a few joined pieces, three markers, <think>."""
    pieces = [*ALPHABET, *(first + second for first, second in MERGES)]
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={piece: index for index, piece in enumerate(pieces)}, merges=MERGES)
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(MARKERS)
    library.add_tokens(["<think>"])
    return library


def sentencepiece() -> tokenizers.Tokenizer:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁h", "h", "i", "é"]
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab={piece: index for index, piece in enumerate(pieces)},
            merges=[("▁", "h")],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    library.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    decoders = tokenizers.decoders
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens(["<s>", "</s>"])
    library.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return library


def write(folder: Path, library: tokenizers.Tokenizer | None = None, **files: Mapping[str, Any] | str) -> Path:
    """A folder with tokenizer.json and more files: ``tokenizer_config={...}``, ``chat_template_jinja="..."``."""
    folder.mkdir(exist_ok=True)
    (library or byte_level()).save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / (name.replace("_jinja", ".jinja") if name.endswith("_jinja") else f"{name}.json")).write_text(text)
    return folder


EOS = {"eos_token": "<|im_end|>", "model_max_length": 2048}


class TestIds:
    def test_text_becomes_the_ids_of_the_library_markers_included(self, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "tiny"))

        assert (262, 258, 32, 263, 265) == tokenizer.encode("<|im_start|>hell <|im_end|><think>")

    def test_every_id_has_its_bytes_and_its_spelling(self, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "tiny"))

        assert [bytes((byte,)) for byte in range(256)] == [tokenizer.piece(index) for index in range(256)]
        assert (b" w", "Ġw", b"<|im_end|>", "<|im_end|>") == (
            tokenizer.piece(260),
            tokenizer.vocab_piece(260),
            tokenizer.piece(263),
            tokenizer.vocab_piece(263),
        )
        assert (260, 263, None) == (
            tokenizer.id_of(b" w"),
            tokenizer.id_of(b"<|im_end|>"),
            tokenizer.id_of(b"absent"),
        )

    @given(ids=st.lists(st.integers(0, 300)), skip=st.booleans())
    def test_decoding_is_the_librarys(
        self, ids: list[int], skip: bool, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        tokenizer = load(write(tmp_path_factory.getbasetemp() / "decoding"))

        assert byte_level().decode(ids, skip_special_tokens=skip) == tokenizer.decode(ids, skip_special_tokens=skip)

    def test_an_added_token_with_other_characters_stands_for_itself(self, tmp_path: Path) -> None:
        library = byte_level()
        library.add_special_tokens(["<｜end▁of▁turn｜>"])
        tokenizer = load(write(tmp_path / "tiny", library))

        assert "<｜end▁of▁turn｜>".encode() == tokenizer.piece(266)
        assert library.decode([266], skip_special_tokens=False) == tokenizer.decode([266], skip_special_tokens=False)

    def test_special_tokens_are_added_when_asked(self, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "llama", sentencepiece()))

        assert ((1, 260), (260,)) == (tokenizer.encode("h", add_special_tokens=True), tokenizer.encode("h"))

    def test_a_file_that_truncates_and_pads_does_neither_here(self, tmp_path: Path) -> None:
        library = byte_level()
        library.enable_truncation(2)
        library.enable_padding(length=8)

        assert (97, 98, 99, 100) == load(write(tmp_path / "tiny", library)).encode("abcd")

    def test_a_model_of_type_qwen2_splits_words_as_that_family_does(self, tmp_path: Path) -> None:
        text = "22e\u0301"

        assert (261, 101, 204, 129) == load(write(tmp_path / "plain")).encode(text)
        assert (50, 50, 195, 169) == load(write(tmp_path / "qwen", config={"model_type": "qwen2"})).encode(text)

    def test_a_server_that_reads_the_file_itself_splits_as_the_file_says(self, tmp_path: Path) -> None:
        other, qwen = load(write(tmp_path / "other")), load(write(tmp_path / "qwen", config={"model_type": "qwen2"}))

        assert (261,) == other.as_filed().encode("22") == qwen.as_filed().encode("22")
        assert (50, 50) == qwen.encode("22")
        assert qwen.special_ids == qwen.as_filed().special_ids


class TestSentencepiece:
    def test_pieces_are_the_bytes_they_stand_for(self, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "llama", sentencepiece()))

        assert [b" h", b"\xe2", "é".encode(), b"</s>"] == [tokenizer.piece(index) for index in (260, 229, 263, 2)]

    @pytest.mark.parametrize("text", ["hi", " hi", "hi é 𠮷", "hi hi"])
    def test_decoding_is_the_librarys(self, text: str, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "llama", sentencepiece()))

        assert text == tokenizer.decode(tokenizer.encode(text))

    def test_a_vocabulary_without_bytes_is_refused(self, tmp_path: Path) -> None:
        library = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
        library.decoder = tokenizers.decoders.WordPiece()

        with pytest.raises(TokenizerError, match=r"decoder \(WordPiece\) gives ids no bytes"):
            load(write(tmp_path / "bert", library))


class TestSpecialTokens:
    def test_those_of_the_file_are_special(self, tmp_path: Path) -> None:
        assert frozenset({262, 263, 264}) == load(write(tmp_path / "tiny")).special_ids

    @pytest.mark.parametrize(
        "config",
        [
            {"pad_token": "<think>"},
            {"pad_token": {"content": "<think>", "lstrip": False}},
            {"additional_special_tokens": ["<think>"]},
            {"extra_special_tokens": {"think_token": "<think>"}},
            {"added_tokens_decoder": {"265": {"content": "<think>", "special": True}}},
        ],
    )
    def test_those_that_the_configuration_names_are_too(self, config: dict[str, Any], tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "tiny", tokenizer_config=config))

        assert 265 in tokenizer.special_ids
        assert (265,) == tokenizer.encode("<think>")

    def test_declared_tokens_that_the_file_lacks_are_added_behind(self, tmp_path: Path) -> None:
        declared = {"266": {"content": "<tool_call>", "special": False}}
        tokenizer = load(write(tmp_path / "tiny", tokenizer_config={"added_tokens_decoder": declared}))

        assert ((266,), "<tool_call>") == (tokenizer.encode("<tool_call>"), tokenizer.decode([266]))


class TestEndOfTurn:
    def test_the_tokenizers_own_comes_first_and_the_generation_configs_follow(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "tiny", tokenizer_config=EOS, generation_config={"eos_token_id": [264, 263]})

        assert (263, 264) == load(folder).eos_ids

    def test_the_model_configuration_stands_in(self, tmp_path: Path) -> None:
        assert (264,) == load(write(tmp_path / "tiny", config={"eos_token_id": 264})).eos_ids

    def test_the_model_configuration_adds_nothing_to_a_known_one(self, tmp_path: Path) -> None:
        assert (263,) == load(write(tmp_path / "tiny", tokenizer_config=EOS, config={"eos_token_id": 264})).eos_ids

    def test_without_any_there_is_none(self, tmp_path: Path) -> None:
        assert () == load(write(tmp_path / "tiny")).eos_ids


class TestSizes:
    def test_the_models_vocabulary_may_be_larger_than_the_table(self, tmp_path: Path) -> None:
        tokenizer = load(write(tmp_path / "tiny", config={"vocab_size": 300}))

        assert (300, b"") == (tokenizer.vocab_size, tokenizer.piece(299))

    def test_a_smaller_figure_does_not_hide_added_tokens(self, tmp_path: Path) -> None:
        assert 266 == load(write(tmp_path / "tiny", config={"vocab_size": 256})).vocab_size

    @pytest.mark.parametrize(("written", "meant"), [(2048, 2048), (1e30, None), (None, None)])
    def test_the_longest_input_is_the_configurations(self, written: Any, meant: int | None, tmp_path: Path) -> None:
        folder = write(tmp_path / "tiny", tokenizer_config={"model_max_length": written})

        assert meant == load(folder).model_max_length

    def test_the_configuration_can_be_read(self, tmp_path: Path) -> None:
        assert EOS == load(write(tmp_path / "tiny", tokenizer_config=EOS)).config


class TestChatTemplates:
    MESSAGES = ({"role": "user", "content": "Hi"},)

    def test_it_is_read_from_the_configuration_with_the_special_tokens_by_name(self, tmp_path: Path) -> None:
        config = {**EOS, "chat_template": "{{ messages[0].content }}{{ eos_token }}{{ bos_token is defined }}"}

        assert "Hi<|im_end|>False" == load(write(tmp_path / "tiny", tokenizer_config=config)).render_chat(self.MESSAGES)

    def test_a_file_of_its_own_wins(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "tiny", tokenizer_config={"chat_template": "old"}, chat_template_jinja="new")

        assert ("new", "new") == (load(folder).render_chat(self.MESSAGES), load(folder).config["chat_template"])

    def test_the_older_json_file_is_read(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "tiny", chat_template={"chat_template": "json"})

        assert "json" == load(folder).render_chat(self.MESSAGES)

    def test_tools_have_a_template_of_their_own_when_there_is_one(self, tmp_path: Path) -> None:
        named = [
            {"name": "default", "template": "plain"},
            {"name": "tool_use", "template": "{{ tools | length }} tools"},
        ]
        tokenizer = load(write(tmp_path / "tiny", tokenizer_config={"chat_template": named}))

        assert "plain" == tokenizer.render_chat(self.MESSAGES)
        assert "1 tools" == tokenizer.render_chat(self.MESSAGES, tools=[{"type": "function"}])
        assert "plain" == tokenizer.render_chat(self.MESSAGES, tools=[{"type": "function"}], template="default")

    def test_additional_templates_are_found_by_name(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "tiny")
        (folder / "additional_chat_templates").mkdir()
        (folder / "additional_chat_templates" / "rag.jinja").write_text("rag")

        assert "rag" == load(folder).render_chat(self.MESSAGES, template="rag")

    def test_without_any_the_error_says_what_to_add(self, tmp_path: Path) -> None:
        with pytest.raises(TokenizerError, match=r"chat_template\.jinja"):
            load(write(tmp_path / "tiny")).render_chat(self.MESSAGES)


class TestBrokenFolders:
    def test_a_folder_without_tokenizer_json_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(TokenizerError, match=r"no tokenizer\.json"):
            load(tmp_path)

    def test_a_file_that_the_library_cannot_read_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')

        with pytest.raises(TokenizerError, match="the tokenizers library cannot read it"):
            load(tmp_path)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("{", r"tokenizer_config\.json: cannot be read as JSON"),
            ("[]", "must hold a JSON object"),
            ('{"chat_template": [{"name": "x"}]}', "not the shape that transformers writes"),
            ('{"added_tokens_decoder": {"x": {}}}', "not the shape that transformers writes"),
        ],
    )
    def test_a_broken_configuration_is_told(self, content: str, told: str, tmp_path: Path) -> None:
        with pytest.raises(TokenizerError, match=told):
            load(write(tmp_path / "tiny", tokenizer_config=content))

    def test_without_the_library_the_extra_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = write(tmp_path / "tiny")
        monkeypatch.setitem(sys.modules, "tokenizers", None)

        with pytest.raises(TokenizerError, match=r"fakellm-conformance\[hf\]"):
            load(folder)


class TestByteLevelSpelling:
    @given(st.binary())
    def test_any_bytes_have_a_printable_spelling_that_gives_them_back(self, data: bytes) -> None:
        assert spell(data).isprintable()
        assert data == unspell(spell(data))

    def test_the_alphabet_is_the_librarys(self) -> None:
        assert sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()) == sorted(ALPHABET)
        assert "Ġ" == ALPHABET[32]
