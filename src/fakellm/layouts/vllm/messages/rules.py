"""What differs between vLLM versions on ``/v1/messages``: one frozen set of knobs per version (it exists from 0.12)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class MessageRules:
    """Defaults are those of 0.32.0."""

    blocks: bool = True
    """Blocks are told apart by type, reasoning is shown as thinking (from 0.20.2); before, text and tools alone."""
    continuous: bool = True
    """message_start shows usage (from 0.16)."""
    start_stop: bool = True
    """message_start shows stop_reason and stop_sequence (from 0.20.2)."""
    start_role: bool = True
    """message_start shows type and role (from 0.24)."""
    waits_for_tools: bool = True
    """Text inside a call waits until the call's block ends (from 0.24)."""
    cache_usage: bool = True
    """Cached tokens are told apart where the server shows them (from 0.24)."""
    empty_text: bool = True
    """An answer without any content is one empty text block (from 0.28)."""
    stop_sequence: bool = True
    """A stop string is a stop_sequence (0.32); before, the end of the turn."""
    refuses_input: bool = True
    """A call whose arguments are no object is a bad request (from 0.28); before, an internal error."""
    done: bool = False
    """Streams end in [DONE] (up to 0.16)."""
    keeps_system: bool = False
    """Billing headers of Claude Code stay in the system prompt (0.12 and 0.16)."""
    result_ids: bool = True
    """Tool results name the call by tool_use_id and join their texts (from 0.20.2)."""
    counts: bool = True
    """/v1/messages/count_tokens exists (from 0.20.2)."""
    inline_system: bool = True
    """Messages may have the role system (from 0.24)."""


RULES_0_32 = MessageRules()
RULES_0_28 = replace(RULES_0_32, stop_sequence=False)
RULES_0_24 = replace(RULES_0_28, empty_text=False, refuses_input=False)
RULES_0_20_2 = replace(RULES_0_24, start_role=False, waits_for_tools=False, cache_usage=False, inline_system=False)
RULES_0_16 = replace(
    RULES_0_20_2,
    blocks=False,
    start_stop=False,
    done=True,
    keeps_system=True,
    result_ids=False,
    counts=False,
)
RULES_0_12 = replace(RULES_0_16, continuous=False)

MESSAGE_RULES: dict[str, MessageRules] = {
    "0.12.0": RULES_0_12,
    "0.16.0": RULES_0_16,
    "0.20.2": RULES_0_20_2,
    "0.24.0": RULES_0_24,
    "0.28.0": RULES_0_28,
    "0.32.0": RULES_0_32,
}
