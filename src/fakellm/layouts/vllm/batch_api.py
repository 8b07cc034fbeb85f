"""``/v1/chat/completions/batch`` (from 0.20): many conversations, one choice each, never a stream; no prompt ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ask import Ask, Prompt, Request
from ...message import Rendering
from ...told import Told
from ..base import Context
from .api import Api, Running
from .chat_api import chat_ask, make_prompt
from .chat_whole import ChatBody
from .frames import answer_facts
from .hear import refused
from .validate import Refusal, check_context, engine_checks, read


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read every conversation as a chat of its own."""
    parsed = read("batch", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return refused(parsed, "chat", False)
    values: dict[str, Any] = {**parsed.values, "tools": parsed.body.get("tools"), "stream": False}
    asked_for = values.get("max_completion_tokens")
    limit = values.get("max_tokens") if asked_for is None else asked_for
    prompts: list[Prompt] = []
    rooms: list[int] = []
    for messages in values.get("messages") or ():
        prompt = make_prompt({**values, "messages": messages}, running)
        if isinstance(prompt, Rendering):
            return prompt
        room = check_context("chat", running.traits, running.settings, prompt.token_ids, limit, values=values)
        if isinstance(room, Refusal):
            return refused(room, "chat", False)
        prompts.append(prompt)
        rooms.append(room)
    size = running.tokenizer.vocab_size
    objection = engine_checks("batch", parsed, prompts, running.traits, running.settings, vocab_size=size)
    if objection is not None:
        return refused(objection, "chat", False)
    first = (values.get("messages") or [()])[0]
    ask = chat_ask(request, parsed, {**values, "messages": first}, tuple(prompts), min(rooms), running)
    return replace(ask, api="batch", n=1, wants=replace(ask.wants, prompt_token_ids=False))


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """One whole body for all conversations; usage is summed and has no details."""
    facts = answer_facts("chatcmpl-", ask, running, context)
    return ChatBody(told, ask, replace(facts, prompt_details=False)).render()


def _there(running: Running) -> bool:
    return running.traits.version >= (0, 20, 0)


BATCH = Api("batch", ("/v1/chat/completions/batch",), hear, render, _there)
