"""vLLM's ``/v1/messages``: Anthropic's API on top of chat. ``inputs`` makes the chat request, ``answer`` and
``old_stream`` turn what chat answered into Anthropic's shapes, ``rules`` says what each version does otherwise.
"""

from .api import COUNT_ROUTES, MESSAGES

__all__ = ["COUNT_ROUTES", "MESSAGES"]
