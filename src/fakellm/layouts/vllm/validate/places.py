"""Where old servers say they took a request: versions up to 0.24 print file, line and function with a flawed body.

Most routes are wrapped by one helper, whose file is printed; the others name their own router. Line numbers are those
of the captured wheels (the golden library masks them).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..options import V10, V12, V16, V20, V24
from ..traits import Version
from .spelling import Place

_HELPERS: tuple[tuple[Version, str, int], ...] = (
    (V24, "vllm/entrypoints/serve/utils/api_utils.py", 40),
    (V20, "vllm/entrypoints/utils.py", 40),
    (V16, "vllm/entrypoints/utils.py", 34),
    (V12, "vllm/entrypoints/utils.py", 692),
    (V10, "vllm/entrypoints/utils.py", 668),
)
_FUNCTIONS: Mapping[str, str] = {
    "/v1/chat/completions": "create_chat_completion",
    "/v1/chat/completions/batch": "create_batch_chat_completion",
    "/v1/completions": "create_completion",
    "/v1/responses": "create_responses",
    "/v1/messages": "create_messages",
    "/v1/messages/count_tokens": "count_tokens",
    "/inference/v1/generate": "generate",
    "/tokenize": "tokenize",
    "/detokenize": "detokenize",
}
_OWN_FILES: Mapping[tuple[str, Version], tuple[str, int, str]] = {
    ("/v1/chat/completions/render", V24): ("serve/render/api_router.py", 35, "render_chat_completion"),
    ("/v1/completions/render", V24): ("serve/render/api_router.py", 61, "render_completion"),
    ("/v1/chat/completions/derender", V24): ("serve/render/api_router.py", 84, "derender_chat_completion"),
    ("/v1/completions/derender", V24): ("serve/render/api_router.py", 109, "derender_completion"),
    ("/v1/chat/completions/render", V20): ("serve/render/api_router.py", 25, "render_chat_completion"),
    ("/v1/completions/render", V20): ("serve/render/api_router.py", 51, "render_completion"),
    ("/v1/chat/completions/render", V16): ("openai/chat_completion/api_router.py", 76, "render_chat_completion"),
    ("/v1/completions/render", V16): ("openai/completion/api_router.py", 75, "render_completion"),
    ("/pause", V24): ("serve/dev/rlhf/api_router.py", 29, "pause_generation"),
    ("/pause", V20): ("serve/rlhf/api_router.py", 30, "pause_generation"),
    ("/pause", V16): ("serve/rlhf/api_router.py", 30, "pause_generation"),
    ("/pause", V12): ("openai/api_server.py", 355, "pause_generation"),
    ("/reset_prefix_cache", V24): ("serve/dev/cache/api_router.py", 20, "reset_prefix_cache"),
    ("/reset_prefix_cache", V20): ("serve/cache/api_router.py", 21, "reset_prefix_cache"),
    ("/reset_prefix_cache", V16): ("serve/cache/api_router.py", 21, "reset_prefix_cache"),
    ("/reset_prefix_cache", V12): ("openai/api_server.py", 879, "reset_prefix_cache"),
}


def place_of(method: str, path: str, version: Version) -> Place | None:
    """The place that a version prints for a route, None where it prints none."""
    own = _OWN_FILES.get((path, version))
    if own is not None:
        file, line, function = own
        return Place(f"vllm/entrypoints/{file}", line, function, method, path)
    function = _FUNCTIONS.get(path)
    helper = next(((file, line) for since, file, line in _HELPERS if version >= since), None)
    if function is None or helper is None or version > V24:
        return None
    return Place(helper[0], helper[1], function, method, path)
