"""Requests made up to look where the fake could part from SGLang.

Each module fills a :class:`~golden_sglang.probes.book.Book` with requests of one kind; ``plans`` groups them by the
server that they need. Chance is seeded, so that the same names always mean the same requests.
"""

from .plans import plans

__all__ = ["plans"]
