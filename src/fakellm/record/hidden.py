"""Tokens that stand before an answer's text: the thoughts of a model, which an API shows apart or not at all.

Where no ids tell them, a shown thought is tokenised anew. One that is kept back is on no wire, so nobody can know it;
but a truth without it would be counted otherwise when it is replayed: as many placeholders as are missing stand for it.
Either is taken only if the answer, made again from it, shows the same. Pure but for the station.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..ask import Ask
from ..capture import Capture
from ..context import FixedContext
from ..generation import Generation, Token
from ..layouts.base import Layout, Station
from ..reading import read_as_sent
from ..tokenizer import Tokenizer
from ..wire import frames
from .taken import Taken
from .thoughts import thoughts

OPEN, CLOSE, FILLER = b"<think>", b"</think>", "."
COUNTS = ("completion_tokens", "output_tokens", "eval_count", "tokens_predicted", "generated_tokens")
"""How vendors call the number of generated tokens."""

_TIMED = re.compile(rb'"predicted_n":\s?(\d+)')


def counted(answer: Capture, body: bytes) -> int | None:
    """The tokens that a server says it made: in its usage, at the top of its last line (Ollama), in its timings
    (llama.cpp); None where it does not say."""
    usage = answer.usage or _last_line(body)
    told = next((usage[name] for name in COUNTS if isinstance(usage.get(name), int)), None)
    timed = _TIMED.findall(body) if told is None else ()
    return int(timed[-1]) if timed else told


def _last_line(body: bytes) -> Mapping[str, Any]:
    try:
        found: Any = json.loads(body.strip().rpartition(b"\n")[2])
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Mirror:
    """The server that answers, as the fake plays it: makes an answer again from a truth."""

    layout: Layout
    station: Station
    tokenizer: Tokenizer

    def with_thought(
        self, generation: Generation, ask: Ask, count: int | None, text: str | None, taken: Taken
    ) -> Generation:
        """The generation with its thought in front; unchanged where there is none, or where the answer would then not
        show the same. ``count``: the tokens that the server counted, where it did; ``text``: as it was sent."""
        shown = thoughts(taken.readable_body, stream=ask.stream)
        _, told, _ = self._again(generation, ask, taken.at)
        missing = count - told if count is not None and told is not None and text else 0
        fitting: list[Generation] = []
        for ids, steps in self._thoughts(shown, missing, text):
            choice = generation.choices[0]
            tokens = (*(Token(one, self.tokenizer.piece(one), None) for one in ids), *choice.tokens)
            steps = (*steps, *choice.steps) if choice.steps else ()
            made = replace(generation, choices=(replace(choice, tokens=tokens, steps=steps),))
            again, told, said = self._again(made, ask, taken.at)
            if text == again.choices[0].text and "".join(said) == "".join(shown):
                if count is None or told == count:
                    return made
                fitting += [made] if shown else []
        return next(iter(fitting), generation)

    def _thoughts(
        self, shown: Sequence[str], missing: int, text: str | None
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Ids and steps that may have made the thought. The opening mark may have been the prompt's last token, and a
        thought with no text after it may be unfinished."""
        if not shown:
            ids = thought(self.tokenizer, missing)
            yield from [(ids, (1,) * len(ids))] if ids else []
            return
        pieces = [self.tokenizer.encode(piece) for piece in shown]
        inside = tuple(one for piece in pieces for one in piece)
        opens, closes = self.tokenizer.encode(OPEN.decode()), self.tokenizer.encode(CLOSE.decode())
        for before, after in [((), ()), (opens, ())] * (not text) + [(opens, closes), ((), closes)]:
            steps = ((1,) * len(before), tuple(map(len, pieces)), (1,) * len(after))
            yield (*before, *inside, *after), tuple(step for part in steps for step in part)

    def _again(self, generation: Generation, ask: Ask, at: float) -> tuple[Capture, int | None, tuple[str, ...]]:
        """What the fake would answer: as read, the tokens that it counts, the thought that it shows."""
        context = FixedContext(at)
        rendering = self.station.render(self.station.tell(ask, (generation,), context), ask, context)
        data = b"".join(frame.data for frame in frames(rendering))
        answer = read_as_sent(data, api=ask.api, stream=ask.stream, table=self.layout.accessors)
        return answer, counted(answer, data), thoughts(data, stream=ask.stream)


def thought(tokenizer: Tokenizer, count: int) -> tuple[int, ...]:
    """``count`` ids from the opening mark to the closing one; none where the tokenizer has no such marks."""
    opens, closes = tokenizer.id_of(OPEN), tokenizer.id_of(CLOSE)
    if opens is None or closes is None or count < 2:
        return ()
    return (opens, *tokenizer.encode(FILLER)[:1] * (count - 2), closes)
