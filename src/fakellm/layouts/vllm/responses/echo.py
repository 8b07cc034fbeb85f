"""What a response repeats of its request, as the openai SDK's objects (3.57) write it: every member they know, unset
ones null, in their own order. Pure data; knows no version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

_FUNCTION = (
    "name",
    "parameters",
    "strict",
    "type",
    "allowed_callers",
    "async",
    "defer_loading",
    "description",
    "output_schema",
)
_CUSTOM = ("name", "type", "allowed_callers", "async", "defer_loading", "description", "format")
_SEARCH = ("type", "search_content_types", "search_context_size", "user_location")
_MEMBERS = {
    "function": _FUNCTION,
    "custom": _CUSTOM,
    "web_search_preview": _SEARCH,
    "web_search_preview_2025_03_11": _SEARCH,
    "code_interpreter": ("container", "type", "allowed_callers"),
}
_CONTAINER = ("type", "file_ids", "memory_limit", "network_policy")
_FORMATS = {
    "text": ("type",),
    "json_object": ("type",),
    "json_schema": ("name", "schema", "type", "description", "strict"),
}
_REASONING = ("context", "effort", "generate_summary", "mode", "summary")


def tools(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools; kinds that are not known here are repeated as they came."""
    return [_tool(tool) for tool in given]


def _tool(given: Mapping[str, Any]) -> dict[str, Any]:
    shown = _filled(given, _MEMBERS.get(str(given.get("type")), tuple(given)))
    container: Any = shown.get("container")
    if given.get("type") == "code_interpreter" and isinstance(container, Mapping):
        shown["container"] = _filled(cast("Mapping[str, Any]", container), _CONTAINER)
    return shown


def tool_choice(given: Any) -> Any:
    """A word, or an object with its name before its type."""
    if not isinstance(given, Mapping):
        return given
    return _filled(cast("Mapping[str, Any]", given), ("name", "type"))


def reasoning(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if given is None else _filled(given, _REASONING)


def text(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The text configuration with its format."""
    if given is None:
        return None
    shown = _filled(given, ("format", "verbosity"))
    form: Any = shown["format"]
    if isinstance(form, Mapping):
        members = cast("Mapping[str, Any]", form)
        shown["format"] = _filled(members, _FORMATS.get(str(members.get("type")), tuple(members)))
    return shown


def with_extras(checked: Any, sent: Any) -> Any:
    """A checked value with the members that were sent besides those it knows: the SDK's objects keep them."""
    if not isinstance(checked, Mapping) or not isinstance(sent, Mapping):
        return cast("Any", checked)
    known, given = cast("Mapping[str, Any]", checked), cast("Mapping[str, Any]", sent)
    kept = {name: with_extras(value, given.get(name)) for name, value in known.items()}
    return {**kept, **{name: value for name, value in given.items() if name not in known}}


def python_names(value: Any) -> Any:
    """The same with the SDK's Python names for members that are words of the language or of pydantic."""
    if isinstance(value, Mapping):
        rows = cast("Mapping[str, Any]", value)
        return {_PYTHON.get(name, name): inner for name, inner in rows.items()}
    return value


_PYTHON = {"async": "async_", "schema": "schema_"}


def _filled(given: Mapping[str, Any], members: Sequence[str]) -> dict[str, Any]:
    """The known members in order (unset ones null), then what else was sent."""
    return {**{name: given.get(name) for name in members}, **{k: v for k, v in given.items() if k not in members}}
