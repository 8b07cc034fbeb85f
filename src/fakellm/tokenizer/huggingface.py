"""A Hugging Face folder as a tokenizer: tokenizer.json, its configuration, its chat template (extra ``hf``).

Reads the files as ``transformers`` does where the wire shows it: which tokens are special, which end a turn, which
template is used. It must not know vendors. Byte-level and sentencepiece-style vocabularies are read; others (WordPiece)
have no bytes per id and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from ..errors import TokenizerError
from .byte_level import unspell
from .table import Encode, TableTokenizer, Templates

NAMED_SPECIALS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LISTED_SPECIALS = ("additional_special_tokens", "extra_special_tokens")
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LARGEST_LENGTH = 10**9
"""transformers writes 1e30 for "no limit"; a larger model_max_length than this means none."""


def load_folder(folder: Path) -> TableTokenizer:
    """The tokenizer of a folder; raises TokenizerError naming the file that is missing or broken."""
    try:
        return _load(folder)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TokenizerError(
            f"the configuration has not the shape that transformers writes ({type(error).__name__}: {error})",
            where=str(folder),
            hint="compare tokenizer_config.json with one that save_pretrained wrote",
        ) from None


def _load(folder: Path) -> TableTokenizer:
    if not (folder / "tokenizer.json").is_file():
        raise TokenizerError(
            "the folder has no tokenizer.json",
            where=str(folder),
            hint="a Hugging Face tokenizer folder holds tokenizer.json and tokenizer_config.json",
        )
    config = _read_json(folder / "tokenizer_config.json")
    model = _read_json(folder / "config.json")
    library = _open_library(folder / "tokenizer.json")
    resplit = model.get("model_type") == "qwen2"
    if resplit:
        _split_as_qwen2(library)
    _add_declared_tokens(library, config)
    to_bytes, drop_first_blank = _piece_reader(library, folder / "tokenizer.json")
    vocabulary: dict[str, int] = library.get_vocab(with_added_tokens=True)
    size = max(vocabulary.values(), default=-1) + 1
    vocab_pieces = [""] * size
    for piece, index in vocabulary.items():
        vocab_pieces[index] = piece
    specials = {index for index, token in library.get_added_tokens_decoder().items() if token.special}
    model_size = model.get("vocab_size")
    length = config.get("model_max_length")
    templates = _templates(folder, config)
    return TableTokenizer(
        name=folder.name,
        pieces=[to_bytes(piece) for piece in vocab_pieces],
        vocab_pieces=vocab_pieces,
        encode=lambda text, add: library.encode(text, add_special_tokens=add).ids,
        special_ids=frozenset(specials),
        eos_ids=_eos_ids(config, model, _read_json(folder / "generation_config.json"), vocabulary),
        vocab_size=model_size if isinstance(model_size, int) else None,
        model_max_length=int(length) if isinstance(length, int | float) and 0 < length < LARGEST_LENGTH else None,
        # As transformers keeps it: a template from a file of its own stands in the configuration too.
        config={**config, "chat_template": templates["default"]} if "default" in templates else config,
        templates=Templates(templates, _template_variables(config)),
        drop_first_blank=drop_first_blank,
        encode_as_filed=_encode_as_filed(folder, config) if resplit else None,
    )


def _encode_as_filed(folder: Path, config: Mapping[str, Any]) -> Encode:
    """The encoder that tokenizer.json itself describes, opened when it is first needed."""

    @cache
    def library() -> Any:
        opened = _open_library(folder / "tokenizer.json")
        _add_declared_tokens(opened, config)
        return opened

    return lambda text, add: library().encode(text, add_special_tokens=add).ids


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object, {} when the file is not there."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TokenizerError(f"cannot be read as JSON: {error}", where=str(path)) from None
    if not isinstance(value, dict):
        raise TokenizerError("must hold a JSON object", where=str(path))
    return cast("dict[str, Any]", value)


def _open_library(path: Path) -> Any:
    try:
        import tokenizers
    except ImportError:
        raise TokenizerError(
            "Hugging Face tokenizer folders need the library `tokenizers`, which is not installed",
            where=str(path),
            hint="install the extra: fakellm-conformance[hf]",
        ) from None
    try:
        library = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001  the library raises bare Exception for anything wrong in a file
        raise TokenizerError(f"the tokenizers library cannot read it: {error}", where=str(path)) from None
    library.no_truncation()
    library.no_padding()
    return library


def _split_as_qwen2(library: Any) -> None:
    """transformers gives every model of type qwen2 that family's own normaliser and word pattern, whatever
    tokenizer.json says: seen on real servers, where `` 2`` of such a folder became two ids."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    library.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(QWEN2_WORDS), behavior="isolated", invert=False)
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])


def _content(token: Any) -> str | None:
    """The text of a token as configurations write it: a string, or an object with ``content``."""
    if isinstance(token, Mapping):
        token = cast("Mapping[str, Any]", token).get("content")
    return token if isinstance(token, str) else None


def _declared_specials(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Special tokens that tokenizer_config.json names, by the key that names them."""
    found: dict[str, list[str]] = {}
    for key in NAMED_SPECIALS:
        content = _content(config.get(key))
        if content is not None:
            found[key] = [content]
    for key in LISTED_SPECIALS:
        declared: Any = config.get(key) or ()
        values: Iterable[Any] = cast("dict[str, Any]", declared).values() if isinstance(declared, dict) else declared
        contents = [content for value in values if (content := _content(value)) is not None]
        if contents:
            found[key] = contents
    return found


def _add_declared_tokens(library: Any, config: Mapping[str, Any]) -> None:
    """Mark what the configuration declares special and add what tokenizer.json lacks, as transformers does."""
    from tokenizers import AddedToken

    decoder = config.get("added_tokens_decoder")
    rows = cast("dict[str, dict[str, Any]]", decoder) if isinstance(decoder, dict) else {}
    known = {token.content: token for token in library.get_added_tokens_decoder().values()}
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    for _, row in sorted(rows.items(), key=lambda item: int(item[0])):
        content, special = row.get("content"), bool(row.get("special"))
        if not isinstance(content, str) or (content in known and (known[content].special or not special)):
            continue
        token = AddedToken(content, **{flag: row[flag] for flag in flags if flag in row}, special=special)
        (library.add_special_tokens if special else library.add_tokens)([token])
    known = {token.content: token for token in library.get_added_tokens_decoder().values()}
    for contents in _declared_specials(config).values():
        fresh = [content for content in contents if content not in known or not known[content].special]
        if fresh:
            library.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in fresh])


def _piece_reader(library: Any, path: Path) -> tuple[Any, bool]:
    """(vocabulary string -> bytes, whether decoding drops the text's first blank), from the file's decoder."""
    decoder: dict[str, Any] = json.loads(library.to_str()).get("decoder") or {}
    parts: list[dict[str, Any]] = decoder.get("decoders") or [decoder]
    kinds = {part.get("type") for part in parts}
    if "ByteLevel" in kinds:
        return unspell, False
    if kinds & {"Metaspace", "ByteFallback"}:
        strip = any(part.get("type") == "Strip" and part.get("start") for part in parts)
        return _sentencepiece_bytes, strip or "Metaspace" in kinds
    raise TokenizerError(
        f"its decoder ({', '.join(sorted(str(kind) for kind in kinds))}) gives ids no bytes of their own",
        where=str(path),
        hint="use a byte-level or sentencepiece-style tokenizer",
    )


def _sentencepiece_bytes(piece: str) -> bytes:
    """``▁user`` is `` user``; ``<0xE2>`` is one byte."""
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        try:
            return bytes((int(piece[3:5], 16),))
        except ValueError:
            pass
    return piece.replace("\u2581", " ").encode("utf-8", "replace")


def _eos_ids(
    config: Mapping[str, Any], model: Mapping[str, Any], generation: Mapping[str, Any], vocabulary: Mapping[str, int]
) -> tuple[int, ...]:
    """First the tokenizer's end token (else the model's), then the secondary ones of generation_config.json."""
    named = _content(config.get("eos_token"))
    found: list[int] = [vocabulary[named]] if named is not None and named in vocabulary else []
    for source in (generation, model):
        value: Any = source.get("eos_token_id")
        ids: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        # config.json only stands in: engines take secondary end tokens from the generation config alone.
        if source is generation or not found:
            found.extend(index for index in ids if isinstance(index, int) and index not in found)
    return tuple(found)


def _templates(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """Chat templates by name; files win over tokenizer_config.json."""
    declared: Any = config.get("chat_template")
    found: dict[str, str] = {}
    if isinstance(declared, str):
        found["default"] = declared
    elif isinstance(declared, list):
        for row in cast("list[dict[str, Any]]", declared):
            found[str(row["name"])] = str(row["template"])
    legacy = _read_json(folder / "chat_template.json").get("chat_template")
    if isinstance(legacy, str):
        found["default"] = legacy
    files = [("default", folder / "chat_template.jinja")]
    files += [(path.stem, path) for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))]
    for name, path in files:
        try:
            found[name] = path.read_text("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise TokenizerError(f"cannot be read: {error}", where=str(path)) from None
    return found


def _template_variables(config: Mapping[str, Any]) -> dict[str, Any]:
    """The special tokens by name, as templates use them (``{{ bos_token }}``)."""
    declared = _declared_specials(config)
    return {key: contents[0] if key in NAMED_SPECIALS else contents for key, contents in declared.items()}
