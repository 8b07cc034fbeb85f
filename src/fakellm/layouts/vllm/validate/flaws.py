"""What can be wrong with a request, as data: flaws of fields, objections of the server's own checks, refusals.

A :class:`Flaw` is one entry of a pydantic-style error list; an :class:`Objection` is what one of vLLM's own checks
says; a :class:`Refusal` is the finished answer. How a version spells the first two as the third is in ``spelling``.
Nothing here knows a field, an API or a version.

    Flaw("bool_parsing", ("body", "stream"), "Input should be a valid boolean, unable to interpret input", "maybe")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....message import Message, Rendering

Path = tuple[str | int, ...]
"""Where a flaw is: field names, list indices, and the labels of union members (``list[str]``)."""

SERVER = ("server", "uvicorn")
JSON_HEADERS = (("content-type", "application/json"), ("vary", "Origin"))
BARE_HEADERS = (("content-type", "application/json"),)
"""The answer of a handler outside the CORS middleware: no ``vary``."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One entry of an error list: ``type``, ``loc``, ``msg``, ``input`` and ``ctx`` as pydantic 2.14 names them."""

    kind: str
    path: Path
    message: str
    given: Any
    context: Mapping[str, Any] | None = None


class Objection(Exception):
    """One of vLLM's own checks failed.

    ``parameter`` and ``value`` show as `` (parameter=P, value=V)`` and as the error's param in versions that know
    typed checks. ``plain``: the version raises a bare ValueError here, which carries neither. ``answered``: the
    handler writes this answer itself and raises nothing. ``status`` and ``kind`` are those of the answer;
    ``param``: the answer's param where the text does not name it.
    """

    def __init__(
        self,
        message: str,
        parameter: str | None = None,
        value: Any = None,
        *,
        plain: bool = False,
        answered: bool = False,
        status: int = 400,
        kind: str = "BadRequestError",
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.parameter = parameter
        self.value = value
        self.plain = plain
        self.answered = answered
        self.status = status
        self.kind = kind
        self.param = parameter if param is None else param


class Crash(Exception):
    """An exception that the server did not expect, by its Python name and text."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class FlawedBody(Exception):
    """The body does not fit its schema: ``flaws`` in the order pydantic lists them."""

    def __init__(self, flaws: list[Flaw]) -> None:
        super().__init__(f"{len(flaws)} flaws")
        self.flaws = flaws


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that needs no engine.

    ``body``: a JSON value, written without blanks. ``headers``: lower case, in wire order, without server and
    content-length. ``late``: the engine's front end objects, so a stream has already begun with status 200: chat,
    completions and generate then send the body as their only event, responses closes the connection.
    """

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = field(default=JSON_HEADERS)
    late: bool = False

    def rendering(self) -> Rendering:
        """The refusal as an ordinary JSON answer."""
        return Rendering(self.status, (SERVER, *self.headers), (Message(kind="body", body=self.body),))
