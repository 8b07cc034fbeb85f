"""Mutant clients that send or read the wrong bytes. The docstring says how, and who was seen to do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...capture import Capture
from ...reading import Refused
from ..drivers.http import HttpAnswer
from .reference import Message, Reference
from .surgery import Event, carries, choices_of, events_of, is_silent, mapped, member, without, written


class ReadOnlyTopLevel(Reference):
    """Looks for prompt ids at the top of the answer only (verifiers 0.3.0 chat)."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        if message["api"] != "chat":
            return answer.body
        return mapped(answer.body, lambda event: without(event, "prompt_token_ids", keep_top=True))


class LateScoreIgnored(Reference):
    """Stops reading a choice at its finish_reason (litellm 1.110.2)."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        ended: set[Any] = set()

        def before_the_end(event: Event) -> Event:
            if not choices_of(event):
                return event
            kept = [choice for choice in choices_of(event) if choice.get("index") not in ended]
            ended.update(choice.get("index") for choice in kept if choice.get("finish_reason"))
            return {**event, "choices": kept}

        return mapped(answer.body, before_the_end)


class LastChunkLost(Reference):
    """Loses the last chunk of a stream that carries a choice."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        events = events_of(answer.body)
        if events is None:
            return answer.body
        carrying = [place for place, event in enumerate(events) if carries(event)]
        return written([event for place, event in enumerate(events) if place not in carrying[-1:]])

    def forgive(self, refused: Refused, sent: Capture) -> bool:
        return refused.kind not in ("error-status", "error-event", "error-body", "unreadable")


class EmptyTextChunksSkipped(Reference):
    """Skips chunks without text, and their scores and ids with them."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        events = events_of(answer.body)
        if events is None or message["api"] not in ("chat", "completions"):
            return answer.body
        return written([event for event in events if not is_silent(event)])

    def forgive(self, refused: Refused, sent: Capture) -> bool:
        return refused.kind in ("count-mismatch", "usage-mismatch")


class SplitOnLfOnly(Reference):
    """Knows only LF as a line end."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        if events_of(answer.body) is None or not message["stream"]:
            return answer.body
        kept = [line for line in answer.body.split(b"\n") if not line.endswith(b"\r") and b"\r" not in line]
        return b"\n".join(kept)


class Splitlines(Reference):
    """Splits lines as ``str.splitlines`` does: at U+2028 and NEL too (httpx ``iter_lines`` users)."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        if not message["stream"]:
            return answer.body
        lines = answer.body.decode("utf-8", "replace").splitlines()
        return "\n".join([*lines, "", ""]).encode()


class BlindRetry(Reference):
    """Calls twice, whatever the first answer was."""

    async def send(self, message: Message, request: Mapping[str, Any]) -> HttpAnswer:
        await super().send(message, request)
        return await super().send(message, request)


class OmitFlag(Reference):
    """Keeps the flag for ids to itself."""

    def request(self, message: Message) -> Mapping[str, Any]:
        return {key: value for key, value in message["request"].items() if not key.startswith("return_")}


class MergeReplacesExtraBody(Reference):
    """Puts the flag in the place of the caller's own extra fields instead of beside them."""

    def request(self, message: Message) -> Mapping[str, Any]:
        return {key: value for key, value in message["request"].items() if not key.startswith("x_")}


class CumulativeDoubled(Reference):
    """Appends every chunk of a stream that repeats itself (SGLang's native one)."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        events = events_of(answer.body)
        if message["api"] != "generate" or events is None:
            return answer.body
        ids: list[Any] = []
        scores: list[Any] = []
        for event in events:
            meta = member(event, "meta_info")
            ids += event.get("output_ids") or []
            scores += meta.get("output_token_logprobs") or []
            if "output_ids" in event:
                event["output_ids"] = [*ids]
                event["meta_info"] = {**meta, "output_token_logprobs": [*scores], "completion_tokens": len(ids)}
        return written(events)


class FirstChunkPromptOnly(Reference):
    """Looks for prompt ids in the first chunk of a stream only (rllm-model-gateway 0.1.0)."""

    def body(self, message: Message, answer: HttpAnswer) -> bytes:
        events = events_of(answer.body)
        if events is None:
            return answer.body
        return written([events[0], *(without(event, "prompt_token_ids") for event in events[1:])])
