"""Ollama's routes: /api/chat, /api/generate, /api/tags, /api/show.

Streams are JSON lines; done_reason is always "stop". The last step's text never leaves in a stream: its line says only
that the answer is done. Renders from the Told only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Message, Rendering
from ...told import Told
from ..base import Context
from . import answers
from .answers import Refusal
from .bodies import Body, read_body
from .call import Call
from .dates import zulu
from .kinds import BOOL, FLOAT, INT, OBJECT, STR, either, listed, literal, model, nullable
from .native import sampling_of
from .prompts import chat_prompt
from .schema import REQUIRED, Field, Model

if TYPE_CHECKING:
    from .station import SglangStation

_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "num_predict": "max_new_tokens",
    "stop": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
_BUDGET = 2048
_DIGEST = "sha256:sglang0000000000000000000000000000000000000000000000000000000000"

_MESSAGE = Model(
    "OllamaMessage",
    (Field("role", STR, REQUIRED), Field("content", STR, REQUIRED), Field("images", nullable(listed(STR)))),
)
_COMMON = (
    Field("format", nullable(either(literal("json"), OBJECT))),
    Field("options", nullable(OBJECT)),
    Field("keep_alive", nullable(either(FLOAT, STR))),
)
_CHAT = Model(
    "OllamaChatRequest",
    (
        Field("model", STR, REQUIRED),
        Field("messages", listed(model(_MESSAGE)), REQUIRED),
        Field("stream", BOOL, True),
        *_COMMON,
        Field("think", nullable(either(BOOL, literal("low", "medium", "high")))),
    ),
)
_GENERATE = Model(
    "OllamaGenerateRequest",
    (
        Field("model", STR, REQUIRED),
        Field("prompt", STR, REQUIRED),
        Field("suffix", nullable(STR)),
        Field("system", nullable(STR)),
        Field("template", nullable(STR)),
        Field("context", nullable(listed(INT))),
        Field("stream", BOOL, True),
        Field("raw", BOOL, False),
        *_COMMON,
        Field("images", nullable(listed(STR))),
        Field("think", nullable(BOOL)),
    ),
)
_SHOW = Model("OllamaShowRequest", (Field("model", STR, REQUIRED),))


@dataclass(frozen=True, slots=True)
class OllamaRoute:
    """Which of the two engine routes a request came by."""

    chat: bool


def chat(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """POST /api/chat."""
    body = read_body(request, _CHAT, station.traits, json_only=False)
    if isinstance(body, Rendering):
        return body
    return _ask(body, request, station, context, chat=True)


def generate(request: Request, station: SglangStation, context: Context) -> Ask | Rendering:
    """POST /api/generate. An empty prompt is answered without the engine."""
    body = read_body(request, _GENERATE, station.traits, json_only=False)
    if isinstance(body, Rendering):
        return body
    if not (body.values["system"] or body.values["prompt"]).strip():
        line = {**_head(station, context), "response": "", **_done(), **_counts(None, None, None, chat=False)}
        return (
            _lines((Message("event", line, spelling="serde"),)) if body.values["stream"] else answers.json_answer(line)
        )
    return _ask(body, request, station, context, chat=False)


def _ask(body: Body, request: Request, station: SglangStation, context: Context, *, chat: bool) -> Ask | Rendering:
    values, engine = body.values, station.engine
    options: Mapping[str, Any] = values["options"] or {}
    parameters = {ours: options[theirs] for theirs, ours in _OPTIONS.items() if theirs in options}
    parameters.setdefault("max_new_tokens", _BUDGET)
    try:
        if chat:
            prompt = chat_prompt(station.tokenizer, values["messages"], template=station.settings.chat_template)
        else:
            text = f"{values['system']}\n\n{values['prompt']}" if values["system"] else values["prompt"]
            prompt = Prompt(engine.encode(text), text)
        item = engine.item(prompt.token_ids, parameters)
    except Refusal:
        return answers.broken_stream(answers.LINE_HEADERS) if values["stream"] else answers.crash()
    return Ask(
        api="ollama",
        request=request,
        body=body.sent,
        prompts=(prompt,),
        model=values["model"],
        stream=values["stream"],
        messages=tuple(body.sent.get("messages") or ()),
        sampling=sampling_of(item, parameters),
        wants=Wants(usage=not values["stream"]),
        ignored=tuple(name for name in body.sent if name not in values),
        options={
            "call": Call(items=(item,), stream=values["stream"]),
            "route": OllamaRoute(chat),
        },
    )


def render(told: Told, ask: Ask, station: SglangStation, context: Context) -> Rendering:
    """The answer of /api/chat or /api/generate."""
    route: Any = ask.options["route"]
    choice = told.choices[0]
    if not ask.stream:
        if choice.failure is not None and choice.failure.code is not None:
            return answers.crash()
        took = int((choice.steps[-1].due_ms if choice.steps else 0.0) * 1_000_000)
        counts = _counts(took, told.usage.prompt_tokens, told.usage.completion_tokens, chat=route.chat)
        return answers.json_answer(
            {**_head(station, context), **_said(choice.text, chat=route.chat), **_done(), **counts}
        )
    messages: list[Message] = []
    before = ""
    for step in choice.steps:
        ended = step.finish_reason is not None
        text = step.text
        if station.settings.incremental:  # the route takes deltas for the whole so far, and cuts what it saw last
            text, before = text[len(before) :], text
        line = {
            **_head(station, context),
            **_said("" if ended else text, chat=route.chat),
            **(_done() if ended else {"done": False, "done_reason": None}),
        }
        kind = "finish" if ended else "delta"
        messages.append(Message(kind, line, 0, step.tokens, step.due_ms, spelling="serde"))
    return _lines(tuple(messages))


def tags(request: Request, station: SglangStation, context: Context) -> Rendering:
    """GET /api/tags."""
    name = station.settings.model_name
    details = {"format": "sglang", "family": name.split("/")[-1], "parameter_size": "unknown"}
    entry = {
        "name": name,
        "model": name,
        "modified_at": zulu(context.now()),
        "size": 0,
        "digest": _DIGEST,
        "details": details,
    }
    return answers.json_answer({"models": [entry]})


def show(request: Request, station: SglangStation, context: Context) -> Rendering:
    """POST /api/show."""
    body = read_body(request, _SHOW, station.traits, json_only=False)
    if isinstance(body, Rendering):
        return body
    name: str = body.values["model"]
    family = name.split("/")[-1]
    for suffix in ("-Instruct", "-Chat", "-Base"):
        if family.endswith(suffix):
            family = family.removesuffix(suffix)
            break
    context_length = station.settings.context_length
    info: dict[str, Any] = {
        "general.architecture": family,
        "general.name": name,
        "general.parameter_count": 0,
        f"{family}.context_length": context_length,
    }
    info |= {f"{family}.{what}": 0 for what in ("block_count", "embedding_length", "attention.head_count")}
    return answers.json_answer(
        {
            "license": "",
            "modelfile": f"FROM {name}\nPARAMETER num_ctx {context_length}\n",
            "parameters": f"num_ctx {context_length}",
            "template": "",
            "modified_at": zulu(context.now()),
            "details": {
                "parent_model": "",
                "format": "sglang",
                "family": family,
                "families": [family],
                "parameter_size": "unknown",
                "quantization_level": "",
            },
            "model_info": info,
            "capabilities": ["completion"],
        }
    )


def _lines(messages: tuple[Message, ...]) -> Rendering:
    return Rendering(200, answers.LINE_HEADERS, messages, stream=True)


def _head(station: SglangStation, context: Context) -> dict[str, Any]:
    return {"model": station.settings.model_name, "created_at": zulu(context.now())}


def _said(text: str, *, chat: bool) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, "images": None}} if chat else {"response": text}


def _done() -> dict[str, Any]:
    return {"done": True, "done_reason": "stop"}


def _counts(took: int | None, prompt: int | None, completion: int | None, *, chat: bool) -> dict[str, Any]:
    """Counts and durations (nanoseconds; only the total is known)."""
    counts: dict[str, Any] = {} if chat else {"context": None}
    return {
        **counts,
        "total_duration": took,
        "load_duration": None,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": None,
        "eval_count": completion,
        "eval_duration": None,
    }
