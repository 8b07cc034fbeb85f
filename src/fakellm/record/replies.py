"""A ready scenario of a recording: the same request gets the same values, every other one what the policy says.

A request is known again by its API and by what it says (messages, prompt, input, ids, tools), not by how it wants to be
told, so that a whole answer can be replayed as a stream and a recording of one layout in another. Where the same words
got different answers, sampling parameters tell them apart, and after that the order. Pure: gives the scenario's data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WORDS = ("messages", "prompt", "input", "instructions", "text", "input_ids", "token_ids", "tools", "tool_choice")
"""Fields in which APIs are told what the model reads."""
WAYS = ("n", "max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "seed", "top_p", "stop")
WAYS_INSIDE = ("sampling_params",)
"""Fields that shape what the engine samples."""
POLICIES = ("unmatched", "auto")
"""What other requests get: 501, or plausible text."""


@dataclass(frozen=True, slots=True)
class Replayable:
    """A recorded exchange with a truth. ``file``: where it lies, from the scenario's folder."""

    name: str
    api: str
    body: Mapping[str, Any]
    truth: tuple[str, ...]
    file: str


def scenario_data(
    exchanges: Sequence[Replayable], server: Mapping[str, Any], title: str, policy: str = "unmatched"
) -> dict[str, Any]:
    """The scenario as a file would spell it."""
    replies: list[dict[str, Any]] = []
    groups: dict[str, list[Replayable]] = {}
    for one in exchanges:
        groups.setdefault(_key(one.api, _part(one.body, WORDS)), []).append(one)
    for group in groups.values():
        replies += _replies(group)
    if policy == "auto":
        replies.append({"say": {"auto": {"from_request": True}}})
    return {"title": title, "server": dict(server), "replies": replies}


def _replies(group: Sequence[Replayable]) -> list[dict[str, Any]]:
    """The replies of exchanges that say the same words."""
    if len({one.truth for one in group}) == 1:
        return [_reply(group[0], _part(group[0].body, WORDS))]
    apart: dict[str, list[Replayable]] = {}
    for one in group:
        apart.setdefault(_key(one.api, _part(one.body, (*WORDS, *WAYS, *WAYS_INSIDE))), []).append(one)
    replies: list[dict[str, Any]] = []
    for same in apart.values():
        distinct = [one for place, one in enumerate(same) if place == 0 or one.truth != same[place - 1].truth]
        for place, one in enumerate(distinct):
            reply = _reply(one, _part(one.body, (*WORDS, *WAYS, *WAYS_INSIDE)))
            replies.append(reply if place == len(distinct) - 1 else {**reply, "times": 1})
    return replies


def _reply(one: Replayable, fields: Mapping[str, Any]) -> dict[str, Any]:
    conditions = {name.replace(".", "\\."): {"equals": value} for name, value in fields.items()}
    return {"when": {"api": one.api, "json": conditions}, "say": {"from": one.file}}


def _part(body: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: body[name] for name in names if name in body}


def _key(api: str, fields: Mapping[str, Any]) -> str:
    return json.dumps([api, fields], sort_keys=True)
