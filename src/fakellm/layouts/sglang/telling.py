"""From the truth to what is told: decode every choice, spell its scores, parse its text, count its tokens.

The one place of this layout that reads a Generation. Everything behind it (renderers, faults) reads the Told. The
parser's view comes in as a function, so that this module knows no parser and no route.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...generation import Choice, Generation
from ...tokenizer import Tokenizer
from ...told import Part, Score, Told, ToldChoice, ToldPrompt, ToldStep, Usage
from .aborts import never_began
from .call import Call, Item
from .engine import Played, immediately, play
from .scores import Speller
from .traits import Traits

RESERVED = 2
"""Positions of the context that an answer may not fill: the scheduler's max_req_len is one less than the context, and
an answer stays one below that (init_req_max_new_tokens, 0.5.3 to 0.5.23)."""


class Parsing(Protocol):
    """A parser's view of one choice: the whole text at once, or its pieces as they come."""

    def whole(self, text: str) -> tuple[Part, ...]: ...

    def push(self, text: str, *, finished: bool, aborted: bool) -> tuple[Part, ...]: ...


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells calls of one station. ``context_length``: tokens; ``interval``: --stream-interval."""

    tokenizer: Tokenizer
    traits: Traits
    speller: Speller
    context_length: int
    interval: int = 1

    def tell(
        self,
        call: Call,
        generations: Sequence[Generation],
        *,
        weight_version: str | None,
        parsing: Callable[[], Parsing] | None = None,
        due: Callable[[int], float] = immediately,
    ) -> Told:
        """Everything the answer to ``call`` may show. ``generations``: one per prompt; ``parsing``: a fresh parser."""
        prompts = tuple(
            ToldPrompt(
                token_ids=item.token_ids,
                scores=self.speller.prompt(item.token_ids, generation.prompt_logprobs, item),
                cached_tokens=generation.cached_tokens or 0,
            )
            for item, generation in zip(call.items, generations, strict=False)
        )
        n = max(call.n, 1)
        choices: list[ToldChoice] = []
        for index in range(len(prompts) * n):
            item, generation = call.items[index // n], generations[index // n]
            choice = generation.choices[(index % n) % len(generation.choices)]
            parser = None if parsing is None else parsing()
            choices.append(self._choice(index, choice, item, call, parser, due, generation.extras))
        version = next((g.weight_version for g in generations if g.weight_version is not None), weight_version)
        return Told(prompts, tuple(choices), _usage(prompts, choices, n), n=n, weight_version=version)

    def _choice(
        self,
        index: int,
        choice: Choice,
        item: Item,
        call: Call,
        parser: Parsing | None,
        due: Callable[[int], float],
        extras: Mapping[str, Any],
    ) -> ToldChoice:
        played = play(
            choice,
            item.limits,
            item.token_ids,
            self.tokenizer,
            self.traits,
            stream=call.stream,
            room=max(self.context_length - len(item.token_ids) - RESERVED, 0),
            interval=self.interval,
            due=due,
        )
        ids = tuple(token.id for token in choice.tokens[: played.end.kept])
        scores: tuple[Score | None, ...] | None = None
        if item.logprobs:
            until = played.deliveries[-1].scores[1] if played.deliveries else 0
            scores = tuple(self.speller.score(token, item) for token in choice.tokens[:until])
        end = played.end
        return ToldChoice(
            index=index,
            ids=ids,
            scores=scores,
            text=played.text,
            steps=_steps(played, parser if call.stream else None),
            finish_reason=end.reason,
            stop_reason=end.matched,
            parts=parser.whole(played.text) if parser is not None and not call.stream else None,
            failure=end.failure,
            extras=extras,
        )


def _steps(played: Played, parser: Parsing | None) -> tuple[ToldStep, ...]:
    steps: list[ToldStep] = []
    for delivery in played.deliveries:
        end = delivery.end
        parts = None
        if parser is not None:
            parts = parser.push(
                delivery.text, finished=end is not None, aborted=end is not None and end.reason == "abort"
            )
        steps.append(
            ToldStep(
                tokens=delivery.ids,
                ids=delivery.ids,
                scores=delivery.scores,
                text=delivery.text,
                parts=parts,
                finish_reason=None if end is None else end.reason,
                stop_reason=None if end is None else end.matched,
                due_ms=delivery.due_ms,
            )
        )
    return tuple(steps)


def _usage(prompts: Sequence[ToldPrompt], choices: Sequence[ToldChoice], n: int) -> Usage:
    return Usage(
        prompt_tokens=sum(
            len(prompt.token_ids or ())
            for number, prompt in enumerate(prompts)
            if not all(never_began(choice) for choice in choices if choice.index // n == number)
        ),
        completion_tokens=sum(len(choice.ids or ()) for choice in choices),
        reasoning_tokens=0,
        cached_tokens=sum(prompt.cached_tokens or 0 for prompt in prompts),
    )
