"""Builders for tests of faults: a Told made by hand, a layout of nothing but an accessor table, requests that ask."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fakellm.ask import Ask, Prompt, Request, Sampling, Wants
from fakellm.faults.compose import compose
from fakellm.layouts.base import Accessor, Layout
from fakellm.message import Frame, Message, Rendering, Wire
from fakellm.told import Part, Score, Told, ToldChoice, ToldPrompt, ToldStep, Usage

EOS = 2
IDS = (11, 12, 13, EOS)
LOGPROBS = (-0.1, -0.2, -0.3, -0.4)
TEXTS = ("He", "llo", " é", "<end>")
PROMPT = (101, 102, 103)


def _accessors(*, nested: bool) -> tuple[Accessor, ...]:
    prompt = "choices[].prompt_token_ids" if nested else "prompt_token_ids"
    scores = "choices[].logprobs.token_logprobs[]" if nested else "choices[].logprobs.content[].logprob"
    return (
        Accessor("prompt_token_ids", prompt, messages=("role", "delta", "body")),
        Accessor("completion_token_ids", "choices[].token_ids"),
        Accessor("logprobs", scores),
        Accessor("prompt_logprobs", "prompt_logprobs[]", messages=("body",)),
        Accessor("finish_reason", "choices[].finish_reason"),
        Accessor("usage", "usage"),
    )


def _never(*_: Any) -> Any:
    raise AssertionError("this layout only has a table")


def error_body(status: int, message: str, kind: str) -> Any:
    return {"error": {"message": message, "type": kind, "code": status}}


LAYOUT = Layout(
    name="toy-1",
    vendor="toy",
    version=(1,),
    evidence="documents",
    accessors={
        (api, stream): _accessors(nested=api == "completions")
        for api in ("chat", "completions")
        for stream in (False, True)
    },
    start=_never,
    error_body=error_body,
)


def ask(api: str = "chat", *, stream: bool = False, n: int = 1, usage: bool = False, **more: Any) -> Ask:
    """A request that asks for ids and scores (``usage``: include_usage too)."""
    body: dict[str, Any] = {"model": "m", "return_token_ids": True, "logprobs": True, "stream": stream, "n": n}
    wants = Wants(
        prompt_token_ids=True,
        completion_token_ids=True,
        logprobs=True,
        top_logprobs=1,
        prompt_logprobs=None,
        usage=usage,
    )
    made = Ask(
        api=api,
        request=Request("POST", "/v1/chat/completions", body=json.dumps(body).encode()),
        body=body,
        prompts=(Prompt(PROMPT, "a b c"),),
        model="m",
        stream=stream,
        n=n,
        wants=wants,
        sampling=Sampling(),
    )
    return replace(made, **more)


def score(place: int, shift: float = 0.0) -> Score:
    """The entry of a position, with itself and one other as alternatives."""
    logprob, token = LOGPROBS[place] - shift, TEXTS[place]
    data = tuple(token.encode())
    me = Score(IDS[place], token, data, logprob, 1)
    return replace(me, top=(me, Score(99, "x", (120,), -5.0, 2)))


def _part(kind: str, text: str) -> Part:
    return Part(kind, text or "{}", 0, "add") if kind == "tool" else Part(kind, text or "{}")


def choice(
    index: int = 0, *, steps: Sequence[int] = (1, 2, 1), kinds: Sequence[str | None] = (), shift: float = 0.0
) -> ToldChoice:
    """The four tokens in these steps; ``kinds``: what a parser made of each step (None = nothing)."""
    made: list[ToldStep] = []
    first = 0
    for number, size in enumerate(steps):
        span = (first, first + size)
        text = "".join(TEXTS[place] for place in range(*span) if IDS[place] != EOS)
        parts = None
        if kinds:
            kind = kinds[number]
            parts = () if kind is None else (_part(kind, text),)
        made.append(ToldStep(span, span, span, text, parts, "stop" if number == len(steps) - 1 else None))
        first = span[1]
    return ToldChoice(
        index=index,
        ids=tuple(each + 100 * index for each in IDS),
        scores=tuple(score(place, shift) for place in range(4)),
        text="Hello é",
        steps=tuple(made),
        finish_reason="stop",
        parts=tuple(part for step in made for part in step.parts or ()) if kinds else None,
    )


def told(*choices: ToldChoice) -> Told:
    """Everything an answer of these choices may show."""
    made = choices or (choice(),)
    return Told((ToldPrompt(PROMPT, None, "a b c"),), made, Usage(3, 4 * len(made)), len(made))


def distorted(entry: Any, subject: Any, request: Ask | None = None, **more: Any) -> Any:
    """A Told, Rendering or Wire after one fault."""
    distortion = compose([entry], request or ask(), LAYOUT, **more)
    if isinstance(subject, Told):
        return distortion.told(subject)
    if isinstance(subject, Rendering):
        return distortion.rendering(subject)
    return distortion.wire(subject)


def values(scores: Sequence[Score | None] | None) -> list[Any]:
    """The logprobs of score entries."""
    return [None if each is None else each.logprob for each in scores or ()]


def by_step(made: ToldChoice) -> list[list[Any]]:
    """The ids that each step delivers."""
    return [list((made.ids or ())[slice(*step.ids)]) for step in made.steps]


def rendered(subject: Told, request: Ask) -> Rendering:
    """Chat bodies as a plain server writes them: ids and scores under the choice, prompt ids at the top."""
    if not request.stream:
        rows = [
            {
                "index": each.index,
                "message": {"role": "assistant", "content": each.text},
                "logprobs": _entries(each.scores or ()),
                "finish_reason": each.finish_reason,
                "token_ids": list(each.ids or ()),
            }
            for each in subject.choices
        ]
        body = {**_envelope(rows), "usage": _usage(subject), "prompt_token_ids": list(PROMPT)}
        return Rendering(200, (("content-type", "application/json"),), (Message("body", body),))
    return Rendering(200, (("content-type", "text/event-stream"),), tuple(_events(subject, request)), stream=True)


def _envelope(rows: list[Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1800000000, "model": "m", "choices": rows}


def _usage(subject: Told) -> dict[str, Any]:
    usage = subject.usage
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}


def _entries(scores: Sequence[Any]) -> dict[str, Any]:
    return {"content": [{"token": each.token, "logprob": each.logprob} for each in scores]}


def _events(subject: Told, request: Ask) -> list[Message]:
    events: list[Message] = []
    for each in subject.choices:
        row = {"index": each.index, "delta": {"role": "assistant", "content": ""}, "logprobs": None}
        body = {**_envelope([{**row, "finish_reason": None}]), "prompt_token_ids": list(PROMPT)}
        events.append(Message("role", body, each.index))
    for number in range(max(len(each.steps) for each in subject.choices)):
        for each in subject.choices:
            step = each.steps[number]
            row = {
                "index": each.index,
                "delta": {"content": step.text} if step.text else {},
                "logprobs": _entries((each.scores or ())[slice(*step.scores)]),
                "finish_reason": step.finish_reason,
                "token_ids": list((each.ids or ())[slice(*step.ids)]),
            }
            kind = "finish" if step.finish_reason else "delta"
            events.append(Message(kind, _envelope([row]), each.index, step.tokens, float(number)))
    due = events[-1].due_ms
    if request.wants.usage:
        events.append(Message("usage", {**_envelope([]), "usage": _usage(subject)}, due_ms=due))
    events.append(Message("done", "[DONE]", due_ms=due))
    return events


def stream_wire(*payloads: str, due: Sequence[float] = ()) -> Wire:
    """A stream of events with these data."""
    frames = tuple(
        Frame(f"data: {payload}\n\n".encode(), due[number] if due else 0.0) for number, payload in enumerate(payloads)
    )
    return Wire(200, (("content-type", "text/event-stream"),), frames, stream=True)


def body_wire(body: str) -> Wire:
    """A whole JSON body."""
    data = body.encode()
    headers = (("content-type", "application/json"), ("content-length", str(len(data))))
    return Wire(200, headers, (Frame(data),))


def sent(wire: Wire) -> bytes:
    """All bytes."""
    return b"".join(frame.data for frame in wire.frames)
