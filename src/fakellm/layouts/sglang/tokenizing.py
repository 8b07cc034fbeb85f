"""/tokenize and /detokenize: text or a conversation to ids, ids to text, one or many."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ...ask import Request
from ...message import Rendering
from ..base import Context
from . import answers
from .answers import Refusal
from .bodies import read_body
from .body_parts import TOOL_CHOICE, rows_of, since, tool, words
from .kinds import BOOL, DICT, INT, STR, either, listed, nullable
from .loose import elements
from .message_body import messages
from .prompts import chat_prompt
from .schema import REQUIRED, Field, Members, Model
from .thinking import effort_of_counts
from .traits import Trait, Traits

if TYPE_CHECKING:
    from .station import SglangStation

_DETOKENIZE = Model(
    "DetokenizeRequest",
    (
        Field("model", STR, "default"),
        Field("tokens", either(listed(INT), listed(listed(INT))), REQUIRED),
        Field("skip_special_tokens", BOOL, True),
    ),
)


@cache
def tokenize_model(traits: Traits) -> Model:
    """The body of /tokenize at one version; conversations are taken from 0.5.12 on."""
    texts = either(STR, listed(STR))
    if not traits.has(Trait.TOKENIZE_MESSAGES):
        rows = (
            Field("model", STR, "default"),
            Field("prompt", texts, REQUIRED),
            Field("add_special_tokens", BOOL, True),
        )
        return Model("TokenizeRequest", rows)
    version = traits.version
    fields = rows_of(
        version,
        (
            Field("model", STR, "default"),
            *words("prompt"),
            Field("messages", nullable(messages(version))),
            Field("tools", nullable(listed(tool(version)))),
            Field("tool_choice", nullable(TOOL_CHOICE)),
            Field("reasoning_effort", effort_of_counts(traits)),
            Field("continue_final_message", BOOL, False),
            Field("chat_template_kwargs", nullable(DICT)),
            Field("add_special_tokens", BOOL, True),
            since(21, "add_generation_prompt", nullable(BOOL)),
        ),
    )
    return Model("TokenizeRequest", fields, after=_one_of_both)


def _one_of_both(values: Members) -> None:
    if (values["prompt"] is None) == (values["messages"] is None):
        raise ValueError("Exactly one of 'prompt' or 'messages' must be provided.")


def tokenize(request: Request, station: SglangStation, context: Context) -> Rendering:
    """Ids and their count; the limit shown is the tokenizer's own, not the server's context."""
    body = read_body(request, tokenize_model(station.traits), station.traits, json_only=True)
    if isinstance(body, Rendering):
        return body
    values, tokenizer = body.values, station.tokenizer
    prompt, spoken = values["prompt"], values.get("messages")
    tokens: Any
    if spoken is not None:
        if not spoken:
            return answers.error("Messages cannot be empty.")
        opens = values.get("add_generation_prompt")
        if opens is False and values["continue_final_message"]:
            return answers.error("continue_final_message needs add_generation_prompt to open the assistant turn.")
        try:
            tokens = list(
                chat_prompt(
                    tokenizer,
                    spoken,
                    tools=values["tools"],
                    variables={**station.settings.chat_template_kwargs, **(values["chat_template_kwargs"] or {})},
                    template=station.settings.chat_template,
                    continue_final=values["continue_final_message"],
                    opens_turn=opens is not False,
                ).token_ids
            )
        except Refusal as refused:
            return answers.error(refused.message)
    elif isinstance(prompt, str):
        tokens = list(tokenizer.encode(prompt, add_special_tokens=values["add_special_tokens"]))
    else:
        tokens = [list(tokenizer.encode(text, add_special_tokens=values["add_special_tokens"])) for text in prompt]
    count = [len(row) for row in tokens] if isinstance(prompt, list) else len(tokens)
    limit = tokenizer.model_max_length
    shown = station.settings.context_length if limit is None else limit
    return answers.json_answer({"tokens": tokens, "count": count, "max_model_len": shown})


def detokenize(request: Request, station: SglangStation, context: Context) -> Rendering:
    """Text of ids."""
    body = read_body(request, _DETOKENIZE, station.traits, json_only=True)
    if isinstance(body, Rendering):
        return body
    tokens, skip = body.values["tokens"], body.values["skip_special_tokens"]
    rows: list[Any] = tokens if tokens and isinstance(tokens[0], list) else [tokens]
    if any(one < 0 for row in rows for one in elements(row)):
        message = "Internal server error during detokenization: out of range integral type conversion attempted"
        return answers.error(message, "InternalServerError", 500)
    decode = station.tokenizer.decode
    text: Any = ""
    if tokens and isinstance(tokens[0], list):
        text = [decode(row, skip_special_tokens=skip) for row in tokens]
    elif tokens:
        text = decode(tokens, skip_special_tokens=skip)
    return answers.json_answer({"text": text})
