"""The reference client: bytes of any layout in, a :class:`Capture` out, or :class:`Refused`.

The layout's accessor table says where values are; the API says what a choice, an end and an error look like. Whether
the bytes are events or one document is read off the bytes, because a content type may lie. No socket: whoever holds one
feeds the bytes in, in any split, and says at the end whether the connection was cut.

>>> read(b'{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}', api="chat").choices[0].text
'hi'
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

from ..capture import Capture
from ..layouts.base import AccessorTable
from .assemble import Detail, Draft, details_of, drafts_of
from .documents import parse_document
from .events import Event, EventParser
from .failures import words_of
from .gather import Gatherer
from .places import MARKS, rows_for
from .refusal import Refused
from .trust import Terms, trusted

NOTHING: Mapping[str, Any] = MappingProxyType({})
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class Reader:
    """Reads one answer. ``feed`` bytes as they come, then ``capture`` (strict) or ``as_sent`` (whatever stood there).

    ``table``: the layout's accessors (None: the places that the API itself names). ``stream``: what was asked for.
    ``request``: the body that was sent; n, the number of prompts and echo are read off it.
    """

    def __init__(
        self,
        *,
        api: str,
        stream: bool = False,
        table: AccessorTable | None = None,
        request: Mapping[str, Any] = NOTHING,
        status: int = 200,
    ) -> None:
        self.api, self.stream, self.table, self.request, self.status = api, stream, table, request, status
        self._prompts, self._n = _asked(api, request)
        self._held = b""
        self._events: EventParser | None = None
        self._gatherer: Gatherer | None = None
        self._problem: Refused | None = None
        self._over = False
        self._read_to_end = False

    def feed(self, chunk: bytes) -> None:
        """More bytes of the body."""
        if self._events is None:
            self._held += chunk
            start = self._held.removeprefix(_BOM).lstrip(_BLANK)[:1]
            if not start or start in b"{[<" or self._held == _BOM[: len(self._held)]:
                return
            self._events, self._gatherer = EventParser(), self._gather(stream=True)
            chunk, self._held = self._held, b""
        for event in self._events.feed(chunk):
            self._event(event)

    def capture(self, *, cut: bool = False) -> Capture:
        """What a careful client hands on; raises Refused. ``cut``: the connection ended before the answer did."""
        gatherer = self._finished()
        self._refuse_errors(gatherer)
        drafts, odd = drafts_of(gatherer.gathered, may_repeat=self._may_repeat())
        if cut or self._unfinished(gatherer, drafts):
            raise Refused("truncated", "the answer ended before its end")
        gathered = gatherer.gathered
        for body in gathered.bodies:
            if len(set(body)) != len(body):
                raise Refused("choice-index", "two choices of one message have the same index", where="index")
        return trusted(drafts, odd, gathered.top.usage, self._terms())

    def as_sent(self) -> Capture:
        """What stood there, trusted or not; an answer that cannot be read at all has no choices."""
        try:
            gatherer = self._finished()
        except Refused:
            return Capture()
        drafts, _ = drafts_of(gatherer.gathered, may_repeat=self._may_repeat())
        usage = gatherer.gathered.top.usage or next((draft.usage for draft in drafts if draft.usage is not None), None)
        return Capture(choices=tuple(draft.choice for draft in drafts), usage=usage)

    def details(self) -> Mapping[Any, Detail]:
        """Choice index -> what the wire shows besides the values: the steps of a stream, ranks."""
        return details_of(self._finished().gathered, may_repeat=self._may_repeat())

    def error(self) -> str | None:
        """The first error that the answer itself tells, in the server's words."""
        errors = self._finished().gathered.errors
        return next((words for kind, words in errors if kind != "unreadable"), None)

    def _gather(self, *, stream: bool) -> Gatherer:
        return Gatherer(rows_for(self.table, self.api, stream), self.api, expected=self._prompts * self._n)

    def _event(self, event: Event) -> None:
        data = event.data.strip()
        if not data or self._over or self._gatherer is None:
            return
        if data in MARKS:
            self._over = True
            return
        try:
            self._gatherer.add(parse_document(data), event.event)
        except Refused as refused:
            self._problem = self._problem or refused

    def _finished(self) -> Gatherer:
        """The gatherer with everything in it; raises Refused when a document cannot be read."""
        if self._events is not None and self._gatherer is not None:
            if not self._read_to_end:
                self._read_to_end = True
                pending = self._events.close()
                self._over = self._over or (pending is not None and pending.strip() in MARKS)
            return self._gatherer
        if self._gatherer is None:
            lines = self._lines()
            self._gatherer = self._gather(stream=lines is not None)
            try:
                for document in [self._held] if lines is None else lines:
                    self._gatherer.add(parse_document(document))
            except Refused as refused:
                self._problem = refused
        return self._gatherer

    def _lines(self) -> list[bytes] | None:
        """The lines of a stream that is one JSON object a line, None for everything else."""
        lines = [line for line in self._held.split(b"\n") if line.strip()]
        if not self.stream or not all(
            line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines
        ):
            return None
        return lines if len(lines) > 1 else None

    def _refuse_errors(self, gatherer: Gatherer) -> None:
        errors = gatherer.gathered.errors
        if self.status >= 400:
            words = errors[0][1] if errors else words_of(self._held[:200].decode("utf-8", errors="replace"))
            raise Refused("error-status", f"HTTP {self.status}: {words}")
        if errors:
            kind, words = errors[0]
            inside = kind == "error-body" and self._events is not None
            raise Refused("error-event" if inside else kind, words)
        if self._problem is not None:
            raise self._problem
        if not gatherer.gathered.messages:
            raise Refused("truncated", "the answer is empty")

    def _unfinished(self, gatherer: Gatherer, drafts: list[Draft]) -> bool:
        """A stream is over when it says so, or when every choice has said why it ended."""
        if self._events is None or self._over or gatherer.gathered.done:
            return False
        ended = [draft for draft in drafts if draft.choice.finish_reason is not None]
        return len(ended) < max(len(drafts), 1)

    def _may_repeat(self) -> bool:
        return self.api == "generate" and self._events is not None

    def _terms(self) -> Terms:
        rows = rows_for(self.table, self.api, self._events is not None)
        return Terms(
            expected=self._prompts * self._n,
            n=self._n,
            echo=bool(self.request.get("echo")),
            lossy_logprobs=any(row.loss is not None for row in rows.get("logprobs", ())),
            lossy_usage=any(row.loss is not None for row in rows.get("usage", ())),
        )


def read(
    body: bytes,
    *,
    api: str,
    stream: bool = False,
    table: AccessorTable | None = None,
    request: Mapping[str, Any] = NOTHING,
    status: int = 200,
    cut: bool = False,
) -> Capture:
    """A whole body at once: the capture, or Refused."""
    reader = Reader(api=api, stream=stream, table=table, request=request, status=status)
    reader.feed(body)
    return reader.capture(cut=cut)


@lru_cache(maxsize=64)
def error_told(body: bytes, *, api: str, stream: bool = False) -> str | None:
    """What an answer of status 200 says about its own failure (error body or event), None where it says nothing."""
    reader = Reader(api=api, stream=stream)
    reader.feed(body)
    return reader.error()


def read_as_sent(
    body: bytes,
    *,
    api: str,
    stream: bool = False,
    table: AccessorTable | None = None,
    request: Mapping[str, Any] = NOTHING,
) -> Capture:
    """Whatever values stand in a body, trusted or not: the ``as-sent`` side of the oracle. Never refuses."""
    reader = Reader(api=api, stream=stream, table=table, request=request)
    reader.feed(body)
    return reader.as_sent()


def _asked(api: str, request: Mapping[str, Any]) -> tuple[int, int]:
    """(prompts, choices per prompt) of a request."""
    if api == "responses":
        return 1, 1
    sampling = request.get("sampling_params")
    n: Any = request.get("n")
    if n is None and isinstance(sampling, dict):
        n = cast("dict[str, Any]", sampling).get("n")
    prompts = 1
    for name in ("prompt", "text", "input_ids"):
        prompt: Any = request.get(name) if api in ("completions", "generate") else None
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
            prompts = len(cast("list[Any]", prompt))
    return prompts, n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 1
