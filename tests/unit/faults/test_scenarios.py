"""The examples of ``scenarios/faults`` and ``scenarios/stories`` run: every reply answers and shows its faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from fakellm.ask import Request
from fakellm.faults.pages import families
from fakellm.faults.registry import faults, parse
from fakellm.house import Choices, House
from fakellm.resources import resource
from fakellm.scenario.load import from_data, load_file
from fakellm.scenario.plain import plain_auto
from fakellm.stage import Answer, Stage
from support.stages import post

FOLDER = resource("scenarios")
FILES = sorted([*(FOLDER / "faults").glob("*.yaml"), *(FOLDER / "stories").glob("*.yaml")])
HOUSE = House({}, plain_auto(), Choices(plans=False), now=lambda: 1_800_000_000.0)
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


def data(path: Path, *, healthy: bool = False) -> dict[str, Any]:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if healthy:
        read["replies"] = [{key: value for key, value in reply.items() if key != "faults"} for reply in read["replies"]]
    return read


def stage(path: Path, *, healthy: bool = False) -> Stage:
    return HOUSE.stage(from_data(data(path, healthy=healthy), "example", read_fault=parse))


def conversation(words: str, turns: int) -> list[dict[str, str]]:
    said = [{"role": role, "content": f"{role} {turn}"} for turn in range(turns - 1) for role in ("user", "assistant")]
    return [*said, {"role": "user", "content": f"Please: {words}."}]


def requests(words: str) -> Iterator[Request]:
    """Requests of every kind that say the words."""
    for stream, n, tools, turns in product((False, True), (1, 2), ((), (TOOL,)), range(1, 10)):
        body = {"model": "tiny", "messages": conversation(words, turns), "return_token_ids": True, "logprobs": True}
        body |= {"top_logprobs": 2, "n": n, "stream": stream} | ({"tools": tools} if tools else {})
        body |= {"stream_options": {"include_usage": True}} if stream else {"prompt_logprobs": 2}
        yield post("/v1/chat/completions", body)
    plain = {"model": "tiny", "messages": conversation(words, 1), "logprobs": True}
    yield post("/v1/chat/completions", plain | {"return_tokens_as_token_ids": True})
    wanted = {"model": "tiny", "return_token_ids": True, "logprobs": 1}
    yield post("/v1/completions", wanted | {"prompt": f"Please: {words}."})
    scores = {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
    for stream in (True, False):
        yield post("/v1/responses", {"model": "tiny", "input": words, "stream": stream, **scores})


def words_of(reply: dict[str, Any]) -> str:
    rule = reply.get("when", {})
    return (rule.get("last_message") or rule.get("prompt") or {}).get("contains", "hello")


def plays(path: Path, number: int) -> Answer | None:
    """The reply's answer to the first request that it takes and on which its faults show."""
    reply = data(path)["replies"][number]
    expected = [parse(entry).fault.id for entry in reply.get("faults", ())]
    for request in requests(words_of(reply)):
        answer = stage(path).answer(request)
        played = answer.behind()
        if (
            answer.problem
            or played is None
            or sorted(expected) != sorted(call.fault.id for call in played.distortion.calls)
        ):
            continue
        if answer.wire.status != 200 or answer.wire != stage(path, healthy=True).answer(request).wire or not expected:
            return answer
    return None


REPLIES = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in FILES
    for number in range(len(data(path)["replies"]))
]


@pytest.mark.parametrize(("path", "number"), REPLIES)
def test_every_reply_shows_its_faults(path: Path, number: int) -> None:
    assert plays(path, number) is not None


def test_one_example_for_each_family() -> None:
    assert set(families()) == {path.stem for path in (FOLDER / "faults").glob("*.yaml")}


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "faults"], ids=lambda path: path.stem)
def test_an_example_keeps_to_its_family(path: Path) -> None:
    used = [parse(entry).fault for reply in data(path)["replies"] for entry in reply["faults"]]

    assert path.stem in {fault.family for fault in used}
    assert [fault.family for fault in used].count(path.stem) * 2 >= len(used)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_read_as_users_read_them(path: Path) -> None:
    scenario = load_file(path, read_fault=parse)

    assert scenario.title
    assert scenario.why


class TestStories:
    def test_verifiers_reports_nothing_where_nothing_is(self) -> None:
        story = stage(FOLDER / "stories" / "verifiers-chat-capture.yaml")
        bodies = [
            json.loads(b"".join(frame.data for frame in story.answer(chat(turn)).wire.frames)) for turn in (1, 2, 3)
        ]

        assert [True, True, True] == ["choices" in body for body in bodies]
        assert [False, False, True] == ["prompt_token_ids" in body for body in bodies]
        assert [True, False, True] == [bool(body["choices"][0]["token_ids"]) for body in bodies]

    def test_cooperbench_finds_ids_everywhere_and_nowhere(self) -> None:
        story = stage(FOLDER / "stories" / "cooperbench-capture.yaml")
        places: list[str] = []
        for turn in range(1, 10):
            answer = story.answer(chat(turn, tools=[TOOL]))
            body = json.loads(b"".join(frame.data for frame in answer.wire.frames))
            choice = (body.get("choices") or [{}])[0]
            found = {"top": body, "choice": choice}
            prompt = [name for name, holder in found.items() if holder.get("prompt_token_ids")]
            completion = ["ids"] if choice.get("token_ids") else []
            places.append(" ".join([str(answer.wire.status), *prompt, *completion]))

        assert [
            "200 top ids",
            "200 choice ids",
            "200 ids",
            "200 top",
            "200",
            "400",
            "200 top ids",
            "200 top ids",
            "200 top ids",
        ] == places

    def test_the_end_is_scored_behind_the_last_text(self) -> None:
        story = stage(FOLDER / "stories" / "responses-late-eos-score.yaml")
        body = {"model": "tiny", "input": "hi", "stream": True, "top_logprobs": 1}
        body["include"] = ["message.output_text.logprobs"]

        data = b"".join(frame.data for frame in story.answer(post("/v1/responses", body)).wire.frames).decode()
        deltas = [json.loads(line[6:]) for line in data.splitlines() if '"type":"response.output_text.delta"' in line]

        assert "The last word has been said." == "".join(event["delta"] for event in deltas)
        assert ("", "<|im_end|>") == (deltas[-1]["delta"], deltas[-1]["logprobs"][0]["token"])


def chat(turn: int, **more: Any) -> Request:
    body = {"model": "tiny", "messages": conversation("go on", turn), "return_token_ids": True, **more}
    return post("/v1/chat/completions", body)


def test_no_fault_is_misspelt_in_any_scenario() -> None:
    for path in FOLDER.rglob("*.yaml"):
        for reply in data(path)["replies"]:
            for entry in reply.get("faults", ()):
                assert parse(entry).fault.id in faults()
