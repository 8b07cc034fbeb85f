"""Every check, in the order in which reports list them. Adding one touches one module of this folder and its test."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ...errors import UsageError, did_you_mean
from ..check import Check
from .presence import usable

MODULES = (
    "calls",
    "alignment",
    "values",
    "presence",
    "choices",
    "outcomes",
    "requests",
    "turns",
    "gateway_request",
    "gateway_response",
    "gateway_errors",
    "server",
    "server_probes",
    "server_tokens",
    "server_places",
    "envelope",
)
"""The families, in the order in which reports list them."""


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of every mode, in the order of the modules and, within one, as they are written."""
    found: dict[str, Check] = {}
    for name in MODULES:
        module = import_module(f".{name}", __package__)
        for member in vars(module).values():
            if isinstance(member, Check) and found.setdefault(member.id, member) is not member:
                raise ValueError(f"two checks are called {member.id}")
    return tuple(found.values())


def find_check(id: str) -> Check:
    """The check with this id; raises UsageError with the closest one."""
    for check in all_checks():
        if check.id == id:
            return check
    raise UsageError(f"there is no check {id!r}", hint=did_you_mean(id, [check.id for check in all_checks()]))


__all__ = ["all_checks", "find_check", "usable"]
