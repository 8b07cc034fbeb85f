"""What every client driver is: start it, give it errands, stop it.

A driver turns one :class:`Errand` (a ``run`` message) into one :class:`Reply`. What the client did wrong is in the
reply's ending; what the adapter did wrong is raised as RunnerError, or, when it shows only later, stands in
``problems``. A driver knows nothing of cases, truth or verdicts.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from ...errors import UsageError
from ..observation import Ending, Supports
from ..protocol import RunModel, RunnerError

Errand = RunModel


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one errand. ``stderr``: what the adapter wrote there meanwhile."""

    ending: Ending
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a driver waits, in seconds. ``answer`` is added to an errand's own deadline; imports of big client
    libraries take up to 10 s on a busy machine, hence ``start``."""

    start: float = 60.0
    answer: float = 2.0
    stop: float = 5.0
    deadline_ms: int = 10_000


class Driver(Protocol):
    """One way to run a client. ``problems`` grows: adapter errors that belong to errands answered already."""

    problems: list[RunnerError]

    async def start(self) -> Supports: ...

    async def run(self, errand: Errand) -> Reply: ...

    async def stop(self) -> None: ...


def load_named(name: str) -> Any:
    """The object that ``pkg.module:Name`` names; raises UsageError that says which half is wrong."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise UsageError(f"{name!r} does not name anything", hint="write pkg.module:Name")
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as missing:
        raise UsageError(f"cannot import {module_name!r}: {missing}", hint="is it on PYTHONPATH?") from None
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"{module_name} has no {attribute!r}") from None
    return found


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call sync code in a thread (it may block on the fake, which runs in this process) and await async code."""
    own = inspect.iscoroutinefunction(function)
    result = function(*arguments) if own else await _in_thread(function, arguments)
    return await result if inspect.isawaitable(result) else result


async def _in_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """As ``asyncio.to_thread``, in a thread for which nobody waits at the end: a client that hangs cannot be ended."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    inside = contextvars.copy_context()

    def tell(result: Any, crash: BaseException | None) -> None:
        if future.done():
            return
        if crash is None:
            future.set_result(result)
        else:
            future.set_exception(crash)

    def work() -> None:
        result, crash = None, None
        try:
            result = inside.run(function, *arguments)
        except BaseException as raised:  # noqa: BLE001 - handed to who waits
            crash = RuntimeError(repr(raised)) if isinstance(raised, StopIteration) else raised
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, crash)

    threading.Thread(target=work, name="fakellm-client", daemon=True).start()
    return await future
