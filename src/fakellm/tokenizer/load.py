"""Finding a tokenizer by name or path. Nothing here touches a network, whatever the name.

``load()`` is the built-in byte-level BPE; ``load("cl100k_base")`` a tiktoken encoding, when its file is on this
machine; ``load("own.tiktoken")`` a file of ranks; ``load("models/qwen3")`` a Hugging Face folder (extra ``hf``).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..errors import TokenizerError, did_you_mean
from .protocol import Tokenizer
from .tiktoken_files import ENCODINGS

BUILTIN = "builtin"
ENCODING_NAMES = tuple(ENCODINGS)


def load(name_or_path: str | Path | None = None) -> Tokenizer:
    """The tokenizer of that name or path, None or ``builtin`` for ours; raises TokenizerError.

    Names and folders are read once per process."""
    if name_or_path is None or name_or_path == BUILTIN:
        return _load_builtin()
    path = Path(name_or_path)
    if path.is_dir():
        return _load_folder(str(path.resolve()))
    if path.is_file():
        return _load_file(str(path.resolve()))
    if str(name_or_path) in ENCODING_NAMES:
        return _load_encoding(str(name_or_path))
    names = (BUILTIN, *ENCODING_NAMES)
    raise TokenizerError(
        "there is no file or folder and no tokenizer of that name",
        where=str(name_or_path),
        hint=did_you_mean(str(name_or_path), names) or f"names are {', '.join(names)}; else give a path",
    )


@lru_cache(maxsize=1)
def _load_builtin() -> Tokenizer:
    from .builtin import load_builtin

    return load_builtin()


@lru_cache(maxsize=8)
def _load_folder(folder: str) -> Tokenizer:
    from .huggingface import load_folder

    return load_folder(Path(folder))


def _load_file(path: str) -> Tokenizer:
    if path.endswith(".json"):
        raise TokenizerError(
            "a tokenizer.json alone has no chat template and no end token", where=path, hint="give the folder it is in"
        )
    from .tiktoken_files import load_file

    return load_file(Path(path))


@lru_cache(maxsize=4)
def _load_encoding(name: str) -> Tokenizer:
    from .tiktoken_files import load_local_encoding

    return load_local_encoding(name)
