"""Clients in this process: ``--adapter pkg.module:Name`` and ``--extract pkg.module:function``.

An in-process adapter is an object (or a class, made without arguments) with ``client`` and ``supports`` mappings,
spelled as in the answer to ``start``, and ``run(message) -> answer``, sync or async, spelled as on the wire but without
``seq``. An extractor is a function ``(body, content_type) -> capture`` to which the driver feeds reply bytes; one that
takes a third argument is told what was asked (n, echo, stream: what a client knows of its own call). Its attributes
``supports``, ``client`` and ``request`` (or the module's ``SUPPORTS``, ``CLIENT``, ``REQUEST``) say what it reads,
whose it is, and which fields that client adds to every request. Exceptions are the client's own crash.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ...errors import UsageError
from ..observation import Ending, Kind, Supports
from ..protocol import PROTOCOL, RunnerError, read_answer, read_capture_line, read_started
from ..request import PATHS
from .base import Errand, Patience, Reply, call, load_named
from .http import post


class InProcessDriver:
    """An adapter object; its answers go through the same validation as lines on a pipe."""

    def __init__(self, adapter: Any, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self.adapter: Any = adapter() if isinstance(adapter, type) else adapter
        self.problems: list[RunnerError] = []
        if not callable(getattr(self.adapter, "run", None)):
            raise UsageError(f"{adapter!r} has no run(message)", hint="see docs/conformance.md")

    @classmethod
    def from_name(cls, name: str, patience: Patience | None = None) -> InProcessDriver:
        return cls(load_named(name), patience)

    async def start(self) -> Supports:
        client = getattr(self.adapter, "client", None) or {"name": type(self.adapter).__name__}
        declared = {
            "protocol": PROTOCOL,
            "client": client,
            "supports": getattr(self.adapter, "supports", {"apis": ["chat"]}),
        }
        return read_started(json.dumps(declared))

    async def run(self, errand: Errand) -> Reply:
        try:
            answer: Any = await _in_time(self.patience, errand, call(self.adapter.run, errand.line()))
        except _TooLate as late:
            raise RunnerError("no-answer", str(late), case=errand.case) from None
        except Exception as crash:  # noqa: BLE001 - whatever a client raises is its own crash
            return Reply(_crashed(crash))
        if not isinstance(answer, Mapping):
            raise RunnerError(
                "schema-violation", f"run returned {type(answer).__name__}, not a mapping", case=errand.case
            )
        try:
            return Reply(read_answer(json.dumps({**answer, "seq": errand.seq}, default=list)).ending())
        except TypeError as wrong:
            raise RunnerError("not-json", f"run returned what JSON cannot hold: {wrong}", case=errand.case) from None

    async def stop(self) -> None:
        if callable(getattr(self.adapter, "stop", None)):
            try:
                await asyncio.wait_for(call(self.adapter.stop), self.patience.stop)
            except TimeoutError:
                words = f"stop did not return within {self.patience.stop:g} s"
                raise RunnerError("no-answer", words) from None


Extractor = Callable[[bytes, str], Any] | Callable[[bytes, str, Any], Any]
"""Body and content type, and what was asked where the function takes it -> a capture."""


class ExtractDriver:
    """A pure function over reply bytes (and the request, when it takes three): the driver calls, the function reads."""

    def __init__(self, function: Extractor, name: str, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self.function = function
        self._wants_request = _takes(function, 3)
        self.name = name
        self.problems: list[RunnerError] = []

    @classmethod
    def from_name(cls, name: str, patience: Patience | None = None) -> ExtractDriver:
        function = load_named(name)
        if not callable(function):
            raise UsageError(f"{name} is not a function")
        return cls(function, name, patience)

    async def start(self) -> Supports:
        said: dict[str, Any] = self._said("client") or {}
        declared: dict[str, Any] = {
            "protocol": PROTOCOL,
            "client": {"name": self.name, "language": "python", **said},
            "supports": self._said("supports") or {"apis": ["chat"], "stream": [False]},
        }
        return read_started(json.dumps(declared))

    async def run(self, errand: Errand) -> Reply:
        url = errand.root_url + PATHS[errand.api]
        added: dict[str, Any] = self._said("request") or {}
        body = {**errand.request, **added}
        answer = await post(url, body, headers=errand.headers, timeout=errand.deadline_ms / 1000)
        if answer.error is not None:  # who calls sees that it broke off; the bytes alone may look whole
            return Reply(Ending(kind=Kind.REFUSED, refusal="transport", message=answer.error))
        if answer.status >= 400:
            return Reply(Ending(kind=Kind.REFUSED, refusal="status", message=f"HTTP {answer.status}"))
        try:
            content_type = dict(answer.headers).get("content-type", "")
            given: tuple[Any, ...] = (answer.body, content_type, body)[: 3 if self._wants_request else 2]
            capture: Any = await _in_time(self.patience, errand, call(self.function, *given))
        except _TooLate as late:
            raise RunnerError("no-answer", str(late), case=errand.case) from None
        except Exception as crash:  # noqa: BLE001 - whatever a client raises is its own crash
            return Reply(_crashed(crash))
        return Reply(read_capture_line(json.dumps(capture, default=list)).ending())

    async def stop(self) -> None:
        """Nothing to stop."""

    def _said(self, name: str) -> Any:
        """What the function says of itself, or its module for all of its functions."""
        module = sys.modules.get(getattr(self.function, "__module__", ""))
        return getattr(self.function, name, None) or getattr(module, name.upper(), None)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with that many positional arguments (a builtin without a signature cannot)."""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


class _TooLate(Exception):
    """Ours; a TimeoutError of the client's own is the client's crash."""


async def _in_time(patience: Patience, errand: Errand, answer: Coroutine[Any, Any, Any]) -> Any:
    """The answer, or _TooLate when it is not there at the errand's deadline and a little after."""
    seconds = errand.deadline_ms / 1000 + patience.answer
    task = asyncio.ensure_future(answer)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.cancel()
        raise _TooLate(f"no answer within {seconds:g} s")
    return task.result()


def _crashed(crash: Exception) -> Ending:
    text = "".join(traceback.format_exception(crash))
    return Ending(kind=Kind.ERRORED, message=f"{type(crash).__name__}: {crash}", traceback=text)
