"""``validate``: every problem and note of scenario files before they are played."""

from __future__ import annotations

import json
from pathlib import Path

from fakellm.errors import LayoutError
from fakellm.scenario.model import ServerSettings
from fakellm.scenario.validate import Report, validate
from support.asking import TOKENIZER


def report(folder: Path, text: str, **options: object) -> Report:
    (folder / "story.yaml").write_text(text)
    return validate([folder], **options)  # type: ignore[arg-type]


def test_a_good_file_has_nothing_to_say(tmp_path: Path) -> None:
    found = report(tmp_path, "replies: [{say: x}]", tokenizer=TOKENIZER)

    assert found.ok
    assert (["story"], (), ()) == ([each.name for each in found.scenarios], found.problems, found.notes)


def test_all_problems_of_all_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("replies: 7")

    found = report(tmp_path, "replies:\n- sya: x\n- say: {text: 1}\n  when: {last_message: {regex: '('}}\n")

    assert not found.ok
    assert 3 == len(found.problems)
    assert ["other.yaml:1", "story.yaml:2", "story.yaml:3"] == [
        Path(problem.where.partition(",")[0]).name for problem in found.problems
    ]


def test_problems_of_meaning_are_all_found_too(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        "replies:\n- {say: x, when: {last_message: {regex: '('}}}\n- {say: x, when: {json: {a: {is: 1}}}}\n"
        "server: {x: }\n",
    )

    assert 3 == len(found.problems)


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    found = validate([tmp_path, tmp_path / "nope.yaml"])

    assert ["the folder holds no scenario", "there is no such file"] == [each.message for each in found.problems]
    assert not found.ok


def test_a_reply_that_never_answers_is_noted(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        "replies:\n"
        "- {say: a, when: {model: tiny}, times: 1}\n"
        "- {say: b, when: {model: tiny}}\n"
        "- {say: c, when: {model: tiny}}\n"
        "- {say: d}\n"
        "- {say: e, when: {api: chat}}\n",
    )

    assert found.ok
    assert [
        "replies[2] never answers: replies[1] comes first",
        "replies[4] never answers: replies[3] comes first",
    ] == [note.message for note in found.notes]


def test_an_api_that_nothing_serves_is_noted(tmp_path: Path) -> None:
    found = report(tmp_path, "replies: [{say: x, when: {api: caht}}]")

    assert [("no layout of fakellm's own serves an api 'caht'", "did you mean 'chat'?")] == [
        (note.message, note.hint) for note in found.notes
    ]


def test_what_a_tokenizer_cannot_say_is_a_problem(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        "replies:\n- say: x\n  then:\n  - say: {tokens: [no such token]}\n- say: {text: x, logprobs: [-1]}\n",
        tokenizer=TOKENIZER,
    )

    assert [
        "'no such token' is not one token of builtin",
        "there are 1 scores for 2 tokens (the end token included)",
    ] == [problem.message for problem in found.problems]


def test_a_server_that_cannot_be_started_is_a_problem(tmp_path: Path) -> None:
    def check(server: ServerSettings) -> None:
        raise LayoutError(f"there is no layout {server.layout!r}", hint="did you mean 'vllm'?")

    found = report(tmp_path, "server: {layout: vlm}\nreplies: [{say: x}]", check_server=check)

    assert ("there is no layout 'vlm'", "did you mean 'vllm'?") == (found.problems[0].message, found.problems[0].hint)
    assert found.problems[0].where.endswith("story.yaml, field server")


def test_the_report_is_json(tmp_path: Path) -> None:
    found = report(tmp_path, "title: T\nreplies: [{say: x}, {say: y}]").to_json()

    assert found == json.loads(json.dumps(found))
    assert [{"name": "story", "file": str(tmp_path / "story.yaml"), "title": "T", "replies": 2}] == found["scenarios"]
    assert "note" == found["notes"][0]["level"]


def test_two_files_of_one_name_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "story.yaml").write_text("replies: [{say: x}]")

    assert "the name 'story' is taken by" in report(tmp_path, "replies: [{say: x}]").problems[0].message
