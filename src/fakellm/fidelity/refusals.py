"""Validation errors of pydantic unions: one wrong value, told once per branch of the union.

Which branches there are depends on the server's libraries, so two refusals count as the same when their first error
agrees in type, place and message (DESIGN section 7). Pure; reads only the text of a message.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Complaint(NamedTuple):
    """One validation error: ``place`` is its ``loc``, as a tuple of parts."""

    kind: str
    place: tuple[str, ...]
    message: str


_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_COMPLAINT = re.compile(
    rf"\{{'type': '(?P<kind>\w+)', 'loc': (?P<place>{_QUOTED}|\((?:{_QUOTED}|[^()'\"])*\)), "
    rf"'msg': (?P<message>{_QUOTED})"
)
_PART = re.compile(rf"{_QUOTED}|\d+")


def complaints(text: str) -> list[Complaint]:
    """The validation errors that a message tells, in order."""
    return [
        Complaint(match["kind"], _parts(match["place"]), match["message"][1:-1]) for match in _COMPLAINT.finditer(text)
    ]


def about_a_union(found: list[Complaint]) -> bool:
    """Do several complaints stem from one value? Then they share the place but for the branch (two parts and more)."""
    return any(other.place[:2] == found[0].place[:2] for other in found[1:]) if found else False


def same_refusal(recorded: str, replayed: str) -> bool:
    """Do two messages refuse the same value for the same first reason, the recorded one for a union?"""
    wanted = complaints(recorded)
    told = complaints(replayed)
    return bool(told) and about_a_union(wanted) and wanted[0] == told[0]


def _parts(place: str) -> tuple[str, ...]:
    if place.startswith("("):
        return tuple(part.strip("'\"") for part in _PART.findall(place))
    return tuple(place[1:-1].split("."))
