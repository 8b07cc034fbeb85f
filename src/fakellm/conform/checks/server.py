"""Checks on a server whose truth nobody knows: its answers have to agree with themselves and with each other. Pure.

A loss that the layout's own table declares for this api and mode is a NOTE ("known of sglang-0.5.23"), and a warning in
``server.tells-everything``; everything else that does not agree is a failure. Ids are exact, scores exact after
rounding to float32, because that is what engines compute in.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...capture import Capture, CapturedChoice, float32
from ..finding import Finding, Level
from ..observation import Observation
from ..request import prompts_of
from .base import NOTHING, SERVER, exchange_check, failed, passed
from .compare import difference, equal_ids, equal_scores

TRL = "https://github.com/huggingface/trl/issues/4159"
SGLANG_SCORES = "https://github.com/sgl-project/sglang/issues/5984"
EXACT = frozenset({"vllm", "sglang"})
"""Vendors whose servers write float32 scores in full."""
MANY = 10
"""So many scores that fall one after another are no accident: 1 in 10! for independent ones."""
ALIGNED = frozenset({"prompt_token_ids", "completion_token_ids", "logprobs"})
"""What training needs whole; fewer alternatives are a NOTE."""
CERTAIN = 1.001
"""Probabilities sum to 1; the rest is for float32 and half precision."""
COUNTED = "counted"
"""Given by a run against a layout that tells ids and scores in one answer."""
SPELLED = "spelled"
"""Probes by which ids can be spelled: /detokenize, or bytes beside the scores."""
THOUGHT = "</think>"
"""Ends what a server with a reasoning parser shows apart from the text."""
BETWEEN = ("stop", "ignore_eos", "echo", "return_tokens_as_token_ids")
"""What a request may ask for that stands between the tokens and the text."""
ZERO = 1e-6
"""A logprob may be above zero by a rounding, not by more."""


@exchange_check("server.readable", modes=SERVER, sources=("https://github.com/BerriAI/litellm/issues/40578",))
def readable(observation: Observation) -> Sequence[Finding]:
    """An answer with status 200 MUST be one that a careful client can take: whole, readable, free of contradictions."""
    down = observation.downstream
    if down is None:
        return NOTHING
    if down.status != 200:
        said = down.body[:200].decode("utf-8", "replace")
        return [failed(f"HTTP {down.status} for a plain request: {down.error or said}")]
    shape = _shape_problem(observation)
    if shape is not None:
        return [failed(shape)]
    known = [loss for loss in observation.truth.losses if loss.value in (down.problem or "")]
    uncounted = _lossy(observation, "logprobs") or _lossy(observation, "completion_token_ids")
    if down.problem is not None and not known and not uncounted:
        return [failed(down.problem)]
    return [passed()]


@exchange_check(
    "server.lengths",
    modes=SERVER,
    needs=(COUNTED,),
    sources=(TRL, SGLANG_SCORES),
)
def lengths(observation: Observation) -> Sequence[Finding]:
    """There MUST be exactly one score for each completion token id."""
    tried = False
    for number, choice in _choices(observation):
        if choice.completion_token_ids is None or choice.logprobs is None:
            continue
        tried = True
        ids, scores = len(choice.completion_token_ids), len(choice.logprobs)
        if ids != scores:
            words = f"{ids} ids and {scores} scores"
            value = "completion_token_ids" if _lossy(observation, "completion_token_ids") else "logprobs"
            return [_known(observation, value, words, where=f"choices[{number}].logprobs")]
    return [passed()] if tried else NOTHING


@exchange_check("server.ids", modes=SERVER, needs=("completion_token_ids", "prompt_token_ids"), sources=(TRL,))
def ids(observation: Observation) -> Sequence[Finding]:
    """Token ids MUST be whole numbers from 0 up, and be there where they were asked for."""
    tried = False
    for number, choice in _choices(observation):
        for value in ("prompt_token_ids", "completion_token_ids"):
            there: tuple[Any, ...] | None = getattr(choice, value)
            if there is None:
                if value in observation.truth.carried:
                    return [_known(observation, value, "asked for and not there", where=f"choices[{number}].{value}")]
                continue
            tried = True
            wrong = next((at for at, one in enumerate(there) if type(one) is not int or one < 0), None)
            if wrong is not None:
                where = f"choices[{number}].{value}[{wrong}]"
                return [failed(f"{there[wrong]!r} is no token id", where=where, choice=number, position=wrong)]
    return [passed()] if tried else NOTHING


@exchange_check("server.scores", modes=SERVER, needs=("logprobs",), sources=(SGLANG_SCORES,))
def scores(observation: Observation) -> Sequence[Finding]:
    """Scores MUST be there where they were asked for, be finite and not positive, and no sentinel such as -9999."""
    tried = False
    for number, choice in _choices(observation):
        if choice.logprobs is None:
            if "logprobs" in observation.truth.carried:
                return [_known(observation, "logprobs", "asked for and not there", where=f"choices[{number}].logprobs")]
            continue
        tried = True
        for at, score in enumerate(choice.logprobs):
            words = _score_problem(observation, score)
            if words is not None:
                where = f"choices[{number}].logprobs[{at}]"
                return [failed(f"{score!r} {words}", where=where, choice=number, position=at)]
        falls = all(b < a for a, b in itertools.pairwise(choice.logprobs))
        if falls and len(choice.logprobs) >= MANY:
            where = f"choices[{number}].logprobs"
            return [failed("every score is below the one before it: these are sums, no scores", where=where)]
    return [passed()] if tried else NOTHING


def _score_problem(observation: Observation, score: Any) -> str | None:
    if not _is_score(score):
        return "is no logprob"
    exact = observation.case.layout.partition("-")[0] in EXACT and not float(score).is_integer()
    return "is no float32: it was rounded on the way" if exact and float32(float(score)) != float(score) else None


@exchange_check("server.choices", modes=SERVER, sources=("https://github.com/ai-dynamo/dynamo/pull/11563",))
def choices(observation: Observation) -> Sequence[Finding]:
    """As many choices as were asked for MUST come, with the indices 0 to n - 1, each once."""
    capture = _capture(observation)
    if capture is None:
        return NOTHING
    found = sorted(str(choice.index) for choice in capture.choices)
    wanted = sorted(map(str, range(observation.case.n)))
    if found != wanted:
        return [failed("other choices than were asked for", where="choices", expected=wanted, got=found)]
    return [passed()]


@exchange_check("server.finish", modes=SERVER, sources=("https://github.com/sgl-project/sglang/issues/4550",))
def finish(observation: Observation) -> Sequence[Finding]:
    """finish_reason MUST be there, be "length" exactly when max_tokens ended the answer, and ids MUST NOT exceed it."""
    most = _max_tokens(observation.case.request)
    tried = False
    for number, choice in _choices(observation):
        tried = True
        where = f"choices[{number}].finish_reason"
        if not choice.finish_reason:
            return [_known(observation, "finish_reason", "no finish_reason", where=where)]
        if most is None or choice.completion_token_ids is None or _lossy(observation, "completion_token_ids"):
            continue
        count, by_length = len(choice.completion_token_ids), choice.finish_reason == "length"
        if count > most or (by_length and count != most):
            words = f"finish_reason {choice.finish_reason!r} with {count} ids, max_tokens was {most}"
            return [failed(words, where=where, choice=number)]
    return [passed()] if tried else NOTHING


@exchange_check(
    "server.usage",
    modes=SERVER,
    needs=("completion_token_ids", "prompt_token_ids"),
    sources=("https://github.com/ai-dynamo/dynamo/pull/7642",),
)
def usage(observation: Observation) -> Sequence[Finding]:
    """Usage MUST count the ids: completion_tokens all choices' ids, prompt_tokens the prompt's."""
    capture = _capture(observation)
    per_choice = observation.case.api == "generate" and observation.case.n > 1  # each choice tells its own counts
    if capture is None or not capture.choices or per_choice:
        return NOTHING
    if not capture.usage:
        asked = "usage" in observation.truth.carried
        return [_known(observation, "usage", "asked for and not there", where="usage")] if asked else NOTHING
    told, tried = capture.usage, False
    for name, counted in (("completion_tokens", "completion_token_ids"), ("prompt_tokens", "prompt_token_ids")):
        lists = [getattr(choice, counted) for choice in capture.choices]
        said = told.get(name)
        if not isinstance(said, int) or any(one is None for one in lists) or _lossy(observation, counted):
            continue
        tried = True
        each = 1 if counted == "completion_token_ids" else max(len(lists) // prompts_of(observation.case.request), 1)
        count = sum(len(one) for one in lists[::each])
        if said != count:
            return [_known(observation, "usage", f"{name} is {said} for {count} ids", where=f"usage.{name}")]
    return [passed()] if tried else NOTHING


@exchange_check(
    "server.text",
    modes=SERVER,
    needs=("text", SPELLED),
    together=True,
    sources=("https://github.com/vllm-project/vllm/pull/34875",),
)
def text(observation: Observation) -> Sequence[Finding]:
    """The text MUST be what the completion ids decode to, special tokens aside."""
    if "text" not in observation.truth.carried or any(observation.case.request.get(name) for name in BETWEEN):
        return NOTHING
    tried = False
    for number, choice in _choices(observation):
        decoded = observation.probes.get("detokenize", {}).get(number)
        joined = _joined_bytes(observation, number)
        for source, spelled in (("/detokenize", decoded), ("the token bytes", joined)):
            if spelled is None or choice.text is None:
                continue
            tried = True
            if choice.text not in spelled and choice.text.lstrip() not in map(_after_thoughts, spelled):
                if _shown_elsewhere(observation, number):
                    continue
                words = f"the text is not what {source} of its ids give"
                where = f"choices[{number}].text"
                return [_known(observation, "text", words, where=where, expected=spelled[-1], got=choice.text)]
    return [passed()] if tried else NOTHING


@exchange_check(
    "server.alternatives",
    modes=SERVER,
    needs=("top_logprobs",),
    sources=("https://github.com/NVIDIA-NeMo/RL/pull/3297",),
)
def alternatives(observation: Observation) -> Sequence[Finding]:
    """The sampled token MUST stand among its alternatives with its own score, or rank below all that are shown.

    There are as many as were asked for, and together they are no more likely than certain: a score that belongs to
    another token often is too high beside the others.
    """
    tried = False
    for number, choice in _choices(observation):
        wanted = _alternatives_asked(observation.case.request)
        if choice.top_logprobs is None and choice.logprobs is not None and wanted and _carries(observation):
            where = f"choices[{number}].top_logprobs"
            return [_known(observation, "top_logprobs", "asked for and not there", where=where)]
        if choice.top_logprobs is None or choice.logprobs is None or len(choice.top_logprobs) != len(choice.logprobs):
            continue
        for at, (entry, score) in enumerate(zip(choice.top_logprobs, choice.logprobs, strict=True)):
            if (entry is None and not wanted) or not _is_score(score):
                continue
            tried = True
            if len(entry or ()) < wanted:
                where = f"choices[{number}].top_logprobs[{at}]"
                words = f"{len(entry or ())} alternatives, {wanted} were asked for"
                return [_known(observation, "top_logprobs", words, where=where, position=at)]
            words = _alternatives_problem(score, [one.logprob for one in entry or () if _is_score(one.logprob)])
            if words is not None:
                where = f"choices[{number}].top_logprobs[{at}]"
                return [_known(observation, "top_logprobs", words, where=where, choice=number, position=at)]
    return [passed()] if tried else NOTHING


def _alternatives_asked(request: Mapping[str, Any]) -> int:
    """How many each API asks for; of completions the count may include the sampled token."""
    sampling: Any = request.get("sampling_params") or {}
    counts = [request.get("top_logprobs"), request.get("top_logprobs_num"), request.get("logprobs")]
    counts.append(sampling.get("logprobs") if isinstance(sampling, dict) else None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return max((one for one in counts if isinstance(one, int) and not isinstance(one, bool)), default=0)


def _carries(observation: Observation) -> bool:
    return "top_logprobs" in observation.truth.carried


def _alternatives_problem(score: float, shown: Sequence[float]) -> str | None:
    among = any(equal_scores(score, one) for one in shown)
    if not among and any(float32(one) < float32(score) for one in shown):
        return "the sampled token's score is not among them"
    total = sum(map(math.exp, shown if among else (*shown, score)))
    return f"the probabilities of these tokens sum to {total:.3f}" if total > CERTAIN else None


@exchange_check("server.stream-equals-whole", modes=SERVER, sources=("https://github.com/ml-explore/mlx-lm/pull/1630",))
def stream_equals_whole(observation: Observation) -> Sequence[Finding]:
    """At temperature 0 a stream MUST tell what the whole answer tells: ids, scores, text, finish_reason."""
    whole = observation.related.get("whole")
    one, other = _capture(observation), None if whole is None else _capture(whole)
    if one is None or other is None or len(one.choices) != len(other.choices):
        return NOTHING
    for number, (streamed, told) in enumerate(zip(one.by_index(), other.by_index(), strict=True)):
        for value, equal in (
            ("prompt_token_ids", equal_ids),
            ("completion_token_ids", equal_ids),
            ("logprobs", equal_scores),
        ):
            left, right = getattr(told, value), getattr(streamed, value)
            if left is None or right is None:
                continue
            apart = difference(left, right, equal)
            if apart is not None:
                where = f"choices[{number}].{value}[{apart.position}]"
                return [_known(observation, value, f"the stream tells others: {apart.sentence}", where=where)]
        for value in ("text", "finish_reason"):
            if getattr(told, value) != getattr(streamed, value):
                where = f"choices[{number}].{value}"
                expected, got = getattr(told, value), getattr(streamed, value)
                return [_known(observation, value, "the stream tells another", where=where, expected=expected, got=got)]
    return [passed()]


@exchange_check("server.tells-everything", level=Level.SHOULD, modes=SERVER, sources=(SGLANG_SCORES,))
def tells_everything(observation: Observation) -> Sequence[Finding]:
    """A layout SHOULD tell every id and score on each API and mode; what its own table declares as lost is lost."""
    capture = _capture(observation)
    if capture is None:
        return NOTHING
    for loss in observation.truth.losses:
        if loss.value in observation.truth.carried & ALIGNED:
            return [failed(f"known of {observation.case.layout}: {loss.words}", where=loss.value)]
    return [passed()]


def _shape_problem(observation: Observation) -> str | None:
    """A stream that is none, a whole answer that is one, a content type that says otherwise."""
    down = observation.downstream
    assert down is not None
    streamed = not down.body.lstrip(b"\xef\xbb\xbf \r\n").startswith((b"{", b"["))
    if streamed != observation.case.stream:
        return "a whole answer where a stream was asked for" if observation.case.stream else "a stream nobody asked for"
    told = dict(down.headers).get("content-type", "")
    right = "text/event-stream" if observation.case.stream else "application/json"
    return None if told.startswith(right) else f"the content type is {told!r} and not {right}"


def _known(observation: Observation, value: str, words: str, **more: Any) -> Finding:
    """A failure, or a NOTE where the layout's own table declares the loss."""
    loss = next((one for one in observation.truth.losses if one.value == value), None)
    if loss is None:
        return failed(words, **more)
    return failed(f"{words}; known of {observation.case.layout}: {loss.words}", level=Level.INFO, **more)


def _lossy(observation: Observation, value: str) -> bool:
    return any(loss.value == value for loss in observation.truth.losses)


def _capture(observation: Observation) -> Capture | None:
    return None if observation.downstream is None else observation.downstream.capture


def _choices(observation: Observation) -> Sequence[tuple[int, CapturedChoice]]:
    capture = _capture(observation)
    return () if capture is None else tuple(enumerate(capture.by_index()))


def _is_score(score: Any) -> bool:
    if isinstance(score, bool) or not isinstance(score, int | float):
        return False
    return math.isfinite(score) and -9000 < score <= ZERO


def _max_tokens(request: Mapping[str, Any]) -> int | None:
    sampling: Any = request.get("sampling_params") or request
    found = sampling.get("max_tokens", sampling.get("max_new_tokens"))
    return found if isinstance(found, int) else None


def _after_thoughts(spelled: str) -> str | None:
    """What a reasoning parser leaves for the text."""
    thought, mark, rest = spelled.rpartition(THOUGHT)
    return rest.lstrip() if mark and thought.lstrip().startswith("<think>") else None


def spells(observation: Observation) -> bool:
    """Whether this exchange lets ids be spelled."""
    return "detokenize" in observation.probes or _joined_bytes(observation, 0) is not None


def _shown_elsewhere(observation: Observation, number: int) -> bool:
    """Whether a parser of the server took a part of this choice's tokens out of the text."""
    message: Any = _whole_choice(observation, number).get("message") or {}
    return any(message.get(name) for name in ("reasoning", "reasoning_content", "tool_calls"))


def _joined_bytes(observation: Observation, number: int) -> tuple[str, str] | None:
    """The token bytes of a whole chat answer, joined, with and without the last token (which may be a special one)."""
    try:
        entries: list[Any] = _whole_choice(observation, number)["logprobs"]["content"]
        pieces = [bytes(cast("list[int]", entry["bytes"])) for entry in entries]
    except (ValueError, KeyError, TypeError):
        return None
    return b"".join(pieces).decode("utf-8", "replace"), b"".join(pieces[:-1]).decode("utf-8", "replace")


def _whole_choice(observation: Observation, number: int) -> Mapping[str, Any]:
    """The n-th choice by index of a whole chat answer; an empty one for anything else."""
    down = observation.downstream
    if down is None or observation.case.api != "chat" or observation.case.stream:
        return {}
    try:
        return sorted(json.loads(down.body)["choices"], key=lambda one: cast("int", one["index"]))[number]
    except (ValueError, KeyError, TypeError, IndexError):
        return {}
