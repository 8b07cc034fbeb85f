"""What the rest of fakellm may ask of a tokenizer, whatever it is made of: the one contract of this package.

It must not know how a tokenizer is stored, nor any vendor's habits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Tokenizer(Protocol):
    """What the rest of fakellm may ask of a tokenizer. Implementations are immutable and safe to share."""

    name: str
    vocab_size: int
    """Ids run from 0 to vocab_size - 1; an id outside is out of vocabulary."""
    eos_ids: tuple[int, ...]
    """First the end-of-turn token, then secondary ones of the generation config."""
    special_ids: frozenset[int]
    """Ids that skip_special_tokens hides. Markers such as <think> may be ids of their own without being special."""
    model_max_length: int | None
    config: Mapping[str, Any]
    """tokenizer_config.json, or {} where there is none; ``chat_template`` is the default template's source wherever it
    came from, as transformers keeps it."""

    def encode(self, text: str, *, add_special_tokens: bool = False) -> tuple[int, ...]:
        """Ids of the text; special tokens written in it become their ids, as on real servers."""
        ...

    def piece(self, token_id: int) -> bytes:
        """Exact bytes of one id, special tokens literally; b"" for an id outside the vocabulary."""
        ...

    def vocab_piece(self, token_id: int) -> str:
        """The raw vocabulary string (``Ġuser``), as tokenizer files spell it."""
        ...

    def id_of(self, piece: bytes) -> int | None:
        """The id whose bytes are exactly these, or None. A special token's literal text finds the special token."""
        ...

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Text of ids, UTF-8 with U+FFFD for what does not decode, as Hugging Face byte-level decoders give it."""
        ...

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        template: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> str:
        """The prompt text of a conversation by the chat template (jinja2, sandboxed); raises TokenizerError when there
        is no template or it fails, with the template's own words."""
        ...
