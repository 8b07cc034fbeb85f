"""Ending answers that are on their way: the abort routes, pausing and sleeping, and how the engine knows a request.

``/abort_requests`` is a development route (from 0.28) or the one of ``--tokens-only`` (from 0.12); since 0.32 token-in
servers also have ``/inference/v1/abort_requests``. Ids are the engine's: ``chatcmpl-...`` as the answer shows it, but
one per prompt for completions (``cmpl-...-0``) and one per turn for responses (``resp_..._0``). The engine gives up at
once: what it had sampled stays, and one more output without tokens says ``abort`` (output_processor.abort_requests).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...ask import Ask, Request
from ...generation import Choice
from ...message import Rendering
from ..base import Context, Which
from .api import Running
from .bodies import empty_answer, error_value, json_answer
from .frames import random_id
from .tito_api import gate

Parameters = Mapping[str, str]
YES = frozenset({"1", "true", "yes", "on", "t", "y"})
"""What pydantic reads as true in a query."""
SLEEP_ABORTS = (0, 20, 2)
"""From this version on, putting the engine to sleep pauses its scheduler, which aborts unless told otherwise."""

_ENGINE_IDS: Mapping[str, Callable[[str, int], str]] = {
    "chat": lambda chosen, prompt: f"chatcmpl-{chosen}",
    "messages": lambda chosen, prompt: f"chatcmpl-{chosen}",
    "batch": lambda chosen, prompt: f"chatcmpl-{chosen}_{prompt}",
    "completions": lambda chosen, prompt: f"cmpl-{chosen}-{prompt}",
    "tito": lambda chosen, prompt: f"generate-tokens-{chosen}",
    "responses": lambda chosen, prompt: f"{chosen}_0",
}


def engine_ids(ask: Ask, running: Running, context: Context) -> Sequence[str]:
    """The id of each choice's request; the samples of one prompt share it."""
    chosen = random_id(context, running) if ask.request_id is None else ask.request_id
    if ask.api == "responses" and ask.request_id is None:
        chosen = f"resp_{chosen}"
    spell = _ENGINE_IDS[ask.api]
    return [spell(chosen, prompt) for prompt in range(len(ask.prompts)) for _ in range(ask.n)]


def aborted(choice: Choice, steps: int) -> Choice:
    """The tokens of the steps that were made, and a last output that has none."""
    made = choice.steps[:steps]
    return Choice(choice.tokens[: sum(made)], (*made, 0), "abort")


def engine_requests(ask: Ask) -> int:
    """What the output processor holds for it: one a prompt; several samples stand beside their parent."""
    return len(ask.prompts) * (ask.n if ask.n == 1 else ask.n + 1)


def abort_all(running: Running) -> int:
    """End everything; how many requests there were."""
    requests = running.flights.requests()
    running.flights.abort(Which())
    return requests


def pauses(request: Request, running: Running) -> None:
    """What ``/pause`` does to answers on their way: it ends them unless told to wait or to keep them."""
    waits = request.query.get("wait_for_inflight_requests", "").lower() in YES and running.traits.version < (0, 32, 0)
    if request.query.get("mode", "abort") == "abort" and not waits:
        running.flights.abort(Which())


def sleeps(request: Request, running: Running) -> None:
    """What ``/sleep`` does to them."""
    if running.traits.version >= SLEEP_ABORTS and request.query.get("mode", "abort") == "abort":
        running.flights.abort(Which())


def abort_requests(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """The development route. It says how many were named; without names, how many there were."""
    body = _body(request, "Invalid JSON format")
    if isinstance(body, Rendering):
        return body
    if not isinstance(body, dict):
        if running.traits.version < (0, 32, 0):
            return _no_object(body)
        return _refusal("Request body must be a JSON object")
    named: Any = cast(dict[str, Any], body).get("request_ids")
    if not named:
        return json_answer({"status": "aborted", "aborted": abort_all(running)})
    if not isinstance(named, str | list | dict):
        problem = f"'{type(named).__name__}' object is not iterable"
        return json_answer({"error": f"Failed to abort requests: {problem}"}, status=500)
    running.flights.abort(_which(named))
    return json_answer({"status": "aborted", "aborted": len(cast("Sequence[Any]", named))})


def abort_by_ids(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """The route of token-in servers: ids are required, the answer is empty whatever they were."""
    closed = gate(running)
    if closed is not None:
        return closed
    body = _body(request)
    if isinstance(body, Rendering):
        return body
    if not isinstance(body, dict):
        return _no_object(body)
    named: Any = cast(dict[str, Any], body).get("request_ids")
    if named is None:
        return _refusal("Missing 'request_ids' in request body")
    if isinstance(named, str | list | dict):  # it aborts in the background: what goes wrong there nobody hears
        running.flights.abort(_which(named))
    return empty_answer()


def _body(request: Request, words: str | None = None) -> Any:
    """The JSON value, or its refusal: in these words, else with what is wrong."""
    try:
        return json.loads(request.body)
    except RecursionError:
        return _refusal(words or "JSON decode error: nested too deeply")
    except ValueError as problem:
        return _refusal(words or f"JSON decode error: {problem}")


def _refusal(message: str) -> Rendering:
    return json_answer(error_value(message, "Bad Request", None, 400), status=400)


def _no_object(body: object) -> Rendering:
    """The server asks a value that is no object for its members."""
    kind = "NoneType" if body is None else type(body).__name__
    message = f"'{kind}' object has no attribute 'get'"
    return json_answer(error_value(message, "InternalServerError", None, 500), status=500)


def _which(named: Any) -> Which:
    names: Sequence[Any] = (named,) if isinstance(named, str) else tuple(named)
    return Which(tuple(name for name in names if isinstance(name, str)))


def tokens_only(running: Running) -> bool:
    """A server that was started with --tokens-only has the bare route."""
    return running.settings.tokens_only and running.traits.version >= (0, 12, 0)


def scale_out(running: Running) -> bool:
    """The guarded route beside ``/inference/v1/generate``; closed like that one."""
    return running.traits.version >= (0, 32, 0)
