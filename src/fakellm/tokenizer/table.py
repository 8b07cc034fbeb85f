"""The one implementation of the Tokenizer protocol: a table of pieces, an encoder, chat templates.

Whatever a tokenizer is loaded from, its bytes are known per id, so decoding is joining; only encoding needs the library
behind it, which comes in as a function. Renderings and encodings are remembered (bounded): a test run asks the same
few hundred prompts over and over. This module must not know files, vendors or where the table came from.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from ..errors import TokenizerError

EMPTY: Mapping[str, Any] = MappingProxyType({})
REMEMBERED = 512
"""Prompts kept per tokenizer: more than a suite's cases, a few megabytes at most with the limit below."""
LONGEST_REMEMBERED = 32_768
"""Characters (or bytes of JSON) above which a prompt is worked out each time."""

Encode = Callable[[str, bool], Sequence[int]]
"""(text, add_special_tokens) -> ids."""


@dataclass(frozen=True, slots=True)
class Templates:
    """Chat templates by name (``default``, and ``tool_use`` where tools have one of their own) and the variables that
    every rendering may name (``bos_token`` ...). ``plain``: (messages, add_generation_prompt) -> what the default one
    makes of them without tools and variables, None = it must say itself."""

    by_name: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    variables: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    plain: Callable[[Sequence[Mapping[str, Any]], bool], str | None] | None = None

    def choose(self, template: str | None, *, tools: bool) -> str:
        """The source to render: a name of ours, else the text itself, else the default."""
        if template is not None:
            return self.by_name.get(template, template)
        if tools and "tool_use" in self.by_name:
            return self.by_name["tool_use"]
        if "default" in self.by_name:
            return self.by_name["default"]
        raise TokenizerError(
            "the tokenizer has no chat template",
            hint="add chat_template.jinja to its folder, give a template in the request, or send the prompt as ids",
        )


class TableTokenizer:
    """A tokenizer made of pieces. ``pieces``: bytes by id, b"" where an id is not used; ``vocab_pieces``: the same as
    the tokenizer's file spells them; ``vocab_size``: of the model, which may be larger than the table (padding)."""

    def __init__(
        self,
        *,
        name: str,
        pieces: Sequence[bytes],
        vocab_pieces: Sequence[str],
        encode: Encode,
        special_ids: frozenset[int] = frozenset(),
        eos_ids: tuple[int, ...] = (),
        vocab_size: int | None = None,
        model_max_length: int | None = None,
        config: Mapping[str, Any] = EMPTY,
        templates: Templates | None = None,
        drop_first_blank: bool = False,
        encode_as_filed: Encode | None = None,
    ) -> None:
        self.name = name
        self.vocab_size = max(vocab_size or 0, len(pieces))
        self.eos_ids = eos_ids
        self.special_ids = special_ids
        self.model_max_length = model_max_length
        self.config = config
        self._pieces = tuple(pieces)
        self._vocab_pieces = tuple(vocab_pieces)
        self._drop_first_blank = drop_first_blank
        self._templates = templates or Templates()
        self._library_encode = encode
        self._encode_as_filed = encode_as_filed
        self._remembered_encode = lru_cache(maxsize=REMEMBERED)(self._encode)
        self._rendered: OrderedDict[tuple[str, bytes, tuple[bool, bool]], str] = OrderedDict()
        self._ids_of_pieces: dict[bytes, int] | None = None

    def __repr__(self) -> str:
        return f"TableTokenizer({self.name!r}, {len(self._pieces)} pieces)"

    def as_filed(self) -> TableTokenizer:
        """The same tokenizer for servers that read tokenizer.json themselves (Dynamo): without the word pattern that
        transformers puts over some families' own. Itself where there is no difference."""
        if self._encode_as_filed is None:
            return self
        return TableTokenizer(
            name=self.name,
            pieces=self._pieces,
            vocab_pieces=self._vocab_pieces,
            encode=self._encode_as_filed,
            special_ids=self.special_ids,
            eos_ids=self.eos_ids,
            vocab_size=self.vocab_size,
            model_max_length=self.model_max_length,
            config=self.config,
            templates=self._templates,
            drop_first_blank=self._drop_first_blank,
        )

    @property
    def templates(self) -> Mapping[str, str]:
        """The chat templates' sources by name."""
        return self._templates.by_name

    def encode(self, text: str, *, add_special_tokens: bool = False) -> tuple[int, ...]:
        """Ids of the text; special tokens written in it become their ids. Raises TokenizerError for text that is not
        Unicode (lone surrogates)."""
        if len(text) > LONGEST_REMEMBERED:
            return self._encode(text, add_special_tokens)
        return self._remembered_encode(text, add_special_tokens)

    def _encode(self, text: str, add_special_tokens: bool) -> tuple[int, ...]:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TokenizerError(
                f"the text has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}",
                hint="send text that is valid Unicode; half of a surrogate pair has no UTF-8",
            ) from None
        return tuple(self._library_encode(text, add_special_tokens))

    def piece(self, token_id: int) -> bytes:
        """Exact bytes of one id; b"" for an id outside the vocabulary."""
        return self._pieces[token_id] if 0 <= token_id < len(self._pieces) else b""

    def vocab_piece(self, token_id: int) -> str:
        """The raw vocabulary string; "" for an id outside the vocabulary."""
        return self._vocab_pieces[token_id] if 0 <= token_id < len(self._vocab_pieces) else ""

    def id_of(self, piece: bytes) -> int | None:
        """The id whose bytes are exactly these: of several a special token, else the lowest."""
        if self._ids_of_pieces is None:
            found = {data: index for index, data in reversed(tuple(enumerate(self._pieces))) if data}
            found.update({self._pieces[index]: index for index in sorted(self.special_ids, reverse=True)})
            self._ids_of_pieces = found
        return self._ids_of_pieces.get(piece)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Text of ids; U+FFFD for what is not UTF-8; nothing for ids outside the vocabulary."""
        size, pieces = len(self._pieces), self._pieces
        hidden = self.special_ids if skip_special_tokens else ()
        shown = [pieces[index] for index in ids if 0 <= index < size and index not in hidden]
        text = b"".join(shown).decode("utf-8", "replace")
        return text[1:] if self._drop_first_blank and text.startswith(" ") else text

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
        """The prompt text of a conversation (see the protocol). ``template``: the source of another template, or the
        name of one in the folder."""
        source = self._templates.choose(template, tools=bool(tools))
        plain = self._templates.plain
        if plain is not None and source is self._templates.by_name["default"]:
            text = None if tools or variables or continue_final_message else plain(messages, add_generation_prompt)
            if text is not None:
                return text
        # jinja2 costs 30 ms to import, and scenarios with pinned prompt ids never need it.
        from . import chat_template

        flags = (add_generation_prompt, continue_final_message)
        request = {"messages": messages, "tools": tools or None, "variables": variables or {}}
        if chat_template.is_timeless(source):
            key = _json_key(request)
            if key is not None:
                return self._remembered(source, request, flags, key)
        return self._render(source, request, flags)

    def _remembered(self, source: str, request: Mapping[str, Any], flags: tuple[bool, bool], key: bytes) -> str:
        place = (source, key, flags)
        text = self._rendered.get(place)
        if text is None:
            text = self._rendered[place] = self._render(source, request, flags)
            if len(self._rendered) > REMEMBERED:
                self._rendered.popitem(last=False)
        else:
            self._rendered.move_to_end(place)
        return text

    def _render(self, source: str, request: Mapping[str, Any], flags: tuple[bool, bool]) -> str:
        from . import chat_template

        known: dict[str, Any] = {"tools": request["tools"], "documents": None}
        return chat_template.render(
            source,
            request["messages"],
            {**known, **self._templates.variables, **request["variables"]},
            add_generation_prompt=flags[0],
            continue_final_message=flags[1],
        )


def _json_key(request: Mapping[str, Any]) -> bytes | None:
    """The request as JSON, by which its rendering is remembered; None when it is large or not pure JSON."""
    try:
        key = orjson.dumps(request)
    except TypeError:  # orjson.JSONEncodeError: tuples as keys, lone surrogates, functions
        return None
    return key if len(key) <= LONGEST_REMEMBERED else None
