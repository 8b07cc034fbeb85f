"""A child process that breaks the protocol is named for what it did, never mistaken for its client."""

import sys
import textwrap
from pathlib import Path

import pytest

from fakellm.conform.drivers.base import Errand, Patience
from fakellm.conform.drivers.process import ProcessDriver
from fakellm.conform.observation import Kind
from fakellm.conform.protocol import RunnerError

SHORT = Patience(start=20.0, answer=-9.0, stop=1.0)
"""One second per errand: its deadline is 10 s at least."""
FRAME = """
import json, os, sys, time
def say(thing): print(json.dumps(thing), flush=True)
HELLO = {"protocol": 1, "client": {"name": "frame"}, "supports": {"apis": ["chat"], "max_parallel": PARALLEL}}
ANSWER = {"captured": [{"index": 0, "text": "hi"}]}
def hello(): say(HELLO)
def work(message): say({"seq": message["seq"], **ANSWER})
def stop(): sys.exit(0)
BODY
for line in sys.stdin:
    message = json.loads(line)
    {"start": hello, "run": lambda: work(message), "stop": stop}[message["cmd"]]()
"""


def adapter(folder: Path, body: str, *, parallel: int = 1, patience: Patience = SHORT) -> ProcessDriver:
    path = folder / "adapter.py"
    text = FRAME.replace("PARALLEL", str(parallel)).replace("BODY", textwrap.dedent(body))
    path.write_text(text, encoding="utf-8")
    return ProcessDriver([sys.executable, str(path)], suite="test", patience=patience)


def errand(seq: int = 1) -> Errand:
    url = "http://127.0.0.1:9/c/t"
    return Errand(
        seq=seq, case=f"a/b{seq}", api="chat", stream=False, base_url=f"{url}/v1", root_url=url, request={},
        deadline_ms=10_000,
    )  # fmt: skip


async def test_a_good_adapter_answers_and_ends(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "print('note', file=sys.stderr)", patience=Patience())

    supports = await driver.start()
    reply = await driver.run(errand())
    await driver.stop()

    assert ("frame", frozenset({"chat"})) == (supports.name, supports.apis)
    assert Kind.CAPTURED == reply.ending.kind
    assert reply.ending.capture is not None
    assert "hi" == reply.ending.capture.choices[0].text
    assert [] == driver.problems


async def test_stderr_belongs_to_the_errand_in_which_it_was_written(tmp_path: Path) -> None:
    body = """
    def work(m):
        print('about', m['seq'], file=sys.stderr, flush=True)
        time.sleep(0.05)
        say({'seq': m['seq'], **ANSWER})
    """
    driver = adapter(tmp_path, body, patience=Patience())
    await driver.start()

    first, second = await driver.run(errand(1)), await driver.run(errand(2))
    await driver.stop()

    assert ("about 1", "about 2") == (first.stderr, second.stderr)


async def test_answers_may_come_out_of_order(tmp_path: Path) -> None:
    body = """
    held = []
    def work(m):
        held.append(m["seq"])
        if len(held) == 2:
            for seq in reversed(held): say({"seq": seq, "captured": [{"text": str(seq)}]})
    """
    import asyncio

    driver = adapter(tmp_path, body, parallel=2, patience=Patience())
    await driver.start()

    replies = await asyncio.gather(driver.run(errand(1)), driver.run(errand(2)))
    await driver.stop()

    assert ["1", "2"] == [reply.ending.capture.choices[0].text for reply in replies if reply.ending.capture]


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [
        ("def work(m): sys.exit(3)", "early-exit", "ended with 3"),
        ("def work(m): time.sleep(60)", "no-answer", "within 1 s"),
        ("def work(m): print('hello there', flush=True)", "not-json", "hello there"),
        ("def work(m): print(json.dumps({'seq': m['seq'], **ANSWER}, indent=1), flush=True)", "not-json", "'{'"),
        ("def work(m): say({'seq': m['seq']})", "schema-violation", "exactly one of captured"),
        ("def work(m): say({'seq': m['seq'], **ANSWER, 'skipped': {}})", "schema-violation", "has captured"),
        ("def work(m): say({'seq': m['seq'], 'captured': [{'logprobs': 3}]})", "schema-violation", "logprobs"),
        ("def work(m): sys.stdout.write('x' * 17 * 2**20); sys.stdout.flush()", "flood", "16 MB"),
        ("def work(m): [say({'seq': 'x', **ANSWER}) for _ in range(60)]; time.sleep(60)", "flood", "nobody asked"),
    ],
    ids=["exits", "hangs", "not json", "splits lines", "no ending", "two endings", "wrong type", "one endless line",
         "endless lines"],
)  # fmt: skip
async def test_what_an_adapter_does_wrong_has_a_name(tmp_path: Path, body: str, name: str, words: str) -> None:
    driver = adapter(tmp_path, body)
    await driver.start()

    with pytest.raises(RunnerError) as caught:
        await driver.run(errand())
    await driver.stop()

    assert name == caught.value.name
    assert words in str(caught.value)
    assert "a/b1" == caught.value.case


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [
        ("def hello(): sys.exit('no such client')", "early-exit", "no such client"),
        ("HELLO['protocol'] = 2", "version-mismatch", "protocol 2"),
        ("HELLO['supports'] = {}", "schema-violation", "apis"),
        ("def hello(): time.sleep(60)", "no-answer", "start"),
    ],
)
async def test_a_start_that_fails_has_a_name(tmp_path: Path, body: str, name: str, words: str) -> None:
    driver = adapter(tmp_path, body, patience=Patience(start=1.0))

    with pytest.raises(RunnerError) as caught:
        await driver.start()

    assert name == caught.value.name
    assert words in str(caught.value)


async def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(RunnerError, match="no-such-adapter") as caught:
        await ProcessDriver(["no-such-adapter"], suite="test").start()

    assert "start-failed" == caught.value.name


async def test_an_answer_given_twice_is_told_with_its_case(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "def work(m): [say({'seq': m['seq'], **ANSWER}) for _ in range(2)]", patience=Patience())
    await driver.start()

    await driver.run(errand())
    await driver.run(errand(2))
    await driver.stop()

    assert [("duplicate-seq", "a/b1"), ("duplicate-seq", "a/b2")] == [(one.name, one.case) for one in driver.problems]


async def test_an_unknown_seq_is_told_and_the_right_answer_still_counts(tmp_path: Path) -> None:
    body = "def work(m): say({'seq': 99, **ANSWER}); say({'seq': m['seq'], **ANSWER})"
    driver = adapter(tmp_path, body, patience=Patience())
    await driver.start()

    reply = await driver.run(errand())
    await driver.stop()

    assert Kind.CAPTURED == reply.ending.kind
    assert ["unknown-seq"] == [one.name for one in driver.problems]


async def test_an_adapter_that_hangs_on_stop_is_ended_and_named(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "def stop(): time.sleep(60)")
    await driver.start()

    with pytest.raises(RunnerError) as caught:
        await driver.stop()

    assert "hang-on-stop" == caught.value.name


async def test_the_end_of_stdin_is_a_stop_too(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "def stop(): pass", patience=Patience())
    await driver.start()

    await driver.stop()

    assert [] == driver.problems


async def test_one_bad_case_does_not_take_the_next_with_it(tmp_path: Path) -> None:
    body = "def work(m): sys.exit(1) if m['seq'] == 1 else say({'seq': m['seq'], **ANSWER})"
    driver = adapter(tmp_path, body)
    await driver.start()
    with pytest.raises(RunnerError):
        await driver.run(errand(1))

    reply = await driver.run(errand(2))
    await driver.stop()

    assert Kind.CAPTURED == reply.ending.kind


async def test_an_adapter_that_always_dies_is_not_started_for_ever(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "def work(m): sys.exit(1)")
    await driver.start()

    messages: list[str] = []
    for seq in range(6):
        with pytest.raises(RunnerError) as caught:
            await driver.run(errand(seq))
        messages.append(caught.value.message)
    await driver.stop()

    assert "was not started again" in messages[-1]


async def test_an_adapter_that_is_given_up_keeps_its_own_name(tmp_path: Path) -> None:
    driver = adapter(tmp_path, "def work(m): print('hello', flush=True)")
    await driver.start()

    failures: list[RunnerError] = []
    for seq in range(5):
        with pytest.raises(RunnerError) as caught:
            await driver.run(errand(seq))
        failures.append(caught.value)
    await driver.stop()

    assert ["not-json"] * 5 == [failure.name for failure in failures]
    assert "failed 4 times and was not started again: this line on stdout is not JSON" in failures[-1].message


@pytest.mark.parametrize("when", ["hello", "work"])
async def test_an_adapter_that_closes_its_stdout_and_lives_on_is_ended(tmp_path: Path, when: str) -> None:
    driver = adapter(tmp_path, f"def {when}(*_): os.close(1); time.sleep(3600)", patience=Patience())

    async def first_answer() -> None:
        await driver.start()
        await driver.run(errand())

    with pytest.raises(RunnerError) as caught:
        await first_answer()
    await driver.stop()

    assert "early-exit" == caught.value.name
    assert "closed its stdout" in caught.value.message
