"""How each version spells a refusal: flaws and objections in, the answer out.

Three styles of flaw lists are known (``Traits.flaw_style``): 0.32 summarises inputs and joins places by dots, 0.28
writes the entries as Python would print them, older versions add the server's file and repeat the list. Knows no
field and no API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..traits import Traits
from .flaws import BARE_HEADERS, JSON_HEADERS, Crash, Flaw, Objection, Path, Refusal

PYDANTIC = "2.14"
"""The version whose pages its errors point at (that of the captures)."""

REPORTED_FLAWS = 10
INPUT_CHARACTERS = 200
FLAW_CHARACTERS = 1000
CUT = "...[truncated]"
PRINTED_CHARACTERS = 50

_BRACKETED = re.compile(r"[\[\]{}()]")
_INNER_NAMES = frozenset(
    [
        "function-wrap",
        "function-after",
        "function-before",
        "function-plain",
        "json-or-python",
        "lax-or-strict",
        "chain",
        "default",
        "nullable",
        "tagged-union",
        "union",
        "call",
        "arguments",
        "is-instance",
        "is-subclass",
        "callable",
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "bytearray",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "complex",
        "none",
        "nonetype",
    ]
)
"""Segments of a place that name a union member or a wrapper, not a field (0.28 and newer leave them out)."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
_FRAME = re.compile(r'\n?\s*File "[^"]+", line \d+, in \S+(\n\s+.*)?')
_SYSTEM_PATH = re.compile(r"/(?:home|usr|opt|var|tmp|root|lib|mnt|srv)(?:/[\w.\-]+)+")
_FILE_PATH = re.compile(r"(?:/[\w\-]+)+/[\w\-]+\.\w+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server's code took the request: old versions print it. ``file`` is below site-packages."""

    file: str
    line: int
    function: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as it prints inside a flaw's context. ``parameter``: what a typed check names."""

    kind: str
    text: str
    parameter: str | None = None

    def __repr__(self) -> str:
        return f"{self.kind}({self.text!r})"


def visit(kind: str) -> str:
    """The last line of an error that pydantic prints itself."""
    return f"    For further information visit https://errors.pydantic.dev/{PYDANTIC}/v/{kind}"


def printed_flaws(title: str, flaws: Sequence[Flaw]) -> str:
    """An error as pydantic prints it itself; ``title``: what was validated. A flaw of the whole has no place."""
    lines = [f"{len(flaws)} validation error{'' if len(flaws) == 1 else 's'} for {title}"]
    for flaw in flaws:
        if flaw.path:
            lines.append(".".join(str(step) for step in flaw.path))
        shown = repr(flaw.given)
        short = shown if len(shown) <= PRINTED_CHARACTERS else f"{shown[:25]}...{shown[-24:]}"
        given = f"input_value={short}, input_type={type(flaw.given).__name__}"
        lines += [f"  {flaw.message} [type={flaw.kind}, {given}]", visit(flaw.kind)]
    return "\n".join(lines)


def sanitised(message: str, traits: Traits) -> str:
    """The message without what the version cuts out: memory addresses, frames, file paths."""
    if traits.sanitises == "nothing":
        return message
    message = _ADDRESS.sub(">", message)
    if traits.sanitises == "addresses":
        return message
    message = _FRAME.sub("", message)
    message = _SYSTEM_PATH.sub("<path>", message)
    return _FILE_PATH.sub("<path>", message).strip()


def error_body(message: str, kind: str, param: str | None, code: int, traits: Traits) -> dict[str, Any]:
    """The OpenAI-shaped error object."""
    return {"error": {"message": sanitised(message, traits), "type": kind, "param": param, "code": code}}


def objection_text(objection: Objection, *, typed: bool) -> str:
    """The message of a check, with its parameter and value where it names them."""
    if objection.plain or not typed:
        return objection.message
    extras = [f"parameter={objection.parameter}"] if objection.parameter is not None else []
    if objection.value is not None:
        extras.append(f"value={objection.value}")
    return f"{objection.message} ({', '.join(extras)})" if extras else objection.message


def spell_objection(objection: Objection, traits: Traits, *, late: bool = False) -> Refusal:
    """The answer to a failed check of the handler or the engine's front end."""
    param = None if objection.plain or not traits.typed_checks else objection.param
    body = error_body(
        objection_text(objection, typed=traits.typed_checks), objection.kind, param, objection.status, traits
    )
    bare = traits.bare_refusals == "all" or (traits.bare_refusals == "plain" and objection.plain)
    headers = BARE_HEADERS if bare and not late and not objection.answered else JSON_HEADERS
    return Refusal(objection.status, body, headers, late)


def anthropic(refusal: Refusal) -> Refusal:
    """The same refusal in Anthropic's shape, as the messages handlers write their own."""
    error = refusal.body["error"]
    body = {"type": "error", "error": {"type": error["type"], "message": error["message"]}}
    return Refusal(refusal.status, body, JSON_HEADERS, refusal.late)


def internal_error(message: str) -> dict[str, Any]:
    """What the messages handlers make of an exception."""
    return {"type": "error", "error": {"type": "internal_error", "message": message}}


TOKENS_IN_APIS = frozenset({"generate", "tito"})
ANTHROPIC_APIS = frozenset({"messages", "count_tokens"})


def spell_for(api: str, objection: Objection, traits: Traits, *, late: bool = False) -> Refusal:
    """The answer to a failed check of the handler, in the shape of its API."""
    refusal = spell_objection(objection, traits, late=late)
    if api in TOKENS_IN_APIS and traits.handler_crash == "returned" and not objection.answered:
        refusal.body["error"]["param"] = None  # 0.16 makes an error of the exception's text alone
    if api not in ANTHROPIC_APIS:
        return refusal
    if traits.messages_crash and not objection.answered:
        return Refusal(500, internal_error(refusal.body["error"]["message"]), JSON_HEADERS, late)
    return anthropic(refusal)


def spell_crash(crash: Crash, traits: Traits) -> Refusal:
    """The answer to an exception that nobody expected."""
    if not traits.crash_answers:
        return Refusal(500, "Internal Server Error", (("content-type", "text/plain; charset=utf-8"),))
    client = crash.kind in ("TypeError", "ValueError", "OverflowError")
    status, kind = (400, "BadRequestError") if client else (500, "InternalServerError")
    headers = BARE_HEADERS if not client or traits.bare_refusals != "none" else JSON_HEADERS
    return Refusal(status, error_body(crash.message, kind, None, status, traits), headers)


CLIENTS = frozenset({"TypeError", "ValueError", "OverflowError", "RuntimeError", "NotImplementedError"})
"""Exceptions that count as the client's fault, where a handler makes an answer of them."""


def failure_body(failed: Objection | Crash, traits: Traits) -> dict[str, Any]:
    """The error object that a handler makes of an exception, from 0.16."""
    if isinstance(failed, Objection):
        return error_body(objection_text(failed, typed=traits.typed_checks), failed.kind, failed.param, 400, traits)
    if failed.kind in CLIENTS:
        return error_body(failed.message, "BadRequestError", None, 400, traits)
    return error_body(failed.message, "InternalServerError", None, 500, traits)


def spell_handler_crash(crash: Crash, traits: Traits) -> Refusal:
    """The answer to an exception that a handler did not expect."""
    if traits.handler_crash == "returned":
        return Refusal(200, failure_body(crash, traits))
    if traits.handler_crash == "detailed":
        return Refusal(500, error_body(crash.message, "Internal Server Error", None, 500, traits))
    return spell_crash(crash, traits)


def check_as_flaw(objection: Objection, given: Any, path: Path, *, typed: bool) -> Flaw:
    """A failed check as versions up to 0.24 report it: a flaw of what it looked at. ``typed``: checks name their
    parameter."""
    typed = typed and not objection.plain
    raised = Raised("VLLMValidationError", objection.message, objection.parameter) if typed else None
    message = f"Value error, {objection_text(objection, typed=typed)}"
    return Flaw("value_error", path, message, given, {"error": raised or Raised("ValueError", objection.message)})


def clean_place(path: Path) -> str:
    """A place joined by dots, without wrappers and union members.

    >>> clean_place(("body", "stop", "list[str]", 0))
    'body.stop.0'
    """
    parts = [str(part) for part in path]
    kept = [part for part in parts if not _BRACKETED.search(part) and part.lower() not in _INNER_NAMES]
    return ".".join(kept or parts)


def summary(value: Any) -> str:
    """A bounded stand-in for an input: containers are counted, long texts are cut."""
    if isinstance(value, list | dict):
        return f"<{type(value).__name__} of {len(value)} items>"  # pyright: ignore[reportUnknownArgumentType]
    text = value if isinstance(value, str) else str(value)
    return text[:INPUT_CHARACTERS] + CUT if len(text) > INPUT_CHARACTERS else text


def _entry(flaw: Flaw, place: Any, given: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": flaw.kind, "loc": place, "msg": flaw.message, "input": given}
    if flaw.context is not None:
        entry["ctx"] = dict(flaw.context)
    return entry


def _summarised_entry(flaw: Flaw) -> str:
    text = str(_entry(flaw, clean_place(flaw.path), summary(flaw.given)))
    return text[:FLAW_CHARACTERS] + CUT if len(text) > FLAW_CHARACTERS else text


def _full_entry(flaw: Flaw) -> dict[str, Any]:
    return _entry(flaw, flaw.path, flaw.given)


def _param(flaws: list[Flaw], traits: Traits) -> str | None:
    """The error's param: what the first typed check among the flaws names, else the first place."""
    if traits.flaw_param == "none":
        return None
    raised = [flaw.context["error"] for flaw in flaws if flaw.context and "error" in flaw.context]
    typed = [error.parameter for error in raised if isinstance(error, Raised) and error.kind != "ValueError"]
    if traits.flaw_param == "check" or (typed and typed[0] is not None):
        return typed[0] if typed else None
    if traits.flaw_style == "echoed":
        return ".".join(str(part) for part in flaws[0].path)
    return clean_place(flaws[0].path)


def spell_flaws(flaws: list[Flaw], place: Place | None, traits: Traits) -> Refusal:
    """The answer to a body (or query) with flaws; ``place``: where old versions say they took it."""
    head = f"{len(flaws)} validation error{'' if len(flaws) == 1 else 's'}:\n"
    if traits.flaw_style == "summarised":
        lines = [f"  {_summarised_entry(flaw)}" for flaw in flaws[:REPORTED_FLAWS]]
        if len(flaws) > REPORTED_FLAWS:
            lines.append(f"  ...and {len(flaws) - REPORTED_FLAWS} more errors")
        message = (head + "\n".join(lines)).rstrip()
    else:
        entries = [_full_entry(flaw) for flaw in flaws]
        message = head + "\n".join(f"  {entry}" for entry in entries)
        if traits.flaw_style == "echoed":
            message = f"{message}{_origin(place)} {entries}"
    return Refusal(400, error_body(message, "Bad Request", _param(flaws, traits), 400, traits))


def _origin(place: Place | None) -> str:
    if place is None:
        return ""
    where = f'File "/site-packages/{place.file}", line {place.line}, in {place.function}'
    return f"\n\n  {where}\n    {place.method} {place.path}"


def spell_note(note: str, traits: Traits) -> Refusal:
    """The answer to a request that is wrong as a whole, told in words (a media type that is not JSON)."""
    message = f"1 validation error:\n  {note}"
    if traits.flaw_style == "echoed":
        message = f"{message} {[note]}"
    return Refusal(400, error_body(message, "Bad Request", None, 400, traits))


def plain_detail(status: int, detail: str, extra: Mapping[str, str] | None = None) -> Refusal:
    """The framework's own shape: ``{"detail": ...}``, with extra headers in front."""
    headers = (*(extra or {}).items(), *JSON_HEADERS)
    return Refusal(status, {"detail": detail}, headers)
