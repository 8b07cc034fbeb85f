"""``/v1/.../render``: a request turned into what the engine would be asked, without asking it (gated in 0.32).

0.16 gives messages and prompts; from 0.20 it is a GenerateRequest that /inference/v1/generate takes. Facts: research,
vllm.md 4.1; the sampling parameters are those that differ from the engine's defaults, floats always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ask import Ask, Request
from ...message import Rendering
from ..base import Context
from .api import Hears, Running
from .bodies import json_answer
from .chat_api import CHAT
from .completions_api import COMPLETIONS
from .derender import DERENDER_ROUTES
from .frames import model_name, random_id
from .messages import MESSAGES
from .parsers import Asked
from .responses import RESPONSES
from .route import Route
from .tito_api import gate

Parameters = Mapping[str, str]
DEFAULT_MAX_TOKENS = 16
COHERE_FORMAT = "cmd4"
"""--cohere-format's default, which 0.32 puts among every template's variables."""


def render_route(hear: Hears, prefix: str, *, many: bool = False) -> Callable[..., Rendering]:
    """The handler that renders what ``hear`` reads. ``many``: a list, one entry per prompt."""

    def handler(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
        closed = gate(running)
        if closed is not None:
            return closed
        heard = hear(request, running, context)
        if isinstance(heard, Rendering):
            return heard
        chosen = heard.request_id or random_id(context, running)
        if running.traits.version < (0, 20, 0):
            return json_answer(_first_form(heard, many))
        rows = [
            _generate_request(heard, number, f"{prefix}{chosen}{f'-{number}' if many else ''}", running)
            for number in range(len(heard.prompts))
        ]
        return json_answer(rows if many else rows[0])

    return handler


def _first_form(ask: Ask, many: bool) -> list[Any]:
    """0.16: the conversation beside the prompt."""
    prompts = [{"prompt_token_ids": list(prompt.token_ids), "prompt": prompt.text} for prompt in ask.prompts]
    return prompts if many else [[dict(message) for message in ask.messages], prompts]


def _generate_request(ask: Ask, number: int, request_id: str, running: Running) -> dict[str, Any]:
    version = running.traits.version
    body: Mapping[str, Any] = ask.body
    row: dict[str, Any] = {"request_id": request_id, "token_ids": list(ask.prompts[number].token_ids)}
    if (0, 28, 0) <= version < (0, 32, 0):
        row["assistant_tokens_mask"] = None
    if version >= (0, 28, 0):
        row["token_offsets"] = None
    row["features"] = None
    if version >= (0, 28, 0):
        row["content_parts"] = None
    row["sampling_params"] = _sampling_params(ask)
    row["model"] = model_name(ask.model, running)
    if version >= (0, 32, 0):
        row.update(
            reasoning_ended=_reasoning_ended(ask, running),
            reasoning_parser_kwargs=_parser_kwargs(ask, running),
            return_token_ids=None,
            output_mode="tokens",
        )
    row.update(
        stream=ask.stream,
        stream_options=body.get("stream_options"),
        cache_salt=body.get("cache_salt"),
        priority=body.get("priority") or 0,
        kv_transfer_params=body.get("kv_transfer_params"),
    )
    if version >= (0, 28, 0):
        row["ec_transfer_params"] = body.get("ec_transfer_params")
    return row


def _reasoning_ended(ask: Ask, running: Running) -> bool | None:
    """Whether the prompt has already ended the reasoning; null where no reasoning parser looks."""
    asked: Asked | None = ask.options.get("parsing")
    return asked.prompt_ended if asked is not None and running.settings.reasoning_parser else None


def _parser_kwargs(ask: Ask, running: Running) -> dict[str, Any] | None:
    """What the reasoning parser is told of the chat template; null without one."""
    if not running.settings.reasoning_parser or ask.api not in ("chat", "responses"):
        return None
    kwargs: dict[str, Any] = {
        **running.settings.default_chat_template_kwargs,
        "cohere_format": COHERE_FORMAT,
        **(ask.body.get("chat_template_kwargs") or {}),
        "add_generation_prompt": ask.body.get("add_generation_prompt", True) is not False,
        "continue_final_message": bool(ask.body.get("continue_final_message")),
    }
    return {"chat_template_kwargs": kwargs}


def _number(body: Mapping[str, Any], name: str, default: float) -> float:
    value = body.get(name)
    return float(default if value is None else value)


def _sampling_params(ask: Ask) -> dict[str, Any]:
    """In the order of the engine's own record; whole numbers and flags only when they are not the default."""
    body, sampling = ask.body, ask.sampling
    params: dict[str, Any] = {} if ask.n == 1 else {"n": ask.n}
    params["presence_penalty"] = _number(body, "presence_penalty", 0.0)
    params["frequency_penalty"] = _number(body, "frequency_penalty", 0.0)
    params["repetition_penalty"] = _number(body, "repetition_penalty", 1.0)
    params["temperature"] = _number(body, "temperature", 1.0)
    params["top_p"] = _number(body, "top_p", 1.0)
    if body.get("top_k"):
        params["top_k"] = body["top_k"]
    params["min_p"] = _number(body, "min_p", 0.0)
    if sampling.seed is not None:
        params["seed"] = sampling.seed
    params["stop"] = list(sampling.stop)
    params["stop_token_ids"] = list(sampling.stop_token_ids)
    if sampling.ignore_eos:
        params["ignore_eos"] = True
    if sampling.max_tokens != DEFAULT_MAX_TOKENS:
        params["max_tokens"] = sampling.max_tokens
    if sampling.min_tokens:
        params["min_tokens"] = sampling.min_tokens
    if ask.wants.logprobs:
        params["logprobs"] = ask.wants.top_logprobs
    if ask.wants.prompt_logprobs is not None:
        params["prompt_logprobs"] = ask.wants.prompt_logprobs
    if not sampling.skip_special_tokens:
        params["skip_special_tokens"] = False
    if sampling.include_stop:
        params["include_stop_str_in_output"] = True
    params["output_kind"] = 1 if ask.stream else 2
    params["skip_clone"] = True
    if body.get("logit_bias"):
        params["logit_bias"] = body["logit_bias"]
    if body.get("allowed_token_ids"):
        params["allowed_token_ids"] = body["allowed_token_ids"]
    if ask.api == "responses" or body.get("vllm_xargs"):
        params["extra_args"] = body.get("vllm_xargs") or {}
    params["bad_words"] = list(body.get("bad_words") or ())
    params["skip_reading_prefix_cache"] = ask.wants.prompt_logprobs is not None
    return params


def _since(*version: int) -> Callable[[Running], bool]:
    def there(running: Running) -> bool:
        return running.traits.version >= version

    return there


RENDER_ROUTES: tuple[Route, ...] = (
    Route(("POST",), "/v1/chat/completions/render", render_route(CHAT.hear, "chatcmpl-"), _since(0, 16)),
    Route(("POST",), "/v1/completions/render", render_route(COMPLETIONS.hear, "cmpl-", many=True), _since(0, 16)),
    Route(("POST",), "/v1/responses/render", render_route(RESPONSES.hear, "resp_"), _since(0, 32)),
    Route(("POST",), "/v1/messages/render", render_route(MESSAGES.hear, "chatcmpl-"), _since(0, 32)),
    *DERENDER_ROUTES,
)
