"""Every mutant client by its name, for the kill matrix and for ``--adapter``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import hearing, spoiling, trusting
from .reference import Reference

_BASES = (Reference, spoiling.Editing, trusting.Careless)


def kebab(name: str) -> str:
    """``DropLastLogprob`` -> ``drop-last-logprob``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


NAMES = {
    "ChoiceZeroOnly": "choice-0-only",
    "AcceptNaN": "accept-NaN",
    "DropEos": "drop-EOS",
    "SplitOnLfOnly": "split-on-LF-only",
}
"""Names that are not their class's in kebab-case."""
CLIENTS: Mapping[str, type[Reference]] = {
    NAMES.get(one.__name__, kebab(one.__name__)): one
    for module in (spoiling, trusting, hearing)
    for one in vars(module).values()
    if isinstance(one, type) and issubclass(one, Reference) and one not in _BASES
}
