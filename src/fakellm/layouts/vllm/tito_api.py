"""``/inference/v1/generate`` as an API: the gate, the request, the Ask (facts: research, vllm.md 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Rendering
from ...told import Told, ToldChoice
from ..base import Context
from . import tito
from .api import Api, Running
from .bodies import error_value, json_answer
from .frames import answer_facts
from .hear import asked, refused, sampling, stream_wants
from .options import V16
from .validate import Refusal, check_context, engine_checks, read

GATE = "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."


def gate(running: Running) -> Rendering | None:
    """The 403 of a server that was started without --enable-scale-out or --tokens-only (0.32); None = open."""
    settings = running.settings
    if running.shape.generate != "0.32" or settings.enable_scale_out or settings.tokens_only:
        return None
    return json_answer(error_value(GATE, "PermissionDeniedError", None, 403), status=403)


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read and check one token-in request."""
    closed = gate(running)
    if closed is not None:
        return closed
    parsed = read("tito", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return refused(parsed, "generate", False)
    values = parsed.values
    params: Mapping[str, Any] = values.get("sampling_params") or {}
    streams = bool(values.get("stream")) and running.shape.generate != "0.12"
    ids = tuple(values.get("token_ids") or ())
    prompt = Prompt(ids, None)
    room = check_context("tito", running.traits, running.settings, ids, params.get("max_tokens"), values=values)
    if isinstance(room, Refusal):
        return refused(room, "generate", streams)
    size = running.tokenizer.vocab_size
    objection = engine_checks("tito", parsed, (prompt,), running.traits, running.settings, vocab_size=size)
    if objection is not None:
        return refused(objection, "generate", streams)
    text_mode = values.get("output_mode") == "text"
    count = params.get("logprobs")
    # Tokens mode always shows one alternative at least (0.32); the list is cut as in chat.
    shown = max(count or 0, 1) if not text_mode and count is not None and count >= 0 else count
    return asked(
        "tito",
        request,
        parsed.body,
        {**values, "n": params.get("n"), "stream": streams},
        (prompt,),
        sampling({**params}, room),
        _wants(values, params, running),
        ignored=parsed.ignored,
        options={
            "output_mode": values.get("output_mode") or "tokens",
            "stream_interval": running.settings.stream_interval or 1,
            "deltas": params.get("output_kind") == 1,
            "engine_top": shown or 0,
            "shown_top": None if shown is None or shown < 0 else shown,
        },
    )


def _wants(values: Mapping[str, Any], params: Mapping[str, Any], running: Running) -> Wants:
    usage, continuous = stream_wants(values, running)
    count = params.get("logprobs")
    return Wants(
        prompt_token_ids=bool(values.get("return_token_ids")),
        completion_token_ids=True,
        logprobs=count is not None and (count != 0 or running.traits.version >= V16),
        top_logprobs=count or 0,
        prompt_logprobs=params.get("prompt_logprobs"),
        usage=usage,
        continuous_usage=continuous,
    )


OWN_IDS = frozenset({"0.12", "0.20", "0.24"})
"""Forms whose whole answers never show the id that the client chose."""


def last_step(told: Told) -> Told:
    """What is left of a whole answer that was asked for in pieces (``output_kind`` 1, up to 0.28): the last piece."""
    choices = tuple(_last_step(choice) for choice in told.choices)
    count = sum(len(choice.ids or ()) for choice in choices)
    return replace(told, choices=choices, usage=replace(told.usage, completion_tokens=count))


def _last_step(choice: ToldChoice) -> ToldChoice:
    if not choice.steps:
        return choice
    step = choice.steps[-1]
    ids = None if choice.ids is None else choice.ids[step.ids[0] : step.ids[1]]
    scores = None if choice.scores is None else choice.scores[step.scores[0] : step.scores[1]]
    return replace(choice, ids=ids, scores=scores)


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """The token-in answer; before 0.20 ids are bare, in 0.20 and 0.24 only streams carry the prefix."""
    form = running.shape.generate
    if not ask.stream and form in OWN_IDS:
        ask = replace(ask, request_id=None)
    if not ask.stream and form != "0.32" and ask.options["deltas"]:
        told = last_step(told)
    prefixed = form in ("0.28", "0.32") or (ask.stream and form in ("0.20", "0.24"))
    return tito.render(told, ask, answer_facts("generate-tokens-" if prefixed else "", ask, running, context))


def _there(running: Running) -> bool:
    return running.shape.generate != "none"


TITO = Api("tito", ("/inference/v1/generate",), hear, render, _there)
