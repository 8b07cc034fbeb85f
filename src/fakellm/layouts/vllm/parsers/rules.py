"""How each vLLM version runs its parsers: the knobs, one frozen value per version. Knows no parser's inside.

Sources: serving_chat.py up to 0.20.2 and parser/abstract_parser.py from 0.20.2, of the versions named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class ParserRules:
    """Defaults are those of 0.32.0."""

    flow: str = "phases"
    """Who leads a stream from reasoning to tools: ``serving`` (to 0.16), ``parser`` (0.20.2), ``phases`` (0.24 on)."""
    next_step: bool = False
    """After reasoning the tool parser starts with the step that follows (up to 0.12)."""
    old_hermes: bool = False
    """hermes reads partial JSON (up to 0.16)."""
    exact_hermes: bool = True
    """The old hermes sends arguments as they were written (from 0.12)."""
    hermes_shows_specials: bool = True
    """hermes makes special tokens part of the text (from 0.12)."""
    coder_bursts: bool = True
    """The old qwen3_coder takes steps of several tokens (0.20.2)."""
    any_close: bool = False
    """A closing mark anywhere ends the reasoning (up to 0.12)."""
    qwen3: str = "grammar"
    """The qwen3 reasoning parser: ``marks`` (both needed, up to 0.16), ``opened`` (0.20.2), ``grammar`` (0.24 on)."""
    strict_tools: bool = True
    """Forced tool choice goes to the tool parser, because the engine is bound to the parser's own format (0.24 on,
    unless VLLM_ENFORCE_STRICT_TOOL_CALLING=0)."""
    required: str = "places"
    """How ``required`` streams are cut: ``brackets`` (up to 0.24), ``strings`` (0.28), ``places`` (0.32)."""
    turns: bool = True
    """qwen3 searches a prompt back to its last turn only (0.32)."""
    strips_values: bool = False
    """qwen3_coder strips argument values (0.24)."""
    flushes_always: bool = True
    """At the end of reasoning the grammar's rest goes to the tool parser whatever that is (from 0.28)."""
    rest_without_tools: bool = True
    """... and to the client where there is no tool parser (0.32)."""
    keeps_marks_alone: bool = True
    """A tool parser without reasoning parser lets reasoning marks through (0.32)."""
    drops_incomplete: bool = True
    """Incomplete tool markup is dropped from whole answers as from streams (0.32)."""
    drops_specials: bool = True
    """The grammar drops every special token that it does not know, from whole answers too (from 0.28); before, only
    the ids of ``<eos>`` and the like, from streams."""
    leaves_out_calls: bool = True
    """tool_choice none: the grammar leaves calls out (from 0.28); before, they are content."""
    later_first: bool = False
    """Content that waited behind a call's mark comes before the step's own (up to 0.28)."""
    hides_reasoning: str = "always"
    """include_reasoning: false in streams: ``never`` looked at (up to 0.20.2), ``reasoning`` (0.24: where there is
    some), ``always`` (from 0.28: the member is null on every delta)."""
    named_empty: bool = True
    """A named function without any content is no call (from 0.28); before, a call without arguments, or a failure."""
    named_none: str = "kept"
    """A named function whose answer has no content (all of it is reasoning): ``kept`` as a call without arguments or
    none (from 0.24), ``asserted`` = the server fails (0.12 to 0.20.2), ``validated`` = it is refused (0.10.2)."""
    required_fails: str = "never"
    """``required`` with JSON that is no list of calls: ``never`` (from 0.20.2: no calls), ``invalid`` = it is refused
    (0.10.2), ``empty`` = and the server fails on an empty list (0.12 and 0.16)."""
    unsaid_calls: bool = True
    """Where a request says null for its tool choice, calls are taken out of the text all the same (from 0.12)."""
    required_rereads: bool = False
    """A ``required`` stream takes the reasoning out of the whole text at every step and shows none of it; without a
    reasoning parser it takes every step's text twice for the past (0.10.2)."""
    required_breaks: bool = False
    """A ``required`` stream whose text cannot become JSON ends in the JSON library's error (up to 0.12)."""
    rest_with_nulls: bool = False
    """Arguments that the last step had to add come with a null id, type and name (0.16 and 0.20.2)."""
    counts: str = "stream"
    """How reasoning tokens are counted: ``no`` (up to 0.16), ``marks`` = by the ids between them (0.20.2, 0.24),
    ``stream`` = as the stream's parser saw them (from 0.28)."""


RULES_0_32 = ParserRules()
RULES_0_28 = replace(
    RULES_0_32,
    required="strings",
    turns=False,
    rest_without_tools=False,
    keeps_marks_alone=False,
    drops_incomplete=False,
    later_first=True,
)
RULES_0_24 = replace(
    RULES_0_28,
    required="brackets",
    strips_values=True,
    flushes_always=False,
    drops_specials=False,
    leaves_out_calls=False,
    hides_reasoning="reasoning",
    named_empty=False,
    counts="marks",
)
RULES_0_20_2 = replace(
    RULES_0_24,
    flow="parser",
    qwen3="opened",
    strict_tools=False,
    hides_reasoning="never",
    rest_with_nulls=True,
    named_none="asserted",
)
RULES_0_16 = replace(
    RULES_0_20_2,
    flow="serving",
    old_hermes=True,
    qwen3="marks",
    counts="no",
    coder_bursts=False,
    required_fails="empty",
)
RULES_0_12 = replace(RULES_0_16, next_step=True, any_close=True, rest_with_nulls=False, required_breaks=True)
RULES_0_10_2 = replace(
    RULES_0_12,
    exact_hermes=False,
    hermes_shows_specials=False,
    named_none="validated",
    required_fails="invalid",
    unsaid_calls=False,
    required_rereads=True,
)

RULES: dict[str, ParserRules] = {
    "0.10.2": RULES_0_10_2,
    "0.12.0": RULES_0_12,
    "0.16.0": RULES_0_16,
    "0.20.2": RULES_0_20_2,
    "0.24.0": RULES_0_24,
    "0.28.0": RULES_0_28,
    "0.32.0": RULES_0_32,
}
