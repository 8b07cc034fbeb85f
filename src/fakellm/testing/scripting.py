"""A scenario written in Python, as short as in YAML: ``fakellm.say("Hello").fault("late-eos-score").times(2)``.

Every word is checked where it is written, so a misspelt fault is an error on the test's own line. What a test says
answers before the replies of its scenario file, the first said first. A :class:`Saying` only holds the data of one
entry of ``replies:``; what it means stands in ``scenario``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast

from ..ask import Ask
from ..errors import FakellmError, UsageError
from ..faults.registry import parse as parse_fault
from ..scenario.load import from_data
from ..scenario.match import Script
from ..scenario.model import Reply as ScenarioReply
from ..scenario.model import Scenario
from ..stage import Reply, Source, Unmatched

__tracebackhide__ = True
"""A failing test shows its own line, not ours."""

CLOSEST = 3
"""Near misses that an unmatched request is told, of the script and of the scenario file together."""
_PACKAGE = Path(__file__).resolve().parent


class TestScript:
    """What a test has said so far. ``lock`` guards it against the server's thread."""

    __test__ = False

    def __init__(self, lock: AbstractContextManager[Any], folder: Path) -> None:
        self.script = Script(Scenario(name="test", replies=()))
        self._lock = lock
        self._folder = folder

    def say(self, what: Any, options: Mapping[str, Any]) -> Saying:
        """Add a reply; raises ScenarioError for one that cannot be."""
        try:
            return Saying(self._add, self._revise, {"say": _say(what, options)})
        except FakellmError as wrong:
            raise wrong.with_traceback(None) from None  # the test's own line is what its author wants to see

    def _reply(self, data: Mapping[str, Any], where: str) -> ScenarioReply:
        scenario = from_data({"replies": [dict(data)]}, "test", read_fault=parse_fault, folder=self._folder)
        return replace(scenario.replies[0], where=where)

    def _add(self, data: Mapping[str, Any]) -> tuple[int, str]:
        where = _caller()
        reply = self._reply(data, where)
        with self._lock:
            self.script.extend([reply])
            return len(self.script.scenario.replies) - 1, where

    def _revise(self, index: int, data: Mapping[str, Any], where: str) -> None:
        reply = self._reply(data, where)
        with self._lock:
            self.script.revise(index, reply)


class Saying:
    """One reply of a test's script. Every method gives the same object back, so that calls can be chained."""

    def __init__(
        self,
        add: Callable[[Mapping[str, Any]], tuple[int, str]],
        revise: Callable[[int, Mapping[str, Any], str], None],
        data: dict[str, Any],
    ) -> None:
        self._data = data
        self._answer = data
        """The answer that is being described: ``say`` itself, or the last ``then``."""
        self._revise = revise
        self.index, self.where = add(data)

    def when(self, **conditions: Any) -> Self:
        """Answer only requests that fit: ``when(api="chat", last_message={"contains": "hello"})``, as in a file."""
        return self._set(self._data, when={**self._data.get("when", {}), **conditions})

    def fault(self, name: str, **parameters: Any) -> Self:
        """Play this fault on the answer; may be called again for more."""
        return self.faults({name: parameters} if parameters else name)

    def faults(self, *entries: str | Mapping[str, Any]) -> Self:
        """Play these faults: names, or ``{name: {parameter: value}}``."""
        return self._set(self._answer, faults=[*self._answer.get("faults", []), *entries])

    def times(self, count: int) -> Self:
        """Answer so many requests and no more; a test that asks less often fails at its end."""
        return self._set(self._data, times=count)

    def once(self) -> Self:
        """The same as ``times(1)``."""
        return self.times(1)

    def then(self, what: Any = None, /, **options: Any) -> Self:
        """What the next matching request gets; what follows in the chain (faults, timing) is about this answer."""
        following: dict[str, Any] = {"say": _say(what, options)}
        self._set(self._data, then=[*self._data.get("then", []), following])
        self._answer = following
        return self

    def timing(self, **timing: Any) -> Self:
        """When tokens leave: ``first_token_ms``, ``between_ms`` (a number, or ``{"lognormal": ...}``), ``dribble``."""
        return self._set(self._answer, timing=timing)

    def having(self, **fields: Any) -> Self:
        """Any other key that a reply has in a file: ``top``, ``prompt_token_ids``, ``cached_tokens``, ``extras`` ..."""
        return self._set(self._answer, **fields)

    def _set(self, place: dict[str, Any], **members: Any) -> Self:
        """Change the data where all of it still makes a reply; otherwise it stays as it was."""
        before = dict(place)
        place.update(members)
        try:
            self._revise(self.index, self._data, self.where)
        except FakellmError as wrong:
            place.clear()
            place.update(before)
            raise wrong.with_traceback(None) from None
        return self

    def __repr__(self) -> str:
        return f"<fakellm reply {self.index} of {self.where}: {self._data!r}>"


class LayeredSource:
    """Two scripts as one source: the test's own, then the scenario file's."""

    def __init__(self, first: Source, second: Source) -> None:
        self._first = first
        self._second = second

    def reply(self, ask: Ask) -> Reply:
        try:
            return self._first.reply(ask)
        except Unmatched as said:
            try:
                return self._second.reply(ask)
            except Unmatched as filed:
                raise Unmatched(_merged(said.body, filed.body)) from None


def _merged(said: Mapping[str, Any], filed: Mapping[str, Any]) -> dict[str, Any]:
    """One 501 body: the near misses of both, those of the longer script first where only one has any."""
    rows = [*said["fakellm"]["near_misses"], *filed["fakellm"]["near_misses"]]
    base = filed if filed["fakellm"]["near_misses"] and not said["fakellm"]["near_misses"] else said
    return {**base, "fakellm": {**base["fakellm"], "near_misses": rows[:CLOSEST]}}


def _say(what: Any, options: Mapping[str, Any]) -> Any:
    """The value of ``say:``. Nothing at all is plausible text; options make a mapping of plain text."""
    if what is None:
        return dict(options) if options else {"auto": {}}
    if not options:
        return what
    if isinstance(what, str):
        return {"text": what, **options}
    if isinstance(what, Mapping):
        return {**cast("Mapping[str, Any]", what), **options}
    hint = "tokens go by name: tokens=[...]"
    raise UsageError(f"say takes a text or a mapping, not {type(what).__name__}", hint=hint)


def _caller() -> str:
    """File and line of the test that speaks: the nearest frame outside of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and Path(frame.f_code.co_filename).resolve().parent == _PACKAGE:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
