"""From validated values to an Ask: the parts that chat and completions (and more) read alike.

``values`` are the request's fields after validation, with vLLM's defaults. Pure; knows no path and no body of answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...ask import Ask, Prompt, Request, Sampling, Wants
from ...message import Message, Rendering
from .api import Running
from .bodies import EVENT_HEADERS, error_events
from .options import V20
from .validate import Refusal

DONE_APIS = frozenset({"chat", "completions", "generate"})


def as_tuple(value: Any) -> tuple[Any, ...]:
    """None -> (), a string or number -> one element, a list -> its elements."""
    if value is None:
        return ()
    return tuple(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else (value,)


def sampling(values: Mapping[str, Any], max_tokens: int | None, *, skip_special_tokens: bool | None = None) -> Sampling:
    """The sampling part of a request."""
    skip = values.get("skip_special_tokens", True) if skip_special_tokens is None else skip_special_tokens
    return Sampling(
        max_tokens=max_tokens,
        min_tokens=values.get("min_tokens") or 0,
        stop=tuple(str(stop) for stop in as_tuple(values.get("stop"))),
        stop_token_ids=as_tuple(values.get("stop_token_ids")),
        include_stop=bool(values.get("include_stop_str_in_output")),
        ignore_eos=bool(values.get("ignore_eos")),
        skip_special_tokens=skip is not False,
        temperature=values.get("temperature"),
        seed=values.get("seed"),
    )


def stream_wants(values: Mapping[str, Any], running: Running) -> tuple[bool, bool]:
    """(usage chunk, usage on every chunk): --enable-force-include-usage means both, on every stream; up to 0.16 it
    means the first."""
    forced = running.settings.enable_force_include_usage
    if forced and running.traits.version >= V20:
        return True, True
    options: Any = values.get("stream_options") or {}
    usage = bool(_member(options, "include_usage")) or forced
    return usage, usage and bool(_member(options, "continuous_usage_stats"))


def _member(options: Any, name: str) -> Any:
    return cast(Mapping[str, Any], options).get(name) if isinstance(options, Mapping) else None


def request_id(values: Mapping[str, Any], request: Request) -> str | None:
    """The id that the client chose: header X-Request-Id wins over the body's request_id."""
    header = request.headers.get("x-request-id")
    return values.get("request_id") if header is None else header


def refused(refusal: Refusal, api: str, stream: bool) -> Rendering:
    """A refusal as an answer; a late one arrives inside the stream that has begun (then [DONE], or a cut)."""
    if not (refusal.late and stream):
        return refusal.rendering()
    if api in DONE_APIS:
        return Rendering(200, EVENT_HEADERS, error_events(refusal.body), stream=True)
    return Rendering(200, EVENT_HEADERS, (Message("comment", ""),), stream=True, cut=True)


def asked(
    api: str,
    request: Request,
    body: Mapping[str, Any],
    values: Mapping[str, Any],
    prompts: Sequence[Prompt],
    sampling_: Sampling,
    wants: Wants,
    *,
    ignored: Sequence[str] = (),
    messages: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any],
) -> Ask:
    """Put an Ask together from what every API has."""
    return Ask(
        api=api,
        request=request,
        body=body,
        prompts=tuple(prompts),
        model=values.get("model") or None,
        stream=bool(values.get("stream")),
        n=values.get("n") or 1,
        messages=tuple(messages),
        sampling=sampling_,
        wants=wants,
        tools=tuple(values.get("tools") or ()),
        tool_choice=values.get("tool_choice"),
        request_id=request_id(values, request),
        ignored=tuple(ignored),
        options=options,
    )
