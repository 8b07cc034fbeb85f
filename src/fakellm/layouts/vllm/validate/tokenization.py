"""What /tokenize and /detokenize take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from ..options import V20
from . import handler
from .chat import check_generation_prompt
from .checks import Check, Rules
from .containers import ListOf, MapOf, Maybe
from .kinds import Whole
from .messages import chat_message
from .parts import FLAG, INT64_MAX, MAYBE_FLAG, MAYBE_OBJECT, MAYBE_TEXT, OBJECT, TEXT, TOOL, WHOLE, WRAPPED
from .records import REQUIRED, Branches, Field, Record, Version


@cache
def tokenize_fields(version: Version, stop_limit: int) -> Branches:
    """A prompt or messages: whichever of the two bodies fits."""
    prompt = Record(
        WRAPPED,
        (
            Field("model", MAYBE_TEXT),
            Field("prompt", TEXT, REQUIRED),
            Field("add_special_tokens", FLAG, True),
            Field("return_token_strs", MAYBE_FLAG, False),
        ),
    )
    chat = Record(
        WRAPPED,
        (
            Field("model", MAYBE_TEXT),
            Field("messages", ListOf(chat_message(version)), REQUIRED),
            Field("add_generation_prompt", FLAG, True),
            Field("return_token_strs", MAYBE_FLAG, False),
            Field("continue_final_message", FLAG, False),
            Field("add_special_tokens", FLAG, False),
            Field("chat_template", MAYBE_TEXT),
            Field("chat_template_kwargs", MAYBE_OBJECT),
            Field("media_io_kwargs", Maybe(MapOf(OBJECT)), since=V20),
            Field("mm_processor_kwargs", MAYBE_OBJECT),
            Field("tools", Maybe(ListOf(TOOL))),
        ),
    ).at(version)
    return Branches((prompt, chat))


def checks(version: Version) -> tuple[Check, ...]:
    return (partial(check_generation_prompt, typed=V20),)


def check_media(sent: Mapping[str, Any], values: Mapping[str, Any], rules: Rules) -> None:
    """Multimodal arguments count beside a prompt as well, which does not know them."""
    handler.check_media(sent, rules)


@cache
def detokenize_fields(version: Version, stop_limit: int) -> Record:
    token = Whole(0, INT64_MAX) if version >= V20 else WHOLE
    return Record(WRAPPED, (Field("model", MAYBE_TEXT), Field("tokens", ListOf(token), REQUIRED)))
