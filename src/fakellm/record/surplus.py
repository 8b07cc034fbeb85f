"""``--ask-ids``: asking for ids and scores on a client's behalf, and giving it the answer that it would have got.

What a server writes differently when it is asked is not known by heart: the layout is asked itself. A fake of the
upstream's layout answers the client's request and the one with the flags; members that only the second answer has are
the surplus, those that are null in the first become null again. Events that a server sends only because it was asked
stay, without their surplus.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from ..ask import Ask, Request
from ..context import FixedContext
from ..errors import FakellmError
from ..layouts.base import Accessor
from ..reading.events import EventParser
from ..stage import Stage
from .cut import Paths, cut, paths_of
from .proxy import Rewriter
from .taken import Taken

WANTED = ("prompt_token_ids", "completion_token_ids", "logprobs")
Body = dict[str, Any]


class Surplus:
    """``stage``: a fake of the upstream, any scenario."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def asking(self, method: str, target: str, body: bytes) -> bytes:
        """The body with the layout's flags for ids and scores in it; the same object where nothing is to be added."""
        request = _request(method, target, body)
        heard = self._heard(request)
        if heard is None:
            return body
        document: Any = json.loads(body)
        added = _added(document, self._stage.layout.accessors.get((heard.api, heard.stream), ()))
        return body if added == document else json.dumps(added, ensure_ascii=False).encode()

    def rewriter(self, taken: Taken, asked: bytes) -> Rewriter | None:
        """Takes the surplus out of the answer to a request to which flags were added."""
        if asked == taken.request_body or taken.status != 200 or taken.response_header("content-encoding"):
            return None
        plain = self._paths(replace(taken.request(), body=asked))
        flagged = self._paths(taken.request())
        removed = frozenset(flagged.keys() - plain.keys())
        nulled = frozenset(path for path, is_null in plain.items() if is_null and not flagged.get(path, True))
        streams = taken.response_header("content-type").startswith("text/event-stream")
        return StreamRewriter(removed, nulled) if streams else WholeRewriter(removed, nulled)

    def _heard(self, request: Request) -> Ask | None:
        try:
            heard = self._stage.station.receive(request, FixedContext())
        except FakellmError:
            return None
        return heard if isinstance(heard, Ask) else None

    def _paths(self, request: Request) -> Mapping[tuple[str, ...], bool]:
        """The members of every document of the fake's own answer to this request."""
        wire = self._stage.answer(request).wire
        found: dict[tuple[str, ...], bool] = {}
        for document in _documents(b"".join(frame.data for frame in wire.frames), wire.stream):
            for path, is_null in paths_of(document).items():
                found[path] = found.get(path, True) and is_null
        return found


class WholeRewriter:
    """Holds a whole answer back and gives it without the surplus at its end."""

    def __init__(self, removed: Paths, nulled: Paths) -> None:
        self._paths = removed, nulled
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        self._held += data
        return b""

    def close(self) -> bytes:
        return _cut(self._held, *self._paths)


class StreamRewriter:
    """Gives every event as soon as its line is whole, without the surplus; comments and what is no JSON pass. An event
    that was sent for the surplus alone goes with it."""

    def __init__(self, removed: Paths, nulled: Paths) -> None:
        self._paths = removed, nulled
        self._held = b""
        self._dropped = False

    def feed(self, data: bytes) -> bytes:
        *lines, self._held = (self._held + data).split(b"\n")
        return b"".join(self._line(line, b"\n") for line in lines)

    def close(self) -> bytes:
        rest, self._held = self._held, b""
        return self._line(rest, b"")

    def _line(self, line: bytes, end: bytes) -> bytes:
        if self._dropped and not line.strip():
            self._dropped = False  # the blank line after an event that is gone
            return b""
        head, colon, value = line.partition(b":")
        if head != b"data" or not value.lstrip().startswith(b"{"):
            return line + end
        blank, text = value[: len(value) - len(value.lstrip())], value.lstrip()
        left = _cut(text, *self._paths)
        self._dropped = left != text and _hollow(left)
        return b"" if self._dropped else head + colon + blank + left + end


def _hollow(event: bytes) -> bool:
    """Whether an event says nothing: no choice and no usage."""
    document: Any = json.loads(event)
    return document.get("choices") == [] and not document.get("usage")


def _cut(data: bytes, removed: Paths, nulled: Paths) -> bytes:
    try:
        return cut(data.decode("utf-8"), removed, nulled).encode("utf-8")
    except ValueError:
        return data


def _request(method: str, target: str, body: bytes) -> Request:
    path, _, _ = target.partition("?")
    return Request(method, path, headers={"content-type": "application/json"}, body=body)


def _documents(data: bytes, stream: bool) -> Iterable[Any]:
    texts = [event.data for event in EventParser().feed(data)] if stream else [data.decode("utf-8", "replace")]
    for text in texts:
        try:
            yield json.loads(text)
        except ValueError:
            continue


def _added(body: Body, accessors: Iterable[Accessor]) -> Body:
    """A copy with every flag that the client did not switch on itself."""
    made: Body = json.loads(json.dumps(body))
    for accessor in accessors:
        if accessor.value in WANTED:
            for name, value in accessor.flags.items():
                _switch_on(made, name.split("."), value)
    return made


def _switch_on(body: Body, keys: list[str], value: Any) -> None:
    *above, last = keys
    for key in above:
        inner: Any = body.get(key)
        if not isinstance(inner, dict):
            inner = body[key] = {}
        body = cast("Body", inner)
    there: Any = body.get(last)
    if isinstance(value, list):
        listed = cast("list[Any]", there) if isinstance(there, list) else []
        body[last] = [*listed, *(one for one in cast("list[Any]", value) if one not in listed)]
    elif there is None or there is False:
        body[last] = value
