"""From checked forms to the frozen scenario: what the keys mean.

:class:`Builder` turns the forms of ``schema.py`` into the values of ``model.py``; faults and recorded files are read by
the functions it is given. Every error carries file, line and field. This module opens no file itself and matches
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as Folder
from types import MappingProxyType
from typing import Any, cast

from ..errors import FakellmError, ScenarioError, did_you_mean
from ..generation import EngineFailure, Generation
from ..timing import Dribble, LogNormal, Timing
from . import schema
from .build_when import Fail, build_when
from .model import (
    ChoiceOptions,
    FaultUse,
    Reply,
    Say,
    SayAuto,
    SayChoices,
    SayOne,
    SayRecorded,
    SayStructure,
    SayText,
    SayTokens,
    Score,
    Scores,
    ServerSettings,
    ToolCall,
)
from .source import Path, Source

FaultReader = Callable[[Any, str], Any]
"""(entry of ``faults:``, where) -> what the registry makes of it; raises a FakellmError for an entry that is wrong."""
RecordedReader = Callable[[str, str | None, str | None], tuple[Generation, ...]]
"""(path, truth, exchange) -> one Generation per prompt; raises ScenarioError."""

_ENGINE_FAILURE = EngineFailure("engine failure", 500)


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes the replies of one source. ``name``: the scenario's, which seeds drawn timings."""

    name: str
    source: Source
    read_recorded: RecordedReader
    read_fault: FaultReader | None = None

    def reply(self, form: schema.ReplyForm, index: int) -> Reply:
        """One entry of ``replies:``."""
        path: Path = ("replies", index)
        then = tuple(self._answer(entry, (*path, "then", at)) for at, entry in enumerate(form.then))
        return self._answer(form, path, then)

    def _answer(self, form: schema.AnswerForm, path: Path, then: tuple[Reply, ...] = ()) -> Reply:
        conditions = form.when if isinstance(form, schema.ReplyForm) else schema.WhenForm()
        times = form.times if isinstance(form, schema.ReplyForm) else None
        return Reply(
            when=build_when(conditions, self._when_failure(path)),
            say=self._say(form, path),
            faults=tuple(self._fault(entry, (*path, "faults", at)) for at, entry in enumerate(form.faults)),
            times=times if times is not None or not then else 1,
            then=then,
            timing=self._timing(form.timing, path),
            top=form.top,
            prompt_token_ids=None if form.prompt_token_ids is None else tuple(form.prompt_token_ids),
            prompt_scores=self._prompt_scores(form, path),
            weight_version=form.weight_version,
            cached_tokens=form.cached_tokens,
            extras=MappingProxyType(dict(form.extras)),
            where=self.source.where(path).partition(",")[0],
        )

    def _when_failure(self, path: Path) -> Fail:
        def fail(message: str, *at: str) -> ScenarioError:
            return self._fail(message, (*path, "when", *at))

        return fail

    def _say(self, form: schema.AnswerForm, path: Path) -> Say:
        say = form.say
        at = (*path, "say")
        if isinstance(say, schema.SayFromForm):
            return self._recorded(say, form, at)
        if isinstance(say, schema.SayChoicesForm):
            if form.logprobs not in (None, "auto"):
                raise self._fail("scores belong to one choice here", (*path, "logprobs"), "write them at each choice")
            entries = enumerate(say.choices)
            return SayChoices(tuple(self._say_one(one, form, (*at, "choices", number)) for number, one in entries))
        return self._say_one(say, form, at)

    def _recorded(self, say: schema.SayFromForm, form: schema.AnswerForm, at: Path) -> SayRecorded:
        settled = [
            key for key in schema.ChoiceForm.model_fields if getattr(form, key) is not None and key != "logprobs"
        ]
        if settled or isinstance(form.logprobs, list):
            key = settled[0] if settled else "logprobs"
            raise self._fail(f"{key} cannot be changed: the recording says it", (*at[:-1], key), "remove it")
        try:
            generations = self.read_recorded(say.from_, say.truth, say.exchange)
        except ScenarioError as wrong:
            raise self._fail(wrong.message, (*at, "from"), wrong.hint) from None
        rescore = say.logprobs == "auto" or form.logprobs == "auto"
        return SayRecorded(generations, say.prompt == "recorded", rescore)

    def _say_one(self, say: Any, form: schema.AnswerForm, at: Path) -> SayOne:
        if isinstance(say, str):
            return SayText(say, self._options(form, form, at[:-1]), raw=False)
        options = self._options(cast(schema.ChoiceForm, say), form, at)
        if isinstance(say, schema.SayTextForm):
            return SayText(say.text, options)
        if isinstance(say, schema.SayTokensForm):
            return SayTokens(tuple(say.tokens), options)
        if isinstance(say, schema.SayAutoForm):
            return SayAuto(say.auto.tokens, say.auto.from_request, options)
        structure = cast(schema.SayStructureForm, say)
        calls = tuple(ToolCall(call.name, call.arguments) for call in structure.tool_calls)
        return SayStructure(structure.reasoning, structure.content, calls, options)

    def _options(self, form: schema.ChoiceForm, defaults: schema.ChoiceForm, at: Path) -> ChoiceOptions:
        def given(key: str) -> Any:
            return getattr(form if key in form.model_fields_set else defaults, key)

        ends = {key: given(key) for key in ("finish_at", "error_at", "abort_at") if given(key) is not None}
        if len(ends) > 1:
            raise self._fail(f"{' and '.join(ends)} cannot stand together", at, "keep one of them")
        kind = next(iter(ends), None)
        reason = {"error_at": "error", "abort_at": "abort"}.get(kind or "", "error" if given("error") else "stop")
        chosen = "finish_reason" in form.model_fields_set or "finish_reason" in defaults.model_fields_set
        if chosen and kind in ("error_at", "abort_at") and given("finish_reason") != reason:
            raise self._fail(f"with {kind} the finish_reason is {reason}", (*at, "finish_reason"), "remove it")
        finish_reason = given("finish_reason") if chosen else reason
        failure: schema.FailureForm | None = given("error")
        steps = given("steps")
        return ChoiceOptions(
            finish_reason=finish_reason,
            stop_reason=given("stop_reason"),
            finish_at=next(iter(ends.values()), None),
            eos=given("eos"),
            steps=1 if steps is None else tuple(cast(list[int], steps)) if isinstance(steps, list) else steps,
            scores=self._scores(given("logprobs"), (*at, "logprobs")),
            failure=EngineFailure(failure.message, failure.code)
            if failure is not None
            else _ENGINE_FAILURE
            if finish_reason == "error"
            else None,
        )

    def _scores(self, form: Any, at: Path) -> Scores:
        if form == "recorded":
            raise self._fail("only a reply that says {from: ...} has recorded scores", at, "write auto, or a list")
        if not isinstance(form, list):
            return None
        return tuple(_score(entry) for entry in cast(list[Any], form))

    def _prompt_scores(self, form: schema.AnswerForm, path: Path) -> Scores:
        at = (*path, "prompt_logprobs")
        if form.prompt_logprobs == "recorded" and isinstance(form.say, schema.SayFromForm):
            return None
        scores = self._scores(form.prompt_logprobs, at)
        if scores and scores[0].logprob is not None:
            raise self._fail("the first prompt token has no score", (*at, 0), "write null first")
        return scores

    def _fault(self, entry: Any, at: Path) -> FaultUse:
        written: Mapping[str, Any] = {entry: None} if isinstance(entry, str) else entry
        name, parameters = next(iter(written.items()))
        where = self.source.where(at)
        if parameters is not None and not isinstance(parameters, Mapping):
            raise self._fail(f"the parameters of {name} must be a mapping", at, f"for example {{{name}: {{times: 1}}}}")
        try:
            call = None if self.read_fault is None else self.read_fault(entry, where)
        except FakellmError as wrong:
            raise ScenarioError(wrong.message, where=where, hint=wrong.hint) from None
        return FaultUse(name, MappingProxyType(dict(cast(Mapping[str, Any], parameters or {}))), call)

    def _timing(self, form: schema.TimingForm | None, path: Path) -> Timing | None:
        if form is None:
            return None
        dribble = None if form.dribble is None else Dribble(form.dribble.bytes, form.dribble.every_ms)
        return Timing(_delay(form.first_token_ms), _delay(form.between_ms), dribble, seed=f"{self.name}{path[1:]}")

    def _fail(self, message: str, at: Path, hint: str | None = None) -> ScenarioError:
        return ScenarioError(message, where=self.source.where(at), hint=hint)


def build_server(form: schema.ServerForm, source: Source, folder: Folder | None = None) -> ServerSettings:
    """The ``server:`` section; options become the words of a command line. A tokenizer that is written as a path starts
    at the scenario's ``folder``."""
    words: list[str] = []
    for name, value in (form.model_extra or {}).items():
        if value is None:
            where = source.where(("server", name))
            known = schema.ServerForm.model_fields
            hint = did_you_mean(name, known) or "write true to switch it on"
            raise ScenarioError(f"the option {name} has no value", where=where, hint=hint)
        words += _option_words(name, value)
    tokenizer = form.tokenizer
    if tokenizer is not None and folder is not None and ("/" in tokenizer or tokenizer.endswith(".tiktoken")):
        tokenizer = str(folder / tokenizer)
    return ServerSettings(form.layout, form.model, tuple(words), tokenizer, MappingProxyType(dict(form.env)))


def _option_words(name: str, value: Any) -> list[str]:
    """``max-model-len: 4096`` -> --max-model-len 4096; true -> the flag alone; false -> nothing; a list -> all its
    words; a mapping -> JSON."""
    flag = name if name.startswith("-") else f"--{name}"
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, list):
        return [flag, *(_word(entry) for entry in cast(list[Any], value))]
    return [flag, _word(value)]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _score(form: Any) -> Score:
    if not isinstance(form, schema.ScoreForm):
        return Score(form)
    top = None if form.top is None else tuple((entry.token, entry.logprob) for entry in form.top)
    return Score(form.logprob, form.rank, top)


def _delay(form: Any) -> float | LogNormal:
    if isinstance(form, schema.LogNormalForm):
        return LogNormal(form.lognormal.median, form.lognormal.sigma)
    return float(form)
