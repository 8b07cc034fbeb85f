"""What differs between versions on ``/v1/responses``: one frozen set of knobs each (research, vllm.md 3.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class ResponseRules:
    """Defaults are those of 0.32.0."""

    stream: str = "items"
    """How streams are built: ``flat`` (up to 0.16), ``single`` (0.20.2), ``items`` (from 0.24)."""
    incomplete: bool = True
    """A cut answer is ``incomplete`` (from 0.16); the body has incomplete_details (from 0.12, see ``turns``)."""
    turns: bool = True
    """incomplete_details, ``*_per_turn`` and the raw messages exist (from 0.12)."""
    messages: bool = True
    """enable_response_messages works (from 0.16)."""
    penalties: bool = True
    """presence_penalty, frequency_penalty and kv_transfer_params are shown (from 0.20.2)."""
    transfer: bool = True
    """ec_transfer_params is shown (from 0.28)."""
    cache_write: bool = True
    """cache_write_tokens is shown (0.32)."""
    metrics: bool = True
    """The metrics object may be shown (0.32)."""
    counts_stream: bool = True
    """A stream's reasoning tokens are those that the stream showed (0.32)."""
    reads_again: bool = False
    """response.completed is parsed anew from the whole text, with new ids and all scores (0.16 to 0.28)."""
    last_only: bool = False
    """response.completed is made of the last step alone (up to 0.12)."""
    always_message: bool = True
    """Without parsers an empty answer is a message without content (from 0.16)."""
    sdk_bodies: bool = False
    """A stream's first events show the SDK's own object, and its last is never sent (0.10.2)."""
    dashed_ids: bool = False
    """Streamed items have dashed uuids (up to 0.16)."""
    prefixed_ids: bool = True
    """Streamed items have prefixed ids (0.32)."""
    summary: bool = False
    """A streamed message's last item has ``"summary": []`` (up to 0.28)."""
    reasoning_part: str = "content_part"
    """The events around streamed reasoning: ``content_part`` (0.32), ``reasoning_part`` (0.20.2 to 0.28)."""
    stream_call_ids: str = "chatcmpl-tool-"
    """Prefix of a streamed call's id."""
    call_ids: str = "chatcmpl-tool-"
    """Prefix of a call's id in whole answers."""
    empty_call_done: bool = True
    """A call without arguments gets its arguments.done event too (0.32)."""
    part_scores: bool = True
    """content_part.done and output_item.done carry the scores that were streamed (0.32)."""
    filters_calls: bool = True
    """parallel_tool_calls: false leaves the first call (0.32)."""
    custom_tools: bool = True
    """Custom tools are calls of their own (0.32)."""
    aliases: bool = True
    """Members with a Python name of their own (async, schema) are written by their JSON name (from 0.20.2)."""
    as_ids: bool = True
    """--return-tokens-as-token-ids counts (from 0.16)."""
    parallel_default: bool = True
    """A parallel_tool_calls that is null is shown as true (from 0.28); before, it is refused."""
    raw_inputs: bool = False
    """Input items go to the chat template as they are: those that are no messages break the server (0.10.2)."""
    shows_forced: bool = False
    """A forced tool choice shows as the schema it became (0.12 to 0.20.2)."""
    forced_description: str | None = None
    """The description of that schema (0.12 and 0.16)."""
    schema_breaks: bool = False
    """A stream whose text has a JSON schema ends before its first event (0.16)."""
    raw_strings: bool = False
    """The raw messages of a stream are JSON in strings, one of every step (0.16)."""


RULES_0_32 = ResponseRules()
RULES_0_28 = replace(
    RULES_0_32,
    cache_write=False,
    metrics=False,
    counts_stream=False,
    reads_again=True,
    prefixed_ids=False,
    summary=True,
    reasoning_part="reasoning_part",
    stream_call_ids="call_",
    empty_call_done=False,
    part_scores=False,
    filters_calls=False,
    custom_tools=False,
)
RULES_0_24 = replace(RULES_0_28, transfer=False, parallel_default=False)
RULES_0_20_2 = replace(RULES_0_24, stream="single", shows_forced=True)
RULES_0_16 = replace(
    RULES_0_20_2,
    stream="flat",
    aliases=False,
    penalties=False,
    dashed_ids=True,
    reasoning_part="content_part",
    forced_description="Response format for tool calling",
    schema_breaks=True,
    raw_strings=True,
)
RULES_0_12 = replace(
    RULES_0_16,
    incomplete=False,
    messages=False,
    reads_again=False,
    last_only=True,
    always_message=False,
    call_ids="call_",
    as_ids=False,
)
RULES_0_10_2 = replace(RULES_0_12, turns=False, sdk_bodies=True, shows_forced=False, raw_inputs=True)

RESPONSE_RULES: dict[str, ResponseRules] = {
    "0.10.2": RULES_0_10_2,
    "0.12.0": RULES_0_12,
    "0.16.0": RULES_0_16,
    "0.20.2": RULES_0_20_2,
    "0.24.0": RULES_0_24,
    "0.28.0": RULES_0_28,
    "0.32.0": RULES_0_32,
}
