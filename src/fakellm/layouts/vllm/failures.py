"""Answers of a server that fails on what its own engine said: forced tool calls that are none, a parser that breaks.

A parser's view says so (``ToldChoice.extras``: ``failed`` for the whole text, ``broken`` for a stream); here it becomes
an answer, in the words of the version and the API.
"""

from __future__ import annotations

from ...message import Rendering
from ...told import Told
from .bodies import json_answer
from .traits import Traits
from .validate.flaws import Crash, Objection
from .validate.spelling import failure_body, spell_handler_crash, spell_objection


def failure_of(told: Told) -> Objection | Crash | None:
    """What the server failed with when it read a whole answer, None if it did not."""
    found = (choice.extras.get("failed") for choice in told.choices)
    return next((failed for failed in found if isinstance(failed, Objection | Crash)), None)


def chat_failure(failed: Objection | Crash, traits: Traits) -> Rendering:
    """The answer of chat."""
    if isinstance(failed, Objection):
        return spell_objection(failed, traits).rendering()
    return spell_handler_crash(failed, traits).rendering()


def responses_failure(failed: Objection | Crash, traits: Traits) -> Rendering:
    """The answer of Responses: its handler makes an error of every exception in 0.16."""
    if isinstance(failed, Crash) and traits.handler_crash != "returned":
        return spell_handler_crash(failed, traits).rendering()
    body = failure_body(failed, traits)
    return json_answer(body, status=body["error"]["code"])


def messages_failure(failed: Crash) -> Rendering:
    """The answer of messages to an exception: always the same."""
    body = {"type": "error", "error": {"type": "internal_error", "message": failed.message}}
    return json_answer(body, status=500)
