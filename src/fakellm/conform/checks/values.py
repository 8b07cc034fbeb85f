"""Checks on the rest of a choice: text, finish_reason, usage, made-up ids, weight versions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..finding import Finding, Level
from ..observation import Kind, May, Mode, Observation
from .base import BOTH, CLIENT, NOTHING, exchange_check, failed, passed
from .oracle import Pair, Rule, candidates, exposed, got_capture, miscounted, pairs, permission, rule_of

SAME_END = ({"completed", "stop"}, {"completed", "tool_calls"}, {"incomplete", "length"})
"""How Responses and chat spell the same end."""
RETOKENISED = (
    "https://github.com/rllm-org/rllm/issues/816",
    "https://github.com/eval-protocol/python-sdk/pull/457",
    "https://github.com/sgl-project/sglang/pull/26555",
)


@exchange_check("text.kept", modes=BOTH, needs=("text",), sources=("https://github.com/Soju06/codex-lb/pull/1011",))
def text_kept(observation: Observation) -> Sequence[Finding]:
    """The captured text MUST be the visible text as it was sent: no character lost, doubled or moved.

    Reasoning, tool arguments and special tokens are not part of it; "" where there is none. U+2028 and NEL are
    characters of the text and no line ends.
    """
    return _scalar(observation, "text")


@exchange_check(
    "text.decodes", modes=BOTH, needs=("text",), sources=("https://github.com/vllm-project/vllm/pull/34875",)
)
def text_decodes(observation: Observation) -> Sequence[Finding]:
    """Where nothing stands between tokens and text, the captured text MUST be the UTF-8 of the sampled tokens' bytes.

    Not judged where a stop string, a parser or a skipped special token hides something, where a fault touches text, or
    where the API shows no text at all.
    """
    if not observation.truth.text_is_bytes or not exposed(observation, "text") or permission(observation, "text"):
        return NOTHING
    tried = False
    for pair in pairs(observation):
        if pair.got is None or pair.got.text is None or pair.number >= len(observation.truth.token_bytes):
            continue
        if pair.truth is None or not pair.truth.text:
            continue
        tried = True
        decoded = b"".join(observation.truth.token_bytes[pair.number]).decode("utf-8", errors="replace")
        if pair.got.text != decoded:
            where = f"choices[{pair.number}].text"
            return [failed("text is not what the tokens spell", where=where, expected=decoded, got=pair.got.text)]
    return [passed()] if tried else NOTHING


@exchange_check(
    "finish.kept",
    modes=BOTH,
    needs=("finish_reason",),
    sources=("https://github.com/sgl-project/sglang/issues/4550", "https://github.com/ollama/ollama/issues/4357"),
)
def finish_kept(observation: Observation) -> Sequence[Finding]:
    """The captured finish_reason MUST be the one that was sent, in the API's own spelling, and never one that was not.

    A client that makes "stop" of a missing reason hides truncation; the trainer then rewards a sentence that was cut.
    """
    return _scalar(observation, "finish_reason")


def _scalar(observation: Observation, value: str) -> Sequence[Finding]:
    rule = rule_of(observation, value)
    if not exposed(observation, value) or rule in (Rule.FREE, Rule.CONTRADICTION):
        return NOTHING
    tried = False
    for pair in pairs(observation):
        got = getattr(pair.got, value, None)
        if got is None or (pair.truth is None and pair.sent is None):
            continue
        tried = True
        allowed = _right(observation, pair, value, rule)
        if got not in allowed and not _same_end(observation, got, allowed):
            right = next(iter(allowed), None)
            where = f"choices[{pair.number}].{value}"
            words = f"{value} is not what was sent" if right is not None else f"{value} was never sent"
            return [failed(words, where=where, choice=pair.number, expected=right, got=got)]
    return [passed()] if tried else NOTHING


def _same_end(observation: Observation, got: Any, allowed: Sequence[Any]) -> bool:
    """Whether a gateway that converts between APIs spelled the same end in the other's words."""
    return observation.mode is Mode.GATEWAY and any({got, one} in SAME_END for one in allowed if isinstance(one, str))


def _right(observation: Observation, pair: Pair, value: str, rule: Rule) -> list[Any]:
    right = list(candidates(observation, pair, value)) if rule is Rule.EQUAL else []
    if value == "text":
        right = ["" if one is None else one for one in right] or [""]
    return [one for one in right if one is not None]


@exchange_check(
    "ids.from-the-wire", modes=BOTH, needs=("completion_token_ids", "prompt_token_ids"), sources=RETOKENISED
)
def ids_from_the_wire(observation: Observation) -> Sequence[Finding]:
    """Every captured id MUST have been on the wire: text is never tokenised again into ids.

    Decode and encode is no identity: `HAVING` is one token or two, and the model sampled one of them. An id that no
    part of the answer or of the caller's own request carried was made up.
    """
    known = _known_ids(observation)
    tried = False
    for pair in pairs(observation):
        for value in ("prompt_token_ids", "completion_token_ids"):
            got = getattr(pair.got, value, None)
            if not got or not exposed(observation, value) or rule_of(observation, value) is Rule.FREE:
                continue
            tried = True
            for position, number in enumerate(got):
                if _number(number) not in known:
                    return [
                        failed(
                            f"the id {number!r} was never on the wire",
                            where=f"choices[{pair.number}].{value}[{position}]",
                            choice=pair.number,
                            position=position,
                            got=number,
                            diagnosis="tokenised again from the text, or made up",
                        )
                    ]
    return [passed()] if tried else NOTHING


def _known_ids(observation: Observation) -> set[Any]:
    """Ids of the answer as sent, of the truth, and of the request itself; strings and floats count as their number."""
    captures = [observation.truth.capture, *([observation.sent.capture] if observation.sent is not None else [])]
    known: set[Any] = set()
    for capture in captures:
        for choice in capture.choices:
            for ids in (choice.prompt_token_ids, choice.completion_token_ids):
                known.update(_number(one) for one in ids or ())
            for entry in (*(choice.top_logprobs or ()), *(choice.prompt_logprobs or ())):
                known.update(_number(one.id) for one in entry or ())
    for name in ("token_ids", "input_ids", "prompt", "prompt_token_ids"):
        known.update(_number(one) for one in _flat(observation.case.request.get(name)))
    return known


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return []
    rows: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    return [inner for row in rows for inner in (_flat(row) if isinstance(row, list) else [row])]


def _number(value: Any) -> Any:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | float | str | None) else repr(value)


@exchange_check(
    "usage.contradiction-noticed",
    modes=CLIENT,
    needs=("completion_token_ids", "prompt_token_ids"),
    sources=("https://github.com/ai-dynamo/dynamo/pull/7642", "https://github.com/vllm-project/vllm/issues/27482"),
)
def usage_contradiction(observation: Observation) -> Sequence[Finding]:
    """Ids whose number the answer's own usage contradicts MUST NOT be handed on as if nothing were wrong.

    Usage is often the only witness: tool markup whose tokens a parser swallowed, streams that repeat themselves. A
    refusal passes, and null for the ids that are counted otherwise. A missing usage is never held against anybody.
    """
    if not any("usage" in fault.values for fault in observation.case.faults):
        return NOTHING
    wrong = [
        value for value in miscounted(observation) if exposed(observation, value) and _both_there(observation, value)
    ]
    if (
        not wrong
        or May.RECOVER in permission(observation, wrong[0])
        or May.AS_SENT in permission(observation, wrong[0])
    ):
        return NOTHING
    if observation.ending.kind is not Kind.CAPTURED:
        return [passed()] if observation.ending.kind in (Kind.REFUSED, Kind.ERRORED) else NOTHING
    for value in wrong:
        if all(getattr(pair.got, value, None) is None for pair in pairs(observation)):
            continue
        told = observation.sent.capture.usage if observation.sent is not None else None
        return [failed(f"usage contradicts {value}, and both were taken", where="usage", got=_plain(told))]
    return [passed()]


def _both_there(observation: Observation, value: str) -> bool:
    return all(getattr(pair.sent, value, None) for pair in pairs(observation) if pair.sent is not None)


@exchange_check("usage.kept", modes=BOTH, needs=("usage",), sources=("https://github.com/BerriAI/litellm/issues/3276",))
def usage_kept(observation: Observation) -> Sequence[Finding]:
    """Token counts that are handed on MUST be the counts that were sent, the last ones in a stream, and never made up.

    litellm 1.110.2 counts words itself when a stream has no usage, and reports 8 prompt tokens where there were 4.
    """
    capture = got_capture(observation)
    if capture is None or capture.usage is None or observation.sent is None:
        return NOTHING
    right = [observation.sent.capture.usage]
    if observation.mode is Mode.CLIENT:
        right.append(observation.truth.capture.usage)
    counts = _counts(capture.usage)
    if not counts:
        return NOTHING
    if any(_covers(_counts(one), counts) for one in right if one is not None):
        return [passed()]
    return [failed("usage is not what was sent", where="usage", expected=_plain(right[0]), got=_plain(capture.usage))]


_NAMES = {"completion_tokens": "output_tokens", "prompt_tokens": "input_tokens"}


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    """The two counts under one name each, null left out."""
    told = {name: usage.get(name, usage.get(other)) for name, other in _NAMES.items()}
    return {name: count for name, count in told.items() if count is not None}


def _covers(right: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    return all(name in right and right[name] == count for name, count in got.items())


def _plain(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if usage is None else _counts(usage)


@exchange_check(
    "weights.kept",
    level=Level.SHOULD,
    needs=("weight_versions",),
    modes=BOTH,
    sources=(
        "https://github.com/PrimeIntellect-ai/prime-rl/pull/697",
        "https://github.com/verl-project/verl/issues/6240",
    ),
)
def weights_kept(observation: Observation) -> Sequence[Finding]:
    """Weight versions that are handed on SHOULD be those that the server told, span by span.

    A turn that straddles a weight update has two behaviour policies; off-policy correction needs to know which token
    came from which.
    """
    tried = False
    for pair in pairs(observation) if got_capture(observation) is not None else ():
        got = pair.got.weight_versions if pair.got is not None else None
        sent = pair.sent.weight_versions if pair.sent is not None else None
        if sent is None or (got is None and observation.mode is Mode.CLIENT):
            continue
        tried = True
        if got is None or list(got) != list(sent):
            where = f"choices[{pair.number}].weight_versions"
            return [failed("weight versions are not those that were sent", where=where, expected=sent, got=got)]
    return [passed()] if tried else NOTHING
