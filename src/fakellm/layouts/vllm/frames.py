"""Making the AnswerFacts of one answer: ids, time, model name and what the launch options add."""

from __future__ import annotations

from ...ask import Ask
from ..base import Context
from .api import Running
from .frame import AnswerFacts
from .options import V12


def random_id(context: Context, running: Running) -> str:
    """A random id as vLLM makes it: 16 hex digits of the low half of a uuid4 (first digit 8, 9, a or b); in 0.10.2 all
    32 digits of it."""
    return context.hex(running.shape.id_digits)


def answer_facts(prefix: str, ask: Ask, running: Running, context: Context) -> AnswerFacts:
    """Everything about an answer that does not come from the engine."""
    settings = running.settings
    unchosen = ask.request_id is None or (not ask.request_id and running.traits.version < V12)
    chosen = random_id(context, running) if unchosen else ask.request_id
    made: dict[tuple[int, int], str] = {}

    def tool_id(choice: int, call: int, own: bool) -> str:
        key = (choice, call)
        if key not in made:
            made[key] = f"call_{context.hex(24)}" if own else f"chatcmpl-tool-{random_id(context, running)}"
        return made[key]

    headers: tuple[tuple[str, str], ...] = ()
    if settings.enable_request_id_headers:
        headers = (("x-request-id", ask.request.headers.get("x-request-id") or context.hex(32)),)
    return AnswerFacts(
        id=f"{prefix}{chosen}",
        created=int(context.now()),
        model=model_name(ask.model, running),
        shape=running.shape,
        traits=running.traits,
        fingerprint=running.fingerprint if running.shape.fingerprint else None,
        tool_id=tool_id,
        prompt_details=settings.enable_prompt_tokens_details,
        metrics=settings.enable_per_request_metrics,
        keep_alive_ms=settings.sse_keep_alive_interval * 1000.0,
        headers=headers,
        engine=running.launch.engine,
    )


def model_name(asked: str | None, running: Running) -> str:
    """The name that answers show: the first served name when none was asked for."""
    if asked:
        return asked
    names = running.settings.served_names
    return names[0] if names else (running.launch.model or "tiny")
