"""``/invocations``, SageMaker's one entrance: a body goes to the first API whose schema it fits, chat or completions.

From 0.12 the model's name is not looked at. What no API takes is refused in words that say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ...ask import Ask, Request
from ...message import Rendering
from ..base import Context
from . import chat_api, completions_api
from .api import Running
from .bodies import error_value, json_answer
from .options import V12
from .validate.apis import API_READERS
from .validate.checks import Rules
from .validate.flaws import Crash, FlawedBody, Objection
from .validate.read import check_body
from .validate.spelling import spell_crash, spell_objection

NO_API = "Cannot find suitable handler for request. Expected one of: ['ChatCompletionRequest', 'CompletionRequest']"
APIS = (("chat", chat_api.hear), ("completions", completions_api.hear))


def invoke(request: Request, running: Running, context: Context, parameters: Mapping[str, str]) -> Ask | Rendering:
    """Hear it as the API that takes it would."""
    body = json_body(request)
    if isinstance(body, Rendering):
        return body
    try:
        if not isinstance(body, dict):
            raise _no_object(body)
        members = cast("dict[str, Any]", body)
        if running.traits.version >= V12:
            members = {name: value for name, value in members.items() if name != "model"}
        for api, hear in APIS:
            if _fits(api, members, running):
                heard = hear(replace(request, body=json.dumps(members).encode()), running, context)
                return replace(heard, request=request) if isinstance(heard, Ask) else heard
    except Crash as crash:
        return spell_crash(crash, running.traits).rendering()
    except Objection as objection:
        return spell_objection(objection, running.traits).rendering()
    return json_answer(error_value(NO_API, "BadRequestError", None, 400), status=400)


def json_body(request: Request) -> Any:
    """The body of a route that reads its JSON itself, or the refusal of one that is none."""
    try:
        return json.loads(request.body)
    except ValueError as bad:
        text = f"JSON decode error: {bad}"
        return json_answer(error_value(text, "Bad Request", None, 400), status=400)


def _fits(api: str, body: Mapping[str, Any], running: Running) -> bool:
    """Whether the API's schema takes the body; from 0.28 a failed check is raised, and Crash always."""
    rules = Rules(running.traits, running.settings)
    try:
        check_body(API_READERS[api], body, rules)
    except FlawedBody:
        return False
    return True


def _no_object(body: Any) -> Crash:
    if isinstance(body, list):
        return Crash("TypeError", "list indices must be integers or slices, not str")
    if isinstance(body, str):
        return Crash("TypeError", "string indices must be integers, not 'str'")
    return Crash("TypeError", f"'{type(body).__name__}' object is not subscriptable")
