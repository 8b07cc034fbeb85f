"""/v1/completions: its body, its reading and its answers.

Prompts are texts or ids, one or many; choices are prompt-major. A stream has one chunk per engine step even when no text
shows, so ids and scores are all there. Renders from the Told only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from ...message import Message, Rendering
from ...told import Score, Told, ToldChoice, ToldPrompt, ToldStep
from ..base import Context
from . import answers, openai_parts
from .answers import Refusal
from .call import Call, Item
from .chat_body import RESPONSE_FORMAT, STREAM_OPTIONS
from .engine_rules import Engine
from .native import sampling_of
from .native_render import in_order
from .openai_parts import Facts
from .schema import ANY, BOOL, DICT, FLOAT, INT, REQUIRED, STR, Field, Model, either, listed, model, nullable
from .scores import Speller
from .traits import Trait


def _positive(count: Any) -> None:
    if count is not None and count <= 0:
        raise ValueError("max_tokens must be positive")


BODY = Model(
    "CompletionRequest",
    (
        Field("model", STR, "default"),
        Field("prompt", either(listed(INT), listed(listed(INT)), STR, listed(STR)), REQUIRED),
        Field("best_of", nullable(INT)),
        Field("echo", BOOL, False),
        Field("frequency_penalty", FLOAT, 0.0),
        Field("logit_bias", nullable(DICT)),
        Field("logprobs", nullable(INT)),
        Field("max_tokens", INT, 16, _positive),
        Field("n", INT, 1),
        Field("presence_penalty", FLOAT, 0.0),
        Field("seed", nullable(INT)),
        Field("stop", nullable(either(STR, listed(STR)))),
        Field("stream", BOOL, False),
        Field("stream_options", nullable(model(STREAM_OPTIONS))),
        Field("suffix", nullable(STR)),
        Field("temperature", FLOAT, 1.0),
        Field("top_p", FLOAT, 1.0),
        Field("user", nullable(STR)),
        Field("return_hidden_states", ANY, False),
        Field("return_routed_experts", BOOL, False),
        Field("return_cached_tokens_details", BOOL, False),
        Field("return_token_ids", BOOL, False),
        Field("top_k", INT, -1),
        Field("min_p", FLOAT, 0.0),
        Field("min_tokens", INT, 0),
        Field("json_schema", nullable(STR)),
        Field("regex", nullable(STR)),
        Field("ebnf", nullable(STR)),
        Field("repetition_penalty", FLOAT, 1.0),
        Field("stop_token_ids", nullable(listed(INT))),
        Field("stop_regex", nullable(either(STR, listed(STR)))),
        Field("no_stop_trim", BOOL, False),
        Field("ignore_eos", BOOL, False),
        Field("skip_special_tokens", BOOL, True),
        Field("response_format", nullable(model(RESPONSE_FORMAT))),
        Field("custom_params", nullable(DICT)),
        Field("rid", nullable(either(listed(STR), STR))),
        Field("priority", nullable(INT)),
    ),
)

_PARAMETERS = (
    "stop stop_token_ids stop_regex temperature top_p top_k min_p presence_penalty frequency_penalty repetition_penalty "
    "regex json_schema ebnf no_stop_trim ignore_eos skip_special_tokens logit_bias"
).split()


@dataclass(frozen=True, slots=True)
class CompletionsRoute:
    """What the completions renderer needs of a request. ``echoes``: per prompt the text to put before (None = no echo)."""

    values: Mapping[str, Any]
    echoes: tuple[str, ...] | None = None


def read_ask(body: Mapping[str, Any], values: dict[str, Any], request: Request, engine: Engine, context: Context) -> Ask:
    """The ask of a completions body whose members were read; raises Refusal."""
    prompt = values["prompt"]
    if not prompt or (isinstance(prompt, list) and all(not each for each in _elements(prompt))):
        raise Refusal("Prompt cannot be empty")
    if not engine.traits.has(Trait.RETURN_TOKEN_IDS):
        values["return_token_ids"] = False
    shape: Mapping[str, Any] = values["response_format"] or {}
    if shape.get("type") == "json_schema" and not (shape.get("json_schema") or {}).get("schema"):
        raise Refusal("schema_ is required for json_schema response format request.", kind="BadRequest")
    single, sources = _prompts(prompt)
    items = tuple(_item(values, source, engine) for source in sources)
    n = values["n"]
    if n == 0:
        raise Refusal("range() arg 3 must not be zero", kind="BadRequest")
    if engine.settings.skip_tokenizer and not values["stream"]:
        raise Refusal("Internal server error: 'text'", kind="InternalServerError", status=500)
    call = Call(
        items=items,
        rids=_rids(values["rid"], len(items), max(n, 1), single, context),
        n=max(n, 1),
        stream=values["stream"],
        listed=n > 1 or not single,
        text_in_logprobs=True,
        prompt_ids=values["return_token_ids"],
    )
    if values["echo"] and values["logprobs"] == 0 and engine.traits.has(Trait.ECHO_NEEDS_TOPS):
        raise Refusal("Internal server error: 'input_top_logprobs'", kind="InternalServerError", status=500)
    echoes = tuple(_echo(source, engine) for source in sources) if values["echo"] else None
    texts = [source if isinstance(source, str) else None for source in sources]
    return Ask(
        api="completions",
        request=request,
        body=body,
        prompts=tuple(Prompt(item.token_ids, text) for item, text in zip(items, texts, strict=True)),
        model=values["model"],
        stream=call.stream,
        n=call.n,
        sampling=sampling_of(items[0], {"temperature": values["temperature"], "sampling_seed": values["seed"]}),
        wants=_wants(values),
        request_id=values["rid"] if isinstance(values["rid"], str) else None,
        ignored=tuple(name for name in body if name not in values),
        options={"call": call, "route": CompletionsRoute(values, echoes)},
    )


def _wants(values: Mapping[str, Any]) -> Wants:
    options: Mapping[str, Any] = values["stream_options"] or {}
    asked = values["logprobs"]
    return Wants(
        prompt_token_ids=values["return_token_ids"],
        completion_token_ids=values["return_token_ids"],
        logprobs=asked is not None,
        top_logprobs=max(asked or 0, 0),
        prompt_logprobs=max(asked, 0) if asked and values["echo"] else None,
        echo=values["echo"],
        usage=not values["stream"] or bool(options.get("include_usage")),
        continuous_usage=bool(options.get("continuous_usage_stats")),
    )


def _elements(prompt: Sequence[Any]) -> Sequence[Any]:
    """Elements that may be empty: an id never is, be it 0."""
    return [str(each) if isinstance(each, int) else each for each in prompt]


def _prompts(prompt: Any) -> tuple[bool, list[Any]]:
    if isinstance(prompt, str):
        return True, [prompt]
    if isinstance(prompt[0], int):
        return True, [tuple(prompt)]
    return False, [each if isinstance(each, str) else tuple(each) for each in prompt]


def _item(values: Mapping[str, Any], source: Any, engine: Engine) -> Item:
    parameters = {name: values[name] for name in _PARAMETERS}
    parameters |= {
        "max_new_tokens": values["max_tokens"],
        "min_new_tokens": values["min_tokens"],
        "sampling_seed": values["seed"],
    }
    return engine.item(
        engine.encode(source) if isinstance(source, str) else source,
        parameters,
        logprobs=values["logprobs"] is not None,
        start_len=0 if values["echo"] and values["logprobs"] else -1,
        top=values["logprobs"] or 0,
    )


def _rids(rid: Any, prompts: int, n: int, single: bool, context: Context) -> tuple[str, ...]:
    if n == 1 and isinstance(rid, str):
        return (rid,) if single else tuple(f"{rid}_{place}" for place in range(prompts))
    if n == 1 and isinstance(rid, list) and len(rid) == prompts:  # pyright: ignore[reportUnknownArgumentType]
        return tuple(rid)  # pyright: ignore[reportUnknownArgumentType]
    return tuple(context.hex(32) for _ in range(prompts * n))


def _echo(source: Any, engine: Engine) -> str:
    return source if isinstance(source, str) else engine.tokenizer.decode(source, skip_special_tokens=True)


@dataclass(frozen=True, slots=True)
class CompletionsRenderer:
    """Renders one completions answer."""

    facts: Facts
    route: CompletionsRoute
    speller: Speller

    def whole(self, told: Told) -> Rendering:
        """A JSON answer."""
        for choice in told.choices:
            failed = choice.failure
            if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
                return answers.error(failed.message) if failed.code == 400 else answers.failure(failed.message, failed.code)
        facts = self.facts
        body = {
            "id": facts.call.rid(0),
            "object": "text_completion",
            "created": facts.created,
            "model": facts.model,
            "choices": [self._choice(told, choice) for choice in told.choices],
            "usage": openai_parts.usage(told, facts),
            "metadata": openai_parts.metadata(told, openai_parts.first_count(told), facts.traits),
        }
        extension = openai_parts.sglext(told, self.route.values, facts.traits)
        if extension:
            body["sglext"] = extension
        return answers.json_answer(body, spelling=facts.spelling)

    def stream(self, told: Told) -> Rendering:
        """Server-sent events."""
        return answers.events(tuple(self._events(told)))

    def _choice(self, told: Told, choice: ToldChoice) -> dict[str, Any]:
        prompt = told.prompt_of(choice)
        made: dict[str, Any] = {
            "index": choice.index,
            "text": self._echoed(choice) + choice.text,
            "logprobs": self._logprobs(prompt, choice.index, choice.scores, with_prompt=True),
            "finish_reason": choice.finish_reason,
            "matched_stop": choice.stop_reason,
        }
        if self.route.values["return_token_ids"]:
            if choice.ids is not None:
                made["token_ids"] = list(choice.ids)
            if prompt.token_ids is not None:
                made["prompt_token_ids"] = list(prompt.token_ids)
        return made

    def _echoed(self, choice: ToldChoice) -> str:
        echoes = self.route.echoes
        return "" if echoes is None else echoes[min(choice.index // self.facts.call.n, len(echoes) - 1)]

    def _logprobs(
        self, prompt: ToldPrompt, index: int, scores: Sequence[Score | None] | None, *, with_prompt: bool
    ) -> dict[str, Any] | None:
        if self.route.values["logprobs"] is None or scores is None:
            return None
        item = self.facts.call.item(index)
        texts: list[Any] = []
        numbers: list[Any] = []
        tops: list[Any] = []
        if with_prompt and item.start_len == 0:
            known = prompt.scores or ()
            for place, token_id in enumerate(prompt.token_ids or ()):
                score = known[place] if place < len(known) else None
                texts.append(self._text(score) if score is not None else self.speller.text(token_id))
                numbers.append(None if score is None else score.logprob)
                tops.append(None if score is None else self._tops(score))
        for score in scores:
            texts.append(None if score is None else self._text(score))
            numbers.append(None if score is None else score.logprob)
            if item.top > 0:
                tops.append(None if score is None else self._tops(score))
        return {"text_offset": [-1] * len(texts), "token_logprobs": numbers, "tokens": texts, "top_logprobs": tops}

    def _tops(self, score: Score) -> dict[str, Any] | None:
        return {self._text(each): each.logprob for each in score.top} if score.top else None

    def _text(self, score: Score) -> str:
        """The token's text; a piece of a character, from 0.5.21 on, one Latin-1 character per byte."""
        if "\ufffd" not in score.token or not self.facts.traits.has(Trait.TRUE_BYTES) or score.bytes is None:
            return score.token
        piece = bytes(score.bytes)
        try:
            piece.decode()
        except UnicodeDecodeError:
            return piece.decode("latin-1")
        return score.token

    def _events(self, told: Told) -> Iterator[Message]:
        last, due = told.choices[0].index, 0.0
        for choice, number in in_order(told.choices):
            step = choice.steps[number]
            last, due = choice.index, step.due_ms
            failed = choice.failure
            if step.finish_reason == "abort" and failed is not None and failed.code is not None:
                if self.facts.traits.has(Trait.STREAM_ERRORS):
                    name = answers.status_name(failed.code)
                    yield answers.stream_error(failed.message, name, failed.code, due)
                    break
            yield self._step(told, choice, step, first=number == 0)
        extension = openai_parts.sglext(told, self.route.values, self.facts.traits)
        if extension:
            yield self._late(last, due, {"usage": None, "sglext": extension}, "meta")
        include, _ = openai_parts.includes_usage(self.route.values, self.facts.settings, self.facts.traits)
        if include:
            yield self._late(last, due, {"usage": _without_nulls(openai_parts.usage(told, self.facts))}, "usage")

    def _step(self, told: Told, choice: ToldChoice, step: ToldStep, *, first: bool) -> Message:
        prompt = told.prompt_of(choice)
        rows = None if choice.scores is None else choice.scores[step.scores[0] : step.scores[1]]
        with_prompt = first and self.facts.call.item(choice.index).start_len == 0
        logprobs = self._logprobs(prompt, choice.index, rows, with_prompt=first) if rows or with_prompt else None
        made: dict[str, Any] = {
            "index": choice.index,
            "text": (self._echoed(choice) if first else "") + step.text,
            "logprobs": logprobs,
            "finish_reason": step.finish_reason,
            "matched_stop": step.stop_reason,
        }
        if self.route.values["return_token_ids"]:
            if choice.ids is not None:
                made["token_ids"] = list(choice.ids[step.ids[0] : step.ids[1]])
            if first and prompt.token_ids is not None:
                made["prompt_token_ids"] = list(prompt.token_ids)
        _, continuous = openai_parts.includes_usage(self.route.values, self.facts.settings, self.facts.traits)
        counted = openai_parts.step_usage(told, choice.index, step.tokens[1], self.facts, details=False)
        body = {**self._head(choice.index), "choices": [made], "usage": counted if continuous else None}
        kind = "finish" if step.finish_reason is not None else "delta"
        return Message(kind, body, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _late(self, last: int, due: float, members: dict[str, Any], kind: str) -> Message:
        return Message(kind, {**self._head(last), "choices": [], **members}, due_ms=due, spelling="serde")

    def _head(self, index: int) -> dict[str, Any]:
        return {
            "id": self.facts.call.rid(index),
            "object": "text_completion",
            "created": self.facts.created,
            "model": self.facts.model,
        }


def _without_nulls(counts: Mapping[str, Any]) -> dict[str, Any]:
    members: Iterable[tuple[str, Any]] = counts.items()
    return {name: value for name, value in members if value is not None}
