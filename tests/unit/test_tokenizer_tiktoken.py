"""Files of ranks and public encodings: found on this machine or refused, never fetched."""

from __future__ import annotations

import base64
import hashlib
import socket
from pathlib import Path

import pytest

from fakellm.errors import TokenizerError
from fakellm.tokenizer import load, tiktoken_files

PIECES = [bytes((byte,)) for byte in range(256)] + [b"he", b"ll", b"hell", b" w", b"hello"]


def lines_of(pieces: list[bytes]) -> str:
    return "".join(f"{base64.b64encode(piece).decode()} {rank}\n" for rank, piece in enumerate(pieces))


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    path = tmp_path / "own.tiktoken"
    path.write_text(lines_of(PIECES))
    return path


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


class TestFilesOfRanks:
    def test_ids_are_the_ranks(self, ranks: Path) -> None:
        tokenizer = load(ranks)

        assert (260, ord("!"), 261) == tokenizer.encode("hello!<|endoftext|>")
        assert ("own", 262, (261,)) == (tokenizer.name, tokenizer.vocab_size, tokenizer.eos_ids)

    def test_there_is_no_chat_template_and_the_error_says_so(self, ranks: Path) -> None:
        with pytest.raises(TokenizerError, match="has no chat template"):
            load(ranks).render_chat([{"role": "user", "content": "Hi"}])

    def test_a_template_of_the_request_will_do(self, ranks: Path) -> None:
        assert "hello" == load(ranks).render_chat(
            [{"role": "user", "content": "hello"}], template="{{ messages[0].content }}"
        )

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("AA== 0\nnonsense\n", r"own\.tiktoken:2: is no line"),
            ("A*A= 0\n", r"own\.tiktoken:1: is no line"),
            (lines_of(PIECES[1:]), r"no rank for 1 single bytes \(first 0x00\)"),
            (lines_of(PIECES) + "aGVsbA== 3\n", "used twice"),
            (lines_of(PIECES) + "eHl6 99999999\n", "far out of line"),
            ("", "no rank for 256 single bytes"),
        ],
    )
    def test_a_broken_file_is_told_with_its_place(self, ranks: Path, content: str, told: str) -> None:
        ranks.write_text(content)

        with pytest.raises(TokenizerError, match=told):
            load(ranks)

    def test_a_lone_tokenizer_json_is_refused_with_advice(self, tmp_path: Path) -> None:
        (tmp_path / "tokenizer.json").write_text("{}")

        with pytest.raises(TokenizerError, match="give the folder"):
            load(tmp_path / "tokenizer.json")


@pytest.mark.usefixtures("no_network")
class TestPublicEncodings:
    @pytest.mark.parametrize("name", sorted(tiktoken_files.ENCODINGS))
    def test_one_that_is_not_here_is_an_error_that_says_how_to_get_it(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

        with pytest.raises(TokenizerError, match="never downloads") as refused:
            load(name)

        assert "TIKTOKEN_CACHE_DIR" in str(refused.value)

    def test_a_damaged_file_is_an_error_and_stays_where_it_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
        # tiktoken's name for the file: the SHA-1 of its public address.
        file = tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
        file.write_text("damaged")

        with pytest.raises(TokenizerError, match="damaged"):
            load("cl100k_base")

        assert "damaged" == file.read_text()

    def test_one_that_is_here_is_used(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        content = lines_of(PIECES).encode()
        described = tiktoken_files.Description(
            "tiny.tiktoken", hashlib.sha256(content).hexdigest(), tiktoken_files.WORDS_CL100K, {"<|endoftext|>": 300}
        )
        monkeypatch.setattr(tiktoken_files, "ENCODINGS", {"tiny": described})
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        address = f"{tiktoken_files.PUBLISHER}tiny.tiktoken".encode()
        (tmp_path / hashlib.sha1(address).hexdigest()).write_bytes(content)

        tokenizer = tiktoken_files.load_local_encoding("tiny")

        assert (260, 300) == tokenizer.encode("hello<|endoftext|>")
        assert ((300,), frozenset({300}), b"") == (tokenizer.eos_ids, tokenizer.special_ids, tokenizer.piece(280))

    @pytest.mark.parametrize("name", sorted(tiktoken_files.ENCODINGS))
    def test_its_words_are_split_as_tiktoken_splits_them(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        import regex
        import tiktoken_ext.openai_public as public

        monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_args, **_options: {})
        theirs = public.ENCODING_CONSTRUCTORS[name]()
        ours = tiktoken_files.ENCODINGS[name]
        text = "It's  WE'LL HTTPServer x=1234; \n\n  naïve  été\t\r\n你好 //\n\n end's   "

        assert theirs["special_tokens"] == ours.specials
        assert regex.findall(theirs["pat_str"], text) == regex.findall(ours.words, text)
