"""From the truth to what is told, for servers that hand on what one plain engine says.

``tell`` decodes every choice, spells its scores and lets a parser look at each step's text. How a vendor spells a token
comes in as a :class:`Spelling`, how its engine behaves as a :class:`Manner`. Reads Generations, builds no body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...ask import Ask, Sampling
from ...detokenizer import Detokenizer
from ...emission import EmittedChoice, EmittedStep, EngineRules, decode, immediately
from ...generation import Generation, Token
from ...tokenizer import Tokenizer
from ...told import Part, Score, Told, ToldChoice, ToldPrompt, ToldStep, Usage


class Spelling(Protocol):
    """How a vendor writes scores; None = it has none to write (the engine withheld it)."""

    def sampled(self, token: Token, ask: Ask, *, hidden: bool) -> Score | None:
        """The entry of a sampled token; ``hidden``: it ended the answer and shows no text."""
        ...

    def prompt(self, token: Token, ask: Ask) -> Score:
        """The entry of a prompt token."""
        ...


class StepParser(Protocol):
    """Takes one choice's text apart, step by step. ``thinking``: the last step ended inside reasoning (the tokens of
    the next one count as reasoning then, the end mark's too)."""

    thinking: bool

    def push(self, text: str, *, finished: bool) -> tuple[Part, ...]: ...


@dataclass(frozen=True, slots=True)
class Manner:
    """How a server plays a truth. ``context_length``: tokens, None = no limit; ``flushes``: bytes that became no
    character when the answer ends are shown as U+FFFD (else they are left out)."""

    tokenizer: Tokenizer
    spelling: Spelling
    rules: EngineRules = field(default_factory=EngineRules)
    context_length: int | None = None
    flushes: bool = False


def tell(
    ask: Ask,
    generations: Sequence[Generation],
    manner: Manner,
    *,
    parser: Callable[[], StepParser] | None = None,
    due: Callable[[int], float] = immediately,
) -> Told:
    """Everything the answer may show. ``parser``: makes a fresh one for every choice."""
    choices: list[ToldChoice] = []
    for index in range(len(ask.prompts) * ask.n):
        number, sample = divmod(index, ask.n)
        generation = generations[number]
        emitted = _emitted(ask, ask.prompts[number].token_ids, generation, sample, manner, due)
        choices.append(_choice(index, emitted, ask, generation, manner, parser() if parser else None))
    prompts = tuple(
        _prompt(ask, prompt.token_ids, prompt.text, generation, manner)
        for prompt, generation in zip(ask.prompts, generations, strict=True)
    )
    version = next((found.weight_version for found in generations if found.weight_version is not None), None)
    return Told(prompts, tuple(choices), _usage(ask, choices, generations), ask.n, version)


def _emitted(
    ask: Ask,
    prompt_ids: tuple[int, ...],
    generation: Generation,
    sample: int,
    manner: Manner,
    due: Callable[[int], float],
) -> EmittedChoice:
    choice = generation.choices[min(sample, len(generation.choices) - 1)]
    room = None if manner.context_length is None else max(manner.context_length - len(prompt_ids), 1)
    emitted = decode(choice, ask.sampling, prompt_ids, manner.tokenizer, rules=manner.rules, token_limit=room, due=due)
    if emitted.finish_reason == "stop" and emitted.stop_reason is None and len(emitted.tokens) == len(choice.tokens):
        emitted = _stopped_by(emitted, choice.stop_reason)
    return _flushed(emitted, ask.sampling, prompt_ids, manner) if manner.flushes else emitted


def _stopped_by(emitted: EmittedChoice, reason: int | str | None) -> EmittedChoice:
    """The engine itself says what stopped it."""
    last = replace(emitted.steps[-1], stop_reason=reason)
    return replace(emitted, steps=(*emitted.steps[:-1], last), stop_reason=reason)


def _flushed(emitted: EmittedChoice, sampling: Sampling, prompt_ids: tuple[int, ...], manner: Manner) -> EmittedChoice:
    """The same with what the detokenizer still held back; a stop string leaves nothing to flush."""
    if not emitted.steps or isinstance(emitted.stop_reason, str):
        return emitted
    detokenizer = Detokenizer(manner.tokenizer, prompt_ids, skip_special_tokens=sampling.skip_special_tokens)
    shown = emitted.tokens[:-1] if ends_by_id(emitted, sampling, manner.tokenizer) else emitted.tokens
    detokenizer.push([token.id for token in shown if token.id is not None])
    rest = detokenizer.flush()
    if not rest:
        return emitted
    last = replace(emitted.steps[-1], text=emitted.steps[-1].text + rest)
    return replace(emitted, steps=(*emitted.steps[:-1], last), text=emitted.text + rest)


def ends_by_id(emitted: EmittedChoice, sampling: Sampling, tokenizer: Tokenizer) -> bool:
    """Whether the last token ended the answer and so shows no text: an eos or a stop id."""
    if emitted.finish_reason != "stop" or not emitted.tokens or sampling.include_stop:
        return False
    last = emitted.tokens[-1].id
    return last in sampling.stop_token_ids or (last in tokenizer.eos_ids and not sampling.ignore_eos)


def _choice(
    index: int, emitted: EmittedChoice, ask: Ask, generation: Generation, manner: Manner, parser: StepParser | None
) -> ToldChoice:
    hidden = ends_by_id(emitted, ask.sampling, manner.tokenizer)
    last = len(emitted.tokens) - 1
    scores = None
    if ask.wants.logprobs:
        scores = tuple(
            manner.spelling.sampled(token, ask, hidden=hidden and place == last)
            for place, token in enumerate(emitted.tokens)
        )
    steps = _steps(emitted.steps, parser)
    return ToldChoice(
        index=index,
        ids=tuple(token.id for token in emitted.tokens),
        scores=scores,
        text=emitted.text,
        steps=steps,
        finish_reason=emitted.finish_reason,
        stop_reason=emitted.stop_reason,
        parts=None if parser is None else tuple(part for step in steps for part in step.parts or ()),
        failure=emitted.failure,
        extras=generation.extras,
    )


def _steps(emitted: Sequence[EmittedStep], parser: StepParser | None) -> tuple[ToldStep, ...]:
    steps: list[ToldStep] = []
    reasoning = 0
    for step in emitted:
        parts = None
        if parser is not None:
            thinking = parser.thinking
            parts = parser.push(step.text, finished=step.finish_reason is not None)
            if thinking or any(part.kind == "reasoning" for part in parts):
                reasoning += step.tokens[1] - step.tokens[0]
        steps.append(
            ToldStep(
                tokens=step.tokens,
                ids=step.tokens,
                scores=step.tokens,
                text=step.text,
                parts=parts,
                finish_reason=step.finish_reason,
                stop_reason=step.stop_reason,
                due_ms=step.due_ms,
                reasoning_tokens=reasoning,
            )
        )
    return tuple(steps)


def _prompt(
    ask: Ask, token_ids: tuple[int, ...], text: str | None, generation: Generation, manner: Manner
) -> ToldPrompt:
    scores: tuple[Score | None, ...] | None = None
    if ask.wants.prompt_logprobs is not None and generation.prompt_logprobs is not None:
        scores = tuple(None if row is None else manner.spelling.prompt(row, ask) for row in generation.prompt_logprobs)
    return ToldPrompt(token_ids, scores, text, generation.cached_tokens)


def _usage(ask: Ask, choices: Sequence[ToldChoice], generations: Sequence[Generation]) -> Usage:
    return Usage(
        prompt_tokens=sum(len(prompt.token_ids) for prompt in ask.prompts),
        completion_tokens=sum(len(choice.ids or ()) for choice in choices),
        reasoning_tokens=sum(choice.steps[-1].reasoning_tokens or 0 for choice in choices if choice.steps),
        cached_tokens=sum(generation.cached_tokens or 0 for generation in generations),
    )
