"""A plain chat like one that was accepted is not checked again; what comes out is what checking it would give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakellm.ask import Ask, Request
from fakellm.context import FixedContext
from fakellm.layouts.registry import find
from fakellm.layouts.vllm.validate.accepted import MOST, Accepted, key_of
from support.stages import station

VERSIONS = ("vllm-0.10.2", "vllm-0.16.0", "vllm-0.28.0", "vllm-0.32.0")
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["tiny", "", None]),
    "max_tokens": st.sampled_from([1, 7, 0, None, "9", 1.5]),
    "temperature": st.sampled_from([0, 0.0, 1, True, None, float("nan"), -1, "hot"]),
    "logprobs": st.sampled_from([True, False, None, "yes"]),
    "top_logprobs": st.sampled_from([0, 1, 20, 21, -1, None]),
    "n": st.sampled_from([1, 2, 0, None]),
    "stop": st.sampled_from(["a", ["a", "b"], [""], None]),
    "echo": st.booleans(),
    "stream": st.booleans(),
    "stream_options": st.sampled_from([None, {"include_usage": True}]),
    "continue_final_message": st.booleans(),
    "add_generation_prompt": st.booleans(),
    "truncate_prompt_tokens": st.sampled_from([None, 1, 3, -1]),
    "min_tokens": st.sampled_from([0, 3, -1]),
    "made_up": st.sampled_from([1, 1.0, None]),
}
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["system", "user", "assistant", "tool", "narrator"]),
        st.one_of(st.text(max_size=8), st.none(), st.just([{"type": "text", "text": "part"}])),
    ),
    max_size=3,
)
REST = st.fixed_dictionaries({}, optional=MEMBERS)


def asked(body: dict[str, Any]) -> Request:
    """A chat request with this body."""
    return Request("POST", "/v1/chat/completions", {}, {"content-type": "application/json"}, json.dumps(body).encode())


def heard(server: Any, body: dict[str, Any]) -> Any:
    """What a server makes of a body, without the request itself."""
    outcome = server.receive(asked(body), FixedContext(1.0, 1))
    if isinstance(outcome, Ask):
        return {name: repr(getattr(outcome, name)) for name in Ask.__slots__ if name != "request"}
    return repr(outcome)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=60, deadline=None)
@given(rest=REST, first=MESSAGES, second=MESSAGES)
def test_a_server_that_remembers_answers_as_one_that_does_not(
    version: str, rest: dict[str, Any], first: list[Any], second: list[Any]
) -> None:
    remembering = station(version)[1]
    bodies = [{"messages": messages, **rest} for messages in (first, second, first)]

    for body in bodies:
        assert heard(station(version)[1], body) == heard(remembering, body)


def test_texts_make_no_difference_to_the_key_and_everything_else_does() -> None:
    def key(text: str = "Hi", role: str = "user", **members: Any) -> str | None:
        return key_of({"messages": [{"role": role, "content": text}], **members})

    assert key("Hi") == key("something else")
    different = [key(), key(role="system"), key(n=1), key(n=1.0), key(n=True), key(n=None), key(n=float("nan"))]
    assert len(different) == len(set(different))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        "Hi",
        ["Hi"],
        [{"role": "user"}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": ["a"]}],
        [{"role": "tool", "content": "a"}],
        [{"role": "user", "content": "a", "name": "b"}],
    ],
)
def test_what_is_not_plain_has_no_key(messages: Any) -> None:
    assert key_of({"messages": messages}) is None
    assert key_of([messages]) is None


def test_only_so_many_kinds_are_remembered() -> None:
    accepted = Accepted()

    for number in range(MOST + 1):
        accepted.remember(f"{number}", {"messages": [], "n": number}, ())

    assert accepted.find("0") is None
    newest = accepted.find(f"{MOST}")
    assert newest is not None
    assert {"n": MOST} == newest.values


def test_the_versions_are_layouts() -> None:
    assert set(VERSIONS) == {find(version).layout.name for version in VERSIONS}
