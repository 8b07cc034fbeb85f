"""``/inference/v1/generate``: token ids in, token ids out (facts: research, vllm.md 4.1), by version.

Up to 0.28 entries are spelled ``token_id:N`` without bytes; 0.32 gives integers and ranks, and a text mode. 0.12 and
0.16 ignore ``stream``. Reads only Told, the Ask and launch facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ask import Ask
from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice, ToldStep
from .bodies import ENGINE_FAILURE, EVENT_HEADERS, cached_details, error_events, json_answer, metrics_value, usage_value
from .chat import entries, ids_of, prompt_rows
from .frame import AnswerFacts


def id_entries(scores: Sequence[Score | None]) -> dict[str, Any]:
    """0.32's entries in tokens mode: integers with ranks."""
    return {"content": [None if score is None else _id_entry(score) for score in scores]}


def _id_entry(score: Score) -> dict[str, Any]:
    return {
        "token_id": score.id,
        "logprob": score.logprob,
        "rank": score.rank,
        "top_logprobs": None
        if score.top is None
        else [{"token_id": top.id, "logprob": top.logprob, "rank": top.rank} for top in score.top],
    }


def named_entries(scores: Sequence[Score | None], *, misnamed: bool) -> dict[str, Any]:
    """The entries up to 0.28: ``token_id:N``, bytes null. ``misnamed``: alternatives bear the sampled token's name."""
    return {"content": [None if score is None else _named_entry(score, misnamed) for score in scores]}


def _named_entry(score: Score, misnamed: bool) -> dict[str, Any]:
    tops = score.top
    return {
        "token": f"token_id:{score.id}",
        "logprob": score.logprob,
        "bytes": None,
        "top_logprobs": None
        if tops is None
        else [
            {"token": f"token_id:{score.id if misnamed else top.id}", "logprob": top.logprob, "bytes": None}
            for top in tops
        ],
    }


@dataclass(frozen=True, slots=True)
class _Generate:
    """One answer being written."""

    told: Told
    ask: Ask
    facts: AnswerFacts

    @property
    def form(self) -> str:
        return self.facts.shape.generate

    @property
    def text_mode(self) -> bool:
        return self.ask.options.get("output_mode") == "text"

    def whole(self) -> Rendering:
        if any(choice.failure is not None for choice in self.told.choices):
            return json_answer(ENGINE_FAILURE, status=500)
        body = self._new_body() if self.form == "0.32" else self._old_body()
        return json_answer(body, headers=self.facts.headers)

    def _prompt_ids(self) -> list[Any] | None:
        ids = self.told.prompts[0].token_ids
        return list(ids) if self.ask.wants.prompt_token_ids and ids is not None else None

    def _usage(self) -> dict[str, Any]:
        details = None
        if self.facts.prompt_details:
            details = {
                **cached_details(self.told, "cached_tokens"),
                "created_cache_tokens": None,
                "multimodal_tokens": None,
            }
        return usage_value(self.told, details=details, completion_details=True)

    def _new_body(self) -> dict[str, Any]:
        metered = self.facts.metrics and len(self.told.choices) == 1
        return {
            "request_id": self.facts.id,
            "model": self.facts.model,
            "created": self.facts.created,
            "usage": self._usage(),
            "prompt_logprobs": prompt_rows(self.told.prompts[0].scores),
            "prompt_token_id_logprobs": None,
            "prompt_token_ids": self._prompt_ids(),
            "mm_placeholders": None,
            "metrics": metrics_value(self.facts.engine, nulls=True) if metered else None,
            "kv_transfer_params": self.told.extras.get("kv_transfer_params"),
            "ec_transfer_params": self.told.extras.get("ec_transfer_params"),
            "output_mode": "text" if self.text_mode else "tokens",
            "choices": [self._new_choice(choice, None) for choice in self.told.choices],
        }

    def _old_body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"request_id": self.facts.id}
        if self.form == "0.28":
            body.update(model=self.facts.model, created=self.facts.created)
        body["choices"] = [self._old_choice(choice, None) for choice in self.told.choices]
        if self.form == "0.28":
            body["usage"] = self._usage()
        body["prompt_logprobs"] = prompt_rows(self.told.prompts[0].scores)
        body["kv_transfer_params"] = self.told.extras.get("kv_transfer_params")
        if self.form == "0.28":
            body["ec_transfer_params"] = self.told.extras.get("ec_transfer_params")
        return body

    def _new_choice(self, choice: ToldChoice, step: ToldStep | None) -> dict[str, Any]:
        last = step is None or (step is choice.steps[-1] and choice.failure is None)
        span = None if step is None else step.ids
        row: dict[str, Any] = {
            "index": choice.index,
            "finish_reason": choice.finish_reason if last else None,
            "stop_reason": choice.stop_reason if last else None,
            "token_ids": ids_of(choice, span),
            "routed_experts": choice.extras.get("routed_experts") if last else None,
            "sampling_mask": None,
            "weight_versions": self._weights(choice) if last else None,
        }
        if self.text_mode:
            row["text"] = choice.text if step is None else step.text
        row["logprobs"] = self._scores(choice, step)
        return row

    def _weights(self, choice: ToldChoice) -> list[dict[str, Any]] | None:
        """Which weights made which tokens: half-open ranges; null when the engine never reported a version."""
        if self.told.weight_version is None:
            return None
        end = choice.steps[-1].tokens[1] if choice.steps else 0
        if not end:
            return []
        return [{"version": self.told.weight_version, "start": 0, "end": end}]

    def _old_choice(self, choice: ToldChoice, step: ToldStep | None) -> dict[str, Any]:
        last = step is None or (step is choice.steps[-1] and choice.failure is None)
        row: dict[str, Any] = {
            "index": choice.index,
            "logprobs": self._scores(choice, step),
            "finish_reason": choice.finish_reason if last else None,
            "token_ids": ids_of(choice, None if step is None else step.ids),
        }
        if self.form in ("0.24", "0.28"):
            row["routed_experts"] = choice.extras.get("routed_experts") if last else None
        if self.form == "0.28":
            row["sampling_mask"] = None
        return row

    def _scores(self, choice: ToldChoice, step: ToldStep | None) -> dict[str, Any] | None:
        if not self.ask.wants.logprobs or choice.scores is None:
            return None
        scores = choice.scores if step is None else choice.scores[step.scores[0] : step.scores[1]]
        if self.form != "0.32":
            return named_entries(scores, misnamed=self.form in ("0.12", "0.20"))
        return entries(scores) if self.text_mode else id_entries(scores)

    # ----------------------------------------------------------------- stream

    def stream(self) -> Rendering:
        rounds = [
            (step.due_ms, number, choice.index, choice, step)
            for choice in self.told.choices
            for number, step in enumerate(choice.steps)
        ]
        rounds.sort(key=lambda row: row[:3])
        messages: list[Message] = []
        for due_ms, number, _, choice, step in rounds:
            if self._skipped(choice, step):
                continue
            chunk = self._chunk(choice, step, first=number == 0)
            finished = step is choice.steps[-1] and choice.failure is None
            kind = "finish" if finished else "delta"
            messages.append(Message(kind, chunk, choice.index, step.tokens, due_ms, spelling="serde"))
        last = rounds[-1][0] if rounds else 0.0
        if any(choice.failure is not None for choice in self.told.choices):
            messages.extend(error_events(ENGINE_FAILURE, last))
        else:
            if self.ask.wants.usage:
                messages.append(Message("usage", self._usage_chunk(), due_ms=last, spelling="serde"))
            messages.append(Message("done", "[DONE]", due_ms=last))
        return Rendering(200, (*EVENT_HEADERS, *self.facts.headers), tuple(messages), stream=True)

    def _skipped(self, choice: ToldChoice, step: ToldStep) -> bool:
        """0.20 to 0.28 skip a chunk without ids, and with it the finish_reason of an abort."""
        return self.form != "0.32" and step.ids[0] == step.ids[1]

    def _chunk(self, choice: ToldChoice, step: ToldStep, *, first: bool) -> dict[str, Any]:
        running = self._running_usage(step.tokens[1]) if self.ask.wants.continuous_usage else None
        if self.form != "0.32":
            return {"request_id": self.facts.id, "choices": [self._old_choice(choice, step)], "usage": running}
        chunk: dict[str, Any] = {"request_id": self.facts.id, "usage": running}
        if first and self.ask.wants.prompt_token_ids:
            chunk["prompt_token_ids"] = self._prompt_ids()
        chunk["output_mode"] = "text" if self.text_mode else "tokens"
        chunk["choices"] = [self._new_choice(choice, step)]
        return chunk

    def _running_usage(self, completion_tokens: int | None) -> dict[str, Any]:
        prompt = self.told.usage.prompt_tokens
        total = (prompt or 0) + (completion_tokens or 0)
        return {"prompt_tokens": prompt, "total_tokens": total, "completion_tokens": completion_tokens}

    def _usage_chunk(self) -> dict[str, Any]:
        usage = self._running_usage(self.told.usage.completion_tokens)
        if self.facts.prompt_details:
            usage["prompt_tokens_details"] = cached_details(self.told, "cached_tokens")
        if self.form != "0.32":
            return {"request_id": self.facts.id, "choices": [], "usage": usage}
        mode = "text" if self.text_mode else "tokens"
        return {"request_id": self.facts.id, "usage": usage, "output_mode": mode, "choices": []}


def _what_came_last(told: Told) -> Told:
    """Up to 0.28 a whole answer shows what came last: of several samples those that ended with the last step."""
    ends = {choice.index: (choice.steps[-1].due_ms, len(choice.steps)) for choice in told.choices if choice.steps}
    if len(told.choices) < 2 or not ends:
        return told
    last = max(ends.values())
    kept = tuple(choice for choice in told.choices if ends.get(choice.index) == last)
    usage = replace(told.usage, completion_tokens=sum(choice.steps[-1].tokens[1] for choice in kept))
    return replace(told, choices=kept, usage=usage)


def render(told: Told, ask: Ask, facts: AnswerFacts) -> Rendering:
    """The answer to a token-in request."""
    if ask.stream:
        return _Generate(told, ask, facts).stream()
    shown = told if facts.shape.generate == "0.32" else _what_came_last(told)
    return _Generate(shown, ask, facts).whole()
