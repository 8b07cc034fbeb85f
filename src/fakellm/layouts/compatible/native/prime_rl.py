"""prime-rl's ``/v1/chat/completions/tokens``: a chat request whose prompt ids the client gives (``tokens``).

The answer is chat's. As verifiers 0.3.0 calls it.
"""

from __future__ import annotations

from dataclasses import replace

from ....ask import Ask, Prompt, Request
from ...base import AccessorTable, Context
from ...common.fields import as_tuple
from ..errors import Refusal
from ..hear import hear_chat
from ..station import CompatibleStation, Native


def _hear(request: Request, station: CompatibleStation, context: Context) -> Ask:
    ask = hear_chat(request, station.traits, station.tokenizer, station.model)
    ids = as_tuple(ask.body.get("tokens"))
    if not ids or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        raise Refusal("'tokens' must be a list of token ids", param="tokens")
    return replace(ask, prompts=(Prompt(ids),))


NATIVES = (Native("tokens", ("/v1/chat/completions/tokens",), _hear),)
ACCESSORS: AccessorTable = {}
