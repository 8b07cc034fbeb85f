"""``python -m support.guards NAME ARGUMENTS...``: the ``fakellm`` command without one guard."""

from __future__ import annotations

import sys

from fakellm.cli import main

from . import GUARDS

_, name, *arguments = sys.argv
next(guard for guard in GUARDS if guard.name == name).take_out()
main(arguments)
