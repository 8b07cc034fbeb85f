"""/tokenize and /detokenize: text or a conversation to ids, ids to text, one or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ask import Request
from ...message import Rendering
from ..base import Context
from . import answers
from .answers import Refusal
from .bodies import read_body
from .body_parts import tool
from .kinds import BOOL, DICT, INT, STR, either, listed, nullable
from .message_body import messages
from .prompts import chat_prompt
from .schema import REQUIRED, Field, Model, value_error
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


def _tokenize_model(traits: Traits) -> Model:
    chats = traits.has(Trait.TOKENIZE_MESSAGES)
    texts = either(STR, listed(STR))
    members = (
        Field("model", STR, "default"),
        Field("prompt", nullable(texts)) if chats else Field("prompt", texts, REQUIRED),
        Field("messages", nullable(messages(traits.version))),
        Field("tools", nullable(listed(tool(traits.version)))),
        Field("chat_template_kwargs", nullable(DICT)),
        Field("continue_final_message", BOOL, False),
        Field("add_special_tokens", BOOL, True),
    )
    return Model("TokenizeRequest", members)


def tokenize(request: Request, station: SglangStation, context: Context) -> Rendering:
    """Ids and their count; the limit shown is the tokenizer's own, not the server's context."""
    body = read_body(request, _tokenize_model(station.traits), station.traits, json_only=True)
    if isinstance(body, Rendering):
        return body
    values, tokenizer = body.values, station.tokenizer
    prompt, spoken = values["prompt"], values["messages"]
    if not station.traits.has(Trait.TOKENIZE_MESSAGES):
        spoken = None
    elif (prompt is None) == (spoken is None):
        return _neither(request, body.sent, station)
    tokens: Any
    if spoken is not None:
        if not spoken:
            return answers.error("Messages cannot be empty.")
        try:
            tokens = list(
                chat_prompt(
                    tokenizer,
                    spoken,
                    tools=values["tools"],
                    variables={**station.settings.chat_template_kwargs, **(values["chat_template_kwargs"] or {})},
                    template=station.settings.chat_template,
                    continue_final=values["continue_final_message"],
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
    decode = station.tokenizer.decode
    text: Any = ""
    if tokens and isinstance(tokens[0], list):
        text = [decode(row, skip_special_tokens=skip) for row in tokens]
    elif tokens:
        text = decode(tokens, skip_special_tokens=skip)
    return answers.json_answer({"text": text})


def _neither(request: Request, sent: Any, station: SglangStation) -> Rendering:
    sentence = "Exactly one of 'prompt' or 'messages' must be provided."
    return answers.invalid([value_error(("body",), sentence, sent)], request.method, request.path, station.traits)
