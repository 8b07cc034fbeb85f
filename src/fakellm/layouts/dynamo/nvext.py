"""``nvext``, Dynamo's own corner of requests and answers: what is asked for by name, and what each chunk then tells.

Streams tell it chunk by chunk: completion ids as they come, everything about the whole answer with the finish. A whole
answer merges what its chunks would have told, in the order in which the members first appear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...told import ToldPrompt
from ..common.fields import as_object, as_tuple
from .spelling import prompt_rows, widened

RESPONSES_REFUSE = ("completion_token_ids", "prompt_logprobs")
"""Names that ``/v1/responses`` answers with 501."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A request's nvext. ``fields``: extra_fields; ``token_data``: the prompt's ids, in place of its text."""

    fields: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    token_data: tuple[int, ...] | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Extension:
        given = as_object(body.get("nvext"))
        token_data = given.get("token_data")
        return cls(
            fields=as_tuple(given.get("extra_fields")),
            annotations=as_tuple(given.get("annotations")),
            token_data=None if token_data is None else tuple(token_data),
        )

    def asks(self, name: str) -> bool:
        return name in self.fields

    @property
    def names_worker(self) -> bool:
        """The worker is told when it is asked for, and to whoever queries an instance."""
        return self.asks("worker_id") or any(one.startswith("query_instance_id:") for one in self.annotations)


@dataclass(frozen=True, slots=True)
class Facts:
    """What nvext tells besides tokens. ``engine_data``: what the worker handed along; ``timing``: milliseconds."""

    worker: int
    timing: Mapping[str, Any]
    engine_data: Any = None
    routed_experts: Any = None


@dataclass(frozen=True, slots=True)
class Finish:
    """How a choice ended, for its last chunk."""

    reason: str
    stop_reason: int | str | None
    prompt: ToldPrompt


def told(extension: Extension, facts: Facts, ids: Sequence[Any] | None, finish: Finish | None) -> dict[str, Any]:
    """The members of one chunk's nvext. ``ids``: the ids that this chunk delivers."""
    members: dict[str, Any] = {}
    if extension.names_worker:
        members["worker_id"] = {"prefill_worker_id": facts.worker, "decode_worker_id": facts.worker}
    if finish is not None:
        members |= _about_the_end(extension, facts, finish)
    if extension.asks("completion_token_ids") and ids is not None:
        members["completion_token_ids"] = list(ids)
    if finish is not None:
        members |= _about_the_prompt(extension, finish.prompt)
    if finish is not None and extension.asks("routed_experts") and facts.routed_experts is not None:
        members["routed_experts"] = facts.routed_experts
    return members


def _about_the_end(extension: Extension, facts: Facts, finish: Finish) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if extension.asks("timing"):
        members["timing"] = dict(facts.timing)
    if extension.asks("engine_data") and facts.engine_data is not None:
        members["engine_data"] = _engine_data(facts.engine_data, finish.prompt)
    if extension.asks("stop_reason") and finish.stop_reason is not None:
        members["stop_reason"] = finish.stop_reason
    if extension.asks("detailed_finish_reason"):
        members["detailed_finish_reason"] = finish.reason
    return members


def _engine_data(given: Any, prompt: ToldPrompt) -> Any:
    """The worker puts prompt scores, where it computed some, before what else it hands along."""
    if prompt.scores is None or not isinstance(given, Mapping):
        return given
    return {"prompt_logprobs": prompt_rows(prompt.scores, lambda logprob: logprob), **as_object(given)}


def _about_the_prompt(extension: Extension, prompt: ToldPrompt) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if extension.asks("prompt_token_ids") and prompt.token_ids is not None:
        members["prompt_token_ids"] = list(prompt.token_ids)
    if extension.asks("prompt_logprobs") and prompt.scores is not None:
        members["prompt_logprobs"] = prompt_rows(prompt.scores, widened)
    return members


def merged(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a whole answer tells: completion ids joined, everything else as it was told last."""
    whole: dict[str, Any] = {}
    for chunk in chunks:
        for name, value in chunk.items():
            joined = name == "completion_token_ids" and name in whole
            whole[name] = [*whole[name], *value] if joined else value
    return whole
