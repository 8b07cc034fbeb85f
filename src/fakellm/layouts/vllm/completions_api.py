"""``/v1/completions`` as an API: prompts of four kinds, batches, echo; from Told to ``completions.render``.

Facts: research, vllm.md section 2. ``max_tokens`` defaults to 16; ``echo`` with ``max_tokens: 0`` still runs one token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Rendering
from ...told import Score, Told, Usage
from ..base import Context
from . import completions
from .api import Api, Running
from .bodies import EVENT_HEADERS, error_events
from .chat_api import as_ids
from .failures import stream_failure
from .frames import answer_facts
from .hear import asked, refused, sampling, stream_wants
from .options import V16, V24
from .prompts import encoded
from .truncation import truncated
from .validate import Parsed, Refusal, check_context, engine_checks, read
from .validate.flaws import Crash
from .validate.spelling import spell_handler_crash

DEFAULT_MAX_TOKENS = 16


def hear(request: Request, running: Running, context: Context) -> Ask | Rendering:
    """Read, check and tokenise one completions request."""
    parsed = read("completions", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return refused(parsed, "completions", False)
    values = parsed.values
    stream = bool(values.get("stream"))
    if values.get("truncate_prompt_tokens") == 0 and running.traits.version < V16 and not stream:
        return _nothing(request, parsed, running, context)
    prompts = make_prompts(values, running)
    limit = values.get("max_tokens")
    limit = DEFAULT_MAX_TOKENS if limit is None else limit
    only_prompt = bool(values.get("echo")) and limit == 0
    rooms: list[int | None] = []
    for prompt in prompts:
        room = check_context(
            "completions",
            running.traits,
            running.settings,
            prompt.token_ids,
            1 if only_prompt else limit,
            values=values,
        )
        if isinstance(room, Refusal):
            return refused(room, "completions", stream)
        rooms.append(room)
    objection = engine_checks(
        "completions", parsed, prompts, running.traits, running.settings, vocab_size=running.tokenizer.vocab_size
    )
    if objection is not None:
        return refused(objection, "completions", stream)
    room = min((room for room in rooms if room is not None), default=None)
    return asked(
        "completions",
        request,
        parsed.body,
        values,
        prompts,
        sampling(values, room),
        _wants(values, running),
        ignored=parsed.ignored,
        options={
            "only_prompt": only_prompt,
            "unlimited": values.get("max_tokens") is None,
            "first_prompt_scores": tuple(_first_score(prompt, values, running) for prompt in prompts),
            "stream_interval": values.get("stream_interval") or running.settings.stream_interval or 1,
            "engine_top": values.get("logprobs") or 0,
            "shown_top": None,
        },
    )


def _nothing(request: Request, parsed: Parsed, running: Running, context: Context) -> Rendering:
    """Up to 0.12 a prompt that is truncated to nothing is no prompt, and its answer has no choices."""
    values = parsed.values
    ask = asked(
        "completions", request, parsed.body, values, (), sampling(values, 0), _wants(values, running), options={}
    )
    return completions.render(Told((), (), Usage(0, 0)), ask, answer_facts("cmpl-", ask, running, context))


def make_prompts(values: Mapping[str, Any], running: Running) -> tuple[Prompt, ...]:
    """A string, a list of strings, a list of ids or a list of lists of ids."""
    given: Any = values.get("prompt")
    if isinstance(given, str) or (given and isinstance(given[0], int)):
        given = [given]
    special = values.get("add_special_tokens", True) is not False
    prompts = (_prompt(one, running, special) for one in given or ())
    return tuple(truncated(prompt, values, running.traits, running.settings) for prompt in prompts)


def _prompt(given: Any, running: Running, special: bool) -> Prompt:
    if isinstance(given, str):
        return Prompt(encoded(running.tokenizer, given, add_special_tokens=special), given)
    ids = tuple(given)
    return Prompt(ids, running.tokenizer.decode(ids, skip_special_tokens=False))


def _first_score(prompt: Prompt, values: Mapping[str, Any], running: Running) -> Score | None:
    """What echo shows of the first prompt token: its text without a score."""
    if not values.get("echo") or values.get("logprobs") is None or not prompt.token_ids:
        return None
    first = prompt.token_ids[0]
    text = f"token_id:{first}" if as_ids(values, running) else running.facts.speller.alone(first)
    return Score(first, text, None, None, top=None)


def _wants(values: Mapping[str, Any], running: Running) -> Wants:
    usage, continuous = stream_wants(values, running)
    count = values.get("logprobs")
    echo = bool(values.get("echo"))
    prompt_logprobs = values.get("prompt_logprobs")
    if prompt_logprobs is None and echo:
        prompt_logprobs = count
    return Wants(
        prompt_token_ids=bool(values.get("return_token_ids")),
        completion_token_ids=bool(values.get("return_token_ids")),
        logprobs=count is not None,
        top_logprobs=count or 0,
        prompt_logprobs=prompt_logprobs,
        tokens_as_ids=as_ids(values, running),
        echo=echo,
        usage=usage,
        continuous_usage=continuous,
    )


def render(told: Told, ask: Ask, running: Running, context: Context) -> Rendering:
    """The completions answer, whole or streamed. Up to 0.20.2 the server stumbles over a max_tokens that is null."""
    if ask.options["unlimited"] and running.traits.version < V24:
        crash = Crash("AssertionError", "")
        if not ask.stream:
            return spell_handler_crash(crash, running.traits).rendering()
        return Rendering(200, EVENT_HEADERS, error_events(stream_failure(crash, running.traits)), stream=True)
    return completions.render(told, ask, answer_facts("cmpl-", ask, running, context))


COMPLETIONS = Api("completions", ("/v1/completions",), hear, render)
