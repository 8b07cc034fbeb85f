"""The APIs that take a JSON body, by name: which record, which checks of the raw body, which checks of the handler.

Adding an API is one entry here and one module with its fields. Names are those of ``Ask.api``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import anthropic, batch, chat, completions, derender, responses, tokenization, tokens_in
from .checks import Check, Rules
from .conversation import check_conversation, check_conversations
from .handler import (
    HandlerCheck,
    check_empty_conversation,
    check_handed_ids,
    check_media,
    check_model,
    check_template_trust,
    check_tool_parsing,
)
from .lazy import check_calls
from .records import Branches, Record, Version

OwnCheck = Callable[[Mapping[str, Any], Mapping[str, Any], Rules], None]
Fields = Callable[[Version, int], Record | Branches]


def _no_checks(version: Version) -> tuple[Check, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ApiReader:
    """How one API reads its body. ``fields``: the record for a version and a limit of stop strings. ``checks``: of the
    raw body, in the order they run, for a version. ``handler_checks``: of the accepted fields, before a prompt is
    made. ``own``: the check that a field's own class makes of what was sent and what it became."""

    fields: Fields
    checks: Callable[[Version], tuple[Check, ...]] = _no_checks
    handler_checks: tuple[HandlerCheck, ...] = (check_model,)
    own: OwnCheck | None = None

    def record(self, rules: Rules) -> Record | Branches:
        """The body's record under these rules."""
        return self.fields(rules.version, rules.settings.max_stop_strings)


_CHAT = ApiReader(
    chat.fields,
    chat.checks,
    (
        check_model,
        check_tool_parsing,
        check_template_trust,
        check_media,
        check_empty_conversation,
        check_handed_ids,
        check_conversation,
    ),
    own=check_calls,
)
_COMPLETIONS = ApiReader(
    completions.fields,
    completions.checks,
    (check_model, completions.check_suffix, completions.check_embeds, completions.check_some_prompt),
)
_TOKENS_IN = ApiReader(
    tokens_in.fields,
    tokens_in.checks,
    handler_checks=(check_model, tokens_in.check_modes),
    own=tokens_in.check_params,
)

API_READERS: Mapping[str, ApiReader] = {
    "chat": _CHAT,
    "batch": ApiReader(
        batch.fields, batch.checks, (check_model, check_template_trust, batch.check_conversations, check_conversations)
    ),
    "completions": _COMPLETIONS,
    "responses": ApiReader(
        responses.fields,
        responses.checks,
        (
            check_model,
            responses.check_store,
            responses.check_history,
            check_template_trust,
            responses.check_response_tools,
            check_media,
            responses.check_empty_input,
            responses.check_input_parts,
        ),
    ),
    "generate": _TOKENS_IN,
    "tito": _TOKENS_IN,
    "messages": ApiReader(
        anthropic.messages_fields,
        handler_checks=(check_model, anthropic.check_tools, check_empty_conversation),
        own=anthropic.check_thinking,
    ),
    "count_tokens": ApiReader(anthropic.count_fields, handler_checks=(check_model, check_empty_conversation)),
    "tokenize": ApiReader(
        tokenization.tokenize_fields,
        checks=tokenization.checks,
        handler_checks=(check_model, check_template_trust, check_empty_conversation, check_conversation),
        own=tokenization.check_media,
    ),
    "detokenize": ApiReader(tokenization.detokenize_fields),
    "derender-chat": ApiReader(derender.chat_fields),
    "derender-completions": ApiReader(derender.completion_fields),
}


def recognised(api: str, rules: Rules) -> frozenset[str]:
    """The field names that a version knows; everything else in a body is ignored."""
    return API_READERS[api].record(rules).names()
