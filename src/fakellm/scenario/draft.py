"""What a choice says, as tokens: text, pieces, structure or plausible text turned into ids, and its engine steps.

A :class:`Draft` has everything of a choice but its scores. Choices beyond those that a scenario writes vary what is
said, so that no two choices of a request have the same ids. Errors name the reply's place in its file. This module
knows no scores and no request beyond what auto text takes from it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from ..ask import Ask
from ..chance import Stream
from ..errors import ScenarioError
from ..tokenizer import Tokenizer
from .bound import bound_answer
from .model import ChoiceOptions, SayAuto, SayOne, SayStructure, SayText, SayTokens
from .voice import Voice, forced_by
from .words import about, continuation, sentences, topic

Pieces = tuple[tuple[int, bytes], ...]
_SENTENCES = 3
"""At most so many sentences when auto text has no length given."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A choice without scores. ``explicit``: its options' scores are meant for exactly these tokens."""

    pieces: Pieces
    steps: tuple[int, ...]
    options: ChoiceOptions
    explicit: bool


@dataclass(frozen=True, slots=True)
class Draughtsman:
    """Writes drafts for one server. ``key``: seed, scenario and reply, which name the stream of auto text."""

    tokenizer: Tokenizer
    voice: Voice
    key: tuple[object, ...]
    where: str = ""

    def draft(self, say: SayOne, choice: int, variant: int, ask: Ask) -> Draft:
        """What choice ``choice`` says; ``variant`` 0 as it is written, higher ones each otherwise."""
        options = say.options
        ids = self._auto(say, choice, ask) if isinstance(say, SayAuto) else self._ids(say, variant, ask)
        if self._ends(options, ids) and not (isinstance(say, SayAuto) and say.tokens is not None):
            ids = (*ids, self.tokenizer.eos_ids[0])
        piece = self.tokenizer.piece
        return Draft(
            tuple((token_id, piece(token_id)) for token_id in ids),
            self._steps(options, len(ids), variant),
            options,
            explicit=variant == 0 and options.scores is not None,
        )

    def _ids(self, say: SayText | SayTokens | SayStructure, variant: int, ask: Ask) -> Sequence[int]:
        more = continuation(variant) if variant else ""
        if isinstance(say, SayText):
            plain = not say.raw and self.voice.reasoning_close not in say.text
            return self.tokenizer.encode((self.voice.lead(ask) if plain else "") + say.text + more)
        if isinstance(say, SayTokens):
            ids = [self._id(token) for token in say.tokens]
            end = [ids.pop()] if more and ids and ids[-1] in self.tokenizer.eos_ids else []
            return [*ids, *self.tokenizer.encode(more), *end]
        forced, lead = forced_by(ask.tool_choice), self.voice.lead(ask)
        spell = self.voice.spell
        if say.tool_calls and (not say.content or forced):
            raw = spell(say.reasoning, say.content, say.tool_calls, variant=variant, forced=forced, lead=lead)
        else:
            content = None if say.content is None and not more else (say.content or "") + more
            raw = spell(say.reasoning, content, say.tool_calls, lead=lead)
        return self.tokenizer.encode(raw)

    def _id(self, token: int | str) -> int:
        if isinstance(token, int):
            if 0 <= token < self.tokenizer.vocab_size:
                return token
            raise self._wrong(
                f"the id {token} is not in the vocabulary of {self.tokenizer.name}",
                f"ids run from 0 to {self.tokenizer.vocab_size - 1}",
            )
        found = self.tokenizer.id_of(token.encode())
        if found is None:
            parts = [self.tokenizer.piece(part).decode("utf-8", "replace") for part in self.tokenizer.encode(token)]
            raise self._wrong(
                f"{token!r} is not one token of {self.tokenizer.name}",
                f"write its pieces {parts}, or `say: {{text: ...}}`",
            )
        return found

    def _auto(self, say: SayAuto, choice: int, ask: Ask) -> Sequence[int]:
        words: tuple[object, ...] = (*self.key, "words")
        opening = ""
        if say.from_request:
            bound = self._bound(choice, ask)
            if bound is not None:
                return self.tokenizer.encode(bound)
            prompt = ask.prompts[choice // max(ask.n, 1) % len(ask.prompts)].token_ids if ask.prompts else ()
            words = (*words, array("q", prompt).tobytes())
            if ask.sampling.seed is not None:
                words = (*words, ask.sampling.seed)
            opening = about(topic(ask))
        spoken = sentences(words, choice)
        encode = self.tokenizer.encode
        first = self.voice.lead(ask) + next(spoken) + opening
        if say.tokens is None:
            count = Stream(*words, "length").below(_SENTENCES)
            return encode(first + "".join(next(spoken) for _ in range(count)))
        end = [self.tokenizer.eos_ids[0]] if self._ends(say.options, ()) else []
        ids = list(encode(first))
        while len(ids) < say.tokens:
            ids += encode(next(spoken))
        return ids[: say.tokens - len(end)] + end

    def _bound(self, choice: int, ask: Ask) -> str | None:
        """The raw text of an answer that the request binds to a tool or a schema."""
        bound = bound_answer(ask, Stream(*self.key, "bound", choice))
        lead = self.voice.lead(ask)
        if bound is None or isinstance(bound, str):
            return bound and lead + bound
        return self.voice.spell(None, None, (bound,), variant=choice, forced=forced_by(ask.tool_choice), lead=lead)

    def _ends(self, options: ChoiceOptions, ids: Sequence[int]) -> bool:
        """Whether the end token follows."""
        if not self.tokenizer.eos_ids or (ids and ids[-1] in self.tokenizer.eos_ids):
            return False
        if options.eos is not None:
            return options.eos
        return options.stop_reason is None and (options.finish_reason == "stop" or options.finish_at is not None)

    def _steps(self, options: ChoiceOptions, count: int, variant: int) -> tuple[int, ...]:
        given = options.steps
        if isinstance(given, int):
            if given == 1:
                return ()
            full, rest = divmod(count, given)
            return (given,) * full + ((rest,) if rest else ())
        told = sum(given)
        if told > count and variant == 0:
            raise self._wrong(
                f"the steps deliver {told} tokens, but there are {count} (the end token included)",
                "tokens that are left over follow one a step, so a shorter list is fine",
            )
        if told > count:
            return ()
        return (*given, *(1,) * (count - told))

    def _wrong(self, message: str, hint: str) -> ScenarioError:
        return ScenarioError(message, where=self.where or None, hint=hint)
