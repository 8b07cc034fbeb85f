"""``/v1/responses`` as an API: from a request to an Ask, from Told to a response or its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ....ask import Ask, Prompt, Request, Wants
from ....errors import TokenizerError
from ....message import Rendering
from ....told import Told, ToldPrompt, Usage
from ...base import Context
from ..api import Api, Running
from ..bodies import ENGINE_FAILURE, error_value, json_answer
from ..failures import failure_of, responses_failure
from ..frame import AnswerFacts
from ..frames import answer_facts
from ..hear import refused, sampling
from ..parsers import Asked
from ..parsers.choose import tool_parser_name
from ..parsing import asked_of, parser_of, seen_prompt, shows_specials
from ..prompts import chat_prompt
from ..validate import Parsed, Refusal, check_context, engine_checks, read, refusals
from ..validate.flaws import Crash
from ..validate.spelling import spell_handler_crash
from .body import Answer
from .echo import with_extras
from .forced import MissingTool, forced_text
from .inputs import UnknownItem, check_raw, conversation, goes_on, shown_tools
from .rules import RESPONSE_RULES, ResponseRules
from .store import Stored, keep, stored
from .stream import cut_off, stream

SCORES = "message.output_text.logprobs"
ECHOED = (
    *("instructions", "metadata", "parallel_tool_calls", "tool_choice", "background", "max_tool_calls"),
    *("previous_response_id", "reasoning", "service_tier", "text", "truncation", "user"),
)


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read, check, put the conversation together, template and tokenise."""
    parsed = read("responses", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return refused(parsed, "responses", False)
    values = parsed.values
    before = None
    if values.get("previous_response_id") is not None:
        before = stored(running, str(values["previous_response_id"]))
        if before is None:
            return refusals.response_missing(str(values["previous_response_id"]), running.traits).rendering()
    output_before: Sequence[Any] = () if before is None else before.at(context.now())["output"]
    try:
        if RESPONSE_RULES[running.shape.version].raw_inputs:
            check_raw(values.get("input"))
        messages = conversation(values, None if before is None else before.messages, output_before)
        prompt = _prompt(values, messages, running)
    except (UnknownItem, TokenizerError) as problem:
        text = problem.message if isinstance(problem, TokenizerError) else str(problem)
        return json_answer(error_value(text, "BadRequestError", None, 400), status=400)
    except Crash as crash:
        return spell_handler_crash(crash, running.traits).rendering()
    limit = values.get("max_output_tokens")
    room = check_context("responses", running.traits, running.settings, prompt.token_ids, limit, values=values)
    if isinstance(room, Refusal):
        return refused(room, "responses", bool(values.get("stream")))
    try:
        ask = _ask(request, parsed, prompt, messages, room, running)
    except MissingTool as problem:
        return json_answer(error_value(str(problem), "BadRequestError", None, 400), status=400)
    objection = engine_checks(
        "responses", parsed, (prompt,), running.traits, running.settings, vocab_size=running.tokenizer.vocab_size
    )
    if objection is None:
        return cut_off(None) if _breaks(ask, running) else ask
    if not objection.late:
        return objection.rendering()
    nothing = Told((ToldPrompt(None),), (), Usage(None, None))
    return cut_off(_answer(nothing, ask, running, context))


def _breaks(ask: Ask, running: Running) -> bool:
    """Does the stream end before it begins?"""
    text: Mapping[str, Any] = ask.options["echo"]["text"] or {}
    form: Any = text.get("format")
    schema = isinstance(form, Mapping) and cast("Mapping[str, Any]", form).get("type") == "json_schema"
    return ask.stream and schema and RESPONSE_RULES[running.shape.version].schema_breaks


def _prompt(values: Mapping[str, Any], messages: Sequence[Any], running: Running) -> Prompt:
    tools = shown_tools(values.get("tools") or ())
    if values.get("tool_choice") == "none" and running.settings.exclude_tools_when_tool_choice_none:
        tools = None
    continued = goes_on(values.get("input"))
    reasoning: Mapping[str, Any] = values.get("reasoning") or {}
    variables: dict[str, Any] = {"reasoning_effort": reasoning["effort"]} if reasoning.get("effort") else {}
    variables.update(values.get("chat_template_kwargs") or {})
    return chat_prompt(
        running.tokenizer,
        messages,
        tools=tools,
        add_generation_prompt=not continued,
        continue_final_message=continued,
        template=running.settings.chat_template,
        variables=variables or None,
    )


def _ask(request: Request, parsed: Parsed, prompt: Prompt, messages: Sequence[Any], room: int, running: Running) -> Ask:
    values = parsed.values
    rules = RESPONSE_RULES[running.shape.version]
    parsing = asked_of(values, "responses")
    raw = bool(values.get("enable_response_messages"))
    scores = SCORES in (values.get("include") or ())
    top = (values.get("top_logprobs") or 0) if scores else 0
    shown = rules.messages and raw
    return Ask(
        api="responses",
        request=request,
        body=parsed.body,
        prompts=(prompt,),
        model=values.get("model") or None,
        stream=bool(values.get("stream")),
        messages=tuple(messages),
        sampling=sampling(values, room, skip_special_tokens=False if shows_specials(parsing, running) else None),
        wants=Wants(
            prompt_token_ids=shown,
            completion_token_ids=shown,
            logprobs=scores,
            top_logprobs=top,
            tokens_as_ids=rules.as_ids and running.settings.return_tokens_as_token_ids,
            usage=True,
        ),
        tools=tuple(values.get("tools") or ()),
        tool_choice=values.get("tool_choice"),
        include=tuple(values.get("include") or ()),
        request_id=values.get("request_id"),
        ignored=parsed.ignored,
        options={
            "parsing": seen_prompt(parsing, prompt.token_ids, running),
            "engine_top": top,
            "response_messages": raw,
            "counts_whole": not rules.counts_stream,
            "store": bool(values.get("store")) and running.settings.responses_store,
            "stream_interval": running.settings.stream_interval or 1,
            "echo": {**_echoed(parsed, rules), **_forced(parsing, values, rules, running), **_sampled(values, running)},
        },
    )


def _forced(parsing: Asked, values: Mapping[str, Any], rules: ResponseRules, running: Running) -> dict[str, Any]:
    """The text configuration that a forced tool choice brings; raises MissingTool."""
    if not rules.shows_forced or not tool_parser_name(running.settings):
        return {}
    text = forced_text(parsing, values.get("tools") or (), description=rules.forced_description)
    return {} if text is None else {"text": text}


def _echoed(parsed: Parsed, rules: ResponseRules) -> dict[str, Any]:
    """What the response repeats of its request."""
    shown = {name: parsed.values.get(name) for name in ECHOED}
    for name in ("reasoning", "text"):
        shown[name] = with_extras(shown[name], parsed.body.get(name))
    if rules.parallel_default and shown["parallel_tool_calls"] is None:
        shown["parallel_tool_calls"] = True
    return shown


def _sampled(values: Mapping[str, Any], running: Running) -> dict[str, Any]:
    """The sampling parameters as the engine has them: defaults filled in, greedy ones made plain."""
    configured = running.settings.override_generation_config

    def number(name: str, default: float) -> float:
        value = values.get(name)
        return float(configured.get(name, default) if value is None else value)

    temperature = number("temperature", 1.0)
    if 0 < temperature < 0.01:
        temperature = 0.01
    return {
        "temperature": temperature,
        "top_p": 1.0 if temperature < 1e-5 else number("top_p", 1.0),
        "presence_penalty": number("presence_penalty", 0.0),
        "frequency_penalty": number("frequency_penalty", 0.0),
    }


def _answer(told: Told, ask: Ask, running: Running, context: Context) -> Answer:
    facts: AnswerFacts = answer_facts("resp_", ask, running, context)
    if ask.request_id is not None:
        facts = replace(facts, id=ask.request_id)
    parser = parser_of(ask, running)
    return Answer(
        told,
        ask,
        facts,
        RESPONSE_RULES[running.shape.version],
        context.hex,
        None if parser is None else parser.read,
    )


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """The response, its stream, or the queued body of one in the background."""
    broken = failure_of(told)
    if broken is not None and not ask.stream:
        return responses_failure(broken, running.traits)
    answer = _answer(told, ask, running, context)
    if ask.stream:
        rendering, final = stream(answer)
    else:
        failed = answer.choice.failure is not None
        final = None if failed else answer.finished(answer.output())
        rendering = json_answer(
            ENGINE_FAILURE if final is None else final, status=500 if failed else 200, headers=answer.facts.headers
        )
    if not ask.options["store"]:
        return rendering
    queued = answer.body([], "queued") if ask.options["echo"]["background"] else None
    if final is None and queued is None:
        return rendering
    last = max((step.due_ms for step in answer.choice.steps), default=0.0)
    keep(
        running,
        Stored(
            answer.facts.id,
            list(ask.messages),
            queued,
            {**queued, "status": "failed"} if final is None and queued is not None else final or {},
            started=context.now(),
            ready=context.now() + last / 1000,
            events=rendering.messages if ask.stream and queued is not None else None,
        ),
    )
    if queued is not None and not ask.stream:
        return json_answer(queued, headers=answer.facts.headers)
    return rendering


RESPONSES = Api("responses", ("/v1/responses",), hear, render)
