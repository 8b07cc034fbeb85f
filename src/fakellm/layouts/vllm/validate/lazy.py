"""Parts and tool calls that nobody looked at while the request was validated, and what is said when somebody does.

A message fits several shapes, and the one with the most members wins. The SDK's own keep parts and calls unseen until
they are walked over; vLLM's looks at them at once. So odd ones reach this place only where the SDK's shape won. Knows
no HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ..options import V12, V20, V28
from .checks import Rules, as_list, as_object
from .containers import Union
from .content_parts import content_part
from .flaws import FlawedBody, Objection
from .handler import prompt_objection
from .kinds import Flaws
from .parts import TEXT
from .records import REQUIRED, Field, Record
from .sdk_shapes import shapes
from .spelling import printed_flaws

_TEXT, _IMAGE, _AUDIO, _FILE, _REFUSAL = shapes(
    """
ChatCompletionContentPartTextParam text:s type:=text
ChatCompletionContentPartImageParam image_url:dict type:=image_url
ChatCompletionContentPartInputAudioParam input_audio:dict type:=input_audio
File file:dict type:=file
ChatCompletionContentPartRefusalParam refusal:s type:=refusal
""",
    "dictionary",
)
_TEXT_ALONE: tuple[Record, ...] = (_TEXT,)
_PARTS: Mapping[str, tuple[Record, ...]] = {
    "developer": _TEXT_ALONE,
    "system": _TEXT_ALONE,
    "tool": _TEXT_ALONE,
    "user": (_TEXT, _IMAGE, _AUDIO, _FILE),
    "assistant": (_TEXT, _REFUSAL),
}
"""The parts that the SDK's message of a role has."""


def _function(*fields: Field) -> Record:
    return Record("Function", fields, nature="dictionary")


_CALL = Record(
    "ChatCompletionMessageFunctionToolCallParam",
    (
        Field("id", TEXT, REQUIRED),
        Field("function", _function(Field("arguments", TEXT, REQUIRED), Field("name", TEXT, REQUIRED)), REQUIRED),
        *shapes("Type type:=function", "dictionary")[0].fields,
    ),
    nature="dictionary",
)
_CUSTOM_CALL = Record(
    "ChatCompletionMessageCustomToolCallParam",
    (
        Field("id", TEXT, REQUIRED),
        Field("custom", _function(Field("input", TEXT, REQUIRED), Field("name", TEXT, REQUIRED)), REQUIRED),
        *shapes("Type type:=custom", "dictionary")[0].fields,
    ),
    nature="dictionary",
)
_CALLS = Union((_CALL, _CUSTOM_CALL))


def check_calls(sent: Mapping[str, Any], values: Mapping[str, Any], rules: Rules) -> None:
    """From 0.28 tool calls that vLLM's own shape refuses are walked over while the body is validated."""
    if rules.version < V28:
        return
    for message in map(as_object, as_list(values.get("messages"))):
        flaws = _call_flaws(message)
        if flaws:
            raise FlawedBody([replace(flaw, path=("body", *flaw.path)) for flaw in flaws])


def walk_calls(message: Mapping[str, Any], rules: Rules) -> None:
    """Up to 0.24 they are walked over when the prompt is made; what is wrong then is reported as a flaw of the body
    (0.20.2 and 0.24), or in pydantic's own words."""
    flaws = _call_flaws(message) if rules.version < V28 else []
    if flaws and rules.version >= V20:
        raise FlawedBody([replace(flaw, path=("body", *flaw.path)) for flaw in flaws])
    if flaws:
        raise prompt_objection(printed_flaws("ValidatorIterator", flaws), rules)


def _call_flaws(message: Mapping[str, Any]) -> Flaws:
    """The flaws of a message's first call that has some."""
    if message.get("role") == "assistant":
        for place, call in enumerate(as_list(message.get("tool_calls"))):
            flaws: Flaws = []
            _CALLS.check(call, (place,), flaws)
            if flaws:
                return flaws
    return []


def check_parts(message: Mapping[str, Any], rules: Rules) -> None:
    """The parts of a message whose parts say nothing that vLLM's shapes know."""
    known = _PARTS.get(str(message.get("role")))
    parts: Any = message.get("content")
    if known is None or not isinstance(parts, list) or _told(message, rules):
        return
    for place, part in enumerate(cast("list[Any]", parts)):
        flaws: Flaws = []
        Union(known).check(part, (place,), flaws)
        if flaws:
            text = _iterator_error(flaws, alone=len(known) == 1)
            raise prompt_objection(text, rules) if rules.version < V28 else Objection(text)


def _told(message: Mapping[str, Any], rules: Rules) -> bool:
    """Whether vLLM's own shape of a message has more members than the SDK's, so that it wins."""
    if any(message.get(name) for name in ("tool_calls", "reasoning", "tools", "task")):
        return True
    shaped = cast("Union", content_part(rules.version)).members
    told = [_members(part, shaped) > 0 for part in as_list(message.get("content"))]
    return all(told) if rules.version < V12 else any(told)  # since 0.12 one of vLLM's shapes takes every object


def _members(part: Any, shaped: Sequence[Any]) -> int:
    """How many members of a part the best of vLLM's shapes knows."""
    most = 0
    for shape in shaped:
        flaws: Flaws = []
        if isinstance(shape, Record) and isinstance(part, dict):
            shape.check(part, (), flaws)
            most = max(most, 0 if flaws else len(shape.names() & as_object(cast("Any", part)).keys()))
    return most


def _iterator_error(flaws: Flaws, *, alone: bool) -> str:
    """What pydantic says of an item that is walked over. ``alone``: there was but one shape, which is not named."""
    if alone:
        flaws = [replace(flaw, path=(flaw.path[0], *flaw.path[2:])) for flaw in flaws]
    return printed_flaws("ValidatorIterator", flaws)
