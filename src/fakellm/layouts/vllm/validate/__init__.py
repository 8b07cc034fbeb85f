"""How vLLM reads and refuses requests.

``read`` turns a request into a parsed body or the version's own refusal; ``check_context`` and ``engine_checks`` need
the prompt. Parts: ``kinds`` and ``records`` (types as data), one module per API (its fields and checks), ``spelling``
(how a version writes a refusal).
"""

from . import refusals
from .accepted import Accepted
from .apis import recognised
from .checks import Rules
from .context import check_context
from .conversation import refused_conversation
from .engine import engine_checks
from .flaws import Refusal
from .queries import QUERIES, read_query
from .read import Parsed, read

__all__ = [
    "QUERIES",
    "Accepted",
    "Parsed",
    "Refusal",
    "Rules",
    "check_context",
    "engine_checks",
    "read",
    "read_query",
    "recognised",
    "refusals",
    "refused_conversation",
]
