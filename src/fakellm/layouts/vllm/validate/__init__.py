"""How vLLM reads and refuses requests.

``read`` turns a request into a parsed body or the version's own refusal; ``check_context`` and ``engine_checks`` need
the prompt. Parts: ``kinds`` and ``records`` (types as data), one module per API (its fields and checks), ``spelling``
(how a version writes a refusal).
"""

from .context import check_context
from .engine import engine_checks
from .flaws import Refusal
from .read import Parsed, read

__all__ = ["Parsed", "Refusal", "check_context", "engine_checks", "read"]
