"""Answers of a server that fails on what its own engine said: forced tool calls that are none, a parser that breaks.

A parser's view says so (``ToldChoice.extras``: ``failed`` for the whole text, ``broken`` for a stream); here it becomes
an answer, in the words of the version and the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...message import Rendering
from ...told import Told, ToldChoice
from .bodies import json_answer
from .traits import Traits
from .validate.flaws import Crash, Objection
from .validate.spelling import error_body, failure_body, internal_error, spell_handler_crash, spell_objection


def failure_of(told: Told) -> Objection | Crash | None:
    """What the server failed with when it read a whole answer, None if it did not."""
    found = (choice.extras.get("failed") for choice in told.choices)
    return next((failed for failed in found if isinstance(failed, Objection | Crash)), None)


def break_of(choice: ToldChoice) -> tuple[int, Crash] | None:
    """At which step of a stream the server broke, and with what; None if it did not."""
    found: tuple[int, Crash] | None = choice.extras.get("broken")
    return found


def stream_failure(crash: Crash, traits: Traits) -> Mapping[str, Any]:
    """The event that ends a chat stream: up to 0.12 every exception counts as a bad request."""
    if traits.handler_crash == "detailed":
        return error_body(crash.message, "BadRequestError", None, 400, traits)
    return failure_body(crash, traits)


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
    return json_answer(internal_error(failed.message), status=500)
