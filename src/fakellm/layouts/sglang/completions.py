"""/v1/completions: its body, its reading and its answers.

Prompts are texts or ids, one or many; choices are prompt-major. A stream has one chunk per engine step even when no
text shows, so ids and scores are all there. Renders from the Told only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ask import Ask, Prompt, Request, Wants
from .answers import EngineRefusal, Refusal
from .body_parts import grammar_of
from .call import Call, Item
from .completions_body import NOT_ASKED
from .engine_rules import Engine, one_word
from .loose import elements, members
from .native import sampling_of
from .traits import Trait

_PARAMETERS = (
    "stop stop_token_ids stop_regex temperature top_p top_k min_p presence_penalty frequency_penalty "
    "repetition_penalty regex json_schema ebnf no_stop_trim ignore_eos skip_special_tokens logit_bias"
).split()


@dataclass(frozen=True, slots=True)
class CompletionsRoute:
    """What the completions renderer needs of a request. ``echoes``: per prompt the text before it; None = no echo."""

    values: Mapping[str, Any]
    echoes: tuple[str, ...] | None = None


def read_ask(body: Mapping[str, Any], values: dict[str, Any], request: Request, engine: Engine) -> Ask:
    """The ask of a completions body whose members were read; raises Refusal."""
    values = {**dict(NOT_ASKED), **values}
    prompt = values["prompt"]
    if not prompt or (isinstance(prompt, list) and all(not each for each in _fillings(elements(prompt)))):
        raise Refusal("Prompt cannot be empty")
    shape = members(values["response_format"])
    if shape.get("type") == "json_schema" and not members(shape.get("json_schema")).get("schema"):
        raise Refusal("schema_ is required for json_schema response format request.", kind="BadRequest")
    single, sources = _prompts(prompt)
    items = tuple(_item(values, source, engine) for source in sources)
    n = values["n"]
    one_word(values, engine.traits, single=n == 1 and single, prompts=len(items))
    if n == 0:
        raise Refusal("range() arg 3 must not be zero", kind="BadRequest")
    if engine.settings.skip_tokenizer and not values["stream"]:
        raise Refusal("Internal server error: 'text'", kind="InternalServerError", status=500)
    call = Call(
        items=items,
        rids=_rids(values["rid"], len(items), max(n, 1), single),
        fresh=len(items) * max(n, 1),
        n=max(n, 1),
        stream=values["stream"],
        listed=n > 1 or not single,
        text_in_logprobs=True,
        prompt_ids=values["return_token_ids"],
    )
    if values["echo"] and values["logprobs"] == 0 and engine.traits.has(Trait.ECHO_NEEDS_TOPS):
        if values["stream"]:
            raise EngineRefusal("'input_top_logprobs'")
        raise Refusal("Internal server error: 'input_top_logprobs'", kind="InternalServerError", status=500)
    if values["logprobs"] == 0 and engine.traits.has(Trait.LOGPROBS_NEED_TOPS):
        if values["stream"]:
            raise EngineRefusal("'output_top_logprobs'")
        raise Refusal("Internal server error: 'output_top_logprobs'", kind="InternalServerError", status=500)
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


def _fillings(prompt: Sequence[Any]) -> Sequence[Any]:
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
        **grammar_of(values["response_format"]),
    }
    return engine.item(
        engine.encode(source) if isinstance(source, str) else source,
        parameters,
        logprobs=values["logprobs"] is not None,
        start_len=0 if values["echo"] and values["logprobs"] else -1,
        top=values["logprobs"] or 0,
        features=values,
    )


def _rids(rid: Any, prompts: int, n: int, single: bool) -> tuple[str, ...]:
    if n == 1 and isinstance(rid, str):
        return (rid,) if single else tuple(f"{rid}_{place}" for place in range(prompts))
    if n == 1 and len(elements(rid)) == prompts:
        return tuple(elements(rid))
    return ()


def _echo(source: Any, engine: Engine) -> str:
    return source if isinstance(source, str) else engine.tokenizer.decode(source, skip_special_tokens=True)
