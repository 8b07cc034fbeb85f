"""From the truth to what vLLM will tell: decode every choice, spell its scores, let the parsers look at the text.

One Told serves every API of vLLM; ``alternatives`` says how many entries of the engine's list an API shows. No body is
built here and nothing is lost: losses are the renderers' (and the faults') business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from ...ask import Ask
from ...emission import EmittedChoice, EngineRules, decode, immediately
from ...generation import Generation, Token
from ...tokenizer import Tokenizer
from ...told import Part, Score, Told, ToldChoice, ToldPrompt, ToldStep, Usage
from .scores import Speller, told_score
from .shape import Shape

EMPTY: Mapping[str, Any] = MappingProxyType({})
NEIGHBOURS = 4
"""Ids before a token that may complete its text: what the widest repair rule looks at (``Shape.repair_context``)."""


@dataclass(frozen=True, slots=True)
class ParsedView:
    """The parsers' view of one choice: parts of the whole text and parts of each step. Reasoning tokens are counted in
    whole answers and, after every step, in streams (they differ: rendering notes 6); None = not counted.
    ``calls_begun``: a tool call was seen in the stream, whether or not anything of it was sent. ``failed``: what the
    server itself failed with when it read the whole text, ``broken``: at which step, and with what, in a stream."""

    whole: tuple[Part, ...]
    steps: tuple[tuple[Part, ...], ...]
    reasoning_tokens: int | None = None
    step_reasoning_tokens: tuple[int, ...] | None = None
    calls_begun: bool = False
    failed: Exception | None = None
    broken: tuple[int, Exception] | None = None

    def extras(self) -> Mapping[str, Any]:
        """What a renderer may want to know besides, by name."""
        told = {"calls_begun": self.calls_begun, "failed": self.failed, "broken": self.broken}
        return {name: value for name, value in told.items() if value}


class Parser(Protocol):
    """What tell asks of the parsers: one choice in (and its index), their view out."""

    def __call__(self, choice: EmittedChoice, index: int) -> ParsedView: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What a station knows besides the request: tokenizer, version, engine, room."""

    tokenizer: Tokenizer
    shape: Shape
    speller: Speller
    max_model_len: int
    engine: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def tell(
    ask: Ask,
    generations: Sequence[Generation],
    facts: Facts,
    *,
    due: Callable[[int], float] = immediately,
    parser: Parser | None = None,
    weight_version: str | None = None,
) -> Told:
    """Everything this request's answer may show, before any fault and any layout loss. ``weight_version``: what the
    engine reports where the truth names none."""
    choices: list[ToldChoice] = []
    prompts: list[ToldPrompt] = []
    completion_tokens = 0
    reasoning: list[int] = []
    for number, (prompt, generation) in enumerate(zip(ask.prompts, generations, strict=True)):
        prompts.append(_told_prompt(ask, prompt.token_ids, prompt.text, generation, facts))
        for sample in range(ask.n):
            choice = generation.choices[min(sample, len(generation.choices) - 1)]
            emitted = decode(
                choice,
                ask.sampling,
                prompt.token_ids,
                facts.tokenizer,
                rules=EngineRules(
                    trim_after_stop=facts.shape.trim_after_stop,
                    interval=ask.options.get("stream_interval", 1) if ask.stream else 1,
                    fails=_fails(ask, facts.shape),
                ),
                token_limit=max(facts.max_model_len - len(prompt.token_ids), 1),
                due=due,
            )
            completion_tokens += len(emitted.tokens)
            index = number * ask.n + sample
            view = parser(emitted, index) if parser else None
            if view is not None and view.reasoning_tokens is not None:
                reasoning.append(_counted(ask, view, view.reasoning_tokens))
            choices.append(_told_choice(ask, index, emitted, view, generation, facts))
    usage = Usage(
        prompt_tokens=sum(len(prompt.token_ids) for prompt in ask.prompts),
        completion_tokens=completion_tokens,
        reasoning_tokens=sum(reasoning) if reasoning else None,
        cached_tokens=sum(generation.cached_tokens or 0 for generation in generations),
    )
    if generations and generations[0].weight_version is not None:
        weight_version = generations[0].weight_version
    return Told(tuple(prompts), tuple(choices), usage, ask.n, weight_version, _shared_extras(generations))


def _fails(ask: Ask, shape: Shape) -> bool:
    """Whether an engine's error is an error of the answer: a whole answer to ids tells it as a finish up to 0.28."""
    told_as_finish = ask.api == "tito" and not ask.stream and shape.generate != "0.32"
    return shape.engine_fails and not told_as_finish


def _counted(ask: Ask, view: ParsedView, whole: int) -> int:
    """Reasoning tokens as this kind of answer counts them."""
    if not ask.stream or view.step_reasoning_tokens is None or ask.options.get("counts_whole"):
        return whole
    return view.step_reasoning_tokens[-1] if view.step_reasoning_tokens else 0


def _shared_extras(generations: Sequence[Generation]) -> Mapping[str, Any]:
    merged: dict[str, Any] = {}
    for generation in generations:
        merged.update(generation.extras)
    return merged


def _told_prompt(
    ask: Ask, token_ids: tuple[int, ...], text: str | None, generation: Generation, facts: Facts
) -> ToldPrompt:
    count = ask.wants.prompt_logprobs

    def before(place: int) -> tuple[int, ...]:
        return () if facts.speller.by_row else token_ids[max(0, place - NEIGHBOURS) : place]

    scores: tuple[Score | None, ...] | None = None
    if count is not None and generation.prompt_logprobs is not None:
        scores = tuple(
            None if row is None else told_score(row, before(place), facts.speller, count=count, shown=None)
            for place, row in enumerate(generation.prompt_logprobs)
        )
    return ToldPrompt(token_ids, scores, text, generation.cached_tokens)


def _told_choice(
    ask: Ask, index: int, emitted: EmittedChoice, view: ParsedView | None, generation: Generation, facts: Facts
) -> ToldChoice:
    scores = None
    if ask.wants.logprobs:
        scores = _scores(ask, emitted.tokens, facts)
    running = None if view is None else view.step_reasoning_tokens
    steps = tuple(
        ToldStep(
            tokens=step.tokens,
            ids=step.tokens,
            scores=step.tokens,
            text=step.text,
            parts=None if view is None else view.steps[place],
            finish_reason=_finish(step.finish_reason, facts),
            stop_reason=step.stop_reason,
            due_ms=step.due_ms,
            reasoning_tokens=None if running is None or place >= len(running) else running[place],
        )
        for place, step in enumerate(emitted.steps)
    )
    return ToldChoice(
        index=index,
        ids=tuple(token.id for token in emitted.tokens),
        scores=scores,
        text=emitted.text,
        steps=steps,
        finish_reason=_finish(emitted.finish_reason, facts),
        stop_reason=emitted.stop_reason,
        parts=None if view is None else view.whole,
        failure=emitted.failure,
        extras=generation.extras if view is None else {**generation.extras, **view.extras()},
    )


def _finish(reason: str | None, facts: Facts) -> str | None:
    """Engines that know no error end as aborted."""
    return "abort" if reason == "error" and not facts.shape.engine_fails else reason


def _scores(ask: Ask, tokens: Sequence[Token], facts: Facts) -> tuple[Score, ...]:
    count: int = ask.options.get("engine_top", ask.wants.top_logprobs)
    shown: int | None = ask.options.get("shown_top", count if count >= 0 else None)
    ids = [token.id for token in tokens if token.id is not None]
    return tuple(
        told_score(
            token,
            ids[max(0, place - NEIGHBOURS) : place],
            facts.speller,
            count=count,
            shown=shown,
            tokens_as_ids=ask.wants.tokens_as_ids,
        )
        for place, token in enumerate(tokens)
    )
