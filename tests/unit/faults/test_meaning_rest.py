"""Flags that are ignored, usage and ends that lie, conversations that drift."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fakellm.ask import Ask, Request
from fakellm.errors import FaultError
from fakellm.faults.compose import compose
from fakellm.message import Rendering
from support import faulty
from support.faulty import LAYOUT, ask, choice, distorted, told
from support.stages import TOKENIZER


def heard_with(entry: Any, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body that the station reads again when a flag is ignored."""
    seen: list[Request] = []
    request = ask(**more, body=body)

    def receive(again: Request) -> Ask:
        seen.append(again)
        return replace(request, body=json.loads(again.body))

    distortion = compose([entry], request, LAYOUT, receive=receive)
    assert json.loads(seen[0].body) == distortion.ask(request).body
    return json.loads(seen[0].body)


class TestFlags:
    @pytest.mark.parametrize(
        ("entry", "body", "left"),
        [
            ("return-token-ids-ignored", {"return_token_ids": True, "model": "m"}, {"model": "m"}),
            ("logprobs-ignored", {"logprobs": True, "top_logprobs": 2, "n": 1}, {"n": 1}),
            ("top-logprobs-ignored", {"logprobs": True, "top_logprobs": 2}, {"logprobs": True}),
            ("stream-ignored", {"stream": True, "stream_options": {"include_usage": True}}, {}),
            ("stream-options-ignored", {"stream": True, "stream_options": {}}, {"stream": True}),
            ("max-tokens-ignored", {"sampling_params": {"max_new_tokens": 3, "n": 1}}, {"sampling_params": {"n": 1}}),
            ("stop-ignored", {"stop": ["."], "stop_token_ids": [5]}, {}),
            ("n-ignored", {"n": 2}, {}),
            ("seed-ignored", {"seed": 7}, {}),
            ("echo-ignored", {"echo": True}, {}),
            ("include-ignored", {"include": ["message.output_text.logprobs"]}, {}),
            ("tokens-as-token-ids-ignored", {"return_tokens_as_token_ids": True}, {}),
        ],
    )
    def test_the_request_is_read_again_without_it(self, entry: str, body: dict[str, Any], left: dict[str, Any]) -> None:
        assert left == heard_with(entry, body)

    @pytest.mark.parametrize("body", [{}, {"logprobs": None}, {"logprobs": False}])
    def test_a_flag_that_was_not_sent_cannot_be_ignored(self, body: dict[str, Any]) -> None:
        with pytest.raises(FaultError, match=r"logprobs-ignored.*does not send logprobs"):
            heard_with("logprobs-ignored", body)

    def test_the_faults_after_it_see_what_the_server_heard(self) -> None:
        request = ask(n=2, body={"n": 2})
        distortion = compose(["n-ignored"], request, LAYOUT, receive=lambda _: replace(request, n=1))

        assert (2, 1) == (request.n, distortion.ask(request).n)

    def test_a_server_that_refuses_the_rest_is_an_error_that_says_so(self) -> None:
        with pytest.raises(FaultError, match="without these flags the server refuses"):
            compose(["n-ignored"], ask(n=2), LAYOUT, receive=lambda _: Rendering(400, (), ()))


class TestUsage:
    def test_usage_counts_one_more(self) -> None:
        usage = distorted("usage-wrong", told()).usage

        assert (3, 5) == (usage.prompt_tokens, usage.completion_tokens)

    def test_a_stream_without_usage_has_none_to_bend(self) -> None:
        with pytest.raises(FaultError, match="include_usage"):
            distorted("usage-wrong", told(), ask(stream=True))

    def test_an_unknown_reason_stands_on_choice_and_step(self) -> None:
        changed = distorted({"finish-reason-unknown": {"reason": "bored"}}, told()).choices[0]

        assert ("bored", "bored") == (changed.finish_reason, changed.steps[-1].finish_reason)


class TestToolArguments:
    def calling(self) -> Any:
        made = choice(kinds=("tool", "tool", None))
        first = replace(made.steps[0].parts[0], text='{"a":1,')  # type: ignore[index]
        second = replace(made.steps[1].parts[0], text='"b":2}', name=None)  # type: ignore[index]
        steps = (replace(made.steps[0], parts=(first,)), replace(made.steps[1], parts=(second,)), made.steps[2])
        return told(replace(made, steps=steps, parts=(first, second)))

    def test_the_value_stays_the_spelling_changes(self) -> None:
        changed = distorted("tool-arguments-reserialised", self.calling(), ask(tools=({},))).choices[0]
        written = "".join(part.text for part in changed.parts or ())

        assert '{"b":2,"a":1}' == written
        assert [["add", ""], [None, written]] == [
            [part.name, part.text] for s in changed.steps for part in s.parts or ()
        ]

    def test_an_answer_without_a_call(self) -> None:
        with pytest.raises(FaultError, match="calls no tool"):
            distorted("tool-arguments-reserialised", told(), ask(tools=({},)))


class TestTurns:
    first = ({"role": "user", "content": "a"},)
    second = (*first, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"})

    def worded(self) -> Any:
        prompt = replace(told().prompts[0], token_ids=TOKENIZER.encode("Hello there, how are you"))
        return replace(told(), prompts=(prompt,))

    @pytest.mark.parametrize("name", ["turn-prompt-drifts", "turn-ids-vanish", "turn-prompt-compacted"])
    def test_the_first_turn_is_healthy(self, name: str) -> None:
        healthy = self.worded()

        assert healthy == distorted(name, healthy, ask(messages=self.first), tokenizer=TOKENIZER)

    def test_the_second_turn_is_tokenised_otherwise(self) -> None:
        healthy = self.worded()

        changed = distorted("turn-prompt-drifts", healthy, ask(messages=self.second), tokenizer=TOKENIZER)

        assert healthy.prompts[0].token_ids != changed.prompts[0].token_ids
        assert "Hello there, how are you" == TOKENIZER.decode(changed.prompts[0].token_ids)

    def test_ids_vanish(self) -> None:
        changed = distorted("turn-ids-vanish", told(), ask(messages=self.second))

        assert (None, None) == (changed.prompts[0].token_ids, changed.choices[0].ids)

    def test_a_compacted_context(self) -> None:
        entry = {"turn-prompt-compacted": {"from_turn": 2, "keep": 2}}

        changed = distorted(entry, told(), ask(messages=self.second))

        assert ((102, 103), 2) == (changed.prompts[0].token_ids, changed.usage.prompt_tokens)

    def test_an_api_without_turns(self) -> None:
        with pytest.raises(FaultError, match="completions has no turns"):
            distorted("turn-ids-vanish", told(), ask("completions"))


def test_faults_never_change_what_they_are_given() -> None:
    before = told()
    faulty.distorted("completion-ids-doubled", before)

    assert told() == before
