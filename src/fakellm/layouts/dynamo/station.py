"""One running Dynamo: the frontend and a worker behind it as one server; the three steps receive, tell, render.

Routes are a table; an engine route reads its body into an Ask or refuses, and is rendered by the ask's api.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...ask import Ask, Request
from ...emission import EngineRules
from ...generation import Generation
from ...message import Rendering
from ...tokenizer import Tokenizer
from ...told import Told
from ..base import Context, Launch, Offer
from ..common.parsing import AnswerParser, Marks
from ..common.routing import Route, find
from ..common.telling import Manner, tell
from . import answers, chat, completions, fields, hear, messages, native, responses
from .answers import Refusal
from .frame import Frame, frame_of
from .offers import offers
from .options import Settings, settings_of
from .responses_hear import hear_responses
from .spelling import Spelling
from .traits import Traits

PLANNED = frozenset(("chat", "completions"))


class DynamoStation:
    """A server of one version with its launch options; ``notes``: options that change nothing on this wire."""

    def __init__(self, launch: Launch, traits: Traits) -> None:
        self.traits = traits
        self.launch = launch
        self.settings = settings_of(launch)
        self.notes = self.settings.notes
        as_filed: Callable[[], Tokenizer] = getattr(launch.tokenizer, "as_filed", lambda: launch.tokenizer)
        self.tokenizer = as_filed()
        self.spelling = Spelling(self.tokenizer)
        self._manner = Manner(
            tokenizer=self.tokenizer,
            spelling=self.spelling,
            rules=EngineRules(holds_prefix=True),
            context_length=self.settings.max_model_len,
            flushes=True,
        )

    @property
    def parsers(self) -> tuple[str | None, str | None]:
        """The reasoning and tool parsers: how the model behind the server must write."""
        return self.settings.reasoning_parser, self.settings.tool_parser

    def offers(self) -> Sequence[Offer]:
        """Every path of this server."""
        return offers(ROUTES, self.settings)

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        """An Ask when an engine is needed, else the whole answer."""
        match = find(ROUTES, request.method, request.path)
        if match.route is None:
            if match.allowed:
                return answers.bare(405, (("allow", ",".join(match.allowed)),))
            return answers.error(f"Route not found: {request.method} {request.path}", 404)
        try:
            return match.route.handler(request, self, context, match.parameters)
        except Refusal as refusal:
            return answers.refused(refusal)

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        """Decode the truth as this server would tell it to this request."""
        timing = context.timing()
        due: Callable[[int], float] = timing.due if timing is not None else _at_once
        return tell(ask, generations, self._manner, parser=self._parser(ask), due=due)

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        """The answer in the route's words."""
        frame = frame_of(told, ask, self.launch, self.settings, self.traits, context)
        return RENDERERS[ask.api](told, frame, self)

    def plan_key(self, ask: Ask) -> Hashable | None:
        """Answers that show no worker and no clock but ``created`` may be played again (fast path)."""
        extension: Any = ask.options.get("extension")
        plain = not extension or (not extension.annotations and not extension.fields)
        if ask.api not in PLANNED or not plain or len(ask.prompts) != 1 or ask.wants.prompt_logprobs is not None:
            return None
        return (ask.api, ask.stream, ask.model, ask.sampling, ask.wants, bool(ask.tools), repr(ask.tool_choice))

    def _parser(self, ask: Ask) -> Callable[[], AnswerParser] | None:
        """Chat and what is built on it is parsed; calls only where tools were offered and may be called."""
        if ask.api not in ("chat", "responses", "messages"):
            return None
        thinks, calls = self.settings.reasoning_parser is not None, self.settings.tool_parser is not None
        marks = Marks(think="<think>" if thinks else "", call="<tool_call>" if calls else "")
        tools = calls and bool(ask.tools) and ask.tool_choice != "none"
        return lambda: AnswerParser(marks, tools=tools)


def _at_once(step: int) -> float:
    return 0.0


Hears = Callable[[Request, Settings, Traits, Tokenizer], Ask | Rendering]


def _engine(path: str, hears: Hears, *, native: bool = False, anthropic: bool = False) -> Route:
    """A route that asks the engine. ``native``, ``anthropic``: only where these are switched on. A body that does not
    say it is JSON is not read."""

    def handler(
        request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]
    ) -> Ask | Rendering:
        if (native and not station.settings.native_routes) or (anthropic and not station.settings.anthropic):
            return answers.error(f"Route not found: {request.method} {request.path}", 404)
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise Refusal("Expected request with Content-Type application/json", 415)
        return hears(request, station.settings, station.traits, station.tokenizer)

    return Route(("POST",), path, handler)


def _model_value(station: DynamoStation, name: str, context: Context) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": int(context.now()),
        "owned_by": "nvidia",
        "context_window": station.settings.max_model_len,
    }


def _models(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    served = station.settings.model or "tiny"
    return answers.json_answer({"object": "list", "data": [_model_value(station, served, context)]})


def _model(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    hear.check_model(names["name"], station.settings)
    return answers.json_answer(_model_value(station, names["name"], context))


def _health(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    instance = {
        "component": "backend",
        "endpoint": "generate",
        "namespace": "dynamo",
        "instance_id": int(context.hex(16), 16),
        "transport": {"tcp": "127.0.0.1:40000/0/dynamo/backend/generate"},
        "device_type": "cuda",
        "request_plane_codec": "msgpack",
    }
    endpoints = ["dyn://dynamo.backend.generate"]
    return answers.json_answer({"status": "healthy", "endpoints": endpoints, "instances": [instance]})


def _input_tokens(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    """An estimate that has seen no tokenizer and no template."""
    body = hear.read(request.body, fields.RESPONSES)
    said = body["input"] if isinstance(body["input"], str) else messages.json_text(body["input"])
    count = max(1, (len(said) + len("user")) // 3)
    return answers.json_answer({"object": "response.input_tokens", "input_tokens": count})


def _count_tokens(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    if not station.settings.anthropic:
        return answers.error(f"Route not found: {request.method} {request.path}", 404)
    return answers.json_answer({"input_tokens": messages.estimated(hear.read(request.body, fields.COUNTED))})


def _switched_off(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    return answers.bare(404)


def _embeddings(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    """No worker of this fake embeds."""
    raise hear.NOT_FOUND


def _live(request: Request, station: DynamoStation, context: Context, names: Mapping[str, str]) -> Rendering:
    return answers.json_answer({"status": "live", "message": "Service is live"})


ROUTES: tuple[Route, ...] = (
    _engine("/v1/chat/completions", hear.hear_chat),
    _engine("/v1/completions", hear.hear_completions),
    _engine("/v1/responses", hear_responses),
    _engine("/v1/messages", messages.hear_messages, anthropic=True),
    _engine("/inference/v1/generate", native.hear_inference, native=True),
    _engine("/generate", native.hear_generate, native=True),
    Route(("GET",), "/v1/models", _models),
    Route(("GET",), "/v1/models/{name}", _model),
    Route(("GET",), "/health", _health),
    Route(("GET",), "/live", _live),
    Route(("POST",), "/v1/responses/input_tokens", _input_tokens),
    Route(("POST",), "/v1/messages/count_tokens", _count_tokens),
    Route(("POST",), "/v1/embeddings", _embeddings),
    *(
        Route(("GET", "POST"), path, _switched_off)
        for path in ("/v1/audio/speech", "/v1/images/generations", "/v1/videos", "/v1/rerank", "/v1/classify")
    ),
)

Renders = Callable[[Told, Frame, DynamoStation], Rendering]
RENDERERS: Mapping[str, Renders] = {
    "chat": lambda told, frame, station: chat.render(told, frame),
    "responses": lambda told, frame, station: responses.render(told, frame),
    "messages": lambda told, frame, station: messages.render(told, frame),
    "tito": lambda told, frame, station: native.render_inference(told, frame),
    "generate": lambda told, frame, station: native.render_generate(told, frame, station.launch.engine),
    "completions": lambda told, frame, station: completions.render(told, frame, station.spelling),
}
