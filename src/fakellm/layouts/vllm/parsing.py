"""The parsers as the APIs and the station of a running server ask for them: what a request says about parsing goes into
its Ask as ``options["parsing"]``, and comes back as the parser that ``tell`` plays the answer to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ask import Ask
from .api import Running
from .parsers import RULES, Asked, VllmParser, asked_of, choose, parser_for

__all__ = ["asked_of", "notes_of", "parser_of", "seen_prompt", "shows_specials"]


def seen_prompt(asked: Asked, prompt_ids: Sequence[int], running: Running) -> Asked:
    """The same, knowing the prompt: whether it has already ended the reasoning."""
    rules = RULES[running.shape.version]
    reasoning = choose.make_reasoning(running.tokenizer, running.settings, rules, asked)
    return asked if reasoning is None else replace(asked, prompt_ended=reasoning.ended(prompt_ids))


def shows_specials(asked: Asked, running: Running) -> bool:
    """Do the parsers need special tokens in the text (which switches skip_special_tokens off)?"""
    return choose.shows_specials(running.settings, RULES[running.shape.version], asked)


def parser_of(ask: Ask, running: Running) -> VllmParser | None:
    """The reasoning and tool parsers that this request meets."""
    asked: Asked | None = ask.options.get("parsing")
    if asked is None:
        return None
    return parser_for(asked, running.shape.version, running.settings, running.tokenizer, running.launch.env)


def notes_of(running: Running) -> tuple[str, ...]:
    """What stands in for parsers that are not known here."""
    return choose.notes_of(running.settings, RULES[running.shape.version])
