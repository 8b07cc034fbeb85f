"""Adapters that are no clients: each breaks the protocol, or the run, in its own way; the suite has a word for each.

    fakellm conform client -- python -m fakellm.conform.mutants.degenerate floods-stdout

They speak JSON lines on stdin and stdout as CONFORMANCE section 4 has it, up to the point where they do not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

HELLO = {
    "protocol": 1,
    "client": {"name": "degenerate", "version": "0", "language": "python"},
    "supports": {"apis": ["chat"], "stream": [False], "layouts": ["vllm-0.32.0"]},
}
Message = Mapping[str, Any]
NOTHING = [
    {
        "index": 0,
        "prompt_token_ids": None,
        "completion_token_ids": None,
        "logprobs": None,
        "text": None,
        "finish_reason": None,
    }
]


def say(value: Mapping[str, Any]) -> None:
    """One line of the protocol."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def does_nothing(message: Message) -> None:
    """Never calls anybody, and reports a capture without a value."""
    say({"seq": message["seq"], "captured": NOTHING})


def always_refuses(message: Message) -> None:
    """Refuses whatever it is asked, without a call."""
    say({"seq": message["seq"], "refused": {"kind": "mood", "message": "not today"}})


def always_skips(message: Message) -> None:
    """Declares an API and skips every errand of it."""
    say({"seq": message["seq"], "skipped": {"message": "later", "issue_url": None}})


def exits_at_once(message: Message) -> None:
    """Ends in the middle of an errand."""
    sys.exit(3)


def floods_stdout(message: Message) -> None:
    """Writes without an end, and never a line."""
    while True:
        sys.stdout.write("x" * 65536)


def hangs(message: Message) -> None:
    """Takes an errand and says nothing."""
    time.sleep(3600)


def splits_lines(message: Message) -> None:
    """Writes one answer over several lines."""
    sys.stdout.write(json.dumps({"seq": message["seq"], "captured": NOTHING}, indent=2) + "\n")
    sys.stdout.flush()


def answers_twice(message: Message) -> None:
    """Gives two answers to one errand."""
    does_nothing(message)
    does_nothing(message)


def unknown_seq(message: Message) -> None:
    """Answers an errand that nobody gave."""
    say({"seq": "nobody asked", "captured": NOTHING})


def hangs_on_stop(message: Message) -> None:
    """Works, and does not end when it is told to."""
    does_nothing(message)


KINDS: Mapping[str, Callable[[Message], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        does_nothing,
        always_refuses,
        always_skips,
        exits_at_once,
        floods_stdout,
        hangs,
        splits_lines,
        answers_twice,
        unknown_seq,
        hangs_on_stop,
    )
}
"""Every degenerate adapter by its name."""


def main() -> None:
    """The command: one of them by its name."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in KINDS:
        sys.exit(f"give one of: {', '.join(KINDS)}")
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "start":
            say(HELLO)
        elif message["cmd"] == "run":
            KINDS[name](message)
        elif name == "hangs-on-stop":
            time.sleep(3600)
        else:
            break


if __name__ == "__main__":
    main()
