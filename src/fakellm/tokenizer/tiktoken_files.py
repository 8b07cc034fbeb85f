"""tiktoken ranks as tokenizers: ``.tiktoken`` files, and encodings whose files are already on this machine.

``tiktoken.get_encoding`` downloads what its cache lacks, and deletes and fetches again what does not match. So it is
never called: the public encodings are described here, their files are looked for where tiktoken keeps them, and only
``tiktoken.Encoding``, which opens nothing, does the work. This module must not know chat templates or the built-in
vocabulary.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TokenizerError
from .byte_level import spell
from .table import EMPTY, TableTokenizer, Templates

END = "<|endoftext|>"
WORDS_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS_CL100K = (
    r"(?i:'(?:[sdmt]|ll|ve|re))|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CLITIC = r"(?i:'(?:[sdmt]|ll|ve|re))?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
WORDS_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CLITIC}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CLITIC}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_O200K = {END: 199999, "<|endofprompt|>": 200018}
_RESERVED = (200000, 200001, 200004, 200009, 200010, 200011, *range(200013, 201088))
_HARMONY = {
    **{f"<|reserved_{index}|>": index for index in _RESERVED},
    "<|startoftext|>": 199998,
    END: 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


@dataclass(frozen=True, slots=True)
class Description:
    """A public encoding: its file of ranks (name on the publisher's server, SHA-256), how it splits words, its
    specials, and which of them end an answer."""

    file: str
    sha256: str
    words: str
    specials: Mapping[str, int]
    eos: tuple[str, ...] = (END,)


_FILE_O200K = ("o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
ENCODINGS: Mapping[str, Description] = {
    "r50k_base": Description(
        "r50k_base.tiktoken",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        WORDS_GPT2,
        {END: 50256},
    ),
    "p50k_base": Description(
        "p50k_base.tiktoken",
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        WORDS_GPT2,
        {END: 50256},
    ),
    "cl100k_base": Description(
        "cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        WORDS_CL100K,
        {END: 100257, **{marker: 100258 + index for index, marker in enumerate(_FIM)}, "<|endofprompt|>": 100276},
    ),
    "o200k_base": Description(*_FILE_O200K, WORDS_O200K, _O200K),
    "o200k_harmony": Description(*_FILE_O200K, WORDS_O200K, _HARMONY, eos=("<|return|>", END, "<|call|>")),
}
PUBLISHER = "https://openaipublic.blob.core.windows.net/encodings/"
"""Only hashed: tiktoken names its cache files by the SHA-1 of the address they came from."""


def from_ranks(
    name: str,
    ranks: Mapping[bytes, int],
    *,
    words: str,
    specials: Mapping[str, int],
    hidden: Sequence[str] | None = None,
    eos: Sequence[str] = (END,),
    config: Mapping[str, Any] = EMPTY,
    templates: Templates | None = None,
) -> TableTokenizer:
    """A tokenizer from ranks. ``words``: the pattern that splits text before pieces are joined; ``hidden``: the
    specials that skip_special_tokens hides (None = all); ``eos``: those that end an answer, the end of turn first."""
    import tiktoken

    size = max(*ranks.values(), *specials.values()) + 1
    pieces, vocab_pieces = [b""] * size, [""] * size
    for piece, rank in ranks.items():
        pieces[rank], vocab_pieces[rank] = piece, spell(piece)
    for marker, index in specials.items():
        pieces[index], vocab_pieces[index] = marker.encode(), marker
    encoding = tiktoken.Encoding(name, pat_str=words, mergeable_ranks=dict(ranks), special_tokens=dict(specials))
    return TableTokenizer(
        name=name,
        pieces=pieces,
        vocab_pieces=vocab_pieces,
        encode=lambda text, _: encoding.encode(text, allowed_special="all"),
        special_ids=frozenset(specials[marker] for marker in (specials if hidden is None else hidden)),
        eos_ids=tuple(specials[marker] for marker in eos),
        config=config,
        templates=templates,
    )


def read_ranks(path: Path) -> dict[bytes, int]:
    """The ranks of a ``.tiktoken`` file (per line: base64 of the bytes, a blank, the rank); raises TokenizerError with
    file and line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise TokenizerError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            piece, rank = line.split()
            ranks[base64.b64decode(piece, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise TokenizerError(
                "is no line of a .tiktoken file",
                where=f"{path}:{number}",
                hint="each line holds a piece in base64, a blank and its rank",
            ) from None
    missing = [byte for byte in range(256) if bytes((byte,)) not in ranks]
    if missing:
        raise TokenizerError(f"has no rank for {len(missing)} single bytes (first 0x{missing[0]:02x})", where=str(path))
    if len(set(ranks.values())) != len(ranks) or min(ranks.values()) < 0 or max(ranks.values()) > 4 * len(ranks):
        raise TokenizerError("has ranks that are used twice, negative or far out of line", where=str(path))
    return ranks


def load_file(path: Path) -> TableTokenizer:
    """A ``.tiktoken`` file of any origin. It holds ranks alone, so words are split in the oldest way (GPT-2's) and
    ``<|endoftext|>`` follows the last rank, unless it is a public encoding's file under its own name."""
    ranks = read_ranks(path)
    described = ENCODINGS.get(path.stem)
    if described is not None and max(ranks.values()) < min(described.specials.values()):
        return from_ranks(path.stem, ranks, words=described.words, specials=described.specials, eos=described.eos)
    return from_ranks(path.stem, ranks, words=WORDS_GPT2, specials={END: max(ranks.values()) + 1})


def load_local_encoding(name: str) -> TableTokenizer:
    """A public encoding by name, if tiktoken's cache on this machine holds its file; raises TokenizerError if not."""
    described = ENCODINGS[name]
    address = (PUBLISHER + described.file).encode()
    path = _cache_folder() / hashlib.sha1(address, usedforsecurity=False).hexdigest()
    if not path.is_file():
        raise TokenizerError(
            f"the file of this tiktoken encoding is not on this machine ({path}), and fakellm never downloads",
            where=name,
            hint="use the built-in tokenizer, or let tiktoken fetch it once: TIKTOKEN_CACHE_DIR=folder "
            f"python -c 'import tiktoken; tiktoken.get_encoding(\"{name}\")'",
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != described.sha256:
        raise TokenizerError(
            f"the cached file of this tiktoken encoding is damaged ({path})",
            where=name,
            hint="delete it and fetch it anew",
        )
    ranks = read_ranks(path)
    return from_ranks(name, ranks, words=described.words, specials=described.specials, eos=described.eos)


def _cache_folder() -> Path:
    """Where tiktoken keeps its files, by its own rules."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir()) / "data-gym-cache"
