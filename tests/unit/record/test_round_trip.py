"""Play, record, replay: the fake answers a recorded request as the recorded server did, in its layout and in others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientSession

from fakellm.ask import Request
from fakellm.errors import UsageError
from fakellm.fidelity.run import Report
from fakellm.fidelity.run import run as fidelity
from fakellm.generation import Generation
from fakellm.house import Choices, House
from fakellm.layouts.base import Layout
from fakellm.layouts.registry import all_layouts
from fakellm.record.file import read
from fakellm.record.pack import Outcome
from fakellm.record.session import Plan, packed, run
from fakellm.server.run import serving
from fakellm.stage import Answer
from support.calls import OPTIONS, PATHS, call
from support.taking import AUTO, CALLS, asking, flagged, house

IDS = ("prompt_token_ids", "completion_token_ids", "logprobs")
SCORES = ("top_logprobs", "prompt_logprobs")
Call = tuple[str, str, Mapping[str, Any]]
"""(method, path, body)."""
ALL_ROUTES = {"vllm-0.32.0": ("--enable-scale-out",)}
"""Launch options with which a version serves every API that it has."""
TICKETS = {PATHS["tinker"][0]}
"""Routes that answer with nothing but the number of a later answer."""
REFUSED_STREAM = b'data: {"error"'
"""What a stream begins with whose request the engine refused (completions with ``logprobs`` 0, up to SGLang 0.5.6)."""


async def recorded(fake: House, calls: Sequence[Call], folder: Path, **plan: Any) -> list[tuple[int, bytes]]:
    """Serve the fake, stand before it, make the calls; gives what the client got. The recording lies in ``folder``."""
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()
    got: list[tuple[int, bytes]] = []
    async with serving(fake) as upstream:
        wanted = Plan(upstream=upstream.url, file=folder / "exchanges.jsonl", **plan)
        recorder = asyncio.create_task(run(wanted, listening.set_result, done.wait, lambda text: None))
        await asyncio.wait([recorder, listening], return_when=asyncio.FIRST_COMPLETED)
        if recorder.done():
            recorder.result()
        async with ClientSession() as session:
            for method, path, body in calls:
                async with session.request(method, listening.result() + path, json=body or None) as answer:
                    try:
                        got.append((answer.status, await answer.read()))
                    except ClientPayloadError:
                        got.append((answer.status, b"cut"))
        done.set()
        source = await recorder
    assert source is not None
    (folder / "source.json").write_text(json.dumps(source.to_json()))
    return got


def pack(folder: Path, others: str = "unmatched") -> tuple[Path, Outcome]:
    from fakellm.record.facts import Source

    source = Source.from_json(json.loads((folder / "source.json").read_text()))
    return folder / "pack", packed(folder / "exchanges.jsonl", folder / "pack", source, others)


def differences(report: Report) -> list[Any]:
    return [(one.name, one.verdict) for one in report.judged if one.verdict.verdict != "exact"]


def every_call(layout: Layout) -> list[Call]:
    """Every API and mode: without flags, with ids and scores, with alternatives; and routes that ask no engine."""
    calls: list[Call] = [
        ("GET", "/v1/models", {}),
        ("GET", "/nowhere", {}),
        ("POST", "/v1/chat/completions", {"model": "m", "messages": "not a list"}),
    ]
    for api, stream in sorted(layout.accessors):
        path, body = call(api, stream=stream)
        for values in ((), IDS, (*IDS, *(SCORES[:1] if stream else SCORES))):
            calls.append(("POST", path, flagged(layout, api, stream, values, body)))
    return calls


@pytest.mark.parametrize("layout", all_layouts(), ids=lambda layout: layout.name)
async def test_fidelity_of_a_recording_is_exact(layout: Layout, tmp_path: Path) -> None:
    options = ALL_ROUTES.get(layout.name, OPTIONS.get(layout.vendor, ()))
    fake = house(layout.name, {**AUTO, "top": 4}, options=options)
    calls = every_call(layout)

    got = await recorded(fake, calls, tmp_path, launch=options, layout=layout.name)
    folder, outcome = pack(tmp_path)
    report = fidelity([folder])

    assert [] == differences(report)
    assert len(calls) == len(report.judged) == outcome.exchanges
    answered = [
        path
        for (_, path, _), (status, text) in zip(calls[3:], got[3:], strict=True)
        if status == 200 and not text.startswith(REFUSED_STREAM)
    ]
    answered = [path for path in answered if path not in TICKETS]
    assert len(answered) == outcome.with_truth


async def test_several_choices_in_odd_steps_are_exact_too(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0", {"say": {"auto": {"tokens": 12}}, "steps": [1, 3, 2, 4, 2], "top": 3})
    stage = fake.fake.default
    calls = [
        ("POST", CALLS[api][0], {**asking(stage, api, stream, (*IDS, "top_logprobs")), "n": n, "max_tokens": limit})
        for api in ("chat", "completions")
        for stream in (False, True)
        for n, limit in ((1, 5), (2, 100), (3, 100))
    ]

    await recorded(fake, calls, tmp_path)
    folder, _ = pack(tmp_path)

    assert [] == differences(fidelity([folder]))


@pytest.mark.parametrize("layout", ["vllm-0.32.0", "vllm-0.28.0"])
async def test_an_echoed_prompt_is_no_part_of_what_was_generated(layout: str, tmp_path: Path) -> None:
    fake = house(layout, {**AUTO, "top": 4})
    body = {**CALLS["completions"][1], "echo": True, "max_tokens": 8}
    calls = [
        ("POST", CALLS["completions"][0], {**body, "stream": stream, **flags})
        for stream in (False, True)
        for flags in ({}, {"logprobs": 0}, {"logprobs": 2}, {"logprobs": 1, "return_token_ids": True})
    ]

    await recorded(fake, calls, tmp_path, layout=layout)
    folder, outcome = pack(tmp_path)

    assert [] == differences(fidelity([folder]))
    assert len(calls) == outcome.with_truth


async def test_choices_of_a_stream_may_come_in_another_order(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0", AUTO)
    body = {**asking(fake.fake.default, "chat", True, IDS), "n": 2}
    await recorded(fake, [("POST", CALLS["chat"][0], body)], tmp_path)
    line = json.loads((tmp_path / "exchanges.jsonl").read_text())
    events = line["response"]["body"].split("\n\n")
    first, second = (next(at for at, one in enumerate(events) if f'"index":{index}' in one) for index in (0, 1))
    events[first], events[second] = events[second], events[first]
    line["response"]["body"] = "\n\n".join(events)
    (tmp_path / "exchanges.jsonl").write_text(json.dumps(line) + "\n")

    folder, _ = pack(tmp_path)

    assert [] == differences(fidelity([folder]))


async def test_ask_ids_gives_a_client_what_it_asked_for_and_the_recording_the_truth(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0", {"say": "Hello, world!"})
    stage = fake.fake.default
    calls = [("POST", CALLS["chat"][0], asking(stage, "chat", stream)) for stream in (False, True)]

    got = await recorded(fake, calls, tmp_path, ask_ids=True)
    folder, outcome = pack(tmp_path)

    assert [] == [body for _, body in got if b'"token_ids":[' in body or b'"logprob":' in body]
    assert 2 == outcome.with_truth
    assert {"ids"} == {truth["source"] for line in read(tmp_path / "exchanges.jsonl").lines for truth in line["truth"]}
    assert [] == differences(fidelity([folder]))


class TestReplay:
    """The packed scenario."""

    @pytest.fixture
    async def folder(self, tmp_path: Path) -> Path:
        fake = house("vllm-0.32.0", {"when": {"last_message": "Hi"}, "say": "Hello, world!"}, AUTO)
        stage = fake.fake.default
        whole = asking(stage, "chat", False, IDS)
        hi = {**whole, "messages": [{"role": "user", "content": "Hi"}]}
        await recorded(fake, [("POST", CALLS["chat"][0], hi), ("POST", CALLS["chat"][0], whole)], tmp_path)
        return pack(tmp_path)[0]

    def ask(self, folder: Path, text: str, layout: str | None = None, **more: Any) -> Answer:
        """A chat request to the packed scenario."""
        fake = House.open(folder / "scenario.yaml", Choices(layout=layout))
        body = {**asking(fake.fake.default, "chat", more.get("stream", False), IDS), **more}
        body["messages"] = [{"role": "user", "content": text}]
        headers = {"content-type": "application/json"}
        request = Request("POST", CALLS["chat"][0], headers=headers, body=json.dumps(body).encode())
        return fake.fake.default.answer(request)

    def truth(self, folder: Path, name: str) -> Generation:
        exchange = json.loads((folder / "exchanges" / f"{name}.json").read_text())
        truths = json.loads((folder / "truths.json").read_text())
        return Generation.from_truth(truths[exchange["truth"][0]])

    @pytest.mark.parametrize("layout", [None, "vllm-0.10.2", "sglang-0.5.23"])
    @pytest.mark.parametrize("stream", [False, True])
    def test_the_same_words_get_the_same_values_in_any_layout_and_mode(
        self, folder: Path, layout: str | None, stream: bool
    ) -> None:
        played = self.ask(folder, "Hi", layout, stream=stream).behind()

        assert played is not None
        (said,) = played.generations
        recorded = self.truth(folder, "0001-chat")
        assert "Hello, world!" == played.told.choices[0].text
        assert recorded.choices[0].tokens == said.choices[0].tokens

    def test_other_requests_are_not_answered_unless_the_policy_says_so(self, folder: Path) -> None:
        assert self.ask(folder, "Something else").unmatched

        pack(folder.parent, "auto")

        assert not self.ask(folder, "Something else").unmatched
        assert "Hello, world!" != self.ask(folder, "Something else").behind().told.choices[0].text  # type: ignore[union-attr]


async def test_equal_requests_with_different_answers_come_back_in_their_order(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0", {"say": "One.", "times": 1}, {"say": "Two.", "times": 1}, {"say": "Three."})
    body = asking(fake.fake.default, "chat", False, IDS)
    await recorded(fake, [("POST", CALLS["chat"][0], body)] * 4, tmp_path)
    folder, _ = pack(tmp_path)

    replayed = House.open(folder / "scenario.yaml")
    request = Request(
        "POST", CALLS["chat"][0], headers={"content-type": "application/json"}, body=json.dumps(body).encode()
    )
    answers = [replayed.fake.answer(request)[0].behind() for _ in range(4)]

    assert ["One.", "Two.", "Three.", "Three."] == [played.told.choices[0].text for played in answers if played]


async def test_answers_that_differ_by_their_sampling_are_told_apart_by_it(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0", {"when": {"json": {"seed": 1}}, "say": "One."}, {"say": "Other."})
    body = asking(fake.fake.default, "chat", False, IDS)
    calls = [("POST", CALLS["chat"][0], {**body, "seed": seed}) for seed in (2, 1)]
    await recorded(fake, calls, tmp_path)
    folder, _ = pack(tmp_path)

    replayed = House.open(folder / "scenario.yaml")
    texts: list[str] = []
    for seed in (1, 2, 1):
        data = json.dumps({**body, "seed": seed}).encode()
        request = Request("POST", CALLS["chat"][0], headers={"content-type": "application/json"}, body=data)
        played = replayed.fake.answer(request)[0].behind()
        assert played is not None
        texts.append(played.told.choices[0].text)

    assert ["One.", "Other.", "One."] == texts


async def test_a_folder_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    fake = house("vllm-0.32.0")
    await recorded(fake, [("GET", "/health", {})], tmp_path)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "thesis.tex").write_text("years of work")

    with pytest.raises(UsageError, match="something else"):
        pack(tmp_path)
