"""One running OpenAI-like server: the routes that its traits have, and the three steps receive, tell, render.

A vendor's own routes come as :class:`Native` values, which read and render for themselves; everything else is the
shared chat and completions. A key may be asked for (``--api-key``), a model name fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...ask import Ask, Request
from ...emission import EngineRules
from ...errors import LayoutError, did_you_mean
from ...generation import Generation
from ...message import Message, Rendering
from ...tokenizer import Tokenizer
from ...told import Told, ToldChoice
from ..base import Context, Launch, Offer
from ..common.parsing import AnswerParser, Marks
from ..common.routing import Route, find
from ..common.telling import Manner, tell
from . import chat, completions
from .errors import Refusal
from .frame import Frame, json_answer
from .hear import hear_chat, hear_completions
from .offers import offers
from .spelling import Spelling
from .traits import Traits

OPTIONS = ("api-key", "max-model-len", "host", "port", "model")
PARSED = frozenset(("chat", "responses", "ollama"))
PLANNED = frozenset(("chat", "completions"))


class Hears(Protocol):
    """Reads a body; raises Refusal."""

    def __call__(self, request: Request, station: CompatibleStation, context: Context) -> Ask | Rendering: ...


class Renders(Protocol):
    """Writes an answer of its own API."""

    def __call__(self, told: Told, ask: Ask, station: CompatibleStation, context: Context) -> Rendering: ...


@dataclass(frozen=True, slots=True)
class Native:
    """One API of a vendor beside OpenAI's: its name in ``Ask.api``, methods and paths, and its two halves."""

    api: str
    paths: tuple[str, ...]
    hear: Hears
    render: Renders | None = None
    methods: tuple[str, ...] = ("POST",)


class CompatibleStation:
    """A server with its launch options. ``state``: what its native routes keep (stored responses, futures)."""

    def __init__(self, launch: Launch, traits: Traits, natives: Sequence[Native] = ()) -> None:
        self.launch = launch
        self.traits = traits
        self.natives = {native.api: native for native in natives if native.render is not None}
        given = _options(launch, traits)
        self.model = given.get("model") or launch.model
        self.context_length = int(given.get("max-model-len") or launch.max_model_len or 131072)
        self.tokenizer: Tokenizer = launch.tokenizer
        self.spelling = Spelling(launch.tokenizer, traits)
        self.state: dict[str, Any] = {}
        self._key = given.get("api-key")
        self._manner = Manner(
            tokenizer=launch.tokenizer,
            spelling=self.spelling,
            rules=EngineRules(holds_prefix=True),
            context_length=self.context_length,
            flushes=True,
        )
        self._routes = _routes(traits, natives)

    @property
    def parsers(self) -> tuple[str | None, str | None]:
        """How the model behind the server must write: these servers always take its answers apart."""
        return "qwen3", "hermes"

    def offers(self) -> Sequence[Offer]:
        """Every path of this server."""
        return offers(self._routes)

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        """An Ask when an engine is needed, else the whole answer."""
        try:
            self._authorise(request)
            match = find(self._routes, request.method, request.path)
            if match.route is None:
                raise self._lost(request, match.allowed)
            named = replace(request, query={**request.query, **match.parameters}) if match.parameters else request
            return match.route.handler(named, self, context)
        except Refusal as refusal:
            return self.refused(refusal)

    def refused(self, refusal: Refusal) -> Rendering:
        """A refusal in this server's shape."""
        shape = self.traits.error
        return json_answer(
            shape(refusal.status, refusal.message, refusal.kind, refusal.param, refusal.code), refusal.status
        )

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        """Decode the truth as this server would tell it to this request."""
        timing = context.timing()
        due: Callable[[int], float] = timing.due if timing is not None else _at_once
        told = tell(ask, generations, self._manner, parser=self._parser(ask), due=due)
        whole, streamed = self.traits.eos
        keeps = (streamed if ask.stream else whole) or ask.options.get("keeps_end", False)
        return told if keeps else without_end(told, ask, self.tokenizer)

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        """The answer in the API's words."""
        if ask.api in self.natives:
            render = self.natives[ask.api].render
            assert render is not None
            return render(told, ask, self, context)
        prefix = "chatcmpl-" if ask.api == "chat" else "cmpl-"
        frame = Frame(prefix + context.hex(29), int(context.now()), ask, self.traits, context.hex)
        return chat.render(told, frame) if ask.api == "chat" else completions.render(told, frame)

    def plan_key(self, ask: Ask) -> Hashable | None:
        """Chat and completions without state may be played again (fast path)."""
        if ask.api not in PLANNED or len(ask.prompts) != 1 or ask.wants.echo or ask.wants.prompt_token_ids:
            return None
        flags = tuple(sorted((name, repr(ask.body[name])) for name in self.traits.own if name in ask.body))
        shape = (ask.api, ask.stream, ask.n, ask.model, ask.sampling, ask.wants, bool(ask.tools))
        return (*shape, repr(ask.tool_choice), repr(ask.body.get("logprobs")), flags)

    def _authorise(self, request: Request) -> None:
        if self._key is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or given != self._key:
            raise Refusal("Incorrect API key provided.", status=401, code="invalid_api_key")

    def _lost(self, request: Request, allowed: tuple[str, ...]) -> Refusal:
        if allowed:
            return Refusal(
                f"Not allowed to {request.method} on {request.path}", status=405, code="method_not_supported"
            )
        message = f"Invalid URL ({request.method} {request.path})"
        return Refusal(message, status=404)

    def _parser(self, ask: Ask) -> Callable[[], AnswerParser] | None:
        if ask.api not in PARSED:
            return None
        tools = bool(ask.tools) and ask.tool_choice != "none"
        return lambda: AnswerParser(Marks(waits=True), tools=tools)


def without_end(told: Told, ask: Ask, tokenizer: Tokenizer) -> Told:
    """The same without the token that ended each choice by its id: no id, no score, not counted."""
    choices = tuple(_shortened(choice, ask, tokenizer) for choice in told.choices)
    cut = sum(len(before.ids or ()) - len(after.ids or ()) for before, after in zip(told.choices, choices, strict=True))
    completion = told.usage.completion_tokens
    usage = replace(told.usage, completion_tokens=None if completion is None else completion - cut)
    return replace(told, choices=choices, usage=usage)


def _shortened(choice: ToldChoice, ask: Ask, tokenizer: Tokenizer) -> ToldChoice:
    ids = choice.ids or ()
    ends = (*tokenizer.eos_ids, *ask.sampling.stop_token_ids)
    if choice.finish_reason != "stop" or isinstance(choice.stop_reason, str) or not ids or ids[-1] not in ends:
        return choice
    length = len(ids) - 1
    steps = tuple(
        replace(
            step,
            tokens=(min(step.tokens[0], length), min(step.tokens[1], length)),
            ids=(min(step.ids[0], length), min(step.ids[1], length)),
            scores=(min(step.scores[0], length), min(step.scores[1], length)),
        )
        for step in choice.steps
    )
    scores = None if choice.scores is None else choice.scores[:length]
    return replace(choice, ids=ids[:length], scores=scores, steps=steps)


def _at_once(step: int) -> float:
    return 0.0


def _options(launch: Launch, traits: Traits) -> dict[str, str]:
    given: dict[str, str] = {}
    words = list(launch.options)
    while words:
        word, _, value = words.pop(0).partition("=")
        name = word.removeprefix("--")
        if name not in OPTIONS or not word.startswith("--"):
            hint = did_you_mean(word, [f"--{one}" for one in OPTIONS])
            raise LayoutError(f"{traits.name} knows no option {word}", hint=hint)
        if not value and not words:
            raise LayoutError(f"{word} wants a value")
        given[name] = value or words.pop(0)
    return given


def _routes(traits: Traits, natives: Sequence[Native]) -> tuple[Route, ...]:
    routes = [Route(native.methods, path, native.hear) for native in natives for path in native.paths]
    if traits.chat is not None:
        routes.append(Route(("POST",), "/v1/chat/completions", _chat))
    if traits.completions is not None:
        routes.append(Route(("POST",), "/v1/completions", _completions))
    routes += [Route(("GET",), "/v1/models", _models), Route(("GET",), "/v1/models/{name}", _model)]
    return (*routes, Route(("GET",), "/health", _health))


def _chat(request: Request, station: CompatibleStation, context: Context) -> Ask:
    return hear_chat(request, station.traits, station.tokenizer, station.model)


def _completions(request: Request, station: CompatibleStation, context: Context) -> Ask:
    return hear_completions(request, station.traits, station.tokenizer, station.model)


def _model_value(name: str, station: CompatibleStation, context: Context) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(context.now()), "owned_by": station.traits.owner}


def _models(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    names = [station.model or "tiny"]
    return json_answer({"object": "list", "data": [_model_value(name, station, context) for name in names]})


def _model(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    name = request.query["name"]
    if station.model not in (None, name):
        raise Refusal(f"The model '{name}' does not exist", status=404, param="model", code="model_not_found")
    return json_answer(_model_value(name, station, context))


def _health(request: Request, station: CompatibleStation, context: Context) -> Rendering:
    return Rendering(200, (("content-type", "application/json"),), (Message("body", {"status": "ok"}),))
