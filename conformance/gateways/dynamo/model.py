"""Writes the folder of a model without weights: the fake's built-in tokenizer as Hugging Face files, and its template.

The ranks of a tiktoken file say which pieces exist and in which order they were joined; ``tokenizer.json`` wants the
joins themselves, which are found by joining each piece's bytes by the ranks below its own.
"""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

SOURCE = Path(__file__).resolve().parents[3] / "src" / "fakellm" / "tokenizer"
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VISIBLE = ("<think>", "</think>", "<tool_call>", "</tool_call>")


def write(folder: Path) -> None:
    """All files that the frontend reads."""
    lines = (SOURCE / "data" / "builtin.tiktoken").read_text("ascii").split("\n")
    pairs = [line.split(" ") for line in lines if line]
    ranks = {base64.b64decode(piece): int(rank) for piece, rank in pairs}
    library = _library(ranks)
    library.save(str(folder / "tokenizer.json"))
    template = (SOURCE / "data" / "builtin_chat_template.jinja").read_text("utf-8")
    eos, pad = library.token_to_id("<|im_end|>"), library.token_to_id("<|endoftext|>")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": library.get_vocab_size(),
        "max_position_embeddings": 32768,
        "eos_token_id": eos,
        "bos_token_id": None,
    }
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    tokenizer |= {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "model_max_length": 32768}
    generation = {"eos_token_id": [eos, pad], "pad_token_id": pad}
    for name, value in (("config", config), ("tokenizer_config", tokenizer), ("generation_config", generation)):
        (folder / f"{name}.json").write_text(json.dumps(value), "utf-8")


def _library(ranks: dict[bytes, int]) -> Tokenizer:
    spelled = _alphabet()
    vocabulary = {"".join(spelled[byte] for byte in piece): rank for piece, rank in ranks.items()}
    joins: list[tuple[str, str]] = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(piece) > 1:
            left, right = _parts(piece, rank, ranks)
            joins.append(("".join(spelled[byte] for byte in left), "".join(spelled[byte] for byte in right)))
    library = Tokenizer(models.BPE(vocab=vocabulary, merges=joins))
    words = re.search(r"WORDS = \(\s*r\"(.*)\"\s*\)", (SOURCE / "builtin.py").read_text("utf-8"))
    assert words is not None, "builtin.py names its pattern otherwise now"
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(words.group(1)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken(marker, special=True, normalized=False) for marker in SPECIAL])
    library.add_tokens([AddedToken(marker, normalized=False) for marker in VISIBLE])
    return library


def _parts(piece: bytes, rank: int, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two pieces that were joined into this one."""
    parts = [bytes([byte]) for byte in piece]
    while len(parts) > 2:
        joined = [(ranks.get(one + two, rank), place) for place, (one, two) in enumerate(pairwise(parts))]
        best, place = min(joined)
        assert best < rank, piece
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts[0], parts[1]


def _alphabet() -> list[str]:
    """The printable character of each byte, as byte-level vocabularies spell them."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return [chr(byte) if byte in kept else chr(256 + others.index(byte)) for byte in range(256)]
