"""``/v1/completions``: ids nested under the choice, scores keyed by text (facts: research, vllm.md section 2).

Prompt ids and prompt scores stand under every choice; ``top_logprobs`` are objects keyed by token text, so two ids of
equal text collapse; ``text_offset`` counts the characters of the token texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ask import Ask
from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice, ToldPrompt, ToldStep
from .bodies import ENGINE_FAILURE, EVENT_HEADERS, cached_details, error_events, json_answer, metrics_value, usage_value
from .chat import ids_of, prompt_rows
from .frame import AnswerFacts, keep_alives, says_nothing_yet


def logprobs_value(scores: Sequence[Score | None], start: int) -> dict[str, Any]:
    """The ``logprobs`` object of one choice or chunk; ``start``: the offset of its first token."""
    offsets: list[int] = []
    offset = start
    for score in scores:
        offsets.append(offset)
        offset += len(score.token) if score is not None else 0
    return {
        "text_offset": offsets,
        "token_logprobs": [None if score is None else score.logprob for score in scores],
        "tokens": ["" if score is None else score.token for score in scores],
        "top_logprobs": [
            None if score is None or score.top is None else {top.token: top.logprob for top in score.top}
            for score in scores
        ],
    }


@dataclass(slots=True)
class _Completions:
    """One answer being written. ``lengths``: characters told so far per choice, for text_offset."""

    told: Told
    ask: Ask
    facts: AnswerFacts
    lengths: dict[int, int] = field(default_factory=dict[int, int])

    def whole(self) -> Rendering:
        shape = self.facts.shape
        if any(choice.failure is not None for choice in self.told.choices):
            return json_answer(ENGINE_FAILURE, status=500)
        details = None
        if self.facts.prompt_details:
            details = {
                **cached_details(self.told, "cached_tokens"),
                "created_cache_tokens": None,
                "multimodal_tokens": None,
            }
        body: dict[str, Any] = {
            "id": self.facts.id,
            "object": "text_completion",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": [self._choice(choice) for choice in self.told.choices],
            "service_tier": None,
            "system_fingerprint": self.facts.fingerprint,
            "usage": usage_value(self.told, details=details, completion_details=shape.completion_details),
            "kv_transfer_params": self.told.extras.get("kv_transfer_params"),
        }
        if shape.completion_details:
            body["ec_transfer_params"] = self.told.extras.get("ec_transfer_params")
        if shape.metrics_object:
            metered = self.facts.metrics and len(self.told.choices) == 1
            body["metrics"] = metrics_value(self.facts.engine, nulls=True) if metered else None
        return json_answer(body, headers=self.facts.headers)

    def _choice(self, choice: ToldChoice) -> dict[str, Any]:
        prompt = self.told.prompt_of(choice)
        only_prompt = bool(self.ask.options.get("only_prompt"))
        text = "" if only_prompt else choice.text
        scores = () if only_prompt else choice.scores
        row: dict[str, Any] = {
            "index": choice.index,
            "text": self._echo_text(prompt) + text,
            "logprobs": self._logprobs(prompt, scores, 0) if self.ask.wants.logprobs else None,
            "finish_reason": choice.finish_reason,
            "stop_reason": choice.stop_reason,
            "token_ids": ids_of(choice) if self.ask.wants.completion_token_ids else None,
            "prompt_logprobs": prompt_rows(prompt.scores),
            "prompt_token_ids": self._prompt_ids(prompt) if self.ask.wants.prompt_token_ids else None,
        }
        if self.facts.shape.routed_experts:
            row["routed_experts"] = choice.extras.get("routed_experts")
        return row

    def _echo_text(self, prompt: ToldPrompt) -> str:
        """With return_token_ids the echoed text is left out (its scores are not)."""
        if not self.ask.wants.echo or self.ask.wants.prompt_token_ids:
            return ""
        return prompt.text or ""

    def _logprobs(self, prompt: ToldPrompt, scores: Sequence[Score | None] | None, start: int) -> dict[str, Any] | None:
        if scores is None:
            return None
        if self.ask.wants.echo:
            return logprobs_value((*self._prompt_scores(prompt), *scores), start)
        return logprobs_value(scores, start)

    def _prompt_scores(self, prompt: ToldPrompt) -> tuple[Score | None, ...]:
        firsts: Sequence[Score | None] = self.ask.options.get("first_prompt_scores", ())
        place = self.told.prompts.index(prompt)
        first = firsts[place] if place < len(firsts) else None
        return tuple(
            first if score is None and place == 0 else self._echoed(score)
            for place, score in enumerate(prompt.scores or ())
        )

    def _echoed(self, score: Score | None) -> Score | None:
        """A prompt score as echo shows it among the sampled ones: as many alternatives, spelled alike."""
        if score is None or score.top is None:
            return score
        count: int = self.ask.options.get("engine_top", self.ask.wants.top_logprobs)
        top = score.top if count < 0 else score.top[: count + 1]
        if not self.ask.wants.tokens_as_ids:
            return replace(score, top=top)
        named = tuple(replace(one, token=f"token_id:{one.id}") for one in top)
        return replace(score, token=f"token_id:{score.id}", top=named)

    @staticmethod
    def _prompt_ids(prompt: ToldPrompt) -> list[Any] | None:
        return None if prompt.token_ids is None else list(prompt.token_ids)

    # ----------------------------------------------------------------- stream

    def stream(self) -> Rendering:
        messages = self._rounds()
        last = messages[-1].due_ms if messages else 0.0
        if any(choice.failure is not None for choice in self.told.choices):
            messages.extend(error_events(ENGINE_FAILURE, last))
        else:
            if self.ask.wants.usage:
                messages.append(Message("usage", self._usage_chunk(), due_ms=last, spelling="serde"))
            messages.append(Message("done", "[DONE]", due_ms=last))
        headers = (*EVENT_HEADERS, *self.facts.headers)
        return Rendering(200, headers, keep_alives(messages, self.facts.keep_alive_ms), stream=True)

    def _rounds(self) -> list[Message]:
        rounds = [
            (step.due_ms, number, choice, step)
            for choice in self.told.choices
            for number, step in enumerate(choice.steps)
            if self.ask.wants.echo or not says_nothing_yet(step)
        ]
        rounds.sort(key=lambda row: (row[0], row[1], row[2].index))
        return [self._step(choice, step, number) for _, number, choice, step in rounds]

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> dict[str, Any]:
        chunk: dict[str, Any] = {
            "id": self.facts.id,
            "object": "text_completion",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": choices,
        }
        if usage is not None or self.facts.shape.usage_null_chunks:
            chunk["usage"] = usage
        return chunk

    def _step(self, choice: ToldChoice, step: ToldStep, number: int) -> Message:
        prompt = self.told.prompt_of(choice)
        first = number == 0
        finished = step is choice.steps[-1] and choice.failure is None
        text = step.text
        scores = None if choice.scores is None else choice.scores[step.scores[0] : step.scores[1]]
        echoes = first and self.ask.wants.echo
        if echoes:
            if self.ask.options.get("only_prompt"):
                text, scores = "", None if scores is None else ()
            text = self._echo_text(prompt) + text
            scores = None if scores is None else (*self._prompt_scores(prompt), *scores)
        logprobs = None
        if self.ask.wants.logprobs and scores is not None:
            logprobs = logprobs_value(scores, self.lengths.get(choice.index, 0))
        self._advance(choice, step, logprobs)
        shows_prompt = first and (self.ask.wants.prompt_token_ids or echoes or self.facts.shape.leaks_prompt_ids)
        row: dict[str, Any] = {
            "index": choice.index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": choice.finish_reason if finished else None,
            "stop_reason": choice.stop_reason if finished else None,
            "prompt_token_ids": self._prompt_ids(prompt) if shows_prompt else None,
            "token_ids": ids_of(choice, step.ids) if self.ask.wants.completion_token_ids else None,
        }
        usage = self._usage(step.tokens[1], prompt) if self.ask.wants.continuous_usage else None
        if usage is not None and self.facts.shape.usage_null_chunks:
            usage["prompt_tokens_details"] = None
        chunk = self._chunk([row], usage)
        if finished and not self.ask.wants.usage and self.facts.fingerprint is not None:
            chunk["system_fingerprint"] = self.facts.fingerprint
        kind = "finish" if finished else "delta"
        return Message(kind, chunk, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _advance(self, choice: ToldChoice, step: ToldStep, logprobs: dict[str, Any] | None) -> None:
        """text_offset of the next chunk: up to 0.28 it moves by the step's own text, which lags behind the tokens."""
        told = self.lengths.get(choice.index, 0)
        if self.facts.shape.offsets_lag or logprobs is None:
            self.lengths[choice.index] = told + len(step.text)
        else:
            self.lengths[choice.index] = told + sum(len(token) for token in logprobs["tokens"])

    def _usage(self, completion_tokens: int | None, prompt: ToldPrompt | None) -> dict[str, Any]:
        prompt_tokens = self.told.usage.prompt_tokens
        if prompt is not None and prompt.token_ids is not None and len(self.told.prompts) > 1:
            prompt_tokens = len(prompt.token_ids)
        return {
            "prompt_tokens": prompt_tokens,
            "total_tokens": (prompt_tokens or 0) + (completion_tokens or 0),
            "completion_tokens": completion_tokens,
        }

    def _usage_chunk(self) -> dict[str, Any]:
        usage = self._usage(self.told.usage.completion_tokens, None)
        if self.facts.prompt_details:
            usage["prompt_tokens_details"] = cached_details(self.told, "cached_tokens")
        chunk = self._chunk([], usage)
        if self.facts.fingerprint is not None:
            chunk["system_fingerprint"] = self.facts.fingerprint
        return chunk


def render(told: Told, ask: Ask, facts: AnswerFacts) -> Rendering:
    """The answer to a completions request, whole or as a stream."""
    answer = _Completions(told, ask, facts)
    return answer.stream() if ask.stream else answer.whole()
