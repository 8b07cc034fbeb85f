"""The error bodies of OpenAI-like servers, and the refusal that carries one until the route tells it. Pure."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any


class Refusal(Exception):
    """A request that is not served. ``param``: the member it is about; ``code``: OpenAI's error code."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code


def openai_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """OpenAI's."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def flat_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """Flat, with a number for a code, as vLLM had it once: TensorRT-LLM."""
    return {"object": "error", "message": message, "type": kind, "param": param, "code": status}


def lmdeploy_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """LMDeploy's: flat, its type by the status."""
    kinds = {401: "authentication_error", 404: "not_found_error", 500: "server_error", 503: "server_error"}
    return {"message": message, "type": kinds.get(status, kind), "code": status, "param": param, "object": "error"}


def llama_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """llama.cpp's."""
    return {"error": {"code": status, "message": message, "type": kind}}


def tgi_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """TGI's: two words beside each other."""
    return {"error": message, "error_type": "validation" if status < 500 else "generation"}


def text_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """The bare text."""
    return {"error": message}


def numbered_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """OpenRouter's."""
    return {"error": {"message": message, "code": status}}


def mistral_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """Mistral's."""
    return {"object": "error", "message": message, "type": kind, "param": param, "code": code or str(status)}


def detail_error(status: int, message: str, kind: str, param: str | None, code: str | None) -> Any:
    """FastAPI's."""
    return {"detail": message or HTTPStatus(status).phrase}
