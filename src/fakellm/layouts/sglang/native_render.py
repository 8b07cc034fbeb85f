"""The native answer: one object per choice and step, whole or in one of the stream fashions that history has had.

A stream tells text, output_ids and scores each either whole so far or as the step's delta (:class:`Fashion`); which, is
a matter of version and launch flag. Reads only the Told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice, ToldPrompt, ToldStep
from . import answers
from .aborts import never_began, queued_object
from .call import Call, Item
from .detokenize import PROMPT_CONTEXT
from .flat import flat_members
from .options import Settings
from .scores import Speller
from .traits import Trait, Traits

_FAILURE_KINDS = {400: "BadRequestError", 500: "InternalServerError", 503: "ServiceUnavailableError"}


@dataclass(frozen=True, slots=True)
class Fashion:
    """What a streamed object tells as the step's delta instead of all so far."""

    text: bool = False
    ids: bool = False
    scores: bool = False


def fashion_of(traits: Traits, *, incremental: bool) -> Fashion:
    """The stream fashion of a version: five there have been."""
    if traits.has(Trait.NATIVE_IDS_DELTA):
        return Fashion(ids=True)
    if not incremental:
        return Fashion()
    if traits.has(Trait.INCREMENTAL_IDS_ONLY):
        return Fashion(ids=True)
    return Fashion(text=True, ids=True, scores=not traits.has(Trait.INCREMENTAL_KEEPS_SCORES))


@dataclass(frozen=True, slots=True)
class NativeRenderer:
    """Renders the objects of one station. ``now``: seconds since 1970, for the clock values of meta_info."""

    traits: Traits
    settings: Settings
    speller: Speller

    def whole(self, told: Told, call: Call, now: float) -> Rendering:
        """A JSON answer: an object, or a list of them; a failed choice is the whole answer's error."""
        failed = failure_of(told)
        if failed is not None:
            return failed
        objects = [self.object(told, choice, call, now) for choice in told.choices]
        return answers.json_answer(objects if call.listed else objects[0], spelling=self.spelling)

    def stream(self, told: Told, call: Call, now: float) -> Rendering:
        """One event per choice and step, in the order in which they are due."""
        messages: list[Message] = []
        for choice, number in in_order(told.choices):
            step = choice.steps[number]
            body = self.object(told, choice, call, now, number)
            kind = "finish" if step.finish_reason is not None else "delta"
            messages.append(Message(kind, body, choice.index, step.tokens, step.due_ms, spelling="serde"))
        return answers.events(messages)

    @property
    def spelling(self) -> str:
        """How whole answers spell numbers: orjson, or Python's json in old versions."""
        return "serde" if self.traits.has(Trait.NATIVE_BY_ORJSON) else "json"

    def object(
        self, told: Told, choice: ToldChoice, call: Call, now: float, number: int | None = None
    ) -> dict[str, Any]:
        """One object; ``number``: the step it stands for in a stream, None = the whole answer."""
        prompt = told.prompt_of(choice)
        streamed = number is not None
        if never_began(choice):
            return self._never_began(told, choice, prompt, call, now, streamed)
        fashion = fashion_of(self.traits, incremental=self.settings.incremental) if streamed else Fashion()
        steps = choice.steps if number is None else choice.steps[: number + 1]
        body: dict[str, Any] = {}
        if not self.settings.skip_tokenizer:
            body["text"] = choice.text if number is None else _text(steps, fashion)
        if choice.ids is not None:
            body["output_ids"] = self._output_ids(choice, prompt, steps, fashion)
        body["meta_info"] = self._meta(told, choice, prompt, call, steps, fashion, now, number)
        if call.prompt_ids and self.traits.has(Trait.NATIVE_PROMPT_IDS) and prompt.token_ids is not None:
            body["prompt_token_ids"] = list(prompt.token_ids)
        if streamed and call.listed:
            body["index"] = choice.index
        return body

    def _never_began(
        self, told: Told, choice: ToldChoice, prompt: ToldPrompt, call: Call, now: float, streamed: bool
    ) -> dict[str, Any]:
        """The object of a request that was aborted in the queue."""
        body = queued_object(choice, call, told.weight_version, choice.steps[-1].due_ms / 1000, self.traits)
        meta, item = body["meta_info"], call.item(choice.index)
        if self.traits.has(Trait.QUEUED_ABORT_KEEPS):
            if item.logprobs:
                unscored = replace(item, start_len=-1)
                meta.update(self._logprobs(choice, prompt, unscored, call, (), Fashion()))
            meta["completion_tokens"] = 0
        if self.traits.has(Trait.SENT_TIMESTAMP):
            meta["response_sent_to_client_ts"] = now
        if call.prompt_ids and self.traits.has(Trait.NATIVE_PROMPT_IDS) and prompt.token_ids is not None:
            body["prompt_token_ids"] = list(prompt.token_ids)
        return {**body, "index": choice.index} if streamed and call.listed else body

    def _output_ids(
        self, choice: ToldChoice, prompt: ToldPrompt, steps: Sequence[ToldStep], fashion: Fashion
    ) -> list[Any]:
        ids = list((choice.ids or ())[_span([step.ids for step in steps], fashion.ids)])
        if self.traits.has(Trait.PROMPT_TAIL_IN_OUTPUT_IDS) and (not fashion.ids or len(steps) <= 1):
            return [*(prompt.token_ids or ())[-PROMPT_CONTEXT:], *ids]
        return ids

    def _meta(
        self,
        told: Told,
        choice: ToldChoice,
        prompt: ToldPrompt,
        call: Call,
        steps: Sequence[ToldStep],
        fashion: Fashion,
        now: float,
        number: int | None,
    ) -> dict[str, Any]:
        traits = self.traits
        finished = number is None or number == len(choice.steps) - 1
        item = call.item(choice.index)
        count = _count(told, steps)
        meta: dict[str, Any] = {
            "id": call.rid(choice.index),
            "finish_reason": finish_object(choice, item.limits.max_new_tokens) if finished else None,
            "prompt_tokens": _prompt_count(told, prompt),
            "weight_version": told.weight_version,
        }
        if traits.has(Trait.TOTAL_RETRACTIONS):
            meta["total_retractions"] = 0
        if traits.has(Trait.NUM_RETRACTIONS):
            meta["num_retractions"] = 0
        if self.settings.metrics:
            meta["queue_time"] = 0.0
        if item.logprobs:
            meta.update(self._logprobs(choice, prompt, item, call, steps, fashion))
        if traits.has(Trait.LOGPROBS_LENGTH):
            meta["reasoning_tokens"] = told.usage.reasoning_tokens or 0
        meta["completion_tokens"] = count
        meta["cached_tokens"] = prompt.cached_tokens or 0
        if finished and traits.has(Trait.WEIGHT_VERSIONS):
            meta["weight_versions"] = weight_spans(told.weight_version, count)
        if traits.has(Trait.CACHED_DETAILS):
            meta["cached_tokens_details"] = cached_details(prompt)
        meta.update(choice.extras)
        if traits.has(Trait.LOGPROBS_LENGTH):
            meta["dp_rank"] = None
        self._clocks(meta, choice, finished, number, now)
        return meta

    def _clocks(self, meta: dict[str, Any], choice: ToldChoice, finished: bool, number: int | None, now: float) -> None:
        """Latencies (seconds) and clock values, where they stand."""
        sent = self.traits.has(Trait.SENT_TIMESTAMP)
        first = number in (None, 0)
        if finished:
            latency = choice.steps[-1].due_ms / 1000 if choice.steps else 0.0
            meta["e2e_latency"] = latency
            if self.settings.metrics:
                meta["request_received_ts"] = now
                meta["first_token_latency"] = choice.steps[0].due_ms / 1000 if choice.steps else 0.0
                meta["api_server_dispatch_finish_ts"] = now
                if sent and not first:
                    meta["response_sent_to_client_ts"] = now
                meta["request_finished_ts"] = now + latency
                if not first:
                    meta["decode_throughput"] = 0.0
        if sent and first:
            meta["response_sent_to_client_ts"] = now

    def _logprobs(
        self,
        choice: ToldChoice,
        prompt: ToldPrompt,
        item: Item,
        call: Call,
        steps: Sequence[ToldStep],
        fashion: Fashion,
    ) -> dict[str, Any]:
        shown = call.text_in_logprobs and not self.settings.skip_tokenizer
        rows = (choice.scores or ())[_span([step.scores for step in steps], fashion.scores)]
        keys: dict[str, Any] = {
            "input_token_logprobs": self._input_rows(prompt, item, shown),
            "output_token_logprobs": [triple(row, shown) for row in rows],
        }
        if self.traits.has(Trait.LOGPROBS_LENGTH):
            keys["output_token_logprobs_length"] = steps[-1].scores[1] if steps else 0
        if item.top > 0:
            before = _input_lists(prompt, item, shown, asked=False)
            said = [_triples(None if row is None else row.top, shown) for row in rows]
            flat = call.flat
            if flat is not None and flat.prompt:
                keys |= flat_members("input", before, item.top, packed=flat.packed)
            else:
                keys["input_top_logprobs"] = before
            if flat is not None and flat.answer:
                keys |= flat_members("output", said, item.top, packed=flat.packed)
            else:
                keys["output_top_logprobs"] = said
        if item.asked is not None:
            keys["input_token_ids_logprobs"] = _input_lists(prompt, item, shown, asked=True)
            keys["output_token_ids_logprobs"] = [_triples(None if row is None else row.asked, shown) for row in rows]
        if choice.scores is None:
            keys["output_token_logprobs"] = []
        return keys

    def _input_rows(self, prompt: ToldPrompt, item: Item, shown: bool) -> list[Any]:
        if not 0 <= item.start_len < len(item.token_ids):
            return []
        scores = prompt.scores or ()
        ids = prompt.token_ids or item.token_ids
        rows: list[Any] = []
        for place in range(item.start_len, len(ids)):
            score = scores[place] if place < len(scores) else None
            if score is None:
                rows.append([None, ids[place], self.speller.text(ids[place]) if shown else None])
            else:
                rows.append(triple(score, shown))
        return rows


def triple(score: Score | None, shown: bool) -> list[Any] | None:
    """(logprob, id, text or null)."""
    return None if score is None else [score.logprob, score.id, score.token if shown else None]


def joined(scores: Sequence[Score]) -> tuple[Score, ...]:
    """One list of candidates as the recorded old versions give it with text: the first's score under all texts."""
    if not scores:
        return ()
    text = "".join(score.token for score in scores)
    return (replace(scores[0], token=text, bytes=tuple(text.encode())),)


def _triples(scores: Sequence[Score] | None, shown: bool) -> list[Any] | None:
    return [triple(score, shown) for score in scores] if scores else None


def _input_lists(prompt: ToldPrompt, item: Item, shown: bool, *, asked: bool) -> list[Any]:
    """Alternatives per prompt position from ``start_len``; the first is always null."""
    if not 0 <= item.start_len < len(item.token_ids):
        return []
    scores = prompt.scores or ()
    rows: list[Any] = []
    for place in range(item.start_len, len(item.token_ids)):
        score = scores[place] if place < len(scores) else None
        rows.append(None if score is None else _triples(score.asked if asked else score.top, shown))
    return rows


def in_order(choices: Sequence[ToldChoice]) -> list[tuple[ToldChoice, int]]:
    """Every (choice, step) in the order in which they leave: by due time, then by step, then by choice."""
    places = [(choice, number) for choice in choices for number in range(len(choice.steps))]
    return sorted(places, key=lambda place: (place[0].steps[place[1]].due_ms, place[1], place[0].index))


def _span(spans: Sequence[tuple[int, int]], delta: bool) -> slice:
    if not spans:
        return slice(0, 0)
    return slice(spans[-1][0] if delta else 0, spans[-1][1])


def _text(steps: Sequence[ToldStep], fashion: Fashion) -> str:
    return steps[-1].text if fashion.text else "".join(step.text for step in steps)


def _count(told: Told, steps: Sequence[ToldStep]) -> int | None:
    """Completion tokens of one object: those of its steps, and as many more as the usage tells beyond all choices'."""
    told_count = told.usage.completion_tokens
    if told_count is None:
        return None
    wrong_by = told_count - sum(each.steps[-1].tokens[1] for each in told.choices if each.steps)
    return (steps[-1].tokens[1] if steps else 0) + wrong_by


def _prompt_count(told: Told, prompt: ToldPrompt) -> int | None:
    return told.usage.prompt_tokens if len(told.prompts) == 1 else len(prompt.token_ids or ())


def weight_spans(version: str | None, count: int | None) -> list[dict[str, Any]]:
    """Which weights made which tokens: here one version made them all."""
    return [{"version": version, "start": 0, "end": count}]


def cached_details(prompt: ToldPrompt) -> dict[str, int] | None:
    """Where cached tokens lay; null without any."""
    return {"device": prompt.cached_tokens, "host": 0} if prompt.cached_tokens else None


def finish_object(choice: ToldChoice, most: int | None) -> Mapping[str, Any] | None:
    """finish_reason as the engine tells it. ``most``: tokens that were asked for."""
    reason = choice.finish_reason
    if reason is None:
        return None
    if reason == "abort":
        failed = choice.failure
        status = None if failed is None else failed.code
        kind = None if status is None else _FAILURE_KINDS.get(status, "InternalServerError")
        message = "Aborted" if failed is None else failed.message
        return {"type": "abort", "message": message, "status_code": status, "err_type": kind}
    if reason == "length":
        count = choice.steps[-1].tokens[1] if choice.steps else 0
        return {"type": "length", "length": count if most is None else min(count, most)}
    return {"type": reason, "matched": choice.stop_reason}


def failure_of(told: Told) -> Rendering | None:
    """The error that a failed engine makes of a whole native answer."""
    for choice in told.choices:
        failed = choice.failure
        if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
            if failed.code == 400:
                return answers.native_error(failed.message)
            return answers.failure(failed.message, failed.code)
    return None
