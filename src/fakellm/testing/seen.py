"""What a test may look at: an exchange as it went over the wire, and the truth behind it.

``Seen`` is a view on the journal's record; ``Truth`` holds, per choice, what a perfect client would capture. Values
that the request did not ask for are taken from the engine's own record, so the truth is whole whatever was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from ..capture import Capture, CapturedChoice
from ..conform.observation import Truth as WireTruth
from ..conform.observe import Heard, heard
from ..errors import UsageError
from ..generation import Generation
from ..journal import Exchange
from ..message import Wire
from ..stage import Played
from ..told import ToldChoice

__tracebackhide__ = True
"""A failing test shows its own line, not ours."""

SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Truth:
    """What the engine said. With one choice its values stand here directly; with several ask ``choices[i]``."""

    choices: tuple[CapturedChoice, ...]
    usage: Mapping[str, Any] | None = None

    @property
    def prompt_token_ids(self) -> tuple[int, ...]:
        return self._only().prompt_token_ids or ()

    @property
    def completion_token_ids(self) -> tuple[int, ...]:
        return self._only().completion_token_ids or ()

    @property
    def logprobs(self) -> tuple[float | None, ...]:
        return self._only().logprobs or ()

    @property
    def text(self) -> str:
        return self._only().text or ""

    @property
    def finish_reason(self) -> Any:
        return self._only().finish_reason

    @property
    def token_texts(self) -> tuple[str, ...]:
        return self._only().token_texts or ()

    def to_json(self) -> list[dict[str, Any]]:
        """One mapping per choice, spelled as captures are."""
        return Capture(choices=self.choices).to_json()

    def _only(self) -> CapturedChoice:
        if len(self.choices) != 1:
            raise UsageError(f"this answer has {len(self.choices)} choices", hint="ask for truth.choices[i]")
        return self.choices[0]


class Seen:
    """One request and its answer. Everything is read when it is asked for, under the lock of the handle."""

    def __init__(
        self, exchange: Exchange, lock: AbstractContextManager[Any], piece: Callable[[int], bytes] | None = None
    ) -> None:
        self.exchange = exchange
        self._lock = lock
        self._piece = piece or _no_piece

    number = property(lambda self: self.exchange.number, doc="1 for the first request of the test.")
    method = property(lambda self: self.exchange.request.method)
    path = property(lambda self: self.exchange.request.path, doc="Without an address prefix and without the query.")
    headers = property(lambda self: dict(self.exchange.request.headers), doc="Of the request; names in lower case.")
    body = property(lambda self: self.exchange.request.body, doc="Of the request, as bytes.")
    response_body = property(lambda self: self.exchange.body, doc="The whole answer, as bytes.")
    unmatched = property(lambda self: self.exchange.unmatched, doc="Whether no reply was found.")
    problem = property(lambda self: self.exchange.problem, doc="What fakellm itself could not do, or None.")

    @property
    def json(self) -> Any:
        """The request's body as JSON."""
        return json.loads(self.exchange.request.body)

    @property
    def status(self) -> int:
        return self._wire().status

    @property
    def response_headers(self) -> dict[str, str]:
        """Of the answer, names in lower case."""
        return dict(self._wire().headers)

    @property
    def disconnected(self) -> bool:
        """Whether the client went away before the answer's end."""
        return self.exchange.disconnected_ms is not None

    @property
    def faults(self) -> tuple[str, ...]:
        """Ids of the faults that were played."""
        played = self.played()
        return () if played is None else tuple(call.fault.id for call in played.distortion.calls)

    @property
    def reply(self) -> str | None:
        """Where the reply stands that answered (``test_chat.py:12``), None when no engine was asked."""
        played = self.played()
        return None if played is None else played.reply.name

    @property
    def truth(self) -> Truth:
        """What the engine said; raises UsageError when no engine was asked (a refusal, a utility route)."""
        played = self.played()
        if played is None:
            raise UsageError(
                f"exchange {self.number} has no truth: {self.method} {self.path} was answered {self.status} without it",
                hint="a refused request and a utility route ask no engine",
            )
        with self._lock:
            told = self.exchange.stage_object.healthy(played)
            wire = self.heard().truth
        choices = sorted(told.choices, key=lambda choice: choice.index)
        shown = {choice.index: choice for choice in wire.capture.choices}
        return Truth(
            tuple(_whole(played, choice, shown.get(choice.index), wire) for choice in choices), wire.capture.usage
        )

    def heard(self) -> Heard:
        """The exchange as the conformance suite sees it."""
        with self._lock:
            return heard([self.exchange], None, self.exchange.at, self._piece)

    def played(self) -> Played | None:
        with self._lock:
            return self.exchange.behind()

    def line(self) -> str:
        """One line of the journal, for a report."""
        exchange = self.exchange
        head = f"#{exchange.number} {exchange.request.method} {exchange.request.path} -> {self._status()}"
        played = self.played()
        words = [head]
        if exchange.unmatched:
            words.append("no reply matches")
        elif exchange.problem is not None:
            words.append(exchange.problem)
        elif played is not None:
            told = played.told.choices
            counts = ", ".join(f"{len(choice.ids or ())} tokens {_short(choice.text)}" for choice in told)
            words.append(f"by {played.reply.name}: {counts}")
            words += [f"fault {name}" for name in self.faults]
        if self.disconnected:
            words.append(f"the client went away after {exchange.sent_bytes} bytes")
        return "; ".join(words)

    def _status(self) -> str:
        return "no answer" if self.exchange.wire is None else str(self.exchange.wire.status)

    def _wire(self) -> Wire:
        if self.exchange.wire is None:
            raise UsageError(f"exchange {self.number} has no answer")
        return self.exchange.wire

    def __repr__(self) -> str:
        return f"<fakellm exchange {self.line()}>"


def _whole(played: Played, told: ToldChoice, shown: CapturedChoice | None, wire: WireTruth) -> CapturedChoice:
    """A choice as the healthy wire tells it; what the request did not ask for is added from the engine's record."""
    per_prompt = max(len(played.generations[0].choices), 1)
    generation: Generation = played.generations[min(told.index // per_prompt, len(played.generations) - 1)]
    length = max((step.tokens[1] for step in told.steps), default=0)
    tokens = generation.choices[told.index % per_prompt].tokens[:length]
    base = shown or CapturedChoice(index=told.index, text=told.text, finish_reason=told.finish_reason)
    prompt = generation.prompt_token_ids
    return replace(
        base,
        prompt_token_ids=prompt if base.prompt_token_ids is None else base.prompt_token_ids,
        completion_token_ids=base.completion_token_ids or tuple(token.id for token in tokens),
        logprobs=base.logprobs or tuple(token.logprob for token in tokens),
        token_texts=base.token_texts or tuple(token.bytes.decode("utf-8", "replace") for token in tokens),
    )


def _no_piece(token_id: int) -> bytes:
    return b""


def _short(text: str) -> str:
    shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
    return repr(shown)
