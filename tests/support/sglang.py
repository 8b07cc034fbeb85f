"""What tests of SGLang's layouts ask for: an answer of a server of some version as JSON."""

from __future__ import annotations

import json
from typing import Any

from fakellm.ask import Request
from fakellm.generation import Choice
from fakellm.stage import Stage

from .stages import Spoken, body_of, stage

NEWEST = "0.5.23"


def server(version: str = NEWEST, *options: str, says: Choice | tuple[Choice, ...] = (), **more: Any) -> Stage:
    """A started server that answers everything with the same choices."""
    choices = (says,) if isinstance(says, Choice) else says
    return stage(Spoken(*choices), f"sglang-{version}", *options, **more)


def told(playing: Stage, request: Request, status: int = 200) -> Any:
    """The JSON body of a whole answer with this status."""
    answer = playing.answer(request)
    body = body_of(answer)
    assert (status, None) == (answer.wire.status, answer.problem), body
    return json.loads(body)


def events(playing: Stage, request: Request) -> list[Any]:
    """The JSON of every event of a stream, in order; ``[DONE]`` is not one."""
    answer = playing.answer(request)
    assert (200, None) == (answer.wire.status, answer.problem), body_of(answer)
    return [json.loads(words) for words in data_of(body_of(answer)) if words != "[DONE]"]


def data_of(body: bytes) -> list[str]:
    """The data of every event."""
    return [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
