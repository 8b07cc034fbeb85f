"""A run against a real server: one call per case, and the further calls whose answers hold it to its word.

Nobody knows the truth of a real server, so an observation carries what the layout's table says should be there, the
same call as a whole answer beside each stream, and probes: /tokenize, /detokenize, ids fed back, a stop string. Judging
happens in ``judging``; reading in the reference reader.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..capture import Capture
from ..errors import FakellmError
from ..layouts.base import Accessor, Layout
from .case import Case
from .checks.server import COUNTED, SPELLED, spells
from .checks.server_tokens import SPELLS_TOKENS, spells_tokens
from .drivers.http import HttpAnswer, post
from .finding import Finding
from .host import Host
from .judging import Run, error_finding, judge_case
from .observation import Ending, Kind, Loss, Mode, Observation, Supports, Truth
from .observe import situation
from .recording import Recorder
from .request import PATHS, Body, body_of
from .run_gateway import downstream_of

NOT_SERVED = frozenset({403, 404, 405, 501})
"""How a server says that it does not serve an API; vLLM answers 403 to routes that were not switched on."""


STOPPABLE = 32
"""Characters of an answer whose middle can be a stop string: in a shorter one max_tokens may end the answer at the
very token that completes the stop string, and then either may be the reason."""


@dataclass(slots=True)
class Server:
    """A server by URL. ``layout``: whose accessor table it is held against; ``recorder``: keeps exchanges."""

    url: str
    layout: Layout
    model: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    recorder: Recorder | None = None
    timeout: float = 60.0

    async def call(self, path: str, body: Mapping[str, Any]) -> HttpAnswer:
        return await post(self.url + path, body, headers=self.headers, timeout=self.timeout)


async def run_server_cases(run: Run, server: Server, cases: Sequence[Case]) -> None:
    """Whole answers first, so that each stream has its whole answer beside it."""
    wholes: dict[str, Observation] = {}
    for case in sorted(cases, key=lambda one: one.stream):
        began = time.monotonic()
        observations: list[Observation] = []
        errors: list[Finding] = []
        try:
            observation = await _observed(run, server, case, wholes.get(_twin(case)))
            run.given |= given_by(observation)
            observations.append(observation)
            if not case.stream and case.call.get("temperature") == 0.0 and case.n == 1:
                wholes[_twin(case)] = observation
        except FakellmError as failure:
            errors.append(error_finding("harness.case", case.id, str(failure)))
        judge_case(run, case, observations, errors, "", (time.monotonic() - began) * 1000)


def given_by(observation: Observation) -> set[str]:
    """What this exchange lets checks look at; a requirement that nothing lets be looked at cannot arise."""
    found = {
        SPELLED: spells(observation),
        SPELLS_TOKENS: spells_tokens(observation),
        COUNTED: {"completion_token_ids", "logprobs"} <= observation.truth.carried - _lost(observation),
    }
    return {name for name, there in found.items() if there} | set(observation.probes)


def _lost(observation: Observation) -> set[str]:
    return {loss.value for loss in observation.truth.losses}


def _twin(case: Case) -> str:
    return case.id.replace("stream=true", "stream=*").replace("stream=false", "stream=*")


async def _observed(run: Run, server: Server, case: Case, whole: Observation | None) -> Observation:
    accessors = server.layout.accessors.get((case.api, case.stream), ())
    ids = await _prompt_ids(server, case) if case.api == "tito" else None
    body = body_of(case.call, case.api, case.stream, accessors, lambda text: ids or (), server.model)
    answer = await server.call(PATHS[case.api], body.body)
    if server.recorder is not None:
        server.recorder.keep(PATHS[case.api], server.headers, answer)
    observation = observed(server.layout, run.supports, case, body, answer, whole)
    return replace(observation, probes={**observation.probes, **await _probes(server, case, observation)})


def observed(
    layout: Layout, supports: Supports, case: Case, body: Body, answer: HttpAnswer, whole: Observation | None = None
) -> Observation:
    """One answer as the checks see it: beside it what the layout's table says should be there, and where."""
    accessors = layout.accessors.get((case.api, case.stream), ())
    down = downstream_of(answer, case, body.body)
    wanted = {row.value for row in accessors if not row.flags or _asks(body.body, row.flags)}
    return Observation(
        mode=Mode.SERVER,
        case=situation(case, body, (), 1, "server"),
        truth=Truth(
            capture=down.capture or Capture(),
            carried=frozenset(wanted),
            losses=tuple(Loss(value=row.value, words=row.loss) for row in accessors if row.loss is not None),
        ),
        sent=None,
        ending=Ending(kind=Kind.CAPTURED if down.capture else Kind.REFUSED, message=down.problem or ""),
        client=supports,
        downstream=down,
        related={} if whole is None else {"whole": whole},
        probes={"places": _places(accessors)},
    )


def _places(accessors: Sequence[Accessor]) -> Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]:
    """value -> where the layout has it: paths, and the kinds of message that carry them."""
    return {
        value: [(row.path, row.messages) for row in accessors if row.value == value]
        for value in {row.value for row in accessors}
    }


def _asks(body: Mapping[str, Any], flags: Mapping[str, Any]) -> bool:
    """Whether the body sets these flags: ``a.b`` is b below a; a list or an object has to hold what the flag holds."""
    for name, flag in flags.items():
        value: Any = body
        for part in name.split("."):
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
        if value is None or value is False or not _holds(value, flag):
            return False
    return True


def _holds(value: Any, flag: Any) -> bool:
    if isinstance(flag, Mapping):
        return isinstance(value, Mapping) and _asks(cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", flag))
    if isinstance(flag, list):
        return isinstance(value, list) and all(one in value for one in cast("list[Any]", flag))
    return True


async def _probes(server: Server, case: Case, observation: Observation) -> Mapping[str, Any]:
    """The further calls; only for whole answers of one choice, which is enough to catch a server at it."""
    capture = observation.downstream.capture if observation.downstream else None
    if case.stream or case.n != 1 or capture is None or not capture.choices:
        return {}
    choice = capture.choices[0]
    found: dict[str, Any] = {}
    tokenised = await _tokenised(server, case)
    if tokenised is not None:
        found["tokenize"] = tokenised
    if choice.completion_token_ids and all(type(one) is int for one in choice.completion_token_ids):
        spelled = [
            await _detokenised(server, ids) for ids in (choice.completion_token_ids, choice.completion_token_ids[:-1])
        ]
        if None not in spelled:
            found["detokenize"] = {0: tuple(spelled)}
        if choice.prompt_token_ids:
            found["fed-back"] = await _fed_back(server, (*choice.prompt_token_ids, *choice.completion_token_ids))
    if choice.text and len(choice.text) >= STOPPABLE and case.api != "tito":
        found["stopped"] = await _stopped(server, case, observation, choice.text)
    return {name: value for name, value in found.items() if value is not None}


async def _tokenised(server: Server, case: Case) -> tuple[Any, ...] | None:
    if case.api == "tito":
        return None
    body: dict[str, Any] = {"model": server.model}
    if case.api == "chat":
        if server.layout.vendor != "vllm":
            return None
        body["messages"] = case.call.get("messages") or [{"role": "user", "content": case.call.get("prompt")}]
    else:
        body["prompt"] = case.call.get("prompt")
    return _list(await server.call("/tokenize", body), "tokens")


async def _prompt_ids(server: Server, case: Case) -> list[int] | None:
    """What a token-in API is given: the server's own ids of the case's text."""
    tokens = _list(await server.call("/tokenize", {"model": server.model, "prompt": case.call.get("prompt")}), "tokens")
    return None if tokens is None else list(tokens)


async def _detokenised(server: Server, ids: Sequence[int]) -> str | None:
    answer = await server.call("/detokenize", {"model": server.model, "tokens": list(ids)})
    body = _json(answer)
    said = body.get("prompt", body.get("text")) if body is not None else None
    return said if isinstance(said, str) else None


async def _fed_back(server: Server, ids: Sequence[int]) -> Mapping[str, Any] | None:
    """Send ids as a prompt by the first API that takes ids and tells them back."""
    for api in ("completions", "generate"):
        accessors = server.layout.accessors.get((api, False), ())
        if not any(row.value == "prompt_token_ids" for row in accessors):
            continue
        call = {"prompt_token_ids": list(ids), "max_tokens": 1, "temperature": 0.0}
        body = body_of(call, api, False, accessors, lambda text: (), server.model)
        answer = await server.call(PATHS[api], body.body)
        case = Case(id="", area="", title="", why="", api=api, stream=False, layout=server.layout.name,
                    axes={}, call=call, scenario={})  # fmt: skip
        capture = downstream_of(answer, case, body.body).capture
        if capture is not None and capture.choices and capture.choices[0].prompt_token_ids is not None:
            return {"sent": list(ids), "returned": list(capture.choices[0].prompt_token_ids)}
    return None


async def _stopped(server: Server, case: Case, observation: Observation, text: str) -> Mapping[str, Any] | None:
    """The same call with a stop string out of the middle of its own answer."""
    stop = text[len(text) // 2 : len(text) // 2 + 4]
    accessors = server.layout.accessors.get((case.api, False), ())
    body = body_of({**case.call, "stop": [stop]}, case.api, False, accessors, lambda prompt: (), server.model)
    capture = downstream_of(await server.call(PATHS[case.api], body.body), case, body.body).capture
    if capture is None or not capture.choices:
        return None
    choice = capture.choices[0]
    return {"stop": stop, "whole": text, "text": choice.text, "finish_reason": choice.finish_reason}


def _json(answer: HttpAnswer) -> Mapping[str, Any] | None:
    try:
        body: Any = json.loads(answer.body) if answer.status == 200 else None
    except ValueError:
        return None
    return cast("Mapping[str, Any]", body) if isinstance(body, dict) else None


def _list(answer: HttpAnswer, name: str) -> tuple[Any, ...] | None:
    body = _json(answer)
    found: Any = None if body is None else body.get(name)
    return tuple(cast("list[Any]", found)) if isinstance(found, list) else None


async def possible_apis(server: Server, host: Host, cases: Sequence[Case]) -> frozenset[str]:
    """The APIs that the server answers: the probe's own plain call is not refused as unknown."""
    found: set[str] = set()
    for case in cases:
        if case.api in found or case.stream:
            continue
        accessors = server.layout.accessors.get((case.api, False), ())
        body = body_of(case.call, case.api, False, accessors, host.tokenizer.encode, server.model)
        answer = await server.call(PATHS[case.api], body.body)
        if answer.status and answer.status not in NOT_SERVED:
            found.add(case.api)
    return frozenset(found)
