"""Refusals that do not come from a body: unknown routes and methods, keys, closed doors, responses that are not stored.

Each is what the version itself answers; three different shapes are on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..traits import Traits
from .flaws import BARE_HEADERS, Objection, Refusal
from .spelling import error_body, plain_detail, spell_objection

SCALE_OUT_DISABLED = "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."


def unauthorised() -> Refusal:
    """A missing or wrong key: the middleware answers, in a shape of its own and outside CORS."""
    return Refusal(401, {"error": "Unauthorized"}, BARE_HEADERS)


def not_found() -> Refusal:
    """A route that the server does not have."""
    return plain_detail(404, "Not Found")


def method_not_allowed(allowed: Sequence[str]) -> Refusal:
    """A known route with another method; ``allowed``: the methods of the first route with that path."""
    return plain_detail(405, "Method Not Allowed", {"allow": ", ".join(allowed)})


def scale_out_disabled(traits: Traits) -> Refusal:
    """0.32: ids in, render and derender without --enable-scale-out."""
    return Refusal(403, error_body(SCALE_OUT_DISABLED, "PermissionDeniedError", None, 403, traits))


def engine_failure(traits: Traits) -> Refusal:
    """The engine ended a request with an error (0.16 and newer; older ones answer as if nothing had happened)."""
    return Refusal(500, error_body("Internal server error", "InternalServerError", None, 500, traits))


def _of_response(text: str, status: int, traits: Traits) -> Refusal:
    param = traits.response_id_param
    return spell_objection(
        Objection(text, answered=True, status=status, kind="invalid_request_error", param=param), traits
    )


def response_missing(response_id: str, traits: Traits) -> Refusal:
    """A response id that is not stored; 0.10.2 first looks at how it begins."""
    if traits.version < (0, 12, 0) and not response_id.startswith("resp_"):
        text = f"Invalid 'response_id': '{response_id}'. Expected an ID that begins with 'resp'."
        return _of_response(text, 400, traits)
    return _of_response(f"Response with id '{response_id}' not found.", 404, traits)


def response_not_running(traits: Traits) -> Refusal:
    """Cancelling what is not in the background or has ended."""
    return _of_response("Cannot cancel a synchronous response.", 400, traits)
