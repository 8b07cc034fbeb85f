"""Routes that need no engine: health, version, models, tokenize and detokenize."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ask import Request
from ...message import Message, Rendering
from ..base import Context
from .api import Running
from .bodies import empty_answer, json_answer
from .chat_api import make_prompt
from .frames import random_id
from .metrics import METRICS_TYPE
from .options import V16
from .prompts import encoded
from .validate import Refusal, read
from .validate.spelling import spell_note

Parameters = Mapping[str, str]


def health(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return empty_answer()


ping = health


def load(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Requests in flight, counted only with --enable-server-load-tracking."""
    counted = running.tally.running if running.settings.enable_server_load_tracking else 0
    return json_answer({"server_load": counted})


def version(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    return json_answer({"version": running.asked_version})


def models(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Every served name and LoRA adapter, each with a permission object of its own."""
    names = running.settings.served_names or (running.launch.model or "tiny",)
    root = running.launch.model_path or names[0]
    rows = [_model_row(name, root, None, running, context) for name in names]
    adapters: Mapping[str, str] = running.state.get("lora", {})
    rows.extend(_model_row(name, path, names[0], running, context) for name, path in adapters.items())
    return json_answer({"object": "list", "data": rows})


def metrics(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Prometheus text under vLLM's own names, counting what was really served."""
    model = running.settings.served_names[0] if running.settings.served_names else running.launch.model or "tiny"
    text = running.tally.to_text(model, sleeping=bool(running.state.get("sleeping")))
    headers = (("server", "uvicorn"), ("content-type", METRICS_TYPE), ("vary", "Origin"))
    return Rendering(200, headers, (Message("body", text),))


def openapi(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """A description of the server: names and version only; no client captures tokens from it."""
    return json_answer({"openapi": "3.1.0", "info": {"title": "FastAPI", "version": "0.1.0"}, "paths": {}})


def kv_events(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """No engine here publishes cache events."""
    return json_answer({})


def tokenizer_info(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """The tokenizer's configuration (--enable-tokenizer-info-endpoint)."""
    config = dict(running.tokenizer.config)
    config.setdefault("tokenizer_class", "CachedQwen2TokenizerFast")
    return json_answer(config)


def _model_row(name: str, root: str, parent: str | None, running: Running, context: Context) -> dict[str, Any]:
    created = int(context.now())
    return {
        "id": name,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": root,
        "parent": parent,
        "max_model_len": None if parent else running.settings.max_model_len,
        "permission": [
            {
                "id": f"modelperm-{random_id(context, running)}",
                "object": "model_permission",
                "created": created,
                "allow_create_engine": False,
                "allow_sampling": True,
                "allow_logprobs": True,
                "allow_search_indices": False,
                "allow_view": True,
                "allow_fine_tuning": False,
                "organization": "*",
                "group": None,
                "is_blocking": False,
            }
        ],
    }


def tokenize(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Ids of a prompt (special tokens added by default) or of a conversation (not added by default)."""
    running = _telling_causes(running)
    parsed = read("tokenize", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    values = parsed.values
    if values.get("prompt") is None:
        prompt = make_prompt(values, running)
        if isinstance(prompt, Rendering):
            return prompt
        ids = prompt.token_ids
    else:
        special = values.get("add_special_tokens", True) is not False
        ids = encoded(running.tokenizer, str(values.get("prompt", "")), add_special_tokens=special)
    strings = [running.tokenizer.vocab_piece(token_id) for token_id in ids]
    return json_answer(
        {
            "count": len(ids),
            "max_model_len": running.settings.max_model_len,
            "tokens": list(ids),
            "token_strs": strings if values.get("return_token_strs") else None,
        }
    )


def _telling_causes(running: Running) -> Running:
    """In 0.16 this is the last handler whose refusals end in the exception's cause."""
    if running.traits.version != V16:
        return running
    return replace(running, traits=replace(running.traits, cause_shown=True))


def detokenize(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    """Text of ids, special tokens shown; an id outside the vocabulary is empty text."""
    parsed = read("detokenize", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    problem = next(filter(None, map(_outside, parsed.values["tokens"])), None)
    if problem is not None:  # later versions check the bounds with the body
        return spell_note(problem, running.traits).rendering()
    ids = [token_id for token_id in parsed.values["tokens"] if 0 <= token_id < running.tokenizer.vocab_size]
    return json_answer({"prompt": running.tokenizer.decode(ids, skip_special_tokens=False)})


def _outside(token_id: int) -> str | None:
    """What the tokenizers library says of an id that is no 32-bit number."""
    if not -(2**63) <= token_id < 2**63:
        return "Python int too large to convert to C long"
    if token_id < 0:
        return "number too small to fit in target type"
    return "number too large to fit in target type" if token_id >= 2**32 else None
