"""``/v1/messages`` and ``/v1/messages/count_tokens`` as APIs (from 0.12; facts: research, vllm.md 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ....ask import Ask, Prompt, Request, Wants
from ....errors import TokenizerError
from ....message import Message, Rendering
from ....told import Told
from ...base import Context
from ..api import Api, Running
from ..bodies import EVENT_HEADERS, json_answer
from ..chat_api import make_prompt
from ..chat_stream import ChatStream
from ..chat_whole import ChatBody
from ..failures import chat_failure, failure_of, messages_failure
from ..frames import answer_facts
from ..hear import request_id, sampling
from ..parsing import asked_of, seen_prompt, shows_specials
from ..route import Route
from ..traits import Traits
from ..validate import Parsed, Refusal, check_context, engine_checks, read, refused_conversation
from ..validate.flaws import Crash
from ..validate.spelling import internal_error
from .answer import Converter, UnusableInput, error_value, whole
from .inputs import UnknownTool, chat_values
from .old_stream import OldConverter
from .rules import MESSAGE_RULES, MessageRules


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read and check an Anthropic request, make the chat request of it, template and tokenise."""
    parsed = read("messages", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    rules = MESSAGE_RULES[running.shape.version]
    heard = _chat(parsed, rules, running)
    if isinstance(heard, Rendering):
        return heard
    values, prompt = heard
    room = check_context(
        "messages", running.traits, running.settings, prompt.token_ids, values["max_tokens"], values=values
    )
    stream = bool(values["stream"])
    if isinstance(room, Refusal):
        return _refused(room, rules, stream)
    objection = engine_checks(
        "messages", parsed, (prompt,), running.traits, running.settings, vocab_size=running.tokenizer.vocab_size
    )
    if objection is not None:
        return _refused(objection, rules, stream)
    parsing = asked_of(values)
    return Ask(
        api="messages",
        request=request,
        body=parsed.body,
        prompts=(prompt,),
        model=values["model"] or None,
        stream=stream,
        messages=tuple(parsed.values.get("messages") or ()),
        sampling=sampling(
            {**parsed.values, **values}, room, skip_special_tokens=False if shows_specials(parsing, running) else None
        ),
        wants=Wants(usage=True, continuous_usage=stream and rules.continuous),
        tools=tuple(values["tools"] or ()),
        tool_choice=values["tool_choice"],
        request_id=request_id({}, request),
        ignored=parsed.ignored,
        options={
            "role": running.settings.response_role,
            "stream_interval": running.settings.stream_interval or 1,
            "parsing": seen_prompt(parsing, prompt.token_ids, running),
            "one_call": not values["parallel_tool_calls"],
        },
    )


def _chat(parsed: Parsed, rules: MessageRules, running: Running) -> tuple[dict[str, Any], Prompt] | Rendering:
    """The chat request's fields and its prompt."""
    try:
        values = chat_values(parsed.values, rules, lambda: _system_first(running))
    except UnknownTool as problem:
        return json_answer(error_value("BadRequestError", str(problem)), status=400)
    refusal = refused_conversation("messages", values, running.traits, running.settings)
    if refusal is not None:
        return refusal.rendering()
    prompt = make_prompt(values, running)
    return translated(prompt, running.traits) if isinstance(prompt, Rendering) else (values, prompt)


def _system_first(running: Running) -> bool:
    """Does the chat template refuse system messages that are not the first?"""
    turns = [{"role": role, "content": "t"} for role in ("system", "user", "system", "user")]
    try:
        running.tokenizer.render_chat(turns, add_generation_prompt=False, template=running.settings.chat_template)
    except TokenizerError:
        return True
    return False


def translated(rendering: Rendering, traits: Traits) -> Rendering:
    """An error of the chat handler in Anthropic's shape."""
    error = cast("Mapping[str, Mapping[str, Any]]", rendering.messages[0].body)["error"]
    if traits.messages_crash:
        return json_answer(internal_error(str(error["message"])), status=500)
    shown = error_value(str(error["type"]), str(error["message"]))
    return replace(rendering, messages=(Message("body", shown),))


def _refused(refusal: Refusal, rules: MessageRules, stream: bool) -> Rendering:
    """A refusal; a late one reaches a stream that has begun as a chunk that cannot be read."""
    if not (refusal.late and stream):
        return refusal.rendering()
    body: dict[str, Any] = refusal.body
    if body.get("type") == "error":
        inner: Mapping[str, Any] = body["error"]
        body = {"error": {"message": inner["message"], "type": inner["type"], "param": None, "code": refusal.status}}
    return _converted([Message("error", body)], rules, lambda: "", ())


def _converted(
    chunks: list[Message], rules: MessageRules, signature: Any, headers: tuple[tuple[str, str], ...]
) -> Rendering:
    converter = Converter(rules, signature) if rules.blocks else OldConverter(rules)
    for chunk in chunks:
        if not converter.feed(chunk):
            break
    return Rendering(200, (*EVENT_HEADERS, *headers), tuple(converter.events), stream=True)


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """The message, whole or as events."""
    rules = MESSAGE_RULES[running.shape.version]
    facts = answer_facts("chatcmpl-", ask, running, context)

    def signature() -> str:
        return context.hex(32)

    if ask.stream:
        chunks = ChatStream(told, ask, facts).render().messages
        return _converted(list(chunks), rules, signature, facts.headers)
    failed = failure_of(told)
    if isinstance(failed, Crash):
        return messages_failure(failed)
    if failed is not None:
        return translated(chat_failure(failed, running.traits), running.traits)
    answered = ChatBody(told, ask, facts).render()
    if answered.status != 200:
        return translated(answered, running.traits)
    try:
        message = whole(cast("Mapping[str, Any]", answered.messages[0].body), rules, signature)
    except UnusableInput as problem:
        status, kind = (400, "BadRequestError") if rules.refuses_input else (500, "internal_error")
        return json_answer(error_value(kind, str(problem)), status=status, headers=facts.headers)
    return json_answer(message, headers=facts.headers)


def count_tokens(request: Request, running: Running, context: Context, parameters: Mapping[str, str]) -> Rendering:
    """How many tokens the prompt of a message would have."""
    parsed = read("count_tokens", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    heard = _chat(parsed, MESSAGE_RULES[running.shape.version], running)
    if isinstance(heard, Rendering):
        return heard
    tokens = len(heard[1].token_ids)
    return json_answer({"input_tokens": tokens, "context_management": {"original_input_tokens": tokens}})


def _exists(running: Running) -> bool:
    return running.shape.version in MESSAGE_RULES


def _counts(running: Running) -> bool:
    return _exists(running) and MESSAGE_RULES[running.shape.version].counts


MESSAGES = Api("messages", ("/v1/messages",), hear, render, _exists)
COUNT_ROUTES = (Route(("POST",), "/v1/messages/count_tokens", count_tokens, _counts),)
