"""What whole answers and streams of ``/v1/chat/completions`` share: entries of scores, ids, prompt rows, and the facts
of one answer (research, vllm.md section 1).

Everything here reads only Told, the Ask and the launch facts; a fault that dropped ids or bent scores simply shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ask import Ask
from ...told import Part, Score, Told, ToldChoice
from .frame import AnswerFacts
from .parsers import Asked


def entry(score: Score | None) -> dict[str, Any] | None:
    """One element of ``logprobs.content``."""
    if score is None:
        return None
    return {
        "token": score.token,
        "logprob": score.logprob,
        "bytes": None if score.bytes is None else list(score.bytes),
        "top_logprobs": None
        if score.top is None
        else [
            {"token": top.token, "logprob": top.logprob, "bytes": None if top.bytes is None else list(top.bytes)}
            for top in score.top
        ],
    }


def entries(scores: Sequence[Score | None]) -> dict[str, Any]:
    return {"content": [entry(score) for score in scores]}


def ids_of(choice: ToldChoice, span: tuple[int, int] | None = None) -> list[Any] | None:
    """The ids of a span (None = all), or None when there are none to tell."""
    if choice.ids is None:
        return None
    return list(choice.ids if span is None else choice.ids[span[0] : span[1]])


def prompt_rows(scores: Sequence[Score | None] | None) -> list[dict[str, Any] | None] | None:
    """``prompt_logprobs``: first null, then ``{id: {logprob, rank, decoded_token}}``, the prompt token first."""
    if scores is None:
        return None
    return [
        None
        if row is None
        else {
            str(top.id): {"logprob": top.logprob, "rank": top.rank, "decoded_token": top.token}
            for top in (row.top or ())
        }
        for row in scores
    ]


def joined(parts: Sequence[Part]) -> tuple[str | None, str | None, list[tuple[str, str]]]:
    """(reasoning, content, [(name, arguments)]) of parts; None = that kind never appeared."""
    texts: dict[str, str] = {}
    calls: dict[int, list[str]] = {}
    for part in parts:
        if "null" in part.marks:
            continue
        if part.kind != "tool":
            texts[part.kind] = texts.get(part.kind, "") + part.text
            continue
        call = calls.setdefault(part.tool_index or 0, ["", ""])
        call[0] = part.name or call[0]
        call[1] += part.text
    return texts.get("reasoning"), texts.get("content"), [(call[0], call[1]) for _, call in sorted(calls.items())]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer being written: everything that its parts share."""

    told: Told
    ask: Ask
    facts: AnswerFacts

    @property
    def parsing(self) -> Asked:
        """What the request says about reasoning and tools."""
        found: Asked = self.ask.options.get("parsing", NOTHING_ASKED)
        return found

    @property
    def hidden(self) -> bool:
        """include_reasoning: false where anything is parsed: no ids and no scores at all (from 0.28)."""
        parsed = any(choice.parts is not None for choice in self.told.choices)
        return self.facts.shape.include_reasoning_nulls and parsed and not self.parsing.include_reasoning

    @property
    def shows_ids(self) -> bool:
        return self.ask.wants.completion_token_ids and not self.hidden

    @property
    def shows_scores(self) -> bool:
        return self.ask.wants.logprobs and not self.hidden

    @property
    def role(self) -> str:
        return str(self.ask.options.get("role", "assistant"))

    @property
    def one_call(self) -> bool:
        """parallel_tool_calls: false: only the first call is shown (from 0.12)."""
        return self.facts.shape.filters_calls and bool(self.ask.options.get("one_call"))


NOTHING_ASKED = Asked()
