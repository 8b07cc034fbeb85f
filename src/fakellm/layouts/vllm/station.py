"""One running vLLM: routes, authentication, and the three steps receive -> tell -> render.

The station knows its APIs and routes only by their shapes (``api.py``); adding one is a line in ``APIS`` or ``ROUTES``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...ask import Ask, Request
from ...errors import TokenizerError
from ...generation import Choice, Generation
from ...message import Message, Rendering
from ...plan import ROOMY_TOKENS
from ...told import Told
from ..base import Context, Flights, Launch, Offer, Served
from .aborts import aborted, engine_ids, engine_requests
from .api import Api, Handler, Running
from .batch_api import BATCH
from .bodies import detail_answer, error_value, json_answer
from .chat_api import CHAT
from .completions_api import COMPLETIONS
from .cors import opened, preflight
from .dev import weight_version
from .launch import Settings, settings_of
from .messages import MESSAGES
from .offers import offers
from .parsers import strict_tools
from .parsing import notes_of, parser_of
from .responses import RESPONSES
from .route import Route, allowed, matching
from .routes import ROUTES
from .scores import Speller
from .shape import SHAPES, Shape
from .tell import Facts, tell
from .tito_api import TITO
from .traits import TRAITS, Traits, Version

APIS: dict[str, Api] = {api.name: api for api in (CHAT, COMPLETIONS, TITO, BATCH, RESPONSES, MESSAGES)}
PLANNED = frozenset({"chat", "completions", "tito"})
"""APIs whose answers leave nothing behind in the station."""
GUARDED = ("/v1", "/v2", "/inference", "/cohere")
"""Prefixes that --api-key guards, unknown routes below them too (research, vllm.md 4.4)."""


def start(version: Version, launch: Launch, asked_version: str) -> Station:
    """Start a server of this version; raises LayoutError for options it does not know."""
    settings = settings_of(launch, version)
    shape = SHAPES_BY_VERSION[version]
    return Station(TRAITS[version], shape, settings, launch, asked_version)


SHAPES_BY_VERSION: dict[Version, Shape] = {
    tuple(int(number) for number in shape.version.split(".")): shape for shape in SHAPES
}


class Station:
    """See the module's paragraph. ``epoch`` changes whenever state that shapes later answers changes."""

    def __init__(self, traits: Traits, shape: Shape, settings: Settings, launch: Launch, asked_version: str) -> None:
        self.running = Running(
            traits=traits,
            shape=shape,
            settings=settings,
            launch=launch,
            tokenizer=launch.tokenizer,
            facts=Facts(
                tokenizer=launch.tokenizer,
                shape=shape,
                speller=Speller(launch.tokenizer, shape.repair_context),
                max_model_len=settings.max_model_len,
                engine=launch.engine,
            ),
            asked_version=asked_version,
            fingerprint=_fingerprint(asked_version, settings, launch),
        )
        self._routes = _routes()

    @property
    def epoch(self) -> int:
        return self.running.epoch

    @property
    def notes(self) -> tuple[str, ...]:
        """What the launch options said that changes nothing on the wire."""
        return (*self.running.settings.notes, *notes_of(self.running))

    @property
    def parsers(self) -> tuple[str | None, str | None]:
        """The reasoning and tool parsers it was started with: how the model behind it must write."""
        return self.running.settings.reasoning_parser, self.running.settings.tool_call_parser

    @property
    def forced_json(self) -> bool:
        """Whether the model behind it writes a forced tool call as plain JSON."""
        return not strict_tools(self.running.shape.version, self.running.launch.env)

    def offers(self) -> Sequence[Offer]:
        """Every path of this server."""
        return offers(self._routes, self.running)

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        """What was heard, or the answer of a route without an engine; browsers are told who may read it."""
        answer = preflight(request, self.running.settings, self.running.traits.version)
        if answer is not None:
            return answer
        heard = self._received(request, context)
        if isinstance(heard, Ask):
            return heard
        if request.method == "HEAD":  # no route knows it, and its refusal has no body
            heard = replace(heard, messages=(Message("body", ""),))
        return self._opened(heard, request)

    def _opened(self, rendering: Rendering, request: Request) -> Rendering:
        return opened(rendering, request, self.running.settings, self.running.traits.version)

    def _received(self, request: Request, context: Context) -> Ask | Rendering:
        running = self.running
        if not self._authorised(request):
            return json_answer({"error": "Unauthorized"}, status=401)
        found = matching(self._routes, request.method, request.path, running)
        if found is None:
            allow = allowed(self._routes, request.path, running)
            if allow:
                return detail_answer(405, "Method Not Allowed", (("allow", ", ".join(allow)),))
            return detail_answer(404, "Not Found")
        route, parameters = found
        try:
            return route.handler(request, running, context, parameters)
        except TokenizerError as problem:  # text that no tokenizer takes: half of a surrogate pair
            return json_answer(error_value(problem.message, "BadRequestError", None, 400), status=400)

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        timing = context.timing()
        due: Callable[[int], float] = timing.due if timing is not None else _at_once
        return tell(
            ask,
            generations,
            self.running.facts,
            due=due,
            parser=parser_of(ask, self.running),
            weight_version=weight_version(self.running),
        )

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        return self._opened(APIS[ask.api].render(told, ask, self.running, context), ask.request)

    @property
    def flights(self) -> Flights:
        """The answers on their way, which its routes may end."""
        return self.running.flights

    @flights.setter
    def flights(self, flights: Flights) -> None:
        self.running.flights = flights

    def engine_ids(self, ask: Ask, context: Context) -> Sequence[str]:
        """The engine's id of every choice."""
        return engine_ids(ask, self.running, context)

    def engine_requests(self, ask: Ask) -> int:
        """What the engine's front holds for it."""
        return engine_requests(ask)

    def aborted(self, choice: Choice, steps: int) -> Choice:
        """What the engine leaves of a choice that is aborted after so many steps."""
        return aborted(choice, steps)

    def served(self, served: Served) -> None:
        """Count an answer for /metrics."""
        self.running.tally.add(served)

    def in_flight(self, change: int) -> None:
        """Count requests in flight for /metrics and, with --enable-server-load-tracking, for /load."""
        self.running.tally.running += change

    def plan_key(self, ask: Ask) -> Hashable | None:
        """What the bytes depend on besides the truth, ids, time and the prompt's own ids (fast path); None = no plan.

        The last prompt id stands for how the detokeniser begins; the room for where a long answer would be cut.
        """
        wants = ask.wants
        if ask.api not in PLANNED or len(ask.prompts) != 1 or wants.echo or wants.prompt_logprobs is not None:
            return None
        if ask.request_id is not None or ask.options.get("return_prompt_text"):
            return None
        ids = ask.prompts[0].token_ids
        room = min(self.running.settings.max_model_len - len(ids), ROOMY_TOKENS)
        limit = ask.sampling.max_tokens
        sampling = ask.sampling if limit is None or limit < ROOMY_TOKENS else replace(ask.sampling, max_tokens=None)
        origin = ask.request.headers.get("origin")
        shape = (ask.api, ask.stream, ask.n, ask.model, sampling, wants, room, ids[-1:], bool(ask.tools), origin)
        return (*shape, repr(ask.tool_choice), repr(sorted(ask.options.items())))

    def _authorised(self, request: Request) -> bool:
        keys = self.running.settings.api_keys
        if not keys or request.method == "OPTIONS" or not request.path.startswith(GUARDED):
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and given in keys


def _at_once(step: int) -> float:
    return 0.0


def _routes() -> tuple[Route, ...]:
    engine = tuple(Route(("POST",), path, _heard(api), api.when) for api in APIS.values() for path in api.paths)
    return (*engine, *ROUTES)


def _heard(api: Api) -> Handler:
    def handler(request: Request, running: Running, context: Context, parameters: Mapping[str, str]) -> Ask | Rendering:
        heard = api.hear(request, running, context)
        if isinstance(heard, Ask) and parameters:
            return replace(heard, options={**heard.options, **parameters})
        return heard

    return handler


def _fingerprint(version: str, settings: Settings, launch: Launch) -> str | None:
    """``vllm-<version>[-tpN]-<8 hex>``: the hash stands for the server's configuration (--fingerprint-mode)."""
    mode: Any = settings.fingerprint_mode
    if mode == "none":
        return None
    if mode == "custom":
        return settings.fingerprint_value or None
    words = "\n".join((*launch.options, *(f"{name}={value}" for name, value in sorted(launch.env.items()))))
    digest = hashlib.blake2b(words.encode(), digest_size=4).hexdigest()
    if mode == "hash":
        return digest
    parallel = f"-tp{settings.tensor_parallel_size}" if settings.tensor_parallel_size > 1 else ""
    return f"vllm-{version}{parallel}-{digest}"
