"""The printable spelling of bytes that byte-level tokenizer files use (``Ġ`` for a blank, ``Ċ`` for a line end).

Every byte has one printable character: printable Latin-1 bytes are themselves, the other 68 take the characters from
U+0100 on, in byte order (the scheme of GPT-2's vocabulary). This module knows no tokenizer.

>>> spell(b" user"), unspell("Ġuser")
('Ġuser', b' user')
"""

from __future__ import annotations

_PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_CHARACTER_OF = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(0x100 + index) for index, byte in enumerate(_OTHERS)
}
_SPELL = {chr(byte): character for byte, character in _CHARACTER_OF.items()}
# Characters that spell no byte become one that Latin-1 cannot encode, so that unspell notices them.
_UNSPELL = str.maketrans(
    {chr(byte): "\uffff" for byte in _OTHERS} | {character: chr(byte) for byte, character in _CHARACTER_OF.items()}
)
_SPELL_TABLE = str.maketrans(_SPELL)

ALPHABET: tuple[str, ...] = tuple(_CHARACTER_OF[byte] for byte in range(256))
"""The character of each byte, by byte."""


def spell(data: bytes) -> str:
    """The printable spelling of any bytes."""
    return data.decode("latin-1").translate(_SPELL_TABLE)


def unspell(piece: str) -> bytes:
    """The bytes that a vocabulary string spells; a string with any other character (an added token such as
    ``<｜end｜>``) stands for itself, in UTF-8, as in Hugging Face's byte-level decoder."""
    try:
        return piece.translate(_UNSPELL).encode("latin-1")
    except UnicodeEncodeError:
        return piece.encode("utf-8", "replace")
