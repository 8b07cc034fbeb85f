"""The truth behind a recorded answer, as far as its bytes show it: ids, scores, ranks, steps.

An :class:`Expert` knows the layout that the upstream speaks: its station reads the request, its accessor table the
answer. What is read has the form of ``truths.json``, one truth per prompt. An answer without ids is tokenised again
from its text, and says so; where not even that is possible a note says why. Pure but for the station.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ask import Ask
from ..capture import CapturedChoice
from ..context import FixedContext
from ..errors import FakellmError
from ..generation import Choice, Generation
from ..layouts.base import Layout, Station
from ..reading import Reader, Refused, read_as_sent
from ..reading.assemble import Detail
from ..reading.events import EventParser
from ..reading.places import TERMINAL_EVENTS
from ..tokenizer import Tokenizer
from .echo import without_prompt
from .hidden import Mirror, counted, thought
from .taken import CUT, LEFT, Taken
from .tokens import Sampled, by_ids, by_scores, by_text, prompt_token, shows_likelier, steps_by_text, token, with_end

ENGINE_WORDS = {
    **dict.fromkeys(
        ("stop", "tool_calls", "function_call", "completed",  # OpenAI
         "end_turn", "tool_use", "stop_sequence",  # Anthropic, TGI
         "eos", "eos_token", "word"),  # Together, TGI, llama.cpp
        "stop",
    ),
    **dict.fromkeys(("length", "incomplete", "max_tokens", "model_length", "limit"), "length"),
    "abort": "abort",
    "error": "error",
}  # fmt: skip
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
        sent, details = reader.as_sent(), reader.details()
        shown = [
            without_prompt(one, details.get(one.index, PLAIN), ask, self.tokenizer)
            for one in (self._with_whole(one, ask, taken) for one in sent.by_index())
        ]
        if len(shown) != len(ask.prompts) * ask.n:
            return replace(read, note=f"{len(shown)} choices came for {len(ask.prompts) * ask.n} asked for")
        if all(_shows_nothing(choice) for choice, _ in shown):
            return replace(read, note="the answer shows nothing of what the engine said")
        count = counted(sent, taken.readable_body) if len(shown) == 1 and taken.ending != CUT else None
        truths: list[Mapping[str, Any]] = []
        sources: set[str] = set()
        for number, prompt in enumerate(ask.prompts):
            mine = shown[number * ask.n : (number + 1) * ask.n]
            asked = replace(ask, prompts=(prompt,))
            known = [self._sampled(choice, detail, asked, count) for choice, detail in mine]
            if not all(known):
                return replace(read, note="the answer shows no ids: record with --ask-ids")
            sampled = [one for one in known if one is not None]
            origins = {one.source for one in sampled}
            short = count is not None and "ids" in origins and count > len(sampled[0].ids)
            if short and self._loses_ids(ask):
                sampled = [with_end(sampled[0], self._end_of(*mine[0], asked))]
            generation = self._generation(asked, mine, sampled)
            if short:
                thoughtful = self._with_thought(generation, asked, count, sent.choices[0].text, taken)
                if thoughtful is None or not self._loses_ids(ask):
                    return replace(read, note=f"the answer shows {len(sampled[0].ids)} of {count} tokens")
                generation, origins = thoughtful, {"ids", "thought"}
            elif len(shown) == 1 and "ids" not in origins and not ask.tools:
                thoughtful = self._with_thought(generation, asked, count, sent.choices[0].text, taken)
                if thoughtful is not None:
                    generation, origins = thoughtful, {*origins, "thought"}
                elif sampled[0].partial:  # other tokens are hidden than a thought, and nobody knows where
                    sampled = [self._by_text(*mine[0], asked)]
                    generation, origins = self._generation(asked, mine, sampled), {"text"}
            sources |= origins
            truths.append({**generation.to_truth(), "source": "+".join(sorted(origins))})
        note = read.note or (TEXT_NOTE if "text" in sources else None)
        return replace(read, truths=tuple(truths), note=note)

    def _with_thought(
        self, generation: Generation, ask: Ask, count: int | None, text: str | None, taken: Taken
    ) -> Generation | None:
        mirror = Mirror(self.layout, self.station, self.tokenizer)
        made = mirror.with_thought(generation, ask, count, text, taken)
        return None if made is generation else made

    def _with_whole(self, choice: CapturedChoice, ask: Ask, taken: Taken) -> CapturedChoice:
        """A Responses stream ends with the whole answer, which may tell scores that no delta told."""
        if ask.api != "responses" or not ask.stream:
            return choice
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

    def _sampled(self, choice: CapturedChoice, detail: Detail, ask: Ask, count: int | None) -> Sampled | None:
        """The ids of a choice: from the wire, else from the texts beside its scores, else from its text. ``count``:
        tokens as the server counted them, where it counted this choice alone."""
        end = self._end_of(choice, detail, ask)
        if choice.completion_token_ids is not None or detail.entry_ids is not None:
            prompt = choice.prompt_token_ids or ask.prompts[0].token_ids
            sampled = by_ids(self.tokenizer, choice, detail, prompt, count)
            if shows_likelier(self.tokenizer, choice, sampled.ids):
                return self._beside_likelier(choice, len(sampled.ids), end)
            unsaid = self._leaves_out_end(ask) or count == len(sampled.ids) + 1
            return with_end(sampled, end) if unsaid else sampled
        sampled = by_scores(self.tokenizer, choice, end, count, hides=not ask.tools)
        if sampled is None and choice.text is not None and not ask.tools:
            sampled = self._by_text(choice, detail, ask)
        return sampled

    def _by_text(self, choice: CapturedChoice, detail: Detail, ask: Ask) -> Sampled:
        end = self._end_of(choice, detail, ask)
        return by_text(self.tokenizer, choice, detail if ask.stream else PLAIN, end)

    def _beside_likelier(self, choice: CapturedChoice, count: int, end: int | None) -> Sampled | None:
        """``count`` ids of the text, where the ids on the wire are of likelier tokens; None where it has others."""
        plain = by_text(self.tokenizer, choice, PLAIN, end).ids
        ids = (*thought(self.tokenizer, count - len(plain)), *plain)
        return Sampled(ids, tuple(range(count)), "text", likelier=True) if len(ids) == count else None

    def _end(self, ask: Ask) -> int | None:
        """The token that ends an answer and shows in no text: a stop id, where the request names just one, else eos."""
        stops, eos = ask.sampling.stop_token_ids, self.tokenizer.eos_ids
        return stops[0] if len(stops) == 1 else eos[0] if eos and not ask.sampling.stop else None

    def _end_of(self, choice: CapturedChoice, detail: Detail, ask: Ask) -> int | None:
        return self._end(ask) if _finish(choice, detail) == "stop" else None

    def _loses_ids(self, ask: Ask) -> bool:
        """Whether this wire leaves out ids even when it is healthy (those of tokens without a delta)."""
        rows = self.layout.accessors.get((ask.api, ask.stream), ())
        return any(row.loss is not None for row in rows if row.value == "completion_token_ids")

    def _leaves_out_end(self, ask: Ask) -> bool:
        """Whether the ids on this wire stop before the token that ended the answer."""
        rows = self.layout.accessors.get((ask.api, ask.stream), ())
        return any(not row.eos for row in rows if row.value == "completion_token_ids")

    def _choice(self, choice: CapturedChoice, detail: Detail, sampled: Sampled, ask: Ask) -> Choice:
        tokens = tuple(
            token(self.tokenizer, token_id, choice, place, _at(detail.ranks, place), likelier=sampled.likelier)
            for token_id, place in zip(sampled.ids, sampled.places, strict=True)
        )
        steps = sampled.steps or detail.steps
        texts = [text for text in detail.texts if text]
        if ask.stream and len(steps) < len(texts):
            steps = steps_by_text(self.tokenizer, sampled.ids, texts) or steps
        rest = len(tokens) - sum(steps)  # tokens that no message brought: each was a step of its own
        return Choice(
            tokens=tokens,
            steps=(*steps, *(1,) * rest) if ask.stream and rest >= 0 else (),
            finish_reason=_finish(choice, detail),
        )

    def _generation(
        self, ask: Ask, mine: Sequence[tuple[CapturedChoice, Detail]], sampled: Sequence[Sampled]
    ) -> Generation:
        (first, detail), prompt = mine[0], ask.prompts[0].token_ids
        choices = tuple(self._choice(*pair, one, ask) for pair, one in zip(mine, sampled, strict=True))
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


def _finish(choice: CapturedChoice, detail: Detail) -> str | None:
    """What the engine reported. Where no event told it, a last delta without text is that of the end token."""
    ended = choice.finish_reason is None and detail.texts[-1:] == ("",)
    return "stop" if ended else ENGINE_WORDS.get(str(choice.finish_reason))


def _shows_nothing(choice: CapturedChoice) -> bool:
    """Neither a value nor an end: a ticket for a later answer (Tinker), not an answer."""
    values = (choice.completion_token_ids, choice.logprobs, choice.token_texts, choice.finish_reason)
    return not choice.text and all(value is None for value in values)


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
