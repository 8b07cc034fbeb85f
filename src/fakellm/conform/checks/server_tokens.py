"""Checks on how a server spells single tokens, and on what follows a stream's end. Pure.

Token texts and bytes stand beside the scores in the chat shape; they belong to the ids like the scores do, and people
join them, show them and look ids up by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ...errors import FakellmError
from ...reading import EventParser
from ...reading.documents import parse_document
from ..finding import Finding
from ..observation import Observation
from .base import NOTHING, SERVER, exchange_check, failed, passed

SPELLING = frozenset({"vllm", "sglang", "openai"})
"""Vendors that write every token's own text and bytes beside its score."""
SPELLS_TOKENS = "spells-tokens"
"""Given by a run against such a vendor."""
UNREADABLE = "\ufffd"
"""Stands for bytes that are no character by themselves."""


@exchange_check(
    "server.token-texts",
    modes=SERVER,
    needs=("logprobs", SPELLS_TOKENS),
    together=True,
    sources=("https://github.com/vllm-project/vllm/issues/19177", "https://github.com/huggingface/OpenEnv/pull/1029"),
)
def token_texts(observation: Observation) -> Sequence[Finding]:
    """Each scored token's text MUST be what its bytes spell, and the bytes MUST be there where the server has them.

    A text with a replacement character is a piece of a character, whose bytes alone tell it.
    """
    if not spells_tokens(observation) or observation.case.request.get("return_tokens_as_token_ids"):
        return NOTHING
    tried = False
    for where, entry in _entries(observation):
        tried = True
        text, raw = entry.get("token"), entry.get("bytes")
        if not isinstance(text, str):
            return [failed(f"{text!r} is no token text", where=f"{where}.token")]
        if raw is None:
            return [failed("the bytes are null", where=f"{where}.bytes", expected=list(text.encode()))]
        spelled = _spelled(raw)
        if UNREADABLE not in text and spelled != text.encode("utf-8", "surrogatepass"):
            return [failed("the text is not what the bytes spell", where=f"{where}.token", expected=raw, got=text)]
    return [passed()] if tried else NOTHING


@exchange_check("server.nothing-after-finish", modes=SERVER, sources=("https://github.com/BerriAI/litellm/pull/22793",))
def nothing_after_finish(observation: Observation) -> Sequence[Finding]:
    """Once a stream has told a choice's finish_reason, it MUST NOT send more text, ids or scores of that choice.

    Clients stop reading a choice there. Usage, and what says nothing new, may follow.
    """
    if not observation.case.stream or observation.case.api not in ("chat", "completions", "tito"):
        return NOTHING
    ended: set[Any] = set()
    for number, choice in _chunks(observation):
        index = str(choice.get("index"))
        if index in ended and _brings(choice):
            words = f"event {number} goes on with choice {index} after its finish_reason"
            return [failed(words, where=f"choices[{index}].finish_reason")]
        if choice.get("finish_reason"):
            ended.add(index)
    return [passed()] if ended else NOTHING


def spells_tokens(observation: Observation) -> bool:
    """Whether the answer is one in which this vendor writes texts and bytes of its tokens."""
    return observation.case.api == "chat" and observation.case.layout.partition("-")[0] in SPELLING


def _brings(choice: Mapping[str, Any]) -> bool:
    delta: Any = choice.get("delta") or {}
    members: Mapping[str, Any] = cast("Mapping[str, Any]", delta) if isinstance(delta, dict) else {}
    return any((choice.get("text"), choice.get("token_ids"), choice.get("logprobs"), members.get("content")))


def _spelled(raw: Any) -> bytes | None:
    try:
        return bytes(cast("list[int]", raw))
    except (TypeError, ValueError):
        return None


def _entries(observation: Observation) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every score entry of the answer, and where it stands."""
    for _, choice in _chunks(observation):
        scores: Any = choice.get("logprobs")
        content: Any = cast("Mapping[str, Any]", scores).get("content") if isinstance(scores, dict) else None
        for at, entry in enumerate(cast("list[Any]", content) if isinstance(content, list) else []):
            if isinstance(entry, dict):
                yield f"choices[{choice.get('index')}].logprobs.content[{at}]", cast("Mapping[str, Any]", entry)


def _chunks(observation: Observation) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The choices of every body of the answer, with the number of their event."""
    for number, body in enumerate(bodies(observation)):
        listed: Any = cast("Mapping[str, Any]", body).get("choices") if isinstance(body, dict) else None
        for choice in cast("list[Any]", listed) if isinstance(listed, list) else []:
            if isinstance(choice, dict):
                yield number, cast("Mapping[str, Any]", choice)


def bodies(observation: Observation) -> Iterator[Any]:
    """The readable bodies of an answer: its one, or those of a stream's events."""
    down = observation.downstream
    if down is None or down.status != 200:
        return
    texts: Sequence[str | bytes] = (down.body,)
    if observation.case.stream:
        texts = [event.data for event in EventParser().feed(down.body)]
    for text in texts:
        try:
            yield parse_document(text)
        except FakellmError:
            continue
