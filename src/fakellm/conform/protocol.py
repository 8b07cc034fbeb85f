"""The adapter protocol, version 1: newline-delimited JSON, one object a line (CONFORMANCE section 4).

Messages to the adapter are plain mappings; what it answers is validated here by pydantic models, of which the shipped
JSON schemas (``schemas/``) are made. Lists admit any scalar: a client that hands on string ids has a failure of its
own, it does not violate the protocol. This module knows no process and no pipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..capture import VALUES, Capture
from ..errors import FakellmError
from .observation import Ending, Kind, Supports

PROTOCOL = 1
LINE_LIMIT = 16 * 1024 * 1024
"""Bytes in one line of an adapter; beyond it the adapter floods. A capture of 10,000 tokens has about 1 MB."""

Scalar = str | int | float | bool | None
Api = Literal["chat", "completions", "responses", "generate", "tito"]
_Model = TypeVar("_Model", bound=BaseModel)
Value = Literal["prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason"]


class RunnerError(FakellmError):
    """The adapter (or the driver) failed, not the client: always ERROR, never excused. ``name`` is the contract."""

    blame = "your adapter"
    exit_code = 3

    def __init__(self, name: str, message: str, *, case: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=name, hint=hint)
        self.name = name
        self.case = case


class ClientModel(BaseModel):
    """Who the client is."""

    name: str = Field(min_length=1)
    version: str = ""
    language: str = ""
    homepage: str | None = None
    issues: str | None = None


class SupportsModel(BaseModel):
    """What the client does and exposes; everything else is N/A for it."""

    apis: list[Api] = Field(min_length=1)
    stream: list[bool] = Field(default_factory=lambda: [False, True], min_length=1)
    captures: list[Value] = Field(default_factory=lambda: list(VALUES))  # pyright: ignore[reportArgumentType]
    layouts: list[str] = Field(default_factory=list)
    max_parallel: int = Field(default=1, ge=1, le=256)


class StartedModel(BaseModel):
    """The answer to ``start``."""

    protocol: int
    client: ClientModel
    supports: SupportsModel

    def declared(self) -> Supports:
        return Supports(
            name=self.client.name,
            version=self.client.version,
            language=self.client.language,
            homepage=self.client.homepage,
            issues=self.client.issues,
            apis=frozenset(self.supports.apis),
            stream=frozenset(self.supports.stream),
            captures=frozenset(self.supports.captures),
            layouts=tuple(self.supports.layouts),
            max_parallel=self.supports.max_parallel,
        )


class AlternativeModel(BaseModel):
    """One alternative at a position, in the order in which the client has it."""

    id: Scalar = None
    token: str | None = None
    logprob: Scalar = None
    rank: int | None = None


class ChoiceModel(BaseModel):
    """One captured choice. A null is "the client does not expose this here"; ``[]`` is "an empty list"."""

    model_config = ConfigDict(extra="allow")

    index: Scalar = 0
    prompt_token_ids: list[Scalar] | None = None
    completion_token_ids: list[Scalar] | None = None
    logprobs: list[Scalar] | None = None
    logprobs_exact: list[str] | None = None
    text: str | None = None
    finish_reason: Scalar = None
    top_logprobs: list[list[AlternativeModel] | None] | None = None
    prompt_logprobs: list[list[AlternativeModel] | Scalar] | None = None
    token_texts: list[str | None] | None = None
    weight_versions: list[Scalar] | None = None
    usage: dict[str, Any] | None = None


class RefusedModel(BaseModel):
    """The client noticed that the answer cannot be trusted, and said so."""

    kind: str
    message: str = ""


class SkippedModel(BaseModel):
    """The client does not do this api or stream at all."""

    message: str = ""
    issue_url: str | None = None


class ErroredModel(BaseModel):
    """The client crashed on the way."""

    message: str = ""
    traceback: str = ""


class AnswerModel(BaseModel):
    """The answer to ``run``: exactly one of captured, refused, skipped, errored."""

    seq: int | str
    captured: list[ChoiceModel] | None = None
    refused: RefusedModel | None = None
    skipped: SkippedModel | None = None
    errored: ErroredModel | None = None
    usage: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_ending(self) -> AnswerModel:
        endings = ("captured", "refused", "skipped", "errored")
        there = [name for name in endings if getattr(self, name) is not None]
        if len(there) != 1:
            raise ValueError(f"needs exactly one of {', '.join(endings)}; has {', '.join(there) or 'none'}")
        return self

    def ending(self) -> Ending:
        """What came of the call, in the suite's own type."""
        if self.captured is not None:
            rows = [choice.model_dump(exclude_unset=True) for choice in self.captured]
            return Ending(kind=Kind.CAPTURED, capture=Capture.from_json(rows, self.usage))
        if self.refused is not None:
            return Ending(kind=Kind.REFUSED, refusal=self.refused.kind, message=self.refused.message)
        if self.skipped is not None:
            return Ending(kind=Kind.SKIPPED, message=self.skipped.message, issue_url=self.skipped.issue_url)
        crash = self.errored or ErroredModel()
        return Ending(kind=Kind.ERRORED, message=crash.message, traceback=crash.traceback)


class StartModel(BaseModel):
    """``start``: the first line that an adapter reads."""

    cmd: Literal["start"] = "start"
    protocol: int = PROTOCOL
    suite: str


class RunModel(BaseModel):
    """``run``: one call. ``seq`` is opaque and comes back in the answer."""

    cmd: Literal["run"] = "run"
    seq: int
    case: str
    api: Api
    stream: bool
    base_url: str
    root_url: str
    request: dict[str, Any]
    deadline_ms: int = Field(ge=10_000)
    headers: dict[str, str] | None = None
    conversation: str | None = None
    turn: int | None = None
    cancel_after_ms: float | None = None

    def line(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class StopModel(BaseModel):
    """``stop``: exit with 0; the end of stdin means the same."""

    cmd: Literal["stop"] = "stop"


def read_started(line: str) -> Supports:
    """The answer to ``start``; raises RunnerError not-json, schema-violation or version-mismatch."""
    document = _json(line)
    if isinstance(document, dict) and "protocol" in document and document["protocol"] != PROTOCOL:
        theirs: Any = document["protocol"]  # pyright: ignore[reportUnknownVariableType]
        raise RunnerError("version-mismatch", f"the adapter speaks protocol {theirs!r}, the suite speaks {PROTOCOL}")
    return _valid(StartedModel, document, line).declared()


def read_answer(line: str) -> AnswerModel:
    """One answer to ``run``; raises RunnerError not-json or schema-violation, with the line."""
    return _valid(AnswerModel, _json(line), line)


def read_capture_line(line: str) -> AnswerModel:
    """What a ``--per-case`` command printed: an answer without ``seq``, a list of choices, or one choice."""
    document = _json(line)
    if isinstance(document, list):
        return _valid(AnswerModel, {"seq": 0, "captured": document}, line)
    if not isinstance(document, dict):
        raise RunnerError("schema-violation", f"a capture line is an object or a list; the line was {shortened(line)}")
    body: dict[str, Any] = document  # pyright: ignore[reportUnknownVariableType]
    ended = {"captured", "refused", "skipped", "errored"} & set(body)
    return _valid(AnswerModel, {"seq": 0, **body} if ended else {"seq": 0, "captured": [body]}, line)


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise RunnerError(
            "not-json",
            f"this line on stdout is not JSON: {shortened(line)}",
            hint="stdout is for the protocol alone; print everything else to stderr",
        ) from None


def _valid(model: type[_Model], document: Any, line: str) -> _Model:
    try:
        return model.model_validate(document)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the object"
        raise RunnerError("schema-violation", f"{place}: {first['msg']}; the line was {shortened(line)}") from None


def shortened(line: str, limit: int = 200) -> str:
    """The line, quoted, cut to a length that a terminal can show."""
    quoted = repr(line.rstrip("\n"))
    return quoted if len(quoted) <= limit else f"{quoted[:limit]}… ({len(line)} characters)"


def schemas() -> Mapping[str, Mapping[str, Any]]:
    """The JSON schemas of every message, by name; ``schemas/*.json`` are made of these."""
    models: dict[str, type[BaseModel]] = {
        "start": StartModel,
        "started": StartedModel,
        "run": RunModel,
        "answer": AnswerModel,
        "stop": StopModel,
    }
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: {**dialect, **model.model_json_schema()} for name, model in models.items()}
