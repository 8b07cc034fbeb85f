"""When an answer can be played from pieces, and what its pieces depend on (the fast path of the stage).

Requests with equal keys and equal truth get the same bytes but for ids, time, the prompt's ids and their number.
Anything that reads the prompt's ids in another way has no key. Clock values of /generate are then whole seconds.
Knows no bytes.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...ask import Ask
from ...plan import ROOMY_TOKENS
from .call import call_of
from .chat_request import ChatRoute
from .detokenize import PROMPT_CONTEXT
from .traits import Trait, Traits

PLANNED = frozenset({"generate", "chat", "completions"})
PROMPT_MEMBERS = frozenset({"messages", "prompt", "text", "input_ids"})
"""Members of a body that say the prompt and nothing else."""


def plan_key(ask: Ask, context_length: int, traits: Traits) -> Hashable | None:
    """The key, or None. The last prompt ids are the first token's context; the room is where a long answer is cut."""
    call = call_of(ask)
    if ask.api not in PLANNED or len(call.items) != 1 or call.rids or ask.wants.echo:
        return None
    item = call.items[0]
    if (item.logprobs and item.start_len >= 0) or traits.has(Trait.PROMPT_TAIL_IN_OUTPUT_IDS):
        return None
    said = repr(sorted((name, value) for name, value in ask.body.items() if name not in PROMPT_MEMBERS))
    route = ask.options.get("route")
    ways = (
        (route.input_ids, route.output_ids, route.framed, route.tool_path, route.parsers, route.history_calls)
        if isinstance(route, ChatRoute)
        else ()
    )
    room = min(context_length - len(item.token_ids), ROOMY_TOKENS)
    return (ask.api, said, repr(ways), room, item.token_ids[-PROMPT_CONTEXT:])
