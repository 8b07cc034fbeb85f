"""The benchmark's parts: servers that are started and measured, answers that are taken apart, reports and plots.

Nothing here says how fast anything is; that depends on the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from bench.__main__ import main
from bench.measures import MEASURES
from bench.peers import ANSWER, PEERS
from bench.plot import Bar, Line, bars, lines
from bench.process import BenchError, serving
from bench.publish import filled, publish
from bench.report import BOUNDS, TABLES
from bench.servers import SCENARIO, both, chat, fake
from bench.traffic import Pace, body_of, listen, load, one, percentile, post
from click.testing import CliRunner

ROOT = Path(__file__).parents[3]
RUN: dict[str, Any] = {"date": "2026-01-02", "cores": 2, "system": "Linux x86_64", "python": "3.11.7", "load": 0.5}
MEMORY: dict[str, Any] = {
    key: {"requests": [10, 20], "at_start_mb": 40.0, "sizes_mb": [50.0, 51.0], "growth": 0.02}
    for key in ("equal", "ever_new")
}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU time is read from /proc")
class TestServers:
    """What is started can be asked, and says what it took."""

    def test_both_servers_send_the_same_bytes(self) -> None:
        with both(tokens=5) as (ours, theirs):
            whole, streamed = (body_of(one(theirs.port, chat(stream=stream))) for stream in (False, True))
            told = body_of(one(ours.port, chat()))

            assert len(told) == len(whole)
            assert 7 == streamed.count(b"\n\n")
            assert ours.cpu_seconds() > 0
            assert ours.resident_mb() > 10

    def test_every_request_is_answered_over_so_many_connections(self) -> None:
        with fake(SCENARIO.format(tokens=5)) as server:
            tally = load(server.port, [chat(), chat(stream=True)] * 10, 4)

        assert 20 == tally.answers == len(tally.first_ms) == len(tally.took_ms)

    @pytest.mark.parametrize(("watched", "seen"), [(200, 3), (1, 1)])
    def test_paced_streams_are_listened_to_until_their_end(
        self, watched: int, seen: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bench.traffic.WATCHED", watched)
        scenario = "title: t\nreplies:\n  - say: {auto: {tokens: 4}}\n    timing: {first_token_ms: 5, between_ms: 5}\n"
        asked = post({"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": True}, close=True)
        pace = Pace(4, 5.0, opening=1)
        with fake(scenario) as server:
            listeners = listen(server.port, asked, 3, pace, spread_ms=0.0)

        assert seen == len(listeners)
        assert {pace.events} == {listener.events for listener in listeners}
        assert all(listener.late_ms for listener in listeners)

    def test_a_server_that_does_not_start_is_told_with_its_last_words(self) -> None:
        with (
            pytest.raises(BenchError, match="no such luck"),
            serving([sys.executable, "-c", "raise SystemExit('no such luck')"]),
        ):
            pass

    def test_a_program_that_is_not_there_is_told(self) -> None:
        with pytest.raises(BenchError, match="cannot be started"), serving(["no-such-program"]):
            pass


class TestTraffic:
    """Answers are taken apart without a client library."""

    def test_chunks_are_joined(self) -> None:
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2\r\n !\r\n0\r\n\r\n"

        assert b"hello !" == body_of(answer)

    def test_a_percentile_is_one_of_the_values(self) -> None:
        assert 99 == percentile(range(100), 0.99)
        assert 0.0 == percentile([], 0.99)


class TestPeers:
    """Every peer is scripted to say the same."""

    def test_the_answer_stands_in_every_script(self) -> None:
        for peer in PEERS:
            assert ANSWER in peer.script(ANSWER), peer.name

    def test_a_port_is_given_to_every_one(self) -> None:
        for peer in PEERS:
            assert "4711" in peer.command(Path("env"), 4711), peer.name


class TestReport:
    """Tables, plots and the page."""

    def test_every_measure_has_a_table_and_a_place_on_the_page(self) -> None:
        page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

        assert {measure.name for measure in MEASURES} == set(TABLES)
        for name in ("bounds", *TABLES):
            assert f"<!-- {name}: begin -->" in page
            assert f"<!-- {name}: end -->" in page

    def test_a_bound_says_whether_it_holds(self) -> None:
        bound = next(bound for bound in BOUNDS if bound.measure == "memory")

        assert "holds" == bound.row({"memory": MEMORY})[-1]
        broken = {"memory": {**MEMORY, "equal": {**MEMORY["equal"], "growth": 0.2}}}
        assert "**does not hold**" == bound.row(broken)[-1]
        assert "not measured" == bound.row({})[2]

    def test_the_page_keeps_what_was_not_measured(self) -> None:
        page = "a\n<!-- memory: begin -->\nold\n<!-- memory: end -->\n<!-- cost: begin -->\nkept\n<!-- cost: end -->\n"

        new = filled(page, {"runs": {"memory": RUN}, "results": {"memory": MEMORY}})

        assert "old" not in new
        assert "kept" in new
        assert "| equal prompts | 40.0 | 50.0 | 51.0 | 2.0% |" in new
        assert "2026-01-02, 2 cores" in new

    def test_what_is_published_stands_beside_what_was(self, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "benchmarks.md").write_text("<!-- memory: begin -->\n<!-- memory: end -->\n")
        rows = [
            {"replies": 1, "equals_us": 10.0, "contains_us": 11.0},
            {"replies": 10, "equals_us": 10.0, "contains_us": 15.0},
        ]

        publish(tmp_path, RUN, {"memory": MEMORY})
        written = publish(tmp_path, {**RUN, "load": 3}, {"scenarios": {"rows": rows}})

        names = {file.name for file in written}
        assert {"results.json", "memory.svg", "scenarios.svg", "benchmarks.md"} == names
        assert all((tmp_path / file).is_file() for file in written)

    def test_plots_are_xml_and_show_their_names(self) -> None:
        from xml.etree import ElementTree

        drawn = bars("a < b", "µs", [Bar("one & two", 3.0, True), Bar("none", 0.0)])
        curve = lines("t", "x", "y", [Line("s", [(1, 2.0), (10, 3.0)])], log_x=True)

        for svg in (drawn, curve):
            assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert "one &amp; two" in drawn

    def test_the_published_page_is_made_of_the_published_results(self) -> None:
        from bench.publish import known

        page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

        assert page == filled(page, known(ROOT))


class TestCommand:
    """``python -m bench``."""

    def test_an_unknown_measure_is_refused_with_the_known_ones(self) -> None:
        done = CliRunner().invoke(main, ["nothing"])

        assert 2 == done.exit_code
        assert "scenarios" in done.output

    def test_the_list_has_every_measure(self) -> None:
        done = CliRunner().invoke(main, ["--list"])

        assert 0 == done.exit_code
        assert len(MEASURES) == len(done.output.splitlines())
