"""The APIs that take a JSON body, by name: which record, which checks of the raw body, which checks of the handler.

Adding an API is one entry here and one module with its fields. Names are those of ``Ask.api``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import chat
from .checks import Check, Rules
from .handler import HandlerCheck, check_empty_conversation, check_model, check_template_trust, check_tool_parsing
from .records import Record, Version


@dataclass(frozen=True, slots=True)
class ApiReader:
    """How one API reads its body. ``checks``: of the raw body, in the order they run, for a version.
    ``handler_checks``: of the accepted fields, before a prompt is made."""

    record: Callable[[Rules], Record]
    checks: Callable[[Version], tuple[Check, ...]]
    handler_checks: tuple[HandlerCheck, ...]


API_READERS: Mapping[str, ApiReader] = {
    "chat": ApiReader(
        lambda rules: chat.fields(rules.version, rules.settings.max_stop_strings),
        chat.checks,
        (check_model, check_tool_parsing, check_template_trust, check_empty_conversation),
    ),
}


def recognised(api: str, rules: Rules) -> frozenset[str]:
    """The field names that a version knows; everything else in a body is ignored."""
    names: Any = API_READERS[api].record(rules).names()
    return names
