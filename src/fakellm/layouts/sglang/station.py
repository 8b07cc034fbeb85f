"""One running SGLang server: routes, authorisation, state; the three steps receive, tell, render.

Routes are a table (``routes.py``); each reads its body, refuses in its own spelling or gives an Ask, and names its
renderer by the ask's api. State that answers show (weight version, pause, stored responses) lives in ``State``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ...ask import Ask, Request
from ...errors import TokenizerError
from ...generation import Choice, Generation
from ...message import Rendering
from ...told import Told
from ..base import Context, Flights, Launch, NoFlights, Offer, Served
from . import aborts, answers, options
from .call import call_of, named
from .engine import immediately
from .engine_rules import Engine
from .native_render import NativeRenderer
from .offers import offers
from .parsers import AnswerParser, ParserChoice, check_names
from .planning import plan_key
from .rendering import RENDERERS
from .routes import ROUTES, find
from .scores import Speller
from .state import State
from .telling import Parsing, Teller
from .traits import Trait, Traits


class SglangStation:
    """A server of one version with its launch options; ``notes``: options that change nothing on this wire."""

    def __init__(self, launch: Launch, traits: Traits) -> None:
        self.traits = traits
        self.launch = launch
        self.settings = options.read(launch, traits)
        check_names(self.settings.reasoning_parser, self.settings.tool_call_parser, traits)
        self.notes = self.settings.notes
        self.tokenizer = launch.tokenizer
        self.engine = Engine(self.tokenizer, self.settings, traits)
        self.speller = Speller(self.tokenizer, traits)
        self.native = NativeRenderer(traits, self.settings, self.speller)
        self.state = State(self.settings.weight_version, self.settings.model_path)
        self.flights: Flights = NoFlights()
        self._teller = Teller(
            self.tokenizer, traits, self.speller, self.settings.context_length, self.settings.stream_interval
        )

    def offers(self) -> Sequence[Offer]:
        """Every path of this server."""
        return offers(ROUTES, self.traits)

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        """An Ask when an engine is needed, else the whole answer."""
        handler, wanted = find(request, self)
        try:
            return handler(wanted, self, context)
        except TokenizerError as problem:  # text that no tokenizer takes: half of a surrogate pair
            return answers.error(problem.message)

    def tell(self, ask: Ask, generations: Sequence[Generation], context: Context) -> Told:
        """Decode the truth as this server would tell it to this request."""
        route: Any = ask.options.get("route")
        chosen: ParserChoice | None = getattr(route, "parsers", None)
        parsing: Callable[[], Parsing] | None = None if chosen is None else lambda: AnswerParser(chosen)
        timing = context.timing()
        due: Callable[[int], float] = immediately if timing is None else timing.due
        return self._teller.tell(
            call_of(ask), generations, weight_version=self.state.weight_version, parsing=parsing, due=due
        )

    def render(self, told: Told, ask: Ask, context: Context) -> Rendering:
        """The answer in the route's words."""
        broken = aborts.broken(told, ask, self.traits)
        return broken if broken is not None else RENDERERS[ask.api](told, named(ask, context), self, context)

    @property
    def parsers(self) -> tuple[str | None, str | None]:
        """The reasoning and tool parsers it was started with: how the model behind it must write."""
        return self.settings.reasoning_parser, self.settings.tool_call_parser

    @property
    def forced_array(self) -> bool:
        """A forced tool choice binds the engine to a JSON array of calls."""
        return self.traits.has(Trait.TOOL_FORCED_JSON)

    def served(self, served: Served) -> None:
        """Count an answer for /metrics."""
        self.state.count("num_requests_total")
        self.state.count("prompt_tokens_total", served.prompt_tokens)
        self.state.count("generation_tokens_total", served.completion_tokens)

    def in_flight(self, change: int) -> None:
        """Count requests in flight for /metrics and the load routes."""
        self.state.running += change

    def engine_ids(self, ask: Ask, context: Context) -> Sequence[str]:
        """The rid of every choice."""
        return aborts.engine_ids(ask, context)

    def engine_requests(self, ask: Ask) -> int:
        """One a prompt and sample."""
        return len(ask.prompts) * max(ask.n, 1)

    def aborted(self, choice: Choice, steps: int) -> Choice:
        """What the scheduler leaves of a choice that is aborted after so many steps."""
        return aborts.aborted(choice, steps, self.traits)

    @property
    def epoch(self) -> int:
        """Plans of an earlier epoch are stale."""
        return self.state.epoch

    def plan_key(self, ask: Ask) -> Hashable | None:
        """What the bytes depend on besides the truth, ids, time and the prompt's own ids; None = no plan."""
        return plan_key(ask, self.settings.context_length, self.traits)
