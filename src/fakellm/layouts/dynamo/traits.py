"""Dynamo's versions as traits of one renderer: what differs on the wire, as data.

1.6.1 and 1.7 were captured from the real frontend. The Responses variants describe the change that gives Responses
their scores (issue 18095): no published wheel has it, so they stand on its description alone.
"""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResponseScores:
    """How ``/v1/responses`` handles ``include: ["message.output_text.logprobs"]``.

    ``carried``: scores are told at all. ``cap``: more alternatives than this are silently served as so many while the
    echo shows what was asked (None = such a request is refused). ``tool_only``: an answer of tool calls alone drops its
    scores (``drop``), or a request that could end so is refused (``refuse``). ``leaks``: scores that belong behind the
    message's end are told on the message's last delta.
    """

    carried: bool = False
    cap: int | None = None
    tool_only: str = "drop"


@dataclass(frozen=True, slots=True)
class Traits:
    """Everything that is true of one layout. ``completion_logprobs``: the most that completions accept;
    ``cache_writes``: Responses usage tells cache_write_tokens; ``responses_done``: their streams end in ``[DONE]``."""

    name: str
    version: Version
    evidence: str
    completion_logprobs: int = 5
    cache_writes: bool = False
    responses_done: bool = True
    scores: ResponseScores = ResponseScores()
    notes: str = ""


_SCORED = "the change that gives Responses their scores, read from its description: no published wheel has it"

_COMMON = (
    "vLLM's and SGLang's flags (return_token_ids, ...) and every unknown member are refused with 400; prompt ids come "
    "on the finish chunk alone; score entries have a token_id of their own, the end token is one with an empty token "
    "and null bytes; n > 1 is answered with one choice; Responses take include and top_logprobs and tell no scores; "
    "errors are flat (message, type, code)"
)

ALL: tuple[Traits, ...] = (
    Traits("dynamo-1.6.1", (1, 6, 1), "captured", notes=_COMMON),
    Traits(
        "dynamo-1.7",
        (1, 7),
        "captured",
        completion_logprobs=20,
        cache_writes=True,
        responses_done=False,
        notes=f"captured from 1.7.0.dev20261026; {_COMMON}",
    ),
)


def _scored(suffix: str, scores: ResponseScores, notes: str) -> Traits:
    return Traits(
        f"dynamo-responses-logprobs{suffix}",
        (),
        "documents",
        completion_logprobs=20,
        cache_writes=True,
        responses_done=False,
        scores=scores,
        notes=f"{_SCORED}{notes}",
    )


VARIANTS: tuple[Traits, ...] = (
    _scored("", ResponseScores(carried=True), ""),
    _scored(
        "-capped",
        ResponseScores(carried=True, cap=20),
        "; top_logprobs 21 is served as 20 while 21 is echoed",
    ),
    _scored(
        "-tools-refused",
        ResponseScores(carried=True, tool_only="refuse"),
        "; scores together with tools are refused with 400, because a tool-only answer has no place for them",
    ),
)
