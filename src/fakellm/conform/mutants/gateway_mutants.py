"""Mutant gateways, each one small override, and the benign ones that have to stay green."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from aiohttp import ClientSession, web

from ... import tokenizer
from .clients import kebab
from .gateways import Gateway, Passing
from .surgery import TEXT, Event, choices_of, events_of, mapped, member, without, written

KNOWN = frozenset(
    {"model", "messages", "prompt", "stream", "stream_options", "n", "max_tokens", "logprobs", "top_logprobs", "input"}
    | {"temperature", "stop", "seed", "tools", "text", "sampling_params", "input_ids", "token_ids", "include"}
    | {"max_output_tokens", "return_logprob"}
)


class Transparent(Gateway):
    """Changes nothing at all."""


class Rewriting(Gateway):
    """Changes each JSON object of the answer."""

    def answer(self, passing: Passing) -> Passing:
        return replace(passing, body=mapped(passing.body, self.change)) if passing.status < 400 else passing

    def change(self, event: Event) -> Event:
        raise NotImplementedError


class DropUnknownRequest(Gateway):
    """Forwards the fields it knows and nothing else (Portkey 1.15.2, sglang-router 0.3.2)."""

    def request(self, passing: Passing) -> Passing:
        body = passing.json()
        return passing if body is None else passing.saying({k: v for k, v in body.items() if k in KNOWN})


class StripFlag(Gateway):
    """Takes the flag for ids out of the request."""

    def request(self, passing: Passing) -> Passing:
        body = passing.json()
        return passing if body is None else passing.saying({k: v for k, v in body.items() if "return_" not in k})


class AddDefault(Gateway):
    """Writes its own default into every request (smg's temperature)."""

    def request(self, passing: Passing) -> Passing:
        body = passing.json()
        return passing if body is None else passing.saying({"temperature": 1.0, **body, "min_tokens": 0})


class DropUnknownResponse(Rewriting):
    """Parses answers into its own types and loses what those do not have (litellm's hosted_vllm streams)."""

    def change(self, event: Event) -> Event:
        return without(without(event, "token_ids"), "prompt_token_ids")


class Retokenise(Rewriting):
    """Writes ids that it made of the text."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            text = (
                choice.get("text") or member(choice, "message").get("content") or member(choice, "delta").get("content")
            )
            if text and choice.get("token_ids"):
                choice["token_ids"] = list(tokenizer.load().encode(f"{text} "))
        return event


class RechunkAndLose(Gateway):
    """Joins chunks two by two and keeps the scores of the second only."""

    def answer(self, passing: Passing) -> Passing:
        events = events_of(passing.body)
        if events is None:
            return passing
        for one, other in zip(events[1::2], events[2::2], strict=False):
            for choice, following in zip(choices_of(one), choices_of(other), strict=False):
                if choice.get("logprobs") and following.get("logprobs"):
                    choice["logprobs"] = None
        return replace(passing, body=written(events))


class ReorderChoices(Rewriting):
    """Numbers choices by their arrival, backwards."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            if isinstance(choice.get("index"), int):
                choice["index"] = 1 - choice["index"] if choice["index"] < 2 else choice["index"]
        return event


class DropUsage(Rewriting):
    """Leaves usage out."""

    def change(self, event: Event) -> Event:
        return {**event, "usage": None} if "usage" in event else event


class HideError(Gateway):
    """Ends a stream as if nothing had happened where the server told an error."""

    def answer(self, passing: Passing) -> Passing:
        events = events_of(passing.body)
        if events is None:
            return passing
        kept = [event for event in events if not event.get("error") and event.get("object") != "error"]
        return replace(passing, body=written(kept))


class FinishTheCut(Gateway):
    """Makes a whole answer of one that broke off."""

    def answer(self, passing: Passing) -> Passing:
        return passing

    async def cut_off(self, incoming: web.Request, answer: Passing) -> web.StreamResponse:
        events = [event for event in events_of(answer.body) or [] if "{" not in str(event.get(TEXT, ""))]
        carrying = [event for event in events if choices_of(event)]
        for choice in choices_of(carrying[-1]) if carrying else []:
            choice["finish_reason"] = "stop"
        body = written([*events, {TEXT: "[DONE]"}]) if events else b'{"choices":[]}'
        return web.Response(status=200, headers=answer.headers, body=body)


class DoubleCall(Gateway):
    """Asks the server twice and hands the second answer on."""

    async def call(self, session: ClientSession, incoming: web.Request, asked: Passing) -> web.StreamResponse:
        url = self.upstream + asked.path
        async with session.request(incoming.method, url, data=asked.body, headers=asked.headers) as first:
            await self.whole(first)
        return await super().call(session, incoming, asked)


class SwallowCancel(Gateway):
    """Reads the server's answer to its end although the caller has hung up."""

    def answer(self, passing: Passing) -> Passing:
        return passing

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        return await asyncio.shield(asyncio.ensure_future(super().handle(incoming)))


class SortTokenKeyed(Gateway):
    """Writes JSON with sorted keys."""

    def answer(self, passing: Passing) -> Passing:
        return replace(passing, body=_sorted(passing.body))


class ConvertWithoutLogprobs(Gateway):
    """Turns Responses into chat and asks for top_logprobs alone (litellm 1.110.2's bridge)."""

    def request(self, passing: Passing) -> Passing:
        body = passing.json()
        if body is None or not passing.path.endswith("/responses"):
            return passing
        said: Any = body.get("input", "")
        messages = cast("list[Any]", said) if isinstance(said, list) else [{"role": "user", "content": said}]
        chat: dict[str, Any] = {"model": body.get("model"), "messages": messages, "stream": body.get("stream", False)}
        if "top_logprobs" in body:
            chat["top_logprobs"] = body["top_logprobs"]
        path = passing.path.replace("/responses", "/chat/completions")
        return replace(passing.saying(chat), path=path)


class RenameModel(Rewriting):
    """Names a model that neither side knows."""

    def change(self, event: Event) -> Event:
        return {**event, "model": "house-model"} if "model" in event else event


class NullBytes(Rewriting):
    """Writes null for the bytes of tokens."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            entries = cast("list[Event]", member(choice, "logprobs").get("content") or [])
            for entry in entries:
                entry["bytes"] = None
        return event


class TrimText(Rewriting):
    """Strips blanks from every piece of text."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            for said in (choice, member(choice, "message"), member(choice, "delta")):
                for name in ("text", "content"):
                    if isinstance(said.get(name), str):
                        said[name] = said[name].strip()
        return event


class Unstream(Gateway):
    """Asks for a whole answer and plays it as a stream of one chunk."""

    def request(self, passing: Passing) -> Passing:
        body = passing.json()
        if body is None or not body.get("stream"):
            return passing
        body = {key: value for key, value in body.items() if key != "stream_options"}
        return passing.saying({**body, "stream": False})

    def answer(self, passing: Passing) -> Passing:
        return passing


class FlattenErrors(Gateway):
    """Says 500 whatever the server's error was."""

    def answer(self, passing: Passing) -> Passing:
        return replace(passing, status=500) if 400 <= passing.status < 500 else passing


class HtmlErrors(Gateway):
    """Answers errors with a page for people."""

    def answer(self, passing: Passing) -> Passing:
        if passing.status < 400:
            return passing
        headers = {**passing.headers, "Content-Type": "text/html"}
        return replace(passing, headers=headers, body=b"<html><body>Something went wrong.</body></html>")


class DropHeaders(Gateway):
    """Keeps the content type and forgets every other header."""

    def answer(self, passing: Passing) -> Passing:
        kept = {name: value for name, value in passing.headers.items() if name.lower() == "content-type"}
        return replace(passing, headers=kept)


class InventIds(Rewriting):
    """Writes empty lists where there were no ids."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            choice["token_ids"] = choice.get("token_ids") or [0]
        return event


class RewritePromptIds(Rewriting):
    """Puts a token of its own before every prompt, and says so."""

    def change(self, event: Event) -> Event:
        for said in (event, *choices_of(event)):
            if said.get("prompt_token_ids"):
                said["prompt_token_ids"] = [1, *said["prompt_token_ids"]]
        return event


class AlwaysStop(Rewriting):
    """Says "stop" for every finish_reason."""

    def change(self, event: Event) -> Event:
        for choice in choices_of(event):
            if choice.get("finish_reason"):
                choice["finish_reason"] = "stop"
        return event


class CountAnew(Rewriting):
    """Counts tokens itself."""

    def change(self, event: Event) -> Event:
        usage = member(event, "usage")
        return {**event, "usage": {**usage, "completion_tokens": 1}} if usage else event


class FirstChoiceOnly(Rewriting):
    """Hands on the first choice."""

    def change(self, event: Event) -> Event:
        if not choices_of(event):
            return event
        return {**event, "choices": [choice for choice in choices_of(event) if choice.get("index") in (0, None)]}


class Hang(Gateway):
    """Takes a stream from the server and never hands it back."""

    async def call(self, session: ClientSession, incoming: web.Request, asked: Passing) -> web.StreamResponse:
        url = self.upstream + asked.path
        async with session.request(incoming.method, url, data=asked.body, headers=asked.headers) as upstream:
            body, _ = await self.whole(upstream)
        if upstream.content_type == "text/event-stream":
            await asyncio.sleep(3600)
        return web.Response(body=body, content_type=upstream.content_type)


class AnswerItself(Gateway):
    """Answers from its cache, and asks nobody."""

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        return web.json_response({"id": "cached", "choices": []})


class LeaveCompressed(Gateway):
    """Offers to take gzip and hands it on without saying what it is."""

    def session(self) -> ClientSession:
        return ClientSession(auto_decompress=False)


class Rechunking(Gateway):
    """Benign: hands streams on in packets of seven bytes."""

    async def passed_on(self, incoming: web.Request, upstream: Any, headers: Mapping[str, str]) -> web.StreamResponse:
        response = web.StreamResponse(status=upstream.status, headers=headers)
        body, cut = await self.whole(upstream)
        await response.prepare(incoming)
        for start in range(0, len(body), 2048):
            await response.write(body[start : start + 2048])
        if cut and incoming.transport is not None:
            incoming.transport.abort()
        return response


class Courteous(Gateway):
    """Benign: reorders ordinary keys, adds members and headers of its own, ends lines in CRLF, sends comments."""

    def request(self, passing: Passing) -> Passing:
        return replace(passing, headers={**passing.headers, "X-Trace": "1"})

    def answer(self, passing: Passing) -> Passing:
        if passing.status >= 400:
            return passing
        body = mapped(passing.body, lambda event: {"x_gateway": {"took": 1}, **dict(reversed(event.items()))})
        if events_of(passing.body) is not None:
            body = b": kept alive\r\n\r\n" + body.replace(b"\n", b"\r\n")
        return replace(passing, body=body, headers={**passing.headers, "X-Trace": "1"})


_BENIGN = (Transparent, Rechunking, Courteous)
_RUDE = (DropHeaders, LeaveCompressed)
_BASES = (Gateway, Rewriting)
BENIGN: Mapping[str, type[Gateway]] = {kebab(one.__name__): one for one in _BENIGN}
"""Gateways that have to stay green."""
MUTANTS: Mapping[str, type[Gateway]] = {
    {"RechunkAndLose": "re-chunk-and-lose"}.get(one.__name__, kebab(one.__name__)): one
    for one in list(globals().values())
    if isinstance(one, type) and issubclass(one, Gateway) and one not in (*_BENIGN, *_RUDE, *_BASES)
}
"""Gateways that break a MUST."""
RUDE: Mapping[str, type[Gateway]] = {kebab(one.__name__): one for one in _RUDE}
"""Gateways that break a SHOULD and nothing else."""
GATEWAYS: Mapping[str, type[Gateway]] = {**BENIGN, **RUDE, **MUTANTS}


def _sorted(body: bytes) -> bytes:
    dump: Callable[[Any], bytes] = lambda value: json.dumps(value, sort_keys=True).encode()  # noqa: E731
    events = events_of(body)
    if events is None:
        try:
            return dump(json.loads(body))
        except ValueError:
            return body
    datas = [cast("str", event[TEXT]).encode() if TEXT in event else dump(event) for event in events]
    return b"".join(b"data: " + data + b"\n\n" for data in datas)
