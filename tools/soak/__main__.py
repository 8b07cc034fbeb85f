"""Run the parts of a soak within a time: ``python -m soak [--seconds 600] [--only WORD]``.

Says what it does as it goes, one line a round, and at the end how often each part ran. Exit code 1: something was
found (its output stands above); 5: nothing ran. Requests are fuzzed by schemathesis, which lives in an environment of
its own (``.soak/venv``) beside this checkout, since nothing else needs it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from .parts import EXAMPLES, PARTS, Part

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".soak"
SCHEMATHESIS = HOME / "venv" / "bin" / "schemathesis"
START_SECONDS = 30.0
SCHEMATHESIS_SECONDS = 12.0
"""What it and a server take to start, beside the time that it is given."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", "600")))
    parser.add_argument("--only", default="", help="parts whose name holds this")
    chosen = parser.parse_args()
    parts = [part for part in PARTS if chosen.only in part.name]
    whole = sum(part.share for part in parts)
    HOME.mkdir(exist_ok=True)
    vendor = HOME / "vendor-500.txt"
    vendor.unlink(missing_ok=True)
    began = time.monotonic()
    red: set[str] = set()
    rounds: Counter[str] = Counter()
    due = began
    for part in parts:
        due += chosen.seconds * part.share / whole
        seconds = max(due - time.monotonic(), 0.0)  # a part that took longer leaves less to the next
        say(began, f"{part.name}: {seconds:.0f} seconds")
        for green in played(part, seconds, began):
            rounds[part.name] += 1
            if not green:
                red.add(part.name)
                say(began, f"{part.name}: RED, see above")
                if not part.layouts:  # the same again would only say the same; another layout may say more
                    break
    for part in parts:
        say(began, f"{part.name}: {rounds[part.name]} rounds")
    if vendor.is_file():
        counted = Counter(vendor.read_text().splitlines())
        say(began, "errors 5xx that the played servers give themselves, and so does the fake:")
        for kind, times in counted.most_common():
            print(f"    {times} x {kind}")
    if not rounds or any(not rounds[part.name] for part in parts):
        say(began, "a part did not run: nothing was proved by it")
        return 5
    say(began, f"{len(red)} of {len(parts)} parts are red" if red else "nothing was found")
    return 1 if red else 0


def played(part: Part, seconds: float, began: float) -> Iterator[bool]:
    """Rounds of one part until its time is over; whether each was green."""
    until = time.monotonic() + seconds
    number = 0
    while not number or (time.monotonic() < until and not part.once):
        number += 1
        if part.layouts:
            layout = part.layouts[(number - 1) % len(part.layouts)]
            share = max(seconds / len(part.layouts) - SCHEMATHESIS_SECONDS, 5.0)
            green, cases = fuzzed(layout, min(share, max(until - time.monotonic(), 5.0)))
            say(began, f"{part.name}: round {number}, {layout}, {cases}")
            yield green
        else:
            green = tested(part)
            say(began, f"{part.name}: round {number}")
            yield green


def tested(part: Part) -> bool:
    """One round of pytest; its output is shown where it is red."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *part.tests]
    env = {**os.environ, "FAKELLM_EXAMPLES": str(EXAMPLES), "HYPOTHESIS_STORAGE_DIRECTORY": str(HOME / "hypothesis")}
    return shown(
        subprocess.run(command, check=False, cwd=ROOT, env={**env, **part.env}, capture_output=True, text=True)
    )


def fuzzed(layout: str, seconds: float) -> tuple[bool, str]:
    """Requests by schemathesis against a server of this layout; the server must live and have said nothing odd. Gives
    whether it was green, and how many requests there were in schemathesis' own words."""
    with server(layout) as (url, alive, errors):
        command = [str(SCHEMATHESIS), "run", f"{url}/_fakellm/openapi.json", "--url", url, "--checks", "no_defect"]
        command += [
            "--phases",
            "coverage,fuzzing",
            "--mode",
            "all",
            "--max-time",
            f"{seconds:.0f}",
            "--max-examples",
            "500",
        ]
        command += ["--workers", "1", "--continue-on-failure", "--request-timeout", "60"]
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "tools"),
            "SCHEMATHESIS_HOOKS": "soak.hooks",
            "FAKELLM_SOAK_VENDOR": str(HOME / "vendor-500.txt"),
        }
        ran = subprocess.run(command, check=False, cwd=HOME, env=env, capture_output=True, text=True)
        if not alive():
            print(errors.read_text(), file=sys.stderr)
            print(f"the server of {layout} died", file=sys.stderr)
            return False, "the server died"
    talk = errors.read_text()
    if "Traceback" in talk:
        print(talk[-4000:], file=sys.stderr)
        return False, "a traceback"
    cases = re.search(r"^ *(\d+ generated.*)$", ran.stdout, re.M)
    if cases is None:  # it ran nothing, whatever its exit code
        print(ran.stdout[-4000:], ran.stderr[-4000:], sep="\n", file=sys.stderr)
        return False, "no requests"
    return shown(ran), cases[1]


@contextmanager
def server(layout: str) -> Generator[tuple[str, Callable[[], bool], Path]]:
    """A ``fakellm serve`` of its own: URL, whether it lives, the file of its stderr."""
    errors = HOME / f"stderr-{layout}.txt"
    with errors.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "fakellm", "serve", "--layout", layout, "-q"],
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            cwd=ROOT,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the server of {layout} did not start: {errors.read_text()}")
        yield json.loads(line)["url"], lambda: process.poll() is None, errors
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_SECONDS)


def shown(ran: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command was green; what it said stands on stderr where it was not."""
    if ran.returncode:
        print(ran.stdout[-8000:], ran.stderr[-4000:], sep="\n", file=sys.stderr)
    return ran.returncode == 0


def say(began: float, words: str) -> None:
    print(f"[{time.monotonic() - began:5.0f} s] {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
