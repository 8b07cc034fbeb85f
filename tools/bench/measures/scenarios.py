"""What it costs to find the reply among 1 to 10,000: exact rules are looked up, ``contains`` rules are tried in order.

Every request is new (its ``user`` differs), so each is matched; the replies that are asked for lie all over the script.
"""

from __future__ import annotations

import itertools
from typing import Any

from ..measure import Effort, Measure, Tell, cpu_us
from ..servers import chat, fake
from ..traffic import numbered

COUNTS = (1, 10, 100, 1_000, 10_000)
REQUESTS = 3_000
ASKED_FOR = 64
"""Different replies that are asked for: each is composed before anything is measured."""


def run(effort: Effort, tell: Tell) -> dict[str, Any]:
    return {"rows": [_row(count, effort, tell) for count in COUNTS]}


def _row(count: int, effort: Effort, tell: Tell) -> dict[str, Any]:
    row: dict[str, Any] = {"replies": count}
    requests = effort.of(REQUESTS)
    for name, rule in (
        ("equals", "{last_message: question %d of all}"),
        ("contains", "{last_message: {contains: question %d of}}"),
    ):
        tell(f"{count} replies by {name}")
        replies = "".join(
            f"  - when: {rule % number}\n    say: 'the answer that was written for it'\n" for number in range(count)
        )
        with fake(f"title: {count} replies\nreplies:\n{replies}") as server:
            serial = itertools.count()

            def ask(number: int, serial: itertools.count[int] = serial) -> bytes:
                place = number * 7919 % min(count, ASKED_FOR) * max(count // ASKED_FOR, 1)
                return chat(f"question {place} of all", user=f"user {next(serial)}")

            cpu_us(server, numbered(ask, min(count, ASKED_FOR) * 4), 1)
            row[f"{name}_us"] = round(cpu_us(server, numbered(ask, requests), requests), 1)
    return row


MEASURE = Measure("scenarios", "What does it cost to find the reply among ever more?", run)
