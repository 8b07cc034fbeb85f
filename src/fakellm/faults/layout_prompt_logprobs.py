"""Prompt scores in another form: entries keyed by token carry rank by order, and the first entry is null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..errors import FaultError
from ..message import Rendering
from .base import RECOVER, FaultContext, Parameters, on_rendering
from .bodies import Json, change, choices, list_way, map_bodies
from .where import asks_prompt_logprobs


def _prompt_rows(rendering: Rendering, context: FaultContext[Any], act: Callable[[list[Any]], list[Any]]) -> Rendering:
    changed = rendering
    for accessor in context.accessors("prompt_logprobs"):
        way = list_way(accessor)

        def visit(rows: Any) -> Any:
            return act(cast(list[Any], rows)) if isinstance(rows, list) else rows

        changed = map_bodies(changed, lambda members, way=way: change(members, way, visit))
    before, after = (_spelled(each) for each in (rendering, changed))
    if before == after and any(choices(message) for message in rendering.messages):
        raise FaultError("this answer has no prompt scores of that form", hint="ask for prompt_logprobs of 1 or more")
    return changed


def _spelled(rendering: Rendering) -> list[str]:
    """The bodies with their key order, which equality of dicts does not see."""
    return [repr(message.body) for message in rendering.messages]


@on_rendering("prompt-logprobs-sorted", family="prompt-logprobs", may=RECOVER, applies=asks_prompt_logprobs)
def prompt_logprobs_sorted(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """The members of every prompt_logprobs entry are sorted by key, so that the prompt's own token is not the first.

    Why: servers write the prompt token first and clients rely on it; a gateway that sorts keys breaks them:
    https://github.com/NVIDIA-NeMo/RL/pull/3297
    Right: find the prompt token by its id; rank tells the order.
    Breaks: prime-rl, AReaL, PipelineRL, inspect-ai and verl take the first member (read).
    """

    def sort(rows: list[Any]) -> list[Any]:
        return [dict(sorted(cast(Json, row).items())) if isinstance(row, dict) else row for row in rows]

    return _prompt_rows(rendering, context, sort)


@on_rendering(
    "prompt-logprobs-first-missing",
    family="prompt-logprobs",
    may=("recover", "refuse"),
    applies=asks_prompt_logprobs,
)
def prompt_logprobs_first_missing(rendering: Rendering, context: FaultContext[Parameters]) -> Rendering:
    """prompt_logprobs lacks its first entry, the null: one fewer than prompt ids.

    Why: the first entry is null by design ( https://github.com/vllm-project/vllm/issues/27477 ), and gateways drop
    nulls.
    Right: everything else is captured; prompt scores are null, or the answer is refused: their number is wrong.
    Breaks: clients that read by position shift all prompt scores by one.
    """
    return _prompt_rows(rendering, context, lambda rows: rows[1:] if rows and rows[0] is None else rows)
