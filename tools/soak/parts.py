"""The parts of a soak: commands with a share of the time. Each is run again and again, on other examples, until its
share is over; a part that fails ends red with its own words. Pytest draws its examples by ``FAKELLM_EXAMPLES``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

EXAMPLES = 40
"""A round of a fuzz test: so that a round takes some ten seconds and the clock is looked at in between."""


@dataclass(frozen=True, slots=True)
class Part:
    """``share``: of the whole time; ``tests``: what pytest runs in each round, none = requests by schemathesis against
    a server of ``layouts``; ``once``: one round is all there is."""

    name: str
    share: float
    tests: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    layouts: Sequence[str] = ()
    once: bool = False


PARTS = (
    Part(
        "requests by our OpenAPI", 0.35, layouts=("vllm-0.32.0", "sglang", "dynamo", "openai", "vllm-0.10.2", "ollama")
    ),
    Part("bodies", 0.2, ("tests/property/test_described.py", "tests/property/test_requests.py")),
    Part(
        "bytes of connections",
        0.08,
        ("tests/unit/server/test_direct.py::TestTheSameBytes::test_any_requests_in_any_pieces",),
    ),
    Part("bytes of streams", 0.08, ("tests/property/test_stream_bytes.py",)),
    Part("scenarios", 0.08, ("tests/unit/scenario/test_load.py::TestNothingElseIsRaised",)),
    Part("captures, recordings, reports, baselines, verdicts", 0.13, ("tests/property/test_files.py",)),
    Part(
        "5,000 idle streams",
        0.08,
        ("tests/robustness/test_guards.py::test_it_holds[thousands_of_idle_streams]",),
        {"FAKELLM_STREAMS": "5000"},
        once=True,
    ),
)
