"""``/v1/chat/completions`` answered whole, for every version (facts: research, vllm.md 1.1 and 1.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...message import Rendering
from ...told import ToldChoice
from .bodies import ENGINE_FAILURE, cached_details, json_answer, metrics_value, usage_value
from .chat import Answer, entries, ids_of, joined, prompt_rows


@dataclass(frozen=True, slots=True)
class ChatBody(Answer):
    """One whole answer."""

    def render(self) -> Rendering:
        shape = self.facts.shape
        if any(choice.failure is not None for choice in self.told.choices):
            return json_answer(ENGINE_FAILURE, status=500)
        details = None
        if self.facts.prompt_details:
            details = cached_details(self.told, "cached_tokens", "created_cache_tokens", "multimodal_tokens")
        usage = usage_value(self.told, details=details, completion_details=shape.completion_details)
        prompt = self.told.prompts[0]
        body: dict[str, Any] = {
            "id": self.facts.id,
            "object": "chat.completion",
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": [self._choice(choice) for choice in self.told.choices],
            "service_tier": None,
            "system_fingerprint": self.facts.fingerprint,
            "usage": usage,
            "prompt_logprobs": prompt_rows(prompt.scores),
            "prompt_token_ids": list(prompt.token_ids)
            if self.ask.wants.prompt_token_ids and prompt.token_ids is not None
            else None,
        }
        if shape.prompt_text:
            body["prompt_text"] = prompt.text if self.ask.options.get("return_prompt_text") else None
        body["kv_transfer_params"] = self.told.extras.get("kv_transfer_params")
        if shape.completion_details:
            body["ec_transfer_params"] = self.told.extras.get("ec_transfer_params")
        if shape.metrics_object:
            body["metrics"] = (
                metrics_value(self.facts.engine, nulls=True) if self.facts.metrics and self.ask.n == 1 else None
            )
        return json_answer(body, headers=self.facts.headers)

    def _choice(self, choice: ToldChoice) -> dict[str, Any]:
        shape = self.facts.shape
        row: dict[str, Any] = {
            "index": choice.index,
            "message": self._message(choice),
            "logprobs": entries(choice.scores) if self.shows_scores and choice.scores is not None else None,
            "finish_reason": self._finish_reason(choice),
            "stop_reason": choice.stop_reason,
            "token_ids": ids_of(choice) if self.shows_ids else None,
        }
        if shape.routed_experts:
            row["routed_experts"] = choice.extras.get("routed_experts")
        return row

    def _finish_reason(self, choice: ToldChoice) -> str | None:
        """A call of the model's choice ends in tool_calls whatever the engine said; ``required`` where it stopped."""
        called = any(part.kind == "tool" for part in choice.parts or ())
        choice_kind = self.parsing.choice
        stopped = choice_kind == "required" and choice.finish_reason == "stop"
        if (choice_kind == "auto" and called) or (stopped and self.facts.shape.required_is_call):
            return "tool_calls"
        return choice.finish_reason

    def _message(self, choice: ToldChoice) -> dict[str, Any]:
        shape = self.facts.shape
        reasoning, content, calls = None, choice.text, []
        if choice.parts is not None:
            reasoning, content, calls = joined(choice.parts)
        if self.parsing.forced or self.ask.wants.echo:
            content = content or ""
        if self.ask.wants.echo:
            content = str(self.ask.options.get("echo_text", "")) + (content or "")
        message: dict[str, Any] = {
            "role": self.role,
            "content": content,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
        }
        if self.one_call:
            calls = calls[:1]
        if calls or shape.tool_calls_always:
            message["tool_calls"] = [
                {
                    "id": self.facts.tool_id(choice.index, place, False),
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for place, (name, arguments) in enumerate(calls)
            ]
        message.update(dict.fromkeys(shape.reasoning_keys, reasoning))
        return message
