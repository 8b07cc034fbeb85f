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
    "/encode": ("encode_request", (566, 635, 686, 737, 922, 942, 993)),
    "/classify": ("classify_request", (578, 647, 698, 749, 934, 954, 1006)),
    "/v1/embeddings": ("openai_v1_embeddings", (1061, 1143, 1361, 1501, 1712, 1732, 1882)),
    "/v1/classify": ("openai_v1_classify", (None, 1155, 1373, 1513, 1724, 1744, 1894)),
    "/v1/rerank": ("v1_rerank_request", (1158, 1304, 1522, 1702, 1923, 1943, 2101)),
    "/v1/score": ("v1_score_request", (1114, 1260, 1478, 1658, 1880, 1900, 2050)),
    "/invocations": ("sagemaker_chat_completions", (1175, 1321, 1598, 1788, 2009, 2029, 2202)),
    "/vertex_generate": ("vertex_generate", (1186, 1332, 1609, 1799, 2020, 2040, 2215)),
    "/parse_function_call": ("parse_function_call_request", (978, 1060, 1276, 1416, 1600, 1620, 1734)),
    "/separate_reasoning": ("separate_reasoning_request", (1000, 1082, 1298, 1438, 1628, 1648, 1774)),
    "/start_profile": ("start_profile_async", (611, 680, 832, 947, 1137, 1157, 1221)),
    "/slow_down": ("slow_down", (888, 970, 1166, 1306, 1505, 1525, 1621)),
    "/configure_logging": ("configure_logging", (959, 1041, 1255, 1395, 1577, 1597, 1711)),
    "/set_internal_state": ("set_internal_state", (498, 567, 625, 676, 838, 858, 897)),
    "/open_session": ("open_session", (935, 1017, 1231, 1371, 1553, 1573, 1687)),
    "/close_session": ("close_session", (949, 1031, 1245, 1385, 1567, 1587, 1701)),
    "/get_weights_by_name": ("get_weights_by_name", (853, 926, 1118, 1256, 1446, 1466, 1559)),
    "/weights_checker": ("check_weights", (None, 961, 1156, 1294, 1486, 1506, 1599)),
    "/load_lora_adapter": ("load_lora_adapter", (901, 983, 1180, 1320, 1519, 1539, 1652)),
    "/load_lora_adapter_from_tensors": ("load_lora_adapter_from_tensors", (None, None, 1198, 1338, 1530, 1550, 1663)),
    "/unload_lora_adapter": ("unload_lora_adapter", (918, 1000, 1213, 1353, 1542, 1562, 1676)),
    "/pd_role_switch": ("pd_role_switch", (None, None, None, None, None, None, 1635)),
    "/init_weights_update_group": ("init_weights_update_group", (745, 812, 998, 1136, 1319, 1339, 1404)),
    "/destroy_weights_update_group": ("destroy_weights_update_group", (760, 827, 1014, 1152, 1335, 1355, 1420)),
    "/update_weights_from_tensor": ("update_weights_from_tensor", (774, 841, 1029, 1167, 1351, 1371, 1436)),
    "/update_weights_from_distributed": ("update_weights_from_distributed", (800, 862, 1051, 1189, 1373, 1393, 1488)),
    "/update_weights_from_ipc": ("update_weights_from_ipc", (None, 880, 1070, 1208, 1393, 1413, 1508)),
    "/init_weights_send_group_for_remote_instance": (
        "init_weights_send_group_for_remote_instance",
        (713, 780, 939, 1064, 1244, 1264, 1329),
    ),
    "/send_weights_to_remote_instance": ("send_weights_to_remote_instance", (729, 796, 956, 1081, 1263, 1283, 1348)),
    "/begin_weight_update": ("begin_weight_update", (None, None, None, None, None, None, 1458)),
    "/end_weight_update": ("end_weight_update", (None, None, None, None, None, None, 1473)),
    "/release_memory_occupation": ("release_memory_occupation", (866, 939, 1132, 1270, 1462, 1482, 1575)),
    "/resume_memory_occupation": ("resume_memory_occupation", (877, 950, 1144, 1282, 1474, 1494, 1587)),
    "/set_trace_level": ("set_trace_level", (None, None, None, 983, 1159, 1179, 1243)),
    "/flush_cache": ("flush_cache", (590, 659, 710, 761, 946, 966, 1025)),
    "/api/show": ("ollama_show", (None, None, 1562, 1752, 1973, 1993, 2151)),
}


def line_of(path: str, version: Version) -> tuple[str, int]:
    """(function, line) of the route; a route that is not listed is called by its path, line 0."""
    known = _LINES.get(path) or _LINES.get(f"/v1{path}")
    if known is None:
        return path.strip("/").replace("/", "_").replace("-", "_"), 0
    function, lines = known
    numbers = [line for since, line in zip(_VERSIONS, lines, strict=True) if since <= version and line is not None]
    return function, numbers[-1] if numbers else 0
