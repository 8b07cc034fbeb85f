"""``/v1/.../derender``: a token answer put into words, whole or chunk by chunk with the state carried by the client.

From 0.24; gated in 0.32. With a parser configured the whole text is split as in chat. Facts: research, vllm.md 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...ask import Ask, Request, Wants
from ...message import Rendering
from ...tokenizer.byte_level import unspell
from ...told import Score, Told, ToldChoice, ToldPrompt, Usage
from ..base import Context
from . import completions
from .api import Running
from .bodies import json_answer
from .chat_whole import ChatBody
from .frame import AnswerFacts
from .frames import model_name
from .route import Route
from .tito_api import gate
from .validate import Refusal, read
from .validate.flaws import Crash
from .validate.spelling import spell_handler_crash

Parameters = Mapping[str, str]
Row = Mapping[str, Any]
CONTEXT_TOKENS = 4
"""How many ids the carried state keeps to spell split characters."""


def derender_chat(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    closed = gate(running)
    if closed is not None:
        return closed
    parsed = read("derender-chat", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    body = parsed.body
    if body.get("stream"):
        return json_answer(_chunk(body, running, context))
    answer: Row = body["generate_response"]
    choices = tuple(_told_choice(row, running) for row in answer.get("choices", ()))
    told = _told(choices, body.get("prompt_tokens"))
    facts = _facts(answer, body, running, context)
    return ChatBody(told, _asked("chat", request, body, choices), facts).render()


def derender_completions(request: Request, running: Running, context: Context, parameters: Parameters) -> Rendering:
    closed = gate(running)
    if closed is not None:
        return closed
    parsed = read("derender-completions", request, running.traits, running.settings)
    if isinstance(parsed, Refusal):
        return parsed.rendering()
    body = parsed.body
    answers: Sequence[Row] = body["generate_responses"]
    if not answers:  # the first one says the id
        return spell_handler_crash(Crash("IndexError", "list index out of range"), running.traits).rendering()
    choices = tuple(_told_choice(row, running) for answer in answers for row in answer.get("choices", ()))
    counts: Sequence[int] = body.get("prompt_tokens") or ()
    told = _told(choices, sum(counts))
    facts = _facts(answers[0], body, running, context)
    return completions.render(told, _asked("completions", request, body, choices), facts)


def _facts(answer: Row, body: Row, running: Running, context: Context) -> AnswerFacts:
    def no_tools(choice: int, call: int, own: bool) -> str:
        return f"chatcmpl-tool-{context.hex(running.shape.id_digits)}"

    return AnswerFacts(
        id=str(answer.get("request_id")),
        created=int(context.now()),
        model=model_name(body.get("model"), running),
        shape=running.shape,
        traits=running.traits,
        fingerprint=None,
        tool_id=no_tools,
    )


def _told(choices: tuple[ToldChoice, ...], prompt_tokens: Any) -> Told:
    completion = sum(len(choice.ids or ()) for choice in choices)
    return Told((ToldPrompt(None),), choices, Usage(prompt_tokens or 0, completion), n=max(len(choices), 1))


def _asked(api: str, request: Request, body: Row, choices: Sequence[ToldChoice]) -> Ask:
    scored = any(choice.scores is not None for choice in choices)
    return Ask(api=api, request=request, body=body, prompts=(), wants=Wants(logprobs=scored))


def _told_choice(row: Row, running: Running) -> ToldChoice:
    ids: tuple[int, ...] = tuple(row.get("token_ids") or ())
    content: Sequence[Row] | None = cast(Row, row.get("logprobs") or {}).get("content")
    scores = (
        None if content is None else tuple(_score(entry, ids[:place], running) for place, entry in enumerate(content))
    )
    return ToldChoice(
        index=row["index"],
        ids=ids,
        scores=scores,
        text=running.tokenizer.decode(ids),
        steps=(),
        finish_reason=row.get("finish_reason", "stop"),
        stop_reason=row.get("stop_reason"),
    )


def _score(entry: Row, before: Sequence[int], running: Running) -> Score:
    def spelled(one: Row) -> Score:
        text = running.facts.speller.spell(one.get("token_id"), before)
        return Score(one.get("token_id"), text, tuple(text.encode()), one.get("logprob"), one.get("rank"))

    score = spelled(entry)
    tops = tuple(spelled(top) for top in entry.get("top_logprobs") or ())
    return Score(score.id, score.token, score.bytes, score.logprob, score.rank, tops)


def _chunk(body: Row, running: Running, context: Context) -> dict[str, Any]:
    """One streamed chunk and the state for the next: text by prefix and read offsets, as slow detokenisers work."""
    given: Row = body["generate_chunk"]
    state: Row = body.get("stream_state") or {}
    rows: Sequence[Row] = given.get("choices") or ()
    ids: list[int] = list(rows[0].get("token_ids") or ()) if rows else []
    tokens: list[str] = list(state.get("prev_tokens") or ())
    prefix, read_to = int(state.get("prefix_offset") or 0), int(state.get("read_offset") or 0)
    text = ""
    for token_id in ids:
        tokens.append(running.tokenizer.vocab_piece(token_id))
        known, whole = _joined(tokens[prefix:read_to], running), _joined(tokens[prefix:], running)
        if len(whole) > len(known) and not whole.endswith("�"):
            text += whole[len(known) :]
            prefix, read_to = read_to, len(tokens)
    choices = [_chunk_choice(row, text, bool(state.get("role_sent"))) for row in rows]
    history = [*(state.get("logprob_context_token_ids") or ()), *ids][-CONTEXT_TOKENS:]
    return {
        "chunk": {
            "id": given.get("request_id"),
            "object": "chat.completion.chunk",
            "created": int(context.now()),
            "model": model_name(body.get("model"), running),
            "choices": choices,
            "usage": given.get("usage"),
            "system_fingerprint": None,
            "prompt_token_ids": None,
            "prompt_text": None,
            "metrics": None,
        },
        "stream_state": {
            "prev_tokens": tokens[prefix:],
            "prefix_offset": 0,
            "read_offset": read_to - prefix,
            "role_sent": True,
            "logprob_context_token_ids": history,
            "logprob_text_offset": state.get("logprob_text_offset") or 0,
            "output_token_ids": [],
            "output_chunk_lens": [],
            "tools_streamed": False,
            "last_tool_call_ids": [],
        },
    }


def _chunk_choice(row: Row, text: str, role_sent: bool) -> dict[str, Any]:
    delta: dict[str, Any] = {"role": None if role_sent else "assistant", "content": text, "reasoning": None}
    return {
        "index": row.get("index"),
        "delta": delta,
        "logprobs": None,
        "finish_reason": row.get("finish_reason"),
        "stop_reason": row.get("stop_reason"),
        "token_ids": None,
    }


def _joined(pieces: Sequence[str], running: Running) -> str:
    """Text of vocabulary pieces; a piece that is no byte-level spelling (a special token) stands as it is."""
    return b"".join(_bytes(piece, running) for piece in pieces).decode("utf-8", "replace")


def _bytes(piece: str, running: Running) -> bytes:
    special = running.tokenizer.id_of(piece.encode("utf-8", "surrogatepass"))
    return b"" if special is not None and special in running.tokenizer.special_ids else unspell(piece)


def _since_24(running: Running) -> bool:
    return running.traits.version >= (0, 24, 0)


DERENDER_ROUTES: tuple[Route, ...] = (
    Route(("POST",), "/v1/chat/completions/derender", derender_chat, _since_24),
    Route(("POST",), "/v1/completions/derender", derender_completions, _since_24),
)
