"""What the engine's front end objects to, once a prompt stands.

Two stages: the sampling parameters are made (always an ordinary 400), then the engine takes the request, which in most
versions happens after a stream has begun (``Refusal.late``). Texts and order are those of the captured versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ask import Prompt
from ..launch import Settings
from ..options import V12, V16, V20, V24, V28, V32
from ..traits import Traits
from .checks import Rules, as_object
from .constraints import check_constraints
from .flaws import Crash, Flaw, Objection, Refusal
from .read import Parsed
from .sampling import GREEDY_BELOW, MAX_I64, TOKENS_IN, Params, check_sampling, params_of
from .spelling import printed_flaws, spell_for, spell_handler_crash, spell_objection

MAX_LOGPROB_TOKEN_IDS = 128


def engine_checks(
    api: str,
    parsed: Parsed,
    prompts: Sequence[Prompt],
    traits: Traits,
    settings: Settings,
    *,
    vocab_size: int | None = None,
) -> Refusal | None:
    """The refusal of an accepted body whose prompts fit, or None.

    ``vocab_size``: how many ids the model has; None = ids are not checked. Call ``check_context`` first.
    """
    rules = Rules(traits, settings)
    values = parsed.values
    if api == "completions" and rules.version < V12:  # formats other than json_object were chat's alone
        values = {**values, "response_format": None}
    for prompt in prompts:
        try:
            _early(api, parsed, rules, vocab_size)
            params = params_of(api, values, len(prompt.token_ids), rules)
            if api not in TOKENS_IN and not params.values.get("use_beam_search"):
                check_sampling(params, rules)
        except Objection as objection:
            return spell_for(api, objection, traits)
        except Crash as crash:
            return spell_handler_crash(crash, traits)
    for prompt in prompts:
        try:
            params = params_of(api, values, len(prompt.token_ids), rules)
            check_engine(params, prompt.token_ids, rules, vocab_size)
        except Objection as objection:
            begun = traits.late_engine_checks or api == "responses"
            late = begun and bool(parsed.values.get("stream"))
            return spell_for(api, objection, traits, late=late)
    return _after_the_engine(api, parsed, rules)


def _after_the_engine(api: str, parsed: Parsed, rules: Rules) -> Refusal | None:
    """What is only seen when a response is built: members that the request may leave null and the response may not;
    and 0.12 shows the tokens of messages for gpt-oss alone."""
    if api != "responses" or parsed.values.get("stream"):
        return None
    if rules.version == V12 and parsed.values.get("enable_response_messages"):
        objection = Objection("enable_response_messages is currently only supported for gpt-oss", plain=True)
        return spell_objection(objection, rules.traits)
    nulls = [name for name in _NEVER_NULL if parsed.values.get(name, name) is None]
    if rules.version >= V28:
        nulls = [name for name in nulls if name != "parallel_tool_calls"]
    if not nulls:
        return None
    flaws = [Flaw(kind, (name,), message, None) for name in nulls for message, kind in (_NEVER_NULL[name],)]
    return spell_objection(Objection(printed_flaws("ResponsesResponse", flaws), plain=True), rules.traits)


_FLAG = ("Input should be a valid boolean", "bool_type")
_NEVER_NULL = {
    "parallel_tool_calls": _FLAG,
    "background": _FLAG,
    "truncation": ("Input should be 'auto' or 'disabled'", "literal_error"),
}
"""Members of a response by name, in its order: what pydantic says of null."""


def _early(api: str, parsed: Parsed, rules: Rules, vocab_size: int | None) -> None:
    """Before a stream begins 0.32 looks at ids that a chat was handed (kv_transfer_params); versions up to 0.16 know no
    JSON mode of Responses."""
    form = as_object(as_object(parsed.values.get("text")).get("format"))
    if api == "responses" and form.get("type") == "json_object" and rules.version < V20:
        raise Crash("NotImplementedError", "json_object is not supported")
    if rules.version < V20 and parsed.values.get("logits_processors"):
        text = "The `logits_processors` argument is not supported by this server. See --logits-processor-pattern engine"
        word = "argugment" if rules.version < V12 else "argument"
        raise Objection(f"{text} {word} for more information.", plain=True)
    handed: Any = as_object(parsed.values.get("kv_transfer_params")).get("prompt_token_ids")
    if api != "chat" or rules.version < V32 or not handed or parsed.values.get("echo"):
        return
    outside = _outside((min(handed), max(handed)), vocab_size)
    if outside:
        text = f"Token id {outside[0]} is out of vocabulary"
        raise Objection(text, "kv_transfer_params.prompt_token_ids")


def check_engine(params: Params, prompt_ids: Sequence[int], rules: Rules, vocab_size: int | None) -> None:
    """The checks of the engine's front end: scores, ids, then the prompt itself."""
    if not params.values.get("use_beam_search"):
        _check_scores(params, rules, vocab_size)
        _check_ids(params, rules, vocab_size)
        _check_unsupported(params, rules)
        check_constraints(params.values, rules)
        _check_thinking(params, rules)
    _check_prompt(prompt_ids, rules, vocab_size)
    _check_experts(params, len(prompt_ids), rules)


def _check_scores(params: Params, rules: Rules, vocab_size: int | None) -> None:
    limit = rules.settings.max_logprobs
    if limit == -1:
        limit = vocab_size if vocab_size is not None else MAX_I64
    doubled = "is is" if rules.version < V12 else "is"
    wanted = params.values.get("logprob_token_ids") if rules.version >= V24 else None
    for kind, value in (("sample", params.logprobs), ("prompt", params.prompt_logprobs)):
        if kind == "prompt" and wanted:
            _check_wanted(wanted, vocab_size)
        asked = vocab_size if value == -1 else value
        if asked is not None and asked > limit:
            text = f"Requested {kind} logprobs of {asked}, which {doubled} greater than max allowed: {limit}"
            raise Objection(text, "logprobs" if kind == "sample" else "prompt_logprobs", asked)


def _check_wanted(wanted: list[int], vocab_size: int | None) -> None:
    count = len(wanted)
    if count > MAX_LOGPROB_TOKEN_IDS:
        text = (
            f"Requested logprob_token_ids of length {count}, which is greater than max allowed: {MAX_LOGPROB_TOKEN_IDS}"
        )
        raise Objection(text, "logprob_token_ids", count)
    _check_vocabulary("logprob_token_ids", wanted, vocab_size)


def _outside(ids: Sequence[int], vocab_size: int | None) -> list[int]:
    return [] if vocab_size is None else [token for token in ids if not 0 <= token < vocab_size]


def _check_vocabulary(name: str, ids: Sequence[int], vocab_size: int | None) -> None:
    outside = _outside(ids, vocab_size)
    if outside:
        text = f"token_id(s) {outside} in {name} contain out-of-vocab token ids. Vocabulary size: {vocab_size}"
        raise Objection(text, name, outside)


def _check_ids(params: Params, rules: Rules, vocab_size: int | None) -> None:
    if params.logit_bias:
        _check_vocabulary("logit_bias", list(params.logit_bias), vocab_size)
    if rules.version >= V32:
        _check_vocabulary("stop_token_ids", list(dict.fromkeys(params.items("stop_token_ids"))), vocab_size)
    allowed = params.values.get("allowed_token_ids")
    if allowed is None:
        return
    plain = rules.version < V20
    if not allowed:
        raise Objection("allowed_token_ids is not None and empty!", "allowed_token_ids", allowed, plain=plain)
    outside = _outside(allowed, vocab_size)
    if outside:
        text = "allowed_token_ids contains out-of-vocab token id!"
        raise Objection(text, "allowed_token_ids", outside, plain=plain)


def _check_unsupported(params: Params, rules: Rules) -> None:
    best_of = params.values.get("best_of")
    if best_of is not None and best_of > 1 and rules.version < V12:
        raise Objection("vLLM V1 does not yet support best_of.", plain=True)
    if params.values.get("logits_processors") and rules.version < V20:
        words = "user provided" if rules.version < V12 else "user-provided"
        raise Objection(f"vLLM V1 does not support per request {words} logits processors.", plain=True)
    if rules.settings.speculative_config is None:
        return
    least = params.number("min_tokens", 0) > 1 and rules.version < V20
    if params.number("min_p", 0.0) > GREEDY_BELOW or params.logit_bias or least:
        named = "min_tokens, min_p, and logit_bias" if rules.version < V20 else "min_p and logit_bias"
        text = f"The {named} sampling parameters are not yet supported with speculative decoding."
        raise Objection(text, plain=rules.version < V28)


def _check_thinking(params: Params, rules: Rules) -> None:
    """A budget of thinking tokens needs a server that knows where thinking ends."""
    budget = params.values.get("thinking_token_budget")
    unlimited = budget is None or (budget == -1 and rules.version >= V24)
    if unlimited or rules.version < V20 or rules.settings.reasoning_parser:
        return
    options = "--reasoning-parser and/or --reasoning-config" if rules.version >= V24 else "--reasoning-config"
    text = f"thinking_token_budget is set but reasoning_config is not configured. Please set {options} to use"
    raise Objection(f"{text} thinking_token_budget.", plain=rules.version < V28)


def _check_experts(params: Params, length: int, rules: Rules) -> None:
    start = params.number("routed_experts_prompt_start", 0)
    if rules.version >= V32 and not 0 <= start <= length:
        name = "routed_experts_prompt_start"
        raise Objection(f"{name} must be between 0 and the prompt length ({length}), inclusive.", name, start)


def _check_prompt(prompt_ids: Sequence[int], rules: Rules, vocab_size: int | None) -> None:
    plain = rules.version < V28
    length = len(prompt_ids)
    limit = rules.settings.max_model_len
    if length == 0:
        raise Objection("The decoder prompt cannot be empty", plain=plain)
    outside = _outside((min(prompt_ids), max(prompt_ids)), vocab_size)
    late_ids = rules.version >= V16
    if outside and not late_ids:
        raise Objection(f"Token id {outside[-1]} is out of vocabulary", plain=plain)
    if length > limit:
        text = (
            f"The decoder prompt (length {length}) is longer than the maximum model length of {limit}. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens."
        )
        raise Objection(text, plain=plain)
    if length == limit and rules.version >= V12:
        text = (
            f"The decoder prompt (length {length}) plus the number of requested output tokens (at least 1) is longer "
            f"than the maximum model length of {limit}. Make sure that `max_model_len` is no smaller than the number "
            "of text tokens (prompt + requested output tokens)."
        )
        raise Objection(text, plain=plain)
    if outside:
        first = outside[-1] if rules.version < V20 else outside[0]
        raise Objection(f"Token id {first} is out of vocabulary", plain=plain)
