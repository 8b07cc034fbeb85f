"""Where a schema refusal says that it was raised: function and line of the route in SGLang's http_server.py.

The text of every validation error up to 0.5.23 shows them, so they are data here: read from the wheels, the line being
that of the route's first decorator. A version between takes the numbers of the nearest lower one.
"""

from __future__ import annotations

from .traits import Version

_VERSIONS: tuple[Version, ...] = ((0, 5, 3), (0, 5, 6), (0, 5, 9), (0, 5, 12), (0, 5, 17), (0, 5, 18), (0, 5, 23))

_LINES: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "/generate": ("generate_request", (505, 574, 649, 700, 869, 889, 928)),
    "/update_weights_from_disk": ("update_weights_from_disk", (684, 756, 914, 1039, 1215, 1235, 1300)),
    "/update_weight_version": ("update_weight_version", (823, 896, 1087, 1225, 1412, 1432, 1527)),
    "/abort_request": ("abort_request", (966, 1048, 1263, 1403, 1587, 1607, 1721)),
    "/pause_generation": ("pause_generation", (1020, 1102, 1318, 1458, 1665, 1685, 1831)),
    "/continue_generation": ("continue_generation", (1030, 1112, 1329, 1469, 1678, 1698, 1844)),
    "/v1/completions": ("openai_v1_completions", (1043, 1125, 1343, 1483, 1694, 1714, 1860)),
    "/v1/chat/completions": ("openai_v1_chat_completions", (1051, 1133, 1351, 1491, 1702, 1722, 1870)),
    "/v1/tokenize": ("openai_v1_tokenize", (None, 1167, 1385, 1525, 1736, 1756, 1906)),
    "/v1/detokenize": ("openai_v1_detokenize", (None, 1185, 1403, 1543, 1754, 1774, 1924)),
    "/v1/responses": ("v1_responses_request", (1122, 1268, 1486, 1666, 1888, 1908, 2066)),
    "/v1/messages": ("anthropic_v1_messages", (None, None, 1571, 1761, 1982, 2002, 2160)),
    "/v1/messages/count_tokens": ("anthropic_v1_count_tokens", (None, None, 1581, 1771, 1992, 2012, 2170)),
    "/api/chat": ("ollama_chat", (None, None, 1542, 1732, 1953, 1973, 2131)),
    "/api/generate": ("ollama_generate", (None, None, 1548, 1738, 1959, 1979, 2137)),
}


def line_of(path: str, version: Version) -> tuple[str, int]:
    """(function, line) of the route; a route that is not listed is called by its path, line 0."""
    known = _LINES.get(path) or _LINES.get(f"/v1{path}")
    if known is None:
        return path.strip("/").replace("/", "_").replace("-", "_"), 0
    function, lines = known
    numbers = [line for since, line in zip(_VERSIONS, lines, strict=True) if since <= version and line is not None]
    return function, numbers[-1] if numbers else 0
