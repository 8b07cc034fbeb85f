"""How many examples a fuzz test draws: few in ``make test``, as many as ``make soak`` asks for."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SOAKING = "FAKELLM_EXAMPLES" in os.environ
"""Whether examples are drawn at random; `make test` always draws the same, so that it never fails by luck."""
EXAMPLES = int(os.environ.get("FAKELLM_EXAMPLES", "25"))
FUZZED = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=not SOAKING, suppress_health_check=list(HealthCheck)
)
"""How a fuzz test runs that `make soak` runs too."""
