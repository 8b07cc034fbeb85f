"""shape: which messages a server is known to send."""

from typing import Any

import pytest

from fakellm.conform.shape import ENOUGH, Shapes, kind_of, shape_name, violations

SEEN = {"1": 1}


def learned(**node: Any) -> Shapes:
    """Shapes of a vendor with versions 1.0, 2.0 and 3.0 that know one kind of message."""
    return Shapes({"acme": {"versions": ["1.0", "2.0", "3.0"], "shapes": {"chat/whole/body": node}}})


def often(*versions: int) -> dict[str, int]:
    return {str(version): ENOUGH for version in versions}


def told(shapes: Shapes, value: Any, layout: str = "acme-2.0") -> list[str]:
    return shapes.violations(layout, "chat", value, stream=False)


def an_object(**keys: Any) -> dict[str, Any]:
    return {"types": ["object"], "objects": often(0, 1, 2), "answers": often(0, 1, 2), "keys": keys}


def test_a_member_that_was_never_seen_is_told() -> None:
    assert ["b: never seen here"] == told(
        learned(**an_object(a={"types": ["null"], "seen": SEEN})), {"a": None, "b": 1}
    )


def test_a_member_that_was_always_there_is_missed() -> None:
    assert ["a: missing"] == told(learned(**an_object(a={"types": ["null"], "seen": often(0, 1, 2)})), {})


def test_too_few_captures_make_no_rule() -> None:
    node = an_object(a={"types": ["null"], "seen": often(0, 1, 2)})
    node["answers"] = {"1": ENOUGH - 1}

    assert [] == told(learned(**node), {})


@pytest.mark.parametrize(
    ("types", "value", "expected"),
    [
        (["string"], "x", []),
        (["number"], 1, []),
        (["integer"], 1.5, ["a: is number, seen only as integer"]),
        (["integer"], True, ["a: is boolean, seen only as integer"]),
        (["array", "null"], "x", ["a: is string, seen only as array or null"]),
    ],
)
def test_types_are_those_that_were_seen(types: list[str], value: Any, expected: list[str]) -> None:
    assert expected == told(learned(**an_object(a={"types": types, "seen": SEEN})), {"a": value})


@pytest.mark.parametrize(
    ("seen_in", "layout", "expected"),
    [
        ([2], "acme-1.0", ["a: not seen in this version"]),
        ([2], "acme-3.0", []),
        ([2], "acme-3.7", []),
        ([0, 2], "acme-2.0", []),
        ([0], "acme", ["a: not seen in this version"]),
        ([0], "acme-0.1", []),
    ],
)
def test_a_member_of_other_versions_belongs_only_between_them(
    seen_in: list[int], layout: str, expected: list[str]
) -> None:
    shapes = learned(**an_object(a={"types": ["null"], "seen": {str(version): 1 for version in seen_in}}))

    assert expected == told(shapes, {"a": None}, layout)


def test_elements_maps_and_variants_are_looked_into() -> None:
    row = an_object(logprob={"types": ["number"], "seen": SEEN})
    shapes = learned(
        **an_object(
            rows={"types": ["array"], "seen": SEEN, "items": row},
            by_text={"types": ["object"], "seen": SEEN, "each": {"types": ["number"]}},
            item={"types": ["object"], "seen": SEEN, "variants": {"text": row}},
        )
    )

    assert ["rows[1].logprob: is string, seen only as number"] == told(
        shapes, {"rows": [{"logprob": 1}, {"logprob": ""}]}
    )
    assert ["by_text['H']: is null, seen only as number"] == told(shapes, {"by_text": {"H": None}})
    assert ["item.type: 'image' was never seen, only text"] == told(shapes, {"item": {"type": "image"}})


def test_of_a_variant_that_another_vendor_sends_nothing_is_known() -> None:
    item = {"types": ["object"], "seen": SEEN, "variants": {"text": an_object()}}
    call = {"types": ["object"], "seen": SEEN, "variants": {"call": an_object()}}
    shapes = Shapes(
        {
            "acme": {"versions": ["1.0", "2.0"], "shapes": {"chat/whole/body": an_object(item=item)}},
            "other": {"versions": ["1.0", "2.0"], "shapes": {"chat/whole/body": an_object(item=call)}},
        }
    )

    assert [] == told(shapes, {"item": {"type": "call", "x": 1}})
    assert ["item.type: 'cal' was never seen, only text"] == told(shapes, {"item": {"type": "cal"}})


def test_what_is_not_the_servers_own_may_be_anything() -> None:
    assert [] == told(learned(**an_object(metadata={"any": True, "seen": SEEN})), {"metadata": {"x": [1]}})


def test_of_unknown_vendors_and_kinds_nothing_is_said() -> None:
    shapes = learned(**an_object())

    assert [] == told(shapes, {"x": 1}, "other-1.0")
    assert [] == shapes.violations("acme-1.0", "completions", {"x": 1}, stream=False)
    assert shapes.knows("acme-1.0", "chat", stream=False, kind="body")
    assert not shapes.knows("acme-1.0", "chat", stream=True, kind="delta")


@pytest.mark.parametrize(
    ("api", "stream", "event", "value", "kind"),
    [
        ("chat", False, None, {"choices": []}, "body"),
        ("chat", False, None, {"error": {}}, "error"),
        ("chat", False, None, {"detail": "Not Found"}, "detail"),
        ("chat", True, None, {"choices": []}, "usage"),
        ("chat", True, None, {"choices": [{"delta": {"role": "assistant"}}]}, "role"),
        ("chat", True, None, {"choices": [{"delta": {"content": "x"}}]}, "delta"),
        ("chat", True, None, {"choices": [{"delta": {}, "finish_reason": "stop"}]}, "finish"),
        ("chat", True, "sglext_ids", {"choices": []}, "event sglext_ids"),
        ("chat", True, None, {"error": {"code": 500}}, "error"),
        ("completions", True, None, {"choices": [{"text": "x", "finish_reason": None}]}, "delta"),
        ("generate", True, None, {"meta_info": {"finish_reason": None}}, "delta"),
        ("generate", True, None, {"meta_info": {"finish_reason": {"type": "stop"}}}, "finish"),
        ("responses", True, "response.created", {"type": "response.created"}, "response.created"),
        ("chat", True, None, "[DONE]", "other"),
    ],
)
def test_like_is_held_against_like(api: str, stream: bool, event: str | None, value: Any, kind: str) -> None:
    assert kind == kind_of(api, value, stream=stream, event=event)


def test_whole_refusals_are_alike_on_all_apis_but_messages() -> None:
    assert "error" == shape_name("chat", False, "error") == shape_name("responses", False, "error")
    assert "messages/whole/error" == shape_name("messages", False, "error")
    assert "chat/stream/error" == shape_name("chat", True, "error")


def test_the_shipped_shapes_know_a_chat_answer() -> None:
    assert "choices: missing" in violations("vllm-0.32.0", "chat", {"object": "chat.completion"}, stream=False)
