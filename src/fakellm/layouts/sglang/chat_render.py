"""The chat route's answers, whole and streamed, from what is told.

A stream: per choice a role chunk with its first step, then what each step shows (reasoning, text, tool calls, scores
left over), finish chunks after all, sglext, usage, ``[DONE]``. Versions differ by traits. Reads only the Told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...message import Message, Rendering
from ...told import Part, Told, ToldChoice, ToldStep
from . import answers, openai_parts
from .chat_request import ChatRoute
from .native_render import NativeRenderer, in_order
from .openai_parts import Facts
from .parsers import claimed_calls, reads_array
from .traits import Trait

_NOTHING: tuple[Part, ...] = ()

NOT_A_LIST = "Internal server error: string indices must be integers, not 'str'"


@dataclass(frozen=True, slots=True)
class ChatRenderer:
    """Renders one chat answer. ``hexes``: random hex digits, for ids of tool calls."""

    facts: Facts
    route: ChatRoute
    native: NativeRenderer
    hexes: Callable[[int], str]

    def whole(self, told: Told, now: float) -> Rendering:
        """A JSON answer."""
        failed = self._failed(told)
        if failed is not None:
            return failed
        facts = self.facts
        body: dict[str, Any] = {
            "id": facts.call.rid(0),
            "object": "chat.completion",
            "created": facts.created,
            "model": facts.model,
            "choices": [self._choice(told, choice, now) for choice in told.choices],
            "usage": openai_parts.usage(told, facts),
            "metadata": openai_parts.metadata(told, openai_parts.first_count(told), facts.traits),
        }
        extension: dict[str, Any] = {**openai_parts.sglext(told, self.route.values, facts.traits), **self._ids(told)}
        if extension and facts.call.n > 1 and facts.traits.has(Trait.SPEC_DETAILS):
            extension = {"spec_tokens_details": [], **extension}  # a list of samples' details is told, be it empty
        if extension:
            body["sglext"] = extension
        return answers.json_answer(body, spelling=facts.spelling)

    def stream(self, told: Told) -> Rendering:
        """Server-sent events."""
        return answers.events(tuple(self._events(told)))

    def _failed(self, told: Told) -> Rendering | None:
        for choice in told.choices:
            failed = choice.failure
            if choice.finish_reason == "abort" and failed is not None and failed.code is not None:
                if failed.code == 400:
                    return answers.error(failed.message)
                return answers.failure(failed.message, failed.code)
            if reads_array(self.route.parsers) and _is_object(choice):
                return answers.error(NOT_A_LIST, "InternalServerError", 500)
        return None

    # whole answers

    def _choice(self, told: Told, choice: ToldChoice, now: float) -> dict[str, Any]:
        traits, values = self.facts.traits, self.route.values
        parts = choice.parts if choice.parts is not None else (Part("content", choice.text),)
        calls: list[dict[str, Any]] | None = [self._tool_call(part) for part in parts if part.kind == "tool"] or None
        finish, matched = choice.finish_reason, choice.stop_reason
        if calls is None and self.route.parsers is not None:
            calls = claimed_calls(self.route.parsers, "".join(part.text for part in parts if part.kind == "content"))
        array = reads_array(self.route.parsers)
        if array and not calls and _is_empty(choice, parts):
            calls = []
        if (calls is not None or array) and finish == "stop":
            finish, matched = "tool_calls", None
        made: dict[str, Any] = {
            "index": choice.index,
            "message": self._message(parts, calls),
            "logprobs": None
            if not values["logprobs"] or choice.scores is None
            else openai_parts.chat_logprobs(choice.scores, traits),
            "finish_reason": finish,
            "matched_stop": matched,
        }
        if values.get("return_hidden_states") and "hidden_states" in choice.extras:
            made["hidden_states"] = choice.extras["hidden_states"]
        prompt = told.prompt_of(choice)
        if (values["return_prompt_token_ids"] or values["return_token_ids"]) and prompt.token_ids is not None:
            made["prompt_token_ids"] = list(prompt.token_ids)
        if values["return_token_ids"] and choice.ids is not None:
            made["token_ids" if traits.has(Trait.CHAT_FIELD_TOKEN_IDS) else "response_token_ids"] = list(choice.ids)
        if values["return_meta_info"]:
            made["meta_info"] = self.native.object(told, choice, self.facts.call, now)["meta_info"]
            if finish == "tool_calls":  # the server changes the engine's own object
                made["meta_info"]["finish_reason"] = {"type": finish, "matched": None}
        return made

    def _message(self, parts: Sequence[Part], calls: list[dict[str, Any]] | None) -> dict[str, Any]:
        traits = self.facts.traits
        content = "".join(part.text for part in parts if part.kind == "content")
        reasoning = "".join(part.text for part in parts if part.kind == "reasoning")
        message: dict[str, Any] = {
            "role": "assistant",
            "content": content if content or traits.has(Trait.EMPTY_CONTENT_IS_TEXT) else None,
            "reasoning_content": reasoning or None,
        }
        if calls or not traits.has(Trait.TOOL_CALLS_OMITTED):
            message["tool_calls"] = calls
        return message

    def _tool_call(self, part: Part, *, named: bool = True) -> dict[str, Any]:
        return {
            "id": self._call_id(part) if named else None,
            "index": part.tool_index,
            "type": "function",
            "function": {"name": part.name if named else None, "arguments": part.text},
        }

    def _call_id(self, part: Part) -> str:
        if self.facts.settings.tool_call_parser == "kimi_k2":
            return f"functions.{part.name}:{self.route.history_calls + (part.tool_index or 0)}"
        return f"call_{self.hexes(24)}"

    def _ids(self, told: Told) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.route.input_ids and told.prompts[0].token_ids is not None:
            made["input_ids"] = list(told.prompts[0].token_ids)
        if self.route.output_ids and any(choice.ids is not None for choice in told.choices):
            made["output_ids"] = [list(choice.ids or ()) for choice in told.choices]
        return made

    # streams

    def _events(self, told: Told) -> Iterator[Message]:
        finishes: list[ToldChoice] = []
        started: set[int] = set()
        with_tools: set[int] = set()
        last, due = told.choices[0].index, 0.0
        failed = False
        for choice, number in in_order(told.choices):
            step = choice.steps[number]
            last, due = choice.index, step.due_ms
            if step.finish_reason is not None:
                error = self._failure(choice, step)
                if error is not None:
                    failed = True
                    yield error
                    break
                finishes.append(choice)
            if choice.index not in started:
                started.add(choice.index)
                yield self._chunk("role", choice.index, {"role": "assistant", "content": ""}, None, due)
            if any(part.kind == "tool" for part in step.parts or _NOTHING):
                with_tools.add(choice.index)
            yield from self._step(told, choice, step)
        for choice in finishes:
            yield self._finish(choice, last, due, called=choice.index in with_tools)
        yield from self._tail(told, last, due, failed=failed)

    def _failure(self, choice: ToldChoice, step: ToldStep) -> Message | None:
        """An engine failure in a stream; a user's abort is an ordinary end."""
        failed = choice.failure
        if step.finish_reason != "abort" or failed is None or failed.code is None:
            return None
        if not self.facts.traits.has(Trait.STREAM_ERRORS):
            return None
        return answers.stream_error(failed.message, answers.status_name(failed.code), failed.code, step.due_ms)

    def _step(self, told: Told, choice: ToldChoice, step: ToldStep) -> Iterator[Message]:
        """What one step shows: reasoning, text, calls, and scores that found no chunk."""
        traits = self.facts.traits
        scores = self._scores(choice, step)
        keeps = traits.has(Trait.PARSER_KEEPS_SCORES)
        parts = step.parts if step.parts is not None else ((Part("content", step.text),) if step.text else ())
        for part in parts:
            if part.kind == "reasoning":
                shown = scores if keeps else None
                yield self._delta(told, choice, step, {"reasoning_content": part.text}, shown)
                scores = None if keeps else scores
            elif part.kind == "tool":
                yield self._tool_delta(told, choice, step, {"tool_calls": [self._piece(part)]})
            elif self.route.tool_path:
                yield self._tool_delta(told, choice, step, {"content": part.text})
            else:
                yield self._delta(told, choice, step, {"content": part.text}, scores)
                scores = None
        settings = self.facts.settings
        if scores is not None and keeps and (settings.reasoning_parser or settings.tool_call_parser):
            yield self._delta(told, choice, step, {}, scores)

    def _piece(self, part: Part) -> dict[str, Any]:
        return self._tool_call(part, named=part.name is not None)

    def _scores(self, choice: ToldChoice, step: ToldStep) -> dict[str, Any] | None:
        if not self.route.values["logprobs"] or choice.scores is None:
            return None
        rows = choice.scores[step.scores[0] : step.scores[1]]
        return openai_parts.chat_logprobs(rows, self.facts.traits, streamed=True) if rows else None

    def _delta(
        self, told: Told, choice: ToldChoice, step: ToldStep, delta: dict[str, Any], scores: dict[str, Any] | None
    ) -> Message:
        return self._chunk(
            "delta", choice.index, delta, scores, step.due_ms, self._usage(told, choice, step), step.tokens
        )

    def _tool_delta(self, told: Told, choice: ToldChoice, step: ToldStep, delta: dict[str, Any]) -> Message:
        """A chunk of the tool path, which writes its nulls."""
        full = self._full_delta(delta)
        if self.facts.traits.has(Trait.TOOL_CALLS_OMITTED) and full["tool_calls"] is None:
            del full["tool_calls"]
        body = self._body(choice.index, full, None)
        body["usage"] = self._usage(told, choice, step)
        return Message("delta", body, choice.index, step.tokens, step.due_ms, spelling="serde")

    def _usage(self, told: Told, choice: ToldChoice, step: ToldStep) -> dict[str, Any] | None:
        _, continuous = openai_parts.includes_usage(self.route.values, self.facts.settings, self.facts.traits)
        return openai_parts.step_usage(told, choice.index, step.tokens[1], self.facts) if continuous else None

    def _full_delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {name: delta.get(name) for name in ("role", "content", "reasoning_content", "tool_calls")}

    def _body(self, index: int, delta: dict[str, Any], scores: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "id": self.facts.call.rid(index),
            "object": "chat.completion.chunk",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": [
                {"index": index, "delta": delta, "logprobs": scores, "finish_reason": None, "matched_stop": None}
            ],
        }

    def _chunk(
        self,
        kind: str,
        index: int,
        delta: dict[str, Any],
        scores: dict[str, Any] | None,
        due: float,
        usage: dict[str, Any] | None = None,
        tokens: tuple[int, int] | None = None,
    ) -> Message:
        """A chunk of the plain path: short deltas, or with every null up to 0.5.10."""
        if self.facts.traits.has(Trait.PYDANTIC_DELTAS):
            body = self._body(index, self._full_delta(delta), scores)
            body["usage"] = usage
        else:
            body = self._body(index, {"reasoning_content": None, **delta}, scores)
            if usage is not None:
                body["usage"] = usage
        return Message(kind, body, index, tokens, due, spelling="serde")

    def _finish(self, choice: ToldChoice, last: int, due: float, *, called: bool) -> Message:
        """The finish chunk of a choice, under the id of whichever choice spoke last."""
        message = self._chunk("finish", choice.index, {}, None, due)
        end = message.body["choices"][0]
        message.body["id"] = self.facts.call.rid(last)
        end["finish_reason"] = "tool_calls" if called and choice.finish_reason == "stop" else choice.finish_reason
        end["matched_stop"] = choice.stop_reason
        return message

    def _tail(self, told: Told, last: int, due: float, *, failed: bool) -> Iterator[Message]:
        traits = self.facts.traits
        plain = openai_parts.sglext(told, self.route.values, traits)
        ids = {} if failed else self._ids(told)
        if self.route.framed:
            if plain:
                yield self._late(last, due, {"usage": None, "sglext": plain}, "meta")
            if ids:
                yield self._late(last, due, {"usage": None, "sglext": ids}, "meta", event="sglext_ids")
        elif plain or ids:
            yield self._late(last, due, {"usage": None, "sglext": {**plain, **ids}}, "meta")
        include, _ = openai_parts.includes_usage(self.route.values, self.facts.settings, traits)
        if include:
            yield self._late(last, due, {"usage": openai_parts.usage(told, self.facts)}, "usage")

    def _late(self, last: int, due: float, members: dict[str, Any], kind: str, event: str | None = None) -> Message:
        body: dict[str, Any] = {**self._body(last, {}, None), "choices": [], **members}
        return Message(kind, body, due_ms=due, event=event, spelling="serde")


def _is_object(choice: ToldChoice) -> bool:
    """The content is a JSON object with members, whose names the server takes for calls."""
    parts = choice.parts if choice.parts is not None else (Part("content", choice.text),)
    try:
        value: Any = json.loads("".join(part.text for part in parts if part.kind == "content"))
    except ValueError:
        return False
    return isinstance(value, dict) and bool(cast("dict[str, Any]", value))


def _is_empty(choice: ToldChoice, parts: Sequence[Part]) -> bool:
    """The content was an empty JSON value, of which nothing is left."""
    end = choice.text.strip()[-2:]
    thoughts = "".join(part.text for part in parts if part.kind == "reasoning")
    said = any(part.kind == "content" and part.text for part in parts)
    return end in ("[]", "{}") and not said and not thoughts.strip().endswith(end)
