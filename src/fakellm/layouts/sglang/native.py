"""The native route /generate: from its body to a Call, refusing what SGLang refuses in its words.

Batches (lists of text, ids, sampling_params, scores) become items; ``n`` above one makes fresh ids and a list.
Rendering is ``native_render.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ask import Ask, Prompt, Request, Sampling, Wants
from .answers import Refusal
from .call import Call, Flat, Item
from .engine_rules import Engine, one_word
from .loose import elements, members
from .native_body import NOT_ASKED
from .traits import Trait, Traits


def read_ask(body: Mapping[str, Any], values: Mapping[str, Any], request: Request, engine: Engine) -> Ask:
    """The ask of a /generate body whose members were read; raises Refusal."""
    values = {**dict(NOT_ASKED), **values}
    call = _call(values, engine)
    prompts = tuple(Prompt(item.token_ids, text) for item, text in zip(call.items, _texts(values, call), strict=True))
    first = call.items[0]
    parameters = _parameters(values, 0)
    return Ask(
        api="generate",
        request=request,
        body=body,
        prompts=prompts,
        model=engine.settings.model_name,
        stream=call.stream,
        n=call.n,
        sampling=sampling_of(first, parameters),
        wants=Wants(
            prompt_token_ids=call.prompt_ids,
            completion_token_ids=True,
            logprobs=first.logprobs,
            top_logprobs=first.top,
            prompt_logprobs=first.top if 0 <= first.start_len < len(first.token_ids) and first.logprobs else None,
            usage=True,
        ),
        request_id=values["rid"] if isinstance(values["rid"], str) else None,
        ignored=tuple(name for name in body if name not in values),
        options={"call": call},
    )


def is_empty_batch(values: Mapping[str, Any]) -> bool:
    """True for ``"text": []``, which is answered by a list of no answers (0.5.9 to 0.5.23: the manager's loop over it
    is empty); an empty list of ids is refused. Raises Refusal where a batch of another length is."""
    if values["text"] != []:
        return False
    _samples(values["sampling_params"])
    _rids(values["rid"], 0, 1, single=False)
    return True


def sampling_of(item: Item, parameters: Mapping[str, Any]) -> Sampling:
    """The neutral reading of what ends an item."""
    limits = item.limits
    return Sampling(
        max_tokens=limits.max_new_tokens,
        min_tokens=parameters.get("min_new_tokens") or 0,
        stop=limits.stop,
        stop_token_ids=tuple(sorted(limits.stop_token_ids)),
        include_stop=limits.no_stop_trim,
        ignore_eos=limits.ignore_eos,
        skip_special_tokens=limits.skip_special_tokens,
        temperature=parameters.get("temperature"),
        seed=parameters.get("sampling_seed"),
    )


def _call(values: Mapping[str, Any], engine: Engine) -> Call:
    text, ids = values["text"], values["input_ids"]
    if text is None and ids is None and values["input_embeds"] is None:
        raise Refusal("Either text, input_ids or input_embeds should be provided.")
    if text is not None and ids is not None and values["input_embeds"] is not None:
        raise Refusal("Either text, input_ids or input_embeds should be provided.")
    if text is None and ids is None:
        raise Refusal(
            "input_embeds is provided while disable_radix_cache is False. Please add `--disable-radix-cache` when you "
            "launch the server if you want to use input_embeds as inputs."
        )
    if values.get("return_flat_raw_output_top_logprobs") and values["stream"]:
        raise Refusal(
            "return_flat_raw_output_top_logprobs is only set on the finished response and does not support stream=True."
        )
    if values.get("return_flat_raw_top_logprobs_b64") and _flat(values) is None:
        raise Refusal(_needs_flat(engine.traits))
    single, prompts = _prompts(text, ids)
    n = _samples(values["sampling_params"])
    one_word(values, engine.traits, single=single and n == 1)
    given = values["sampling_params"]
    if isinstance(given, list) and len(elements(given)) < len(prompts):
        raise _BROKEN
    if set(members(values["session_params"])) - _OF_SESSIONS:
        raise _BROKEN
    listed_answer = n > 1 or not single
    rids = _rids(values["rid"], len(prompts), n, single)
    sources = _sources(text, ids, prompts, engine)
    items = tuple(
        engine.item(
            tuple(source),
            _parameters(values, place),
            logprobs=bool(_at(values["return_logprob"], place, False)),
            start_len=_at(values["logprob_start_len"], place, -1),
            top=_at(values["top_logprobs_num"], place, 0),
            asked=_asked(values["token_ids_logprob"], place),
            features=values,
        )
        for place, source in enumerate(sources)
    )
    return Call(
        items=items,
        rids=rids,
        fresh=len(prompts) * max(n, 1),
        n=max(n, 1),
        stream=values["stream"],
        listed=listed_answer,
        text_in_logprobs=values["return_text_in_logprobs"] and not engine.settings.skip_tokenizer,
        prompt_ids=values["return_prompt_token_ids"],
        flat=_flat(values),
    )


_MISMATCH = "The specified rids length mismatch with the batch_size for batch processing."
_OF_SESSIONS = frozenset({"id", "rid", "offset", "replace", "drop_previous_output"})
_BROKEN = Refusal("the server breaks", status=500)


def _flat(values: Mapping[str, Any]) -> Flat | None:
    prompt, answer = values.get("return_flat_raw_top_logprobs"), values.get("return_flat_raw_output_top_logprobs")
    if not prompt and not answer:
        return None
    return Flat(bool(prompt), bool(answer), bool(values.get("return_flat_raw_top_logprobs_b64")))


def _needs_flat(traits: Traits) -> str:
    either = " or return_flat_raw_output_top_logprobs" if traits.has(Trait.FLAT_OUTPUT) else ""
    return f"return_flat_raw_top_logprobs_b64 requires return_flat_raw_top_logprobs{either}."


def _each_text(prompts: Sequence[Any]) -> list[str]:
    return [str(prompt) for prompt in prompts]


def _prompts(text: Any, ids: Any) -> tuple[bool, list[Any]]:
    """(is it one prompt, the prompts)."""
    if text is not None:
        return isinstance(text, str), [text] if isinstance(text, str) else list(text)
    if not ids:
        raise Refusal("input_ids cannot be empty.")
    single = isinstance(ids[0], int)
    return single, [ids] if single else list(ids)


def _sources(text: Any, ids: Any, prompts: Sequence[Any], engine: Engine) -> Sequence[Any]:
    """The ids of every prompt: those that were given, before those of a text."""
    if text is None:
        return prompts
    if isinstance(text, str) and isinstance(ids, list):
        return [ids]
    return [engine.encode(prompt) for prompt in _each_text(prompts)]


def _samples(parameters: Any) -> int:
    if parameters is None or parameters == {}:
        return 1
    if isinstance(parameters, Mapping):
        return _n(parameters)
    if not parameters:
        raise _BROKEN
    counts = {_n(each) for each in parameters}
    if len(counts) > 1:
        raise Refusal("The parallel_sample_num should be the same for all samples in sample params.")
    return counts.pop()


def _n(parameters: Any) -> int:
    count: Any = parameters.get("n", 1)
    if count is None:
        raise _BROKEN
    return count if isinstance(count, int) else 1


def _rids(rid: Any, prompts: int, n: int, single: bool) -> tuple[str, ...]:
    """The ids that the request gives. Samples always get fresh ones (none here); a batch makes its own of one word."""
    if n > 1:
        if isinstance(rid, list) and len(elements(rid)) != prompts:
            raise Refusal(_MISMATCH)
        return ()
    if single:
        return (rid,) if isinstance(rid, str) else ()
    if isinstance(rid, str):
        return tuple(f"{rid}_{place}" for place in range(prompts))
    if rid is None:
        return ()
    if len(rid) != prompts:
        raise Refusal(_MISMATCH)
    twice = [each for each in dict.fromkeys(rid) if rid.count(each) > 1]
    if twice:
        raise Refusal(f"Duplicate request IDs detected within the request: {twice}")
    return tuple(rid)


def _parameters(values: Mapping[str, Any], place: int) -> Mapping[str, Any]:
    parameters = values["sampling_params"]
    rows = elements(parameters)
    return rows[min(place, len(rows) - 1)] if rows else members(parameters)


def _at(value: Any, place: int, default: Any) -> Any:
    if value is None:
        return default
    if isinstance(value, list):
        rows = elements(value)
        return rows[place] if place < len(rows) else default
    return value


def _asked(value: Any, place: int) -> tuple[int, ...] | None:
    if not value:
        return None
    row = _at(value, place, []) if isinstance(value[0], list) else value
    return tuple(row) if row else None


def _texts(values: Mapping[str, Any], call: Call) -> list[str | None]:
    text = values["text"]
    if isinstance(text, str):
        return [text]
    return list(text) if text is not None else [None] * len(call.items)
