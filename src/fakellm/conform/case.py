"""Cases: what is asked, what the fake plays, over which axes; as data in ``conformance/cases/*.yaml``.

A file holds the templates of one area; :func:`expand` turns a template into concrete :class:`Case` values, one per
combination of axes that the layout serves and the client declared. Ids are ``area/name[axis=value,...]``, axes sorted
by name, append-only; a rename keeps ``was``. This module runs nothing and knows neither the fake nor a client.

    area: ids
    defaults: {call: {prompt: "Say hello.", max_tokens: 16}, axes: {api: [chat], stream: [false, true]}}
    cases:
      - name: nested-under-choice
        title: Prompt ids stand under the choice
        why: https://...
        faults: [{ids-nested-under-choice: {prompt: true}}]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import FakellmError, ScenarioError, did_you_mean
from ..scenario.source import read_text

EMPTY: Mapping[str, Any] = MappingProxyType({})
APIS = ("chat", "completions", "responses", "generate", "tito")
PROFILES = ("capture-client", "sdk", "gateway", "server")
AxisValue = str | int | bool
AUTO: Mapping[str, Any] = {"auto": {"tokens": 12}}
"""What is said where a case does not care."""


class CaseError(FakellmError):
    """A case file that cannot be used."""

    blame = "our harness"


class CallModel(BaseModel):
    """The call in neutral words; ``request.py`` writes the body of each API from it. ``extra`` is merged verbatim."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    prompt_token_ids: list[int] | None = None
    max_tokens: int | None = None
    n: int | None = None
    stop: list[str] | None = None
    temperature: float | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    prompt_logprobs: int | None = None
    include_usage: bool | None = None
    tools: list[dict[str, Any]] | None = None
    flags: bool = True
    extra: dict[str, Any] = Field(default_factory=dict)


class TurnModel(BaseModel):
    """One further turn of a conversation: its call, and what the fake plays then (default: the same as before)."""

    model_config = ConfigDict(extra="forbid")

    call: CallModel


class TemplateModel(BaseModel):
    """One case before its axes are expanded, as a file spells it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str
    why: str
    since: str = "0.1.0"
    was: list[str] = Field(default_factory=list)
    profiles: list[Literal["capture-client", "sdk", "gateway", "server"]] = Field(
        default_factory=lambda: ["capture-client", "sdk", "gateway"]
    )
    core: bool | Literal["all"] | list[dict[str, AxisValue]] = True
    smoke: bool = False
    axes: dict[str, list[AxisValue]] = Field(default_factory=dict)
    unless: list[dict[str, AxisValue]] = Field(default_factory=list[dict[str, AxisValue]])
    call: CallModel = Field(default_factory=CallModel)
    turns: list[TurnModel] = Field(default_factory=list[TurnModel])
    server: dict[str, Any] = Field(default_factory=dict)
    launch: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    say: Any = None
    reply: dict[str, Any] = Field(default_factory=dict)
    faults: list[Any] = Field(default_factory=list)
    timing: dict[str, Any] | None = None
    replies: list[dict[str, Any]] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    cancel_after_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A case with its axes still open: the validated model, its area and where it stands."""

    area: str
    model: TemplateModel
    where: str

    @property
    def slug(self) -> str:
        return f"{self.area}/{self.model.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One concrete case: everything that a driver needs to play and to ask.

    ``call``: the neutral call; ``turns``: calls of further turns; ``scenario``: what the fake plays, as a scenario file
    would spell it (its ``server.layout`` is set); ``axes``: the values behind the brackets of the id.
    """

    id: str
    area: str
    title: str
    why: str
    api: str
    stream: bool
    layout: str
    axes: Mapping[str, AxisValue]
    call: Mapping[str, Any]
    scenario: Mapping[str, Any]
    turns: tuple[Mapping[str, Any], ...] = ()
    profiles: tuple[str, ...] = PROFILES
    core: bool = True
    smoke: bool = False
    since: str = "0.1.0"
    was: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    cancel_after_ms: float | None = None

    @property
    def n(self) -> int:
        return self.call.get("n") or 1

    @property
    def faults(self) -> tuple[str, ...]:
        """Ids of the faults that its replies play, in order."""
        return tuple(
            name
            for reply in self.scenario.get("replies", ())
            for fault in reply.get("faults", ())
            for name in ([fault] if isinstance(fault, str) else list(fault))
        )


def load(paths: Iterable[Path]) -> tuple[Template, ...]:
    """Every template of the files, in order; raises CaseError naming file and field, and on a slug that is there
    twice."""
    templates: list[Template] = []
    seen: dict[str, str] = {}
    for path in paths:
        for template in _load_file(path):
            for name in (template.slug, *template.model.was):
                if name in seen:
                    raise CaseError(f"case {name!r} stands in {seen[name]} already", where=template.where)
                seen[name] = template.where
            templates.append(template)
    return tuple(templates)


def _load_file(path: Path) -> Iterator[Template]:
    try:
        document: Any = read_text(path.read_text(encoding="utf-8"), path.name).data
    except OSError as failure:
        raise CaseError(f"cannot be read: {failure.strerror}", where=path.name) from None
    except ScenarioError as wrong:
        raise CaseError(wrong.message, where=wrong.where, hint=wrong.hint) from None
    if not isinstance(document, dict):
        raise CaseError("is not a mapping with area and cases", where=path.name)
    file: dict[str, Any] = document  # pyright: ignore[reportUnknownVariableType]
    unknown = sorted(set(file) - {"area", "about", "defaults", "cases"})
    if unknown:
        raise CaseError(
            f"unknown key {unknown[0]!r}", where=path.name, hint=did_you_mean(unknown[0], ["area", "cases"])
        )
    area = file.get("area", path.stem)
    for place, row in enumerate(file.get("cases") or ()):
        where = f"{path.name}: cases[{place}]" + (f" {row['name']}" if "name" in row else "")
        try:
            model = TemplateModel.model_validate(_merged(file.get("defaults") or {}, row))
        except ValidationError as wrong:
            raise _explained(wrong, where) from None
        yield Template(area=area, model=model, where=where)


def _explained(wrong: ValidationError, where: str) -> CaseError:
    first = wrong.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    hint = None
    if first["type"] == "extra_forbidden":
        owner = CallModel if "call" in first["loc"] else TemplateModel
        hint = did_you_mean(str(first["loc"][-1]), owner.model_fields)
    return CaseError(f"{place}: {first['msg']}", where=where, hint=hint)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` on top of ``base``; mappings are merged key by key, everything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below: Any = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = _merged(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value)) if both else value
    return merged


def points(template: Template, layouts: Sequence[str]) -> Iterator[Mapping[str, AxisValue]]:
    """All combinations of the template's axes. ``layouts`` is the run's choice; an axis ``layout`` narrows it."""
    axes: dict[str, list[AxisValue]] = {"api": ["chat"], "stream": [False, True], **template.model.axes}
    wanted = axes.pop("layout", None)
    chosen: list[AxisValue] = [name for name in layouts if wanted is None or _layout_wanted(name, wanted)]
    names = ["layout", *axes]
    for values in itertools.product(chosen, *axes.values()):
        point = dict(zip(names, values, strict=True))
        if not any(_agrees(point, rule) for rule in template.model.unless):
            yield {name: point[name] for name in sorted(names)}


def expand(template: Template, layouts: Sequence[str]) -> tuple[Case, ...]:
    """The concrete cases of a template, by layout and then in the order of its axes."""
    return tuple(_concrete(template, point) for point in points(template, layouts))


def id_of(template: Template, point: Mapping[str, AxisValue]) -> str:
    """``area/name[axis=value,...]``, axes sorted by name."""
    return f"{template.slug}[{','.join(f'{name}={spelled(value)}' for name, value in point.items())}]"


def _layout_wanted(name: str, wanted: Sequence[AxisValue]) -> bool:
    """A wanted layout is a whole name or a vendor."""
    return any(name == want or name.startswith(f"{want}-") for want in wanted)


def _agrees(point: Mapping[str, AxisValue], rule: Mapping[str, AxisValue]) -> bool:
    return all(
        str(point.get(name)).startswith(str(value)) if name == "layout" else point.get(name) == value
        for name, value in rule.items()
    )


def spelled(value: AxisValue) -> str:
    """An axis value as ids write it: booleans as JSON does."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _concrete(template: Template, point: Mapping[str, AxisValue]) -> Case:
    model = template.model
    call = _filled(model.call.model_dump(exclude_none=True), point)
    reply: dict[str, Any] = {"say": AUTO if model.say is None else model.say, **model.reply}
    if model.faults:
        reply["faults"] = model.faults
    if model.timing:
        reply["timing"] = model.timing
    replies = model.replies if model.replies is not None else [reply]
    return Case(
        id=id_of(template, point),
        area=template.area,
        title=model.title,
        why=model.why,
        api=str(point["api"]),
        stream=bool(point["stream"]),
        layout=str(point["layout"]),
        axes=MappingProxyType(dict(point)),
        call=call,
        scenario={"title": model.title, "server": _server(model, str(point["layout"]))}
        | {"replies": _filled(replies, point)},
        turns=tuple(
            _filled(_merged(call, turn.call.model_dump(exclude_none=True, exclude_unset=True)), point)
            for turn in model.turns
        ),
        profiles=tuple(model.profiles),
        core=_is_core(model, point),
        smoke=model.smoke,
        since=model.since,
        was=tuple(model.was),
        headers=model.headers,
        cancel_after_ms=model.cancel_after_ms,
    )


def _server(model: TemplateModel, layout: str) -> dict[str, Any]:
    """The launch options of all vendors (``server``) and of this one (``launch``), which spell them differently."""
    own: dict[str, Any] = {}
    for vendor, options in model.launch.items():
        if _layout_wanted(layout, [vendor]):
            own |= options
    return {**model.server, **own, "layout": layout}


def _is_core(model: TemplateModel, point: Mapping[str, AxisValue]) -> bool:
    """Whether this combination may stand in the core; :func:`core_of` then takes one of them, unless ``core: all``."""
    if isinstance(model.core, list):
        return any(_agrees(point, rule) for rule in model.core)
    return model.core is not False


def _filled(value: Any, point: Mapping[str, AxisValue]) -> Any:
    """The value with every string ``$axis`` replaced by that axis' value."""
    if isinstance(value, str):
        return point[value[1:]] if value.startswith("$") and value[1:] in point else value
    if isinstance(value, dict):
        return {key: _filled(inner, point) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_filled(inner, point) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def core_of(template: Template, cases: Sequence[Case]) -> tuple[Case, ...]:
    """What of a template's (already pruned) cases the core runs: all, those it names, or the first that is left."""
    if template.model.core is False:
        return ()
    if template.model.core == "all":
        return tuple(cases)
    named = tuple(case for case in cases if case.core)
    return named if isinstance(template.model.core, list) and named else tuple(cases[:1])
