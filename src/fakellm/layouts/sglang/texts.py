"""The routes that read a text without an engine: /parse_function_call and /separate_reasoning.

They use the parsers that answers go through, by the name that the request gives. A name that SGLang does not know
breaks its route (500); one that is not imitated here does so too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...ask import Request
from ...errors import LayoutError
from ...message import Rendering
from ...told import Part
from ..base import Context
from . import answers
from .bodies import Body, read_body
from .inputs import call_parsing
from .orders import input_of
from .parsers import AnswerParser, ParserChoice, check_names
from .parsers.reasoning import MANNERS
from .route import Route
from .traits import Trait

if TYPE_CHECKING:
    from .station import SglangStation


def _calls(request: Request, station: SglangStation, context: Context) -> Rendering:
    """The calls in a text, and what stands outside of them."""
    struct = station.traits.has(Trait.CONTROL_BY_MSGSPEC)
    body = read_body(request, call_parsing(station.traits.version), station.traits, json_only=False, struct=struct)
    if isinstance(body, Rendering):
        return body
    parts = _parts(body, "tool_call_parser", station)
    if isinstance(parts, Rendering):
        return parts
    calls = [
        {"tool_index": part.tool_index or 0, "name": part.name, "parameters": part.text}
        for part in parts
        if part.kind == "tool"
    ]
    return answers.json_answer({"normal_text": _text(parts, "content"), "calls": calls})


def _reasoning(request: Request, station: SglangStation, context: Context) -> Rendering:
    """The reasoning in a text, and the rest."""
    body = input_of(request, "SeparateReasoningReqInput", station)
    if isinstance(body, Rendering):
        return body
    parts = _parts(body, "reasoning_parser", station)
    if isinstance(parts, Rendering):
        return parts
    reasoning, text = _text(parts, "reasoning"), _text(parts, "content")
    told: dict[str, Any] = {"reasoning_text": reasoning, "text": text}
    if body.values.get("return_blocks"):
        blocks = [{"type": "reasoning", "text": reasoning}] if reasoning else []
        blocks += [{"type": "text", "text": text}] if text else []
        told["reasoning_blocks"] = [reasoning] if reasoning else []
        told["text_blocks"] = [text] if text else []
        told["blocks"] = blocks
    return answers.json_answer(told)


def _parts(body: Body, option: str, station: SglangStation) -> Sequence[Part] | Rendering:
    name: str | None = body.values[option]
    kind = "tools" if option == "tool_call_parser" else "reasoning"
    try:
        if name is None:
            return answers.crash()
        check_names(name if kind == "reasoning" else None, name if kind == "tools" else None, station.traits)
    except LayoutError:
        return answers.crash()
    names = tuple(tool["function"]["name"] for tool in body.values.get("tools", ()))
    if kind == "tools":
        choice = ParserChoice(station.traits, tools=name, tool_names=names)
    else:
        manner = MANNERS[name]
        choice = ParserChoice(station.traits, reasoning=name, variables={manner.starts: False})
    return AnswerParser(choice).whole(body.values["text"])


def _text(parts: Sequence[Part], kind: str) -> str:
    return "".join(part.text for part in parts if part.kind == kind)


TEXTS: Mapping[str, Route] = {
    "/parse_function_call": Route(("POST",), _calls),
    "/separate_reasoning": Route(("POST",), _reasoning),
}
"""Path -> route."""
