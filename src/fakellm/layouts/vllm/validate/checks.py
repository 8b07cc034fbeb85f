"""vLLM's own checks of a raw body that several APIs share: they run before the fields are looked at.

A check takes the body as sent (a private shallow copy, which it may amend), and raises an :class:`Objection`. The
texts are what vLLM says; where a version says something else, its traits decide. Order is the API module's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..launch import Settings
from ..options import V12, V16, V24, V28, V32
from ..traits import Traits, Version
from .containers import Union
from .flaws import Crash, Objection
from .kinds import Flaws
from .parts import STRUCTURAL_TAGS

Body = dict[str, Any]
Check = Callable[[Body, "Rules"], None]

FORBIDDEN_IN_SALT = frozenset("@/\\\x00")
MAX_SALT_CHARACTERS = 128
USAGE_OF_TOOL_CHOICE = 'Correct usage: `{"type": "function", "function": {"name": "my_function"}}`'


@dataclass(frozen=True, slots=True)
class Rules:
    """By what a request is judged: the version's traits and the server's settings."""

    traits: Traits
    settings: Settings

    @property
    def version(self) -> Version:
        return self.traits.version


def is_number(value: Any) -> bool:
    """An int, float or bool, as Python compares them."""
    return isinstance(value, int | float)


def need_number(value: Any, sign: str = "<") -> None:
    """Comparing something else with a number is the server's own crash where it does not look at types first."""
    if not is_number(value):
        name = type(value).__name__
        raise Crash("TypeError", f"'{sign}' not supported between instances of '{name}' and 'int'")


def as_object(value: Any) -> Mapping[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A JSON array, or an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def check_stream_options(body: Body, rules: Rules) -> None:
    if body.get("stream_options") and not body.get("stream"):
        raise Objection("Stream options can only be defined when `stream=True`.", "stream_options")


def check_integers(body: Body, rules: Rules, names: tuple[str, ...]) -> None:
    """Fields that later checks compare with numbers have to be numbers."""
    if not rules.traits.checks_guard_types:
        return
    for name in names:
        value = body.get(name)
        if value is not None and not is_number(value):
            raise Objection(f"`{name}` must be an integer.", name, value)


def check_prompt_logprobs(body: Body, rules: Rules) -> None:
    value = body.get("prompt_logprobs")
    if value is None:
        return
    whole_vocabulary = value == -1 and rules.version >= V12
    if body.get("stream"):
        need_number(value, ">")
        if value > 0 or whole_vocabulary:
            raise Objection("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
    need_number(value)
    check_not_negative("prompt_logprobs", value, rules)


def check_not_negative(name: str, value: Any, rules: Rules) -> None:
    """Zero or more; from 0.12 also -1, the whole vocabulary."""
    need_number(value)
    if not value < 0 or (value == -1 and rules.version >= V12):
        return
    words = "a positive value or -1" if rules.version >= V12 else "a positive value"
    raise Objection(f"`{name}` must be {words}.", name, value)


def check_structured_count(body: Body, rules: Rules, parameter: str | None = None) -> None:
    """At most one of json, regex and choice."""
    given = body.get("structured_outputs")
    if given is None or rules.version < V12:
        return
    if not isinstance(given, dict):
        raise Crash("AttributeError", f"'{type(given).__name__}' object has no attribute 'get'")
    kinds = [kind for kind in ("json", "regex", "choice") if as_object(given).get(kind) is not None]
    if len(kinds) > 1:
        raise Objection(
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').",
            parameter,
            plain=rules.version < V24 and parameter is None,
        )


def check_guided_count(body: Body, rules: Rules) -> None:
    """0.10.2: at most one kind of guided decoding."""
    if rules.version >= V12:
        return
    kinds = [kind for kind in ("guided_json", "guided_regex", "guided_choice") if body.get(kind) is not None]
    if len(kinds) > 1:
        raise Objection(
            "You can only use one kind of guided decoding ('guided_json', 'guided_regex' or 'guided_choice').",
            plain=True,
        )


def check_response_format(body: Body, rules: Rules) -> None:
    given = as_object(body.get("response_format"))
    if rules.version > V16 and given.get("type") == "json_schema" and given.get("json_schema") is None:
        raise Objection(
            "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
            "response_format",
        )


def check_structural_tag(body: Body, rules: Rules) -> None:
    """From 0.24: a structural tag has to have one of its two forms. The grammar in it is not looked at."""
    given = body.get("response_format")
    if rules.version >= V24 and as_object(given).get("type") == "structural_tag":
        flaws: Flaws = []
        Union(STRUCTURAL_TAGS).check(given, (), flaws)
        if flaws or _untriggered(as_object(given)):
            raise Objection("Invalid response_format structural_tag specification.", "response_format")
    if rules.version >= V24 and as_object(body.get("structured_outputs")).get("structural_tag") == "":
        raise Objection("Invalid structured_outputs structural_tag specification.", "structured_outputs")


def _untriggered(given: Mapping[str, Any]) -> bool:
    """Whether some structure of a tag of the old form begins with no trigger, or there are none."""
    if "structures" not in given:
        return False
    triggers = [trigger for trigger in as_list(given.get("triggers")) if isinstance(trigger, str)]
    begins = [str(as_object(one).get("begin")) for one in as_list(given["structures"])]
    return not begins or not all(any(begin.startswith(trigger) for trigger in triggers) for begin in begins)


def check_cache_salt(body: Body, rules: Rules, typed_from: Version = V24) -> None:
    """A salt is text and not empty; 0.28 leaves it to the field. ``typed_from``: where it names its parameter."""
    salt = body.get("cache_salt")
    if salt is None or V28 <= rules.version < V32:
        return
    if not isinstance(salt, str) or not salt:
        text = "Parameter 'cache_salt' must be a non-empty string if provided."
        raise Objection(text, "cache_salt", plain=rules.version < typed_from)
    if rules.version >= V32 and (len(salt) > MAX_SALT_CHARACTERS or FORBIDDEN_IN_SALT.intersection(salt)):
        raise Objection(
            "Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL.",
            "cache_salt",
        )


def check_tool_usage(body: Body, rules: Rules) -> None:
    """tools and tool_choice have to fit each other; tools without a choice mean ``auto``."""
    if rules.version > V16 and body.get("tools") == []:
        raise Objection(
            "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.",
            "tools",
            plain=rules.version < V28,
        )
    if "tool_choice" not in body and body.get("tools"):
        body["tool_choice"] = "auto"
    choice = body.get("tool_choice")
    if choice is None or choice == "none":
        return
    plain = rules.version < V24
    if body.get("tools") is None:
        raise Objection("When using `tool_choice`, `tools` must be set.", "tool_choice", plain=plain)
    if choice not in ("auto", "required") and not isinstance(choice, dict):
        text = (
            f'Invalid value for `tool_choice`: {choice}! Only named tools, "none", "auto" or "required" are supported.'
        )
        raise Objection(text, "tool_choice", plain=plain)
    if choice == "required" and body["tools"] == []:
        body["tool_choice"] = "none"
        del body["tools"]
    if isinstance(choice, dict):
        _check_named_tool(as_object(choice), body["tools"], plain)


def _check_named_tool(choice: Mapping[str, Any], tools: Any, plain: bool) -> None:
    function = choice.get("function")
    if not isinstance(function, dict):
        text = f"Invalid value for `function`: `{function}` in `tool_choice`! {USAGE_OF_TOOL_CHOICE}"
        raise Objection(text, "tool_choice.function", plain=plain)
    if "name" not in function:
        text = f"Expected field `name` in `function` in `tool_choice`! {USAGE_OF_TOOL_CHOICE}"
        raise Objection(text, "tool_choice.function.name", plain=plain)
    name = as_object(function)["name"]
    if not isinstance(name, str) or not name:
        text = f"Invalid `name` in `function`: `{name}` in `tool_choice`! {USAGE_OF_TOOL_CHOICE}"
        raise Objection(text, "tool_choice.function.name", plain=plain)
    for tool in cast("list[Any]", tools):
        try:
            found = tool["function"]["name"] == name
        except (KeyError, TypeError) as broken:
            raise Crash(type(broken).__name__, str(broken)) from None
        if found:
            return
    text = "The tool specified in `tool_choice` does not match any of the specified `tools`"
    raise Objection(text, "tool_choice", plain=plain)
