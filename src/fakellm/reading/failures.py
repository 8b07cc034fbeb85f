"""How an answer says that it is no answer: the error shapes of all vendors, recognised in one place.

vLLM, SGLang, Dynamo, FastAPI, OpenAI and Anthropic each have their own; a status of 200 protects from none of them.
Pure; knows no bytes.

>>> error_in({"error": "Unauthorized"}, None)
('error-body', 'Unauthorized')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

FAILED_EVENTS = frozenset({"error", "response.failed"})
_FLAT = frozenset({"message", "code"})
_WORDS = ("message", "detail", "error_type")


def error_in(body: Mapping[str, Any], kind: str | None) -> tuple[str, str] | None:
    """(kind of refusal, the server's words) when a body or event is an error, else None. ``kind``: the event's name."""
    error = body.get("error")
    if kind in FAILED_EVENTS:
        return "error-event", words_of(error or body.get("response") or body)
    if error is not None and error is not False:
        return "error-body", words_of(error)
    if body.get("object") == "error" or body.get("status") == "failed":
        return "error-body", words_of(body)
    has_choices = isinstance(body.get("choices"), list)
    if "choices" in body and not has_choices and not body.get("usage"):
        return "error-body", words_of(body)
    if not has_choices and ("detail" in body or body.keys() >= _FLAT or "error_type" in body):
        return "error-body", words_of(body)
    return None


def words_of(error: Any) -> str:
    """What an error says for people, at most 200 characters."""
    if isinstance(error, Mapping):
        members = cast("Mapping[str, Any]", error)
        inner: Any = next((members[word] for word in _WORDS if isinstance(members.get(word), str)), None)
        if inner is None and isinstance(members.get("error"), Mapping):
            return words_of(members["error"])
        return str(inner if inner is not None else dict(members))[:200]
    return str(error)[:200]
