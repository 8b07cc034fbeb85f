"""Requests that the golden library does not hold, made up to look where a fake could part from vLLM.

Each module fills a :class:`~golden_vllm.probes.book.Book` with requests of one kind; ``plans`` groups them by the
server that they need. Chance is seeded, so that the same names always mean the same requests.
"""

from .plans import plans

__all__ = ["plans"]
