"""The messages of a chat request: the union of shapes that the OpenAI SDK 3.57 and vLLM allow.

A message is accepted when any member takes it, so nearly everything with a role is; what is not, is reported once for
every member. Content parts and tool calls are lazy there: nobody looks into them while the request is validated.
"""

from __future__ import annotations

from functools import cache

from ..options import V12, V24, V28, V32
from .containers import ListOf, Maybe, Union
from .content_parts import content_part
from .kinds import Kind, OneOf, Text
from .parts import MAYBE_TEXT, TEXT
from .records import OMITTED, REQUIRED, Field, Record, Version
from .sdk_shapes import shapes


def shape(name: str, *fields: Field) -> Record:
    """A typed dictionary."""
    return Record(name, fields, nature="dictionary")


def _named(name: str) -> Kind:
    """A kind that is only looked at by its label: the item of a lazy list."""
    return Record(name, (), nature="dictionary")


_TEXT_PART = "ChatCompletionContentPartTextParam"
_ANY_PART = Union(
    (
        _named(_TEXT_PART),
        _named("ChatCompletionContentPartImageParam"),
        _named("ChatCompletionContentPartInputAudioParam"),
        _named("File"),
    )
)
_TEXTS = Union((TEXT, ListOf(_named(_TEXT_PART), lazy=True)))
_CALLS = ListOf(
    Union((_named("ChatCompletionMessageFunctionToolCallParam"), _named("ChatCompletionMessageCustomToolCallParam"))),
    lazy=True,
)
_NAME = Field("name", TEXT, OMITTED)


def _role(word: str) -> Field:
    return Field("role", OneOf((word,)), REQUIRED)


_DEVELOPER = shape("ChatCompletionDeveloperMessageParam", Field("content", _TEXTS, REQUIRED), _role("developer"), _NAME)
_SYSTEM = shape("ChatCompletionSystemMessageParam", Field("content", _TEXTS, REQUIRED), _role("system"), _NAME)
_USER = shape(
    "ChatCompletionUserMessageParam",
    Field("content", Union((TEXT, ListOf(_ANY_PART, lazy=True))), REQUIRED),
    _role("user"),
    _NAME,
)
_ASSISTANT = shape(
    "ChatCompletionAssistantMessageParam",
    _role("assistant"),
    Field("audio", Maybe(shape("Audio", Field("id", TEXT, REQUIRED))), OMITTED),
    Field(
        "content",
        Maybe(
            Union(
                (
                    TEXT,
                    ListOf(Union((_named(_TEXT_PART), _named("ChatCompletionContentPartRefusalParam"))), lazy=True),
                )
            )
        ),
        OMITTED,
    ),
    Field(
        "function_call",
        Maybe(shape("FunctionCall", Field("arguments", TEXT, REQUIRED), Field("name", TEXT, REQUIRED))),
        OMITTED,
    ),
    _NAME,
    Field("refusal", MAYBE_TEXT, OMITTED),
    Field("tool_calls", _CALLS, OMITTED),
)
_TOOL = shape(
    "ChatCompletionToolMessageParam",
    Field("content", _TEXTS, REQUIRED),
    _role("tool"),
    Field("tool_call_id", TEXT, REQUIRED),
)
_FUNCTION = shape(
    "ChatCompletionFunctionMessageParam",
    Field("content", MAYBE_TEXT, REQUIRED),
    Field("name", TEXT, REQUIRED),
    _role("function"),
)
_HARMONY = Record(
    "Message",
    (
        Field("author", Record("Author", (Field("role", TEXT, REQUIRED), Field("name", Maybe(Text())))), REQUIRED),
        Field("content", ListOf(Record("Content", ())), ()),
        Field("channel", MAYBE_TEXT),
        Field("recipient", MAYBE_TEXT),
        Field("content_type", MAYBE_TEXT),
    ),
)


_CALL, _TOOL_DEFINITION = shapes(
    """
ChatCompletionMessageFunctionToolCallParam id:s function:dict type:=function
ChatCompletionFunctionToolParam function:dict type:=function
""",
    "dictionary",
)


def _custom(version: Version) -> Record:
    """vLLM's own message, for any role."""
    return shape(
        "CustomChatCompletionMessageParam",
        Field("role", TEXT, REQUIRED),
        Field("content", Union((TEXT, ListOf(content_part(version)))), OMITTED),
        _NAME,
        Field("tool_call_id", MAYBE_TEXT, OMITTED),
        Field("tool_calls", Maybe(ListOf(_CALL, lazy=True)), OMITTED, until=V28),
        Field("tool_calls", Maybe(ListOf(_CALL)), OMITTED, since=V28),
        Field("reasoning", MAYBE_TEXT, OMITTED, since=V12),
        Field("tools", Maybe(ListOf(_TOOL_DEFINITION)), OMITTED, since=V24),
        Field("task", MAYBE_TEXT, OMITTED, since=V32),
    ).at(version)


@cache
def chat_message(version: Version) -> Kind:
    """One message of a chat request."""
    return Union((_DEVELOPER, _SYSTEM, _USER, _ASSISTANT, _TOOL, _FUNCTION, _custom(version), _HARMONY))
