"""Plausible text out of nothing: what ``say: {auto: ...}`` says.

Sentences of plain English from a few lists, drawn by a seeded stream. The choices of one request begin with different
words. With ``from_request`` the text takes up words of the request, so that a person sees which answer belongs where.
This module tokenises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ask import Ask
from ..chance import Stream
from .rules import text_of

_OPENERS = (
    "Perhaps", "Still", "Today", "Every", "Most", "Another", "When", "Under", "Inside", "Both", "Quite", "Usually",
    "Later", "From", "Yes", "Good", "Here", "Often", "Zero", "Keep", "Just", "Nothing", "Values", "Cases",
)  # fmt: skip
"""First words, no two of which begin alike."""
_SUBJECTS = (
    "the model", "a small change", "the answer", "this approach", "the second step", "a careful reader", "the result",
    "our estimate", "the first token", "a good test", "the server", "the whole story", "the number", "a short note",
)  # fmt: skip
_VERBS = (
    "depends on", "explains", "comes before", "agrees with", "points to", "follows from", "improves", "describes",
    "is close to", "leads to", "differs from", "stays within", "adds up to", "rests on",
)  # fmt: skip
_OBJECTS = (
    "the question", "the data", "a simple rule", "what was asked", "the next step", "the evidence", "a known example",
    "the context", "the measured value", "an older result", "the given limits", "two of the three cases", "the plan",
)  # fmt: skip
_TAILS = (
    "", "", "", " in most cases", " as before", ", so it can be checked", " without much effort", ", step by step",
    " at this point", ", as far as we know", " and nothing else", " for now",
)  # fmt: skip
_CONTINUATIONS = (
    " Once more.", " In other words.", " That is another way.", " Or so it seems.", " As said before.",
    " At least here.", " For the record.", " Nothing else.", " Quite simply.", " By the way.", " Time will tell.",
" Very likely.", )  # fmt: skip
_READ = 2_000
"""Characters of a request that are looked at for words to take up."""


def sentences(words: tuple[object, ...], choice: int = 0) -> Iterator[str]:
    """Endless sentences, each but the first with a blank before it. ``words`` name the row; each choice of it has its
    own first word and its own text."""
    start = Stream(*words).below(len(_OPENERS))
    chance = Stream(*words, choice)
    blank = ""
    for number in range(1 << 62):
        opener = _OPENERS[(start + choice) % len(_OPENERS)] if number == 0 else chance.pick(_OPENERS)
        rest = f"{chance.pick(_SUBJECTS)} {chance.pick(_VERBS)} {chance.pick(_OBJECTS)}{chance.pick(_TAILS)}"
        yield f"{blank}{opener} {rest}."
        blank = " "


def continuation(variant: int) -> str:
    """What choice ``variant`` of n > 1 adds to what the first one says; different for every variant."""
    again, which = divmod(variant - 1, len(_CONTINUATIONS))
    return _CONTINUATIONS[which] + (f" ({again + 1})" if again else "")


def topic(ask: Ask) -> str:
    """A few words of the last thing the request says, letters and digits only; empty when there are none."""
    text = next((text_of(row.get("content")) for row in reversed(ask.messages) if row.get("role") != "assistant"), None)
    if text is None:
        text = next((prompt.text for prompt in ask.prompts if prompt.text is not None), "")
    return " ".join(re.findall(r"[A-Za-z0-9][A-Za-z0-9'-]*", text[-_READ:])[:6])


def about(words: str) -> str:
    """A first sentence that takes up words of the request."""
    return f' You asked about "{words}".' if words else ""
