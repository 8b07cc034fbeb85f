"""What /v1/chat/completions/derender and /v1/completions/derender take (from 0.24): an answer in ids, to be told."""

from __future__ import annotations

from functools import cache

from ..options import V28, V32
from .containers import ListOf, Maybe
from .kinds import Kind, OneOf, Whole
from .parts import ANYTHING, MAYBE_OBJECT, MAYBE_TEXT, MAYBE_WHOLE, MAYBE_WHOLES, OBJECT, TEXT, WHOLE
from .records import REQUIRED, Branches, Field, Record, Version

_CHOICE = Record(
    "GenerateResponseChoice",
    (
        Field("index", WHOLE, REQUIRED),
        Field("logprobs", MAYBE_OBJECT),
        Field("finish_reason", MAYBE_TEXT, "stop"),
        Field("token_ids", MAYBE_WHOLES),
    ),
)
_RESPONSE = Record(
    "GenerateResponse",
    (
        Field("request_id", TEXT),
        Field("choices", ListOf(_CHOICE), REQUIRED),
        Field("prompt_logprobs", ANYTHING),
        Field("kv_transfer_params", MAYBE_OBJECT),
    ),
)


def _model(version: Version) -> Field:
    return Field("model", TEXT, REQUIRED) if version < V28 else Field("model", MAYBE_TEXT)


def _whole(version: Version, many: bool) -> Record:
    counts: Kind = Maybe(ListOf(WHOLE)) if many else MAYBE_WHOLE
    ids: Kind = ListOf(Whole(0))
    answer: Kind = ListOf(_RESPONSE) if many else _RESPONSE
    return Record(
        "DerenderCompletionRequest" if many else "DerenderChatRequest",
        (
            Field("stream", OneOf((False,)), False, since=V28),
            _model(version),
            Field("generate_responses" if many else "generate_response", answer, REQUIRED),
            Field("prompt_tokens", counts),
            Field("prompt_token_ids", Maybe(ListOf(Maybe(ids)) if many else ids), since=V32),
            Field("completion_request" if many else "chat_request", MAYBE_OBJECT),
        ),
    ).at(version)


def _chunk(version: Version, many: bool) -> Record:
    """One streamed chunk, and the state that the client carries."""
    return Record(
        "DerenderCompletionStreamRequest" if many else "DerenderChatStreamRequest",
        (
            Field("stream", OneOf((True,)), REQUIRED),
            _model(version),
            Field("generate_chunk", OBJECT, REQUIRED),
            Field("stream_state", MAYBE_OBJECT),
            Field("prompt_tokens", MAYBE_WHOLE),
            Field("prompt_token_ids", Maybe(ListOf(Whole(0))), since=V32),
            Field("completion_request" if many else "chat_request", MAYBE_OBJECT),
        ),
    ).at(version)


def _either(version: Version, many: bool) -> Record | Branches:
    whole = _whole(version, many)
    return whole if version < V28 else Branches((whole, _chunk(version, many)))


@cache
def chat_fields(version: Version, stop_limit: int) -> Record | Branches:
    """An answer of a chat in ids, whole or (from 0.28) one chunk of it."""
    return _either(version, many=False)


@cache
def completion_fields(version: Version, stop_limit: int) -> Record | Branches:
    """Answers of completions in ids, one a prompt, or (from 0.28) one chunk."""
    return _either(version, many=True)
