"""Flags that the server ignores: the request is read again without them, and answered with 200 as if nothing was wrong.

That is what a server older than the flag does, and what a gateway that strips unknown fields brings about; no layout
needs to know of it. Each fault names the fields of all APIs that it takes away; fields may be nested (dots).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..ask import Ask
from ..layouts.base import Layout
from .base import AS_SENT, NULL, RECOVER, RECOVER_OR_REFUSE, Applies, Body, FaultContext, Parameters, on_ask

FAMILY = "flags"
IDS = ("prompt_token_ids", "completion_token_ids")
ID_FIELDS = (
    "return_token_ids",
    "return_prompt_token_ids",
    "return_meta_info",
    "return_input_ids_in_sglext",
    "return_output_ids_in_sglext",
    "enable_response_messages",
    "nvext.extra_fields",
)
SCORE_FIELDS = (
    "logprobs",
    "top_logprobs",
    "sampling_params.logprobs",
    "return_logprob",
    "top_logprobs_num",
    "token_ids_logprob",
)
TOP_FIELDS = ("top_logprobs", "top_logprobs_num")
STOP_FIELDS = ("stop", "stop_token_ids", "stop_regex", "sampling_params.stop", "sampling_params.stop_token_ids")
LENGTH_FIELDS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "sampling_params.max_tokens",
    "sampling_params.max_new_tokens",
)


def holds(body: Body, field: str) -> bool:
    """The field stands in the body with a value that means something (not null, not false)."""
    node: Any = body
    for name in field.split("."):
        if not isinstance(node, Mapping):
            return False
        node = cast(Mapping[str, Any], node).get(name)
    return node is not None and node is not False


def without(body: Body, fields: tuple[str, ...]) -> Body:
    """The body less these fields, wherever they are; everything else keeps its place."""
    for field in fields:
        head, _, rest = field.partition(".")
        if head not in body:
            continue
        if not rest:
            body = {name: value for name, value in body.items() if name != head}
        elif isinstance(body[head], Mapping):
            body = {**body, head: without(cast(Body, body[head]), (rest,))}
    return body


def sends(*fields: str) -> Applies:
    """The request carries at least one of the fields."""

    def applies(ask: Ask, layout: Layout) -> str | None:
        if any(holds(ask.body, field) for field in fields):
            return None
        return f"the request does not send {fields[0]}"

    return applies


@on_ask("return-token-ids-ignored", family=FAMILY, may=NULL, values=IDS, applies=sends(*ID_FIELDS))
def return_token_ids_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """The flag for token ids is ignored: 200, and no ids.

    Why: every server ignores fields it does not know (vLLM before 0.10.2, SGLang before 0.5.17), gateways strip them
    (Portkey 1.15.2, sglang-router 0.3.2, measured); vLLM's Responses API ignores it to this day.
    Right: null for the ids, or a refusal; nothing re-tokenised, no empty lists.
    Breaks: rllm-model-gateway 0.1.0 reports [] (measured); OpenAIEngine of rllm re-tokenises the text.
    """
    return without(body, ID_FIELDS)


@on_ask("logprobs-ignored", family=FAMILY, may=NULL, values=("logprobs",), applies=sends(*SCORE_FIELDS))
def logprobs_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """The flag for scores is ignored: 200, and no scores.

    Why: https://github.com/jjang-ai/vmlx/issues/127 ; streams of https://github.com/ml-explore/mlx-lm/pull/1630
    Right: null for the scores, or a refusal.
    Breaks: AReaL 1.0.4 and PipelineRL fail with a type error; TRL 1.16 returns None.
    """
    return without(body, SCORE_FIELDS)


@on_ask("top-logprobs-ignored", family=FAMILY, may=AS_SENT, applies=sends(*TOP_FIELDS))
def top_logprobs_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """The number of alternatives is ignored: scores come, alternatives do not.

    Why: Dynamo's Responses API echoes 0 whatever was asked (1.6.1, captured).
    Right: scores as sent; no alternatives.
    Breaks: clients that look the sampled token up among the alternatives.
    """
    return without(body, TOP_FIELDS)


TOKENS_AS_IDS = ("return_tokens_as_token_ids",)


@on_ask(
    "tokens-as-token-ids-ignored",
    family=FAMILY,
    # Both rows of the table fit: a flag for ids that is ignored (null), and an oddity of token text (recover).
    may=("recover", "null"),
    values=("completion_token_ids",),
    applies=sends(*TOKENS_AS_IDS),
)
def tokens_as_token_ids_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """return_tokens_as_token_ids is ignored: token texts are plain text.

    Let the reply contain digits and colons: clients that cut ``token_id:N`` at the colon read ids from "7" and "a:5".

    Why: the flag is vLLM's own; every other server ignores it.
    Right: ids from where ids stand, or null; never an id made from a text.
    Breaks: PipelineRL reads "7" as id 7, AReaL 1.0.4 reads "a:5" as id 5 (both measured); TRL 1.16 raises.
    """
    return without(body, TOKENS_AS_IDS)


@on_ask("echo-ignored", family=FAMILY, may=AS_SENT, applies=sends("echo"))
def echo_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """echo is ignored: the completion comes without the prompt and its scores.

    Why: https://github.com/jjang-ai/vmlx/issues/127 ; Dynamo accepts echo and does not echo (1.6.1, captured).
    Right: what was sent, as it was sent.
    Breaks: lm-eval 0.4.13 scores every item (0.0, True) without a word (measured).
    """
    return without(body, ("echo",))


@on_ask("include-ignored", family=FAMILY, may=NULL, values=("logprobs",), applies=sends("include"))
def include_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """include[] of the Responses API is ignored: 200, and no scores.

    Why: Dynamo drops requested scores there (1.6.1 and 1.7.0, captured); litellm's bridge drops include (1.110.2).
    Right: null for the scores, or a refusal; ``[]`` is not a capture.
    Breaks: clients that take the empty list for scores.
    """
    return without(body, ("include",))


@on_ask("stop-ignored", family=FAMILY, may=AS_SENT, applies=sends(*STOP_FIELDS))
def stop_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """Stop strings and stop ids are ignored: the answer runs on.

    Why: vLLM's Responses API ignored stop before 0.16 (read).
    Right: what was sent, as it was sent.
    Breaks: clients that assume the text ends before the stop string.
    """
    return without(body, STOP_FIELDS)


@on_ask("n-ignored", family=FAMILY, may=AS_SENT, applies=sends("n", "sampling_params.n"))
def n_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """n is ignored: one choice comes.

    Why: many servers accept n and answer one choice; Dynamo refuses it with ids.
    Right: the choices that came, no more.
    Breaks: clients that index choices by the number they asked for.
    """
    return without(body, ("n", "best_of", "sampling_params.n"))


@on_ask("stream-ignored", family=FAMILY, may=RECOVER_OR_REFUSE, applies=sends("stream"))
def stream_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """stream is ignored: one JSON body comes where events were asked for.

    Why: vLLM's /inference/v1/generate ignored it in 0.12 and 0.16 (captured).
    Right: read the body by its content type, or refuse; nothing captured silently is wrong.
    Breaks: clients that read lines beginning with "data:" see an empty stream and report success.
    """
    return without(body, ("stream", "stream_options"))


@on_ask("stream-options-ignored", family=FAMILY, may=RECOVER, applies=sends("stream_options"))
def stream_options_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """stream_options is ignored: the stream has no usage.

    Why: only some servers know the option; Portkey drops the usage chunk of Fireworks (1.15.2, captured).
    Right: everything else is captured; usage is null.
    Breaks: litellm 1.110.2 makes the counts up (8 and 2 instead of 4 and 4, measured).
    """
    return without(body, ("stream_options",))


@on_ask(
    "seed-ignored",
    family=FAMILY,
    may=AS_SENT,
    applies=sends("seed", "sampling_params.seed", "sampling_params.sampling_seed"),
)
def seed_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """seed is ignored: the same request gets another answer.

    Only a reply that depends on the seed (``auto``) can show it.

    Why: most gateways and several engines accept seed and ignore it.
    Right: what was sent, as it was sent.
    Breaks: tests that expect two equal answers.
    """
    return without(body, ("seed", "sampling_params.seed", "sampling_params.sampling_seed"))


@on_ask("max-tokens-ignored", family=FAMILY, may=AS_SENT, applies=sends(*LENGTH_FIELDS))
def max_tokens_ignored(body: Body, context: FaultContext[Parameters]) -> Body:
    """The limit of new tokens is ignored: the answer is as long as without it.

    Why: three names exist for it and servers know some of them; the others are ignored.
    Right: what was sent, as it was sent; the finish_reason tells how it ended.
    Breaks: clients that allot space by the limit.
    """
    return without(body, LENGTH_FIELDS)
