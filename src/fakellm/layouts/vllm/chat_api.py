"""``/v1/chat/completions`` as an API: from a request to an Ask, from Told to ``ChatBody`` or ``ChatStream``.

Facts: research, vllm.md sections 1 and 5; rendering notes 4 (echo fills prompt_logprobs unasked).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...ask import Ask, Prompt, Request, Wants
from ...errors import TokenizerError
from ...message import Rendering
from ...told import Told
from ..base import Context
from .api import Api, Running
from .bodies import error_value, json_answer
from .chat_stream import ChatStream
from .chat_whole import ChatBody
from .failures import chat_failure, failure_of
from .frames import answer_facts
from .hear import asked, refused, sampling, stream_wants
from .options import V16
from .parsing import asked_of, seen_prompt, shows_specials
from .prompts import NO_TEXT, chat_prompt
from .truncation import truncated
from .validate import Parsed, Refusal, check_context, engine_checks, read


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read, check, template and tokenise one chat request."""
    parsed = read("chat", request, running.traits, running.settings, running.accepted)
    if isinstance(parsed, Refusal):
        return refused(parsed, "chat", False)
    values = {**parsed.values, "tools": parsed.body.get("tools")}  # the template sees tools as they were sent
    prompt = make_prompt(values, running)
    if isinstance(prompt, Rendering):
        return prompt
    stream = bool(values.get("stream"))
    asked_for = values.get("max_completion_tokens")
    if asked_for is None or (asked_for == 0 and running.traits.version < V16):
        asked_for = values.get("max_tokens")
    room = check_context("chat", running.traits, running.settings, prompt.token_ids, asked_for, values=values)
    if isinstance(room, Refusal):
        return refused(room, "chat", stream)
    length = len(prompt.token_ids)
    if parsed.kind is None or length not in parsed.kind.lengths:
        objection = engine_checks(
            "chat", parsed, (prompt,), running.traits, running.settings, vocab_size=running.tokenizer.vocab_size
        )
        if objection is not None:
            return refused(objection, "chat", stream)
        if parsed.kind is not None:
            parsed.kind.lengths.add(length)
    return chat_ask(request, parsed, values, (prompt,), room, running)


def chat_ask(
    request: Request,
    parsed: Parsed,
    values: Mapping[str, Any],
    prompts: tuple[Prompt, ...],
    room: int,
    running: Running,
) -> Ask:
    """The Ask of an accepted chat. ``room``: how many tokens may be made."""
    options = _options(values, running)
    parsing = asked_of(values)
    options["parsing"] = seen_prompt(parsing, prompts[0].token_ids, running)
    return asked(
        "chat",
        request,
        parsed.body,
        values,
        prompts,
        sampling(values, room, skip_special_tokens=False if shows_specials(parsing, running) else None),
        _wants(values, running),
        ignored=parsed.ignored,
        messages=values.get("messages") or (),
        options=options,
    )


OVERRIDDEN = ("add_generation_prompt", "continue_final_message", "chat_template", "tools")


def make_prompt(values: Mapping[str, Any], running: Running) -> Prompt | Rendering:
    """The prompt: by the chat template, or ids handed over in kv_transfer_params (from 0.28)."""
    handed: Any = values.get("kv_transfer_params")
    if running.shape.kv_prompt_ids and isinstance(handed, Mapping) and not values.get("echo"):
        ids: Any = cast(Mapping[str, Any], handed).get("prompt_token_ids")
        if ids:
            return Prompt(tuple(ids), None)
    if running.traits.version < V16:  # variables win over the request's own members of these names
        variables: Mapping[str, Any] = values.get("chat_template_kwargs") or {}
        values = {**values, **{name: variables[name] for name in OVERRIDDEN if name in variables}}
    tools = values.get("tools")
    if values.get("tool_choice") == "none" and running.settings.exclude_tools_when_tool_choice_none:
        tools = None
    try:
        prompt = chat_prompt(
            running.tokenizer,
            values.get("messages") or (),
            tools=tools,
            add_generation_prompt=values.get("add_generation_prompt", True) is not False,
            continue_final_message=bool(values.get("continue_final_message")),
            add_special_tokens=bool(values.get("add_special_tokens")),
            template=values.get("chat_template") or running.settings.chat_template,
            variables=values.get("chat_template_kwargs"),
        )
    except TokenizerError as problem:
        cause = "None" if problem.message == NO_TEXT else problem.message  # the template's errors are raised anew
        text = f"{problem.message} {cause}" if running.traits.cause_shown else problem.message
        return json_answer(error_value(text, "BadRequestError", None, 400), status=400)
    return truncated(prompt, values, running.traits, running.settings)


def _wants(values: Mapping[str, Any], running: Running) -> Wants:
    usage, continuous = stream_wants(values, running)
    top = values.get("top_logprobs")
    scores = bool(values.get("logprobs"))
    if scores and top is None and "top_logprobs" in values.get("__given__", ()) and running.shape.null_top_disables:
        scores = False
    echo = bool(values.get("echo"))
    prompt_logprobs = values.get("prompt_logprobs")
    if prompt_logprobs is None and echo and not values.get("stream"):
        prompt_logprobs = top or 0
    return Wants(
        prompt_token_ids=bool(values.get("return_token_ids")),
        completion_token_ids=bool(values.get("return_token_ids")),
        logprobs=scores,
        top_logprobs=top or 0,
        prompt_logprobs=prompt_logprobs,
        tokens_as_ids=as_ids(values, running),
        echo=echo,
        usage=usage,
        continuous_usage=continuous,
    )


def as_ids(values: Mapping[str, Any], running: Running) -> bool:
    """return_tokens_as_token_ids: the request's word, else the server's."""
    asked_for = values.get("return_tokens_as_token_ids")
    return bool(running.settings.return_tokens_as_token_ids if asked_for is None else asked_for)


def _options(values: Mapping[str, Any], running: Running) -> dict[str, Any]:
    settings = running.settings
    messages = values.get("messages") or ()
    last: Mapping[str, Any] = messages[-1] if messages else {}
    generation_prompt = values.get("add_generation_prompt", True) is not False
    role = settings.response_role if generation_prompt else last.get("role", settings.response_role)
    options: dict[str, Any] = {
        "role": role,
        "echo_text": _text(last.get("content")) if values.get("echo") and last.get("role") == role else "",
        "return_prompt_text": bool(values.get("return_prompt_text")),
        "one_call": not values.get("parallel_tool_calls", True),
        "stream_interval": values.get("stream_interval") or settings.stream_interval or 1,
    }
    ids = values.get("logprob_token_ids")
    if ids and values.get("logprobs"):
        options.update(engine_top=len(ids), shown_top=None)
    return options


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = cast(Sequence[Any], content or ())
    return "".join(str(cast(Mapping[str, Any], part).get("text", "")) for part in parts if isinstance(part, Mapping))


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """The chat answer, whole or streamed."""
    failed = None if ask.stream else failure_of(told)
    if failed is not None:
        return chat_failure(failed, running.traits)
    facts = answer_facts("chatcmpl-", ask, running, context)
    return (ChatStream if ask.stream else ChatBody)(told, ask, facts).render()


CHAT = Api("chat", ("/v1/chat/completions",), hear, render)
