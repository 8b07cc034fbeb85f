"""The truth behind a recorded answer, as far as its bytes show it: ids, scores, ranks, steps.

An :class:`Expert` knows the layout that the upstream speaks: its station reads the request, its accessor table the
answer. What is read has the form of ``truths.json``, one truth per prompt. An answer without ids is tokenised again
from its text, and says so; where not even that is possible a note says why. Pure but for the station.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..ask import Ask
from ..capture import Capture, CapturedChoice
from ..context import FixedContext
from ..errors import FakellmError
from ..generation import Choice, Generation
from ..layouts.base import Layout, Station
from ..reading import Reader, Refused, read_as_sent
from ..reading.assemble import Detail
from ..reading.events import EventParser
from ..reading.places import TERMINAL_EVENTS
from ..tokenizer import Tokenizer
from .taken import CUT, LEFT, Taken
from .tokens import Sampled, by_ids, by_scores, by_text, prompt_token, token

ENGINE_WORDS = {
    "stop": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "completed": "stop",
    "length": "length",
    "incomplete": "length",
    "abort": "abort",
    "error": "error",
}
"""A finish_reason as an API spells it -> what the engine reported."""

TEXT_NOTE = "the answer shows no ids: its text was tokenised again, there are no scores"
PLAIN = Detail()
Truths = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Read:
    """What was made of an exchange. ``truths`` None: no engine was asked, or nothing can be known (``note``)."""

    api: str | None = None
    stream: bool = False
    truths: Truths | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Expert:
    """A reader of one upstream: its layout, a station started as it was, its tokenizer."""

    layout: Layout
    station: Station
    tokenizer: Tokenizer

    def read(self, taken: Taken) -> Read:
        """The truth of an exchange; never raises for what a server may send."""
        try:
            heard = self.station.receive(taken.request(), FixedContext(taken.at))
        except FakellmError as problem:
            return Read(note=str(problem))
        if not isinstance(heard, Ask):
            asked = 200 == taken.status != heard.status
            return Read(note=f"{self.layout.name} would answer this {heard.status}" if asked else None)
        read = Read(heard.api, heard.stream)
        if taken.status != 200:
            return read
        if taken.ending == LEFT:
            return replace(read, note="the client went away before the answer's end")
        reader = Reader(api=heard.api, stream=heard.stream, table=self.layout.accessors, request=taken.request_json)
        reader.feed(taken.readable_body)
        try:
            reader.capture(cut=taken.ending == CUT)
        except Refused as refused:
            read = replace(read, note=f"a careful reader refuses this answer: {refused}")
        return self._truths(heard, reader, taken, read)

    def _truths(self, ask: Ask, reader: Reader, taken: Taken, read: Read) -> Read:
        sent = reader.as_sent()
        choices = tuple(_without_echo(one, ask) for one in sent.by_index())
        if ask.api == "responses" and ask.stream:
            choices = tuple(self._with_whole(one, taken) for one in choices)
        if len(choices) != len(ask.prompts) * ask.n:
            return replace(read, note=f"{len(choices)} choices came for {len(ask.prompts) * ask.n} asked for")
        details = reader.details()
        truths: list[Mapping[str, Any]] = []
        sources: set[str] = set()
        for number, prompt in enumerate(ask.prompts):
            mine = choices[number * ask.n : (number + 1) * ask.n]
            asked = replace(ask, prompts=(prompt,))
            counted = _counted(sent) if len(choices) == 1 else None
            sampled = [self._sampled(one, details.get(one.index, PLAIN), asked, counted) for one in mine]
            if None in sampled:
                return replace(read, note="the answer shows no ids: record with --ask-ids")
            known = [one for one in sampled if one is not None]
            if counted is not None and "ids" == known[0].source and counted > len(known[0].ids) and taken.ending != CUT:
                return replace(read, note=f"the answer shows {len(known[0].ids)} of {counted} tokens")
            made = tuple(
                self._choice(choice, one, details.get(choice.index, PLAIN), ask)
                for choice, one in zip(mine, known, strict=True)
            )
            sources |= {one.source for one in known}
            detail = details.get(mine[0].index, PLAIN)
            truth = self._generation(prompt.token_ids, mine[0], detail, made).to_truth()
            truths.append({**truth, "source": "+".join(sorted({one.source for one in known}))})
        note = read.note or (TEXT_NOTE if "text" in sources else None)
        return replace(read, truths=tuple(truths), note=note)

    def _with_whole(self, choice: CapturedChoice, taken: Taken) -> CapturedChoice:
        """A Responses stream ends with the whole answer, which may tell scores that no delta told."""
        for event in reversed(EventParser().feed(taken.readable_body)):
            if event.event in TERMINAL_EVENTS:
                whole = json.dumps(json.loads(event.data)["response"]).encode()
                told = read_as_sent(whole, api="responses", table=self.layout.accessors).choices
                if told and len(told[0].logprobs or ()) > len(choice.logprobs or ()):
                    last = told[0]
                    return replace(
                        choice, logprobs=last.logprobs, top_logprobs=last.top_logprobs, token_texts=last.token_texts
                    )
        return choice

    def _sampled(self, choice: CapturedChoice, detail: Detail, ask: Ask, counted: int | None) -> Sampled | None:
        """The ids of a choice: from the wire, else from the texts beside its scores, else from its text. ``counted``:
        tokens as the server counted them, where it counted this choice alone."""
        if choice.completion_token_ids is not None or detail.entry_ids is not None:
            prompt = choice.prompt_token_ids or ask.prompts[0].token_ids
            return by_ids(self.tokenizer, choice, detail, prompt, counted)
        end = self._end(ask) if ENGINE_WORDS.get(str(choice.finish_reason)) == "stop" else None
        sampled = by_scores(self.tokenizer, choice, end, counted)
        if sampled is None and choice.text is not None and not ask.tools:
            sampled = by_text(self.tokenizer, choice, detail if ask.stream else PLAIN, end)
        return sampled

    def _end(self, ask: Ask) -> int | None:
        """The token that ends an answer and shows in no text: a stop id, where the request names just one, else eos."""
        stops, eos = ask.sampling.stop_token_ids, self.tokenizer.eos_ids
        return stops[0] if len(stops) == 1 else eos[0] if eos and not ask.sampling.stop else None

    def _choice(self, choice: CapturedChoice, sampled: Sampled, detail: Detail, ask: Ask) -> Choice:
        tokens = tuple(
            token(self.tokenizer, token_id, choice, place, _at(detail.ranks, place))
            for token_id, place in zip(sampled.ids, sampled.places, strict=True)
        )
        steps = sampled.steps or detail.steps
        rest = len(tokens) - sum(steps)  # tokens that no message brought: each was a step of its own
        return Choice(
            tokens=tokens,
            steps=(*steps, *(1,) * rest) if ask.stream and rest >= 0 else (),
            finish_reason=ENGINE_WORDS.get(str(choice.finish_reason)),
        )

    def _generation(
        self, prompt: tuple[int, ...], first: CapturedChoice, detail: Detail, choices: tuple[Choice, ...]
    ) -> Generation:
        ids = prompt if first.prompt_token_ids is None else first.prompt_token_ids
        own = detail.prompt_scores or ()
        scores = first.prompt_logprobs or ((None,) * len(own) if own else None)
        versions = {one for one in first.weight_versions or () if isinstance(one, str)}
        return Generation(
            prompt_token_ids=tuple(ids),
            choices=choices,
            prompt_logprobs=None
            if scores is None or len(scores) != len(ids)
            else tuple(
                prompt_token(self.tokenizer, one, entry, _at(own, place))
                for place, (one, entry) in enumerate(zip(ids, scores, strict=True))
            ),
            weight_version=versions.pop() if len(versions) == 1 else None,
        )


def _counted(sent: Capture) -> int | None:
    usage = sent.usage or {}
    return usage.get("completion_tokens", usage.get("output_tokens"))


def _without_echo(choice: CapturedChoice, ask: Ask) -> CapturedChoice:
    """A choice whose scores and text begin with the prompt, without it."""
    prompt = ask.prompts[0] if len(ask.prompts) == 1 else None
    if not ask.wants.echo or prompt is None:
        return choice
    scores = choice.logprobs or ()
    ids = choice.completion_token_ids
    over = len(scores) - len(ids) if ids is not None else len(prompt.token_ids)
    over = max(min(over, len(scores)), 0)
    text = choice.text
    if text is not None and prompt.text is not None:
        text = text.removeprefix(prompt.text)
    return replace(
        choice,
        logprobs=scores[over:] or None,
        top_logprobs=(choice.top_logprobs or ())[over:] or None,
        token_texts=(choice.token_texts or ())[over:] or None,
        text=text,
    )


def read_safely(expert: Expert | None, taken: Taken) -> Read:
    """The truth of an exchange, nothing without an expert. A failure is a note: the bytes are written down anyway."""
    if expert is None:
        return Read()
    try:
        return expert.read(taken)
    except Exception as broken:  # noqa: BLE001 - whatever a server sends
        return Read(note=f"the truth could not be read: {type(broken).__name__}: {broken}")


def _at(values: tuple[Any, ...] | None, place: int | None) -> Any:
    return values[place] if values is not None and place is not None and place < len(values) else None
