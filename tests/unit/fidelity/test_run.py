"""run: whole libraries, what is chosen, and what is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from fakellm.ask import Ask, Request
from fakellm.errors import LayoutError
from fakellm.fidelity.compare import Verdict
from fakellm.fidelity.run import Judged, Report, judge, run
from fakellm.layouts import registry
from fakellm.layouts.base import Context, Launch, Layout
from fakellm.message import Message, Rendering
from support.recordings import exchange, folder, write_folder

ANSWER: dict[str, Any] = {"status": 200, "headers": {"content-type": "application/json"}, "body": '{"a":1}'}


class Mirror:
    """A station that gives every request the same answer."""

    def receive(self, request: Request, context: Context) -> Ask | Rendering:
        if request.path == "/broken":
            raise ZeroDivisionError("the station is broken")
        if request.path == "/refused":
            raise LayoutError("no such route")
        return Rendering(200, (("content-type", "application/json"),), (Message("body", {"a": 1}),))


def start(launch: Launch) -> Any:
    if "--nonsense" in launch.options:
        raise LayoutError("unknown option --nonsense")
    return Mirror()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vendor ``mirror`` that exists only here, and a library of it."""
    layout = Layout("mirror-1.0", "mirror", (1, 0), "documents", {}, start, lambda status, message, kind: {})
    monkeypatch.setitem(registry.VENDORS, "mirror", __name__)
    monkeypatch.setattr(registry, "vendor_layouts", lambda vendor: (layout,) if vendor == "mirror" else ())

    def case(path: str, body: str = '{"a":1}') -> dict[str, Any]:
        return {
            "name": path[1:],
            "truth": None,
            "request": {"method": "GET", "path": path, "headers": {}},
            "response": {**ANSWER, "body": body},
        }

    cases = [case("/same"), case("/spelt", '{"a": 1}'), case("/other", '{"a":2}'), case("/broken"), case("/refused")]
    server = {"server": "mirror", "version": "1.0"}
    write_folder(tmp_path, "mirror-1.0", server, {one["name"]: one for one in cases})
    write_folder(tmp_path, "mirror-1.0-wrong", {**server, "launch": ["--nonsense"]}, {"same": case("/same")})
    write_folder(tmp_path / "gateways", "router-2", {**server, "gateway": True}, {"same": case("/same")})
    return tmp_path


def verdicts(report: Report) -> dict[str, str]:
    return {f"{entry.folder}/{entry.name}": entry.verdict.verdict for entry in report.judged}


def test_every_exchange_of_every_server_is_judged_and_gateways_are_not_played(library: Path) -> None:
    report = run([library])

    assert {
        "mirror-1.0/same": "exact",
        "mirror-1.0/spelt": "equal",
        "mirror-1.0/other": "differs",
        "mirror-1.0/broken": "differs",
        "mirror-1.0/refused": "differs",
        "mirror-1.0-wrong/same": "differs",
    } == verdicts(report)
    assert ("router-2",) == report.gateways


def test_the_json_has_the_agreed_shape(library: Path) -> None:
    report = run([library], only=["same", "*/other"])

    assert {
        "total": 3,
        "exact": 1,
        "equal": 0,
        "differs": 2,
        "exchanges": [
            {"folder": "mirror-1.0", "name": "other", "verdict": "differs", "where": "body.a",
             "detail": "recorded 2, replayed 1"},
            {"folder": "mirror-1.0", "name": "same", "verdict": "exact", "where": None, "detail": None},
            {"folder": "mirror-1.0-wrong", "name": "same", "verdict": "differs", "where": "launch",
             "detail": "unknown option --nonsense"},
        ],
    } == json.loads(json.dumps(report.to_json()))  # fmt: skip


def test_a_layout_that_breaks_down_is_a_difference_told_with_its_place(library: Path) -> None:
    (broken,) = run([library], only=["broken"]).judged
    (refused,) = run([library], only=["refused"]).judged

    assert "ZeroDivisionError: the station is broken (test_run.py:" in str(broken.verdict.detail)
    assert Verdict("differs", "replay", "no such route") == refused.verdict


@pytest.mark.parametrize(("only", "holds"), [(["same"], False), (["mirror-1.0/same"], True), (["nothing"], False)])
def test_it_holds_when_something_ran_and_nothing_differs(library: Path, only: list[str], holds: bool) -> None:
    assert holds == run([library], only=only).holds


def test_a_layout_that_stands_in_for_another_version_is_noted(library: Path) -> None:
    write_folder(library, "mirror-1.5", {"server": "mirror", "version": "1.5"}, {})
    (library / "mirror-1.5" / "exchanges" / "same.json").write_bytes(
        (library / "mirror-1.0" / "exchanges" / "same.json").read_bytes()
    )

    report = run([library / "mirror-1.5"])

    assert report.holds
    assert "mirror-1.5: mirror-1.5 is not known; mirror-1.0 stands in" in report.notes[0]


def test_the_text_lists_folders_and_the_first_differences(library: Path) -> None:
    text = run([library]).to_text(shown=1)

    assert ["mirror-1.0", "5", "1", "1", "3"] == text.splitlines()[1].split()
    assert ["total", "6", "1", "1", "4"] == text.splitlines()[3].split()
    assert "mirror-1.0/broken\n  at replay: " in text
    assert "... and 3 more" in text
    assert "and 3 more" not in run([library]).to_text(shown=0)


def test_an_empty_report_does_not_hold() -> None:
    assert not Report(()).holds
    assert Report((Judged("a", "b", Verdict("equal")),)).holds


def test_one_exchange_can_be_judged_by_itself() -> None:
    one = exchange({"a": 1})

    assert Verdict("exact") == judge(folder(one), one, Mirror)  # pyright: ignore[reportArgumentType]
