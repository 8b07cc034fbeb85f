"""vLLM's ``/v1/responses`` (facts: research, vllm.md section 3).

``inputs`` makes the conversation, ``api`` the Ask; ``body`` and ``items`` are whole answers, ``flat``, ``single`` and
``steps`` the streams of the three generations of versions; ``store`` keeps what can be asked for later; ``places`` says
where values stand.
"""

from .api import RESPONSES
from .places import places
from .store import RESPONSE_ROUTES

__all__ = ["RESPONSES", "RESPONSE_ROUTES", "places"]
