"""One response object: what it repeats of the request, its output, its usage; and what its parts share.

Reads only Told, the Ask and the launch facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....ask import Ask
from ....told import Part, Score, Told, ToldChoice
from ..bodies import metrics_value
from ..chat import joined
from ..frame import AnswerFacts
from ..parsers import Asked
from . import echo, items
from .rules import ResponseRules

SDK_MEMBERS = (
    *("id", "access_programs", "created_at", "error", "incomplete_details", "instructions", "metadata", "model"),
    *("object", "output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "background"),
    *("completed_at", "conversation", "image", "input_transformations", "max_output_tokens", "max_tool_calls"),
    *("moderation", "previous_response_id", "prompt", "prompt_cache_diagnostics", "prompt_cache_key"),
    *("prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "status"),
    *("text", "tool_usage", "top_logprobs", "truncation", "usage", "user"),
)
"""The members of the openai SDK's own Response (3.57), which 0.10.2 puts into its streams."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response being written. ``hex``: fresh random hex digits; ``read``: the parsers' view of a whole text (None =
    no parsers)."""

    told: Told
    ask: Ask
    facts: AnswerFacts
    rules: ResponseRules
    hex: Callable[[int], str]
    read: Callable[[str], tuple[Part, ...]] | None = None

    @property
    def choice(self) -> ToldChoice:
        return self.told.choices[0]

    @property
    def parsing(self) -> Asked:
        asked: Asked = self.ask.options["parsing"]
        return asked

    @property
    def tools(self) -> Sequence[Any]:
        return self.ask.tools

    @property
    def hides_scores(self) -> bool:
        """include_reasoning: false where anything is parsed (from 0.28): scores would show the reasoning."""
        return self.choice.parts is not None and not self.parsing.include_reasoning

    @property
    def wants_scores(self) -> bool:
        return self.ask.wants.logprobs and self.choice.scores is not None and not self.hides_scores

    @property
    def as_ids(self) -> bool:
        return self.ask.wants.tokens_as_ids

    def new_id(self, prefix: str) -> str:
        return prefix + self.hex(self.facts.shape.id_digits)

    def scores(self, span: tuple[int, int] | None = None) -> list[Score | None]:
        """The scores of a span (None = all)."""
        scores = list(self.choice.scores or ())
        return scores if span is None else scores[span[0] : span[1]]

    def entries(self, span: tuple[int, int] | None = None) -> list[Any]:
        return [items.entry(score, as_ids=self.as_ids) for score in self.scores(span)]

    # ----------------------------------------------------------------- output

    def output(self) -> list[Any]:
        """The items of the whole answer, every id fresh."""
        logprobs = self.entries() if self.wants_scores and self.choice.scores else None
        if self.choice.parts is None:
            if not self.choice.text and not self.rules.always_message:
                return []
            content = [items.text_part(self.choice.text, logprobs)] if self.choice.text else []
            return [items.message(self.new_id("msg_"), content)]
        return self.items_of(self.choice.parts, logprobs)

    def items_of(self, parts: Sequence[Part], logprobs: list[Any] | None) -> list[Any]:
        """Reasoning, message and calls, where there are any."""
        thought, content, calls = joined(parts)
        out: list[Any] = []
        if thought:
            out.append(items.reasoning(self.new_id("rs_"), thought, None))
        if content:
            out.append(items.message(self.new_id("msg_"), [items.text_part(content, logprobs)]))
        if self.rules.filters_calls and self.ask.body.get("parallel_tool_calls") is False:
            calls = calls[:1]
        out.extend(self._call(name, arguments) for name, arguments in calls)
        return out

    def last_output(self) -> list[Any]:
        """The items of the last step alone, which is all that streams up to 0.12 look at in the end."""
        if not self.choice.steps:
            return []
        last = self.choice.steps[-1]
        logprobs = self.entries(last.scores) if self.wants_scores else None
        if self.read is not None:
            return self.items_of(self.read(last.text), logprobs)
        return [items.message(self.new_id("msg_"), [items.text_part(last.text, logprobs)])] if last.text else []

    def _call(self, called: str, arguments: str) -> Any:
        name = items.call_name(called, self.tools, custom_tools=self.rules.custom_tools)
        call_id = self.new_id(self.rules.call_ids)
        if name.custom:
            return items.custom_call(self.new_id("ctc_"), call_id, name, items.custom_input(arguments))
        item = items.function_call(self.new_id("fc_"), call_id, name, arguments)
        return item if self.rules.aliases else echo.python_names(item)

    # ------------------------------------------------------------------- body

    def status(self) -> str:
        cut = self.rules.incomplete and self.choice.finish_reason == "length"
        return "incomplete" if cut else "completed"

    def finished(self, output: list[Any], *, streamed: bool = False) -> dict[str, Any]:
        """The response at its end."""
        return self.body(output, self.status(), ended=True, streamed=streamed)

    def body(self, output: list[Any], status: str, *, ended: bool = False, streamed: bool = False) -> dict[str, Any]:
        """The response object. ``ended``: with usage, and with raw messages where they were asked for."""
        rules, echoed = self.rules, self.ask.options["echo"]
        tools, text = echo.tools(self.tools), echo.text(echoed["text"])
        if not rules.aliases:
            tools = [echo.python_names(tool) for tool in tools]
            text = text and {**text, "format": echo.python_names(text["format"])}
        body: dict[str, Any] = {"id": self.facts.id, "created_at": self.facts.created}
        if rules.turns:
            body["incomplete_details"] = {"reason": "max_output_tokens"} if status == "incomplete" else None
        body.update(
            instructions=echoed["instructions"],
            metadata=echoed["metadata"],
            model=self.facts.model,
            object="response",
            output=output,
            parallel_tool_calls=echoed["parallel_tool_calls"],
            temperature=echoed["temperature"],
            tool_choice=echo.tool_choice(echoed["tool_choice"]),
            tools=tools,
            top_p=echoed["top_p"],
            background=echoed["background"],
            max_output_tokens=self.ask.sampling.max_tokens,
            max_tool_calls=echoed["max_tool_calls"],
            previous_response_id=echoed["previous_response_id"],
            prompt=None,
            reasoning=echo.reasoning(echoed["reasoning"]),
            service_tier=echoed["service_tier"],
            status=status,
            text=text,
            top_logprobs=self.ask.options["engine_top"] if self.ask.wants.logprobs else None,
            truncation=echoed["truncation"],
            usage=self.usage() if ended else None,
            user=echoed["user"],
        )
        if ended and rules.metrics and self.facts.metrics:
            body["metrics"] = metrics_value(self.facts.engine, nulls=True)
        if rules.penalties:
            body["presence_penalty"] = echoed["presence_penalty"]
            body["frequency_penalty"] = echoed["frequency_penalty"]
            body["kv_transfer_params"] = self.told.extras.get("kv_transfer_params") if ended else None
        if rules.transfer:
            body["ec_transfer_params"] = self.told.extras.get("ec_transfer_params") if ended else None
        if rules.turns:
            shown = ended and self.ask.options["response_messages"]
            body["input_messages"] = self._input_messages(streamed) if shown else None
            body["output_messages"] = self._output_messages(streamed) if shown else None
        return body

    def sdk_body(self, status: str) -> dict[str, Any]:
        """The beginning of a stream in 0.10.2: the SDK's own object, seconds as a float."""
        body = self.body([], status)
        shown = {name: body.get(name) for name in SDK_MEMBERS}
        shown["created_at"] = float(self.facts.created)
        return shown

    def usage(self) -> dict[str, Any]:
        usage = self.told.usage
        details: dict[str, Any] = {"cached_tokens": usage.cached_tokens or 0}
        if self.rules.cache_write:
            details["cache_write_tokens"] = 0
        output: dict[str, Any] = {"reasoning_tokens": usage.reasoning_tokens or 0, "tool_output_tokens": 0}
        if self.rules.turns:
            details.update(input_tokens_per_turn=[], cached_tokens_per_turn=[])
            output.update(output_tokens_per_turn=[], tool_output_tokens_per_turn=[])
        return {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": details,
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": output,
            "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
        }

    # ----------------------------------------------------------- raw messages

    def _input_messages(self, streamed: bool) -> list[Any]:
        prompt = self.told.prompts[0]
        ids = [] if prompt.token_ids is None else list(prompt.token_ids)
        return [self._raw(prompt.text or "", ids, streamed)]

    def _output_messages(self, streamed: bool) -> list[Any]:
        ids = list(self.choice.ids or ())
        if streamed and self.rules.raw_strings:
            return [self._raw(step.text, ids[step.ids[0] : step.ids[1]], streamed) for step in self.choice.steps]
        if not self.choice.text and not ids:
            return []
        return [self._raw(self.choice.text, ids, streamed)]

    def _raw(self, text: str, ids: list[Any], streamed: bool) -> Any:
        raw = {"message": text, "tokens": ids, "type": "raw_message_tokens"}
        if streamed and self.rules.raw_strings:
            return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
        return raw
