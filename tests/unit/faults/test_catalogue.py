"""The catalogue as users meet it: entries of scenario files, composition under a seed, pages, the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from fakellm.cli.explain import explain as explain_command
from fakellm.cli.faults import faults as faults_command
from fakellm.errors import FaultError
from fakellm.faults.base import RECOVER, Fault, FaultContext, Parameters, on_told
from fakellm.faults.compose import chaos, compose
from fakellm.faults.pages import MEANINGS, Page, catalogue, explain, parameters
from fakellm.faults.registry import faults, find, parse
from fakellm.told import Told
from support.faulty import LAYOUT, ask, distorted, rendered, told

EVERY = list(faults().values())


class TestCatalogue:
    def test_it_has_at_least_a_hundred_faults(self) -> None:
        assert 100 <= len(EVERY)

    @pytest.mark.parametrize("fault", EVERY, ids=lambda fault: fault.id)
    def test_every_fault_has_a_whole_page(self, fault: Fault) -> None:
        page = Page.of(fault)

        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", fault.id)
        assert page.title.endswith(".")
        assert all((page.why, page.right, page.breaks)), fault.id
        assert set(fault.client_may) <= set(MEANINGS)
        assert fault.client_may
        assert all("description" in facts for facts in parameters(fault).values())

    def test_every_family_has_a_public_report_behind_it(self) -> None:
        linked = {fault.family for fault in EVERY if Page.of(fault).links}

        assert {fault.family for fault in EVERY} - linked <= {"headers", "envelope", "connection", "packets"}

    def test_what_a_judge_says_is_declared(self) -> None:
        for fault in EVERY:
            for request in (ask(), ask(stream=True), ask(n=2), ask("completions", stream=True, n=2)):
                assert set(fault.may(request, fault.parameters())) <= set(fault.client_may), fault.id

    def test_the_json_of_the_command(self) -> None:
        row = catalogue()["faults"][0]

        assert {"id", "layer", "client_may"} <= set(row)
        assert {"meaning", "layout", "transport"} == {each["layer"] for each in catalogue()["faults"]}
        json.dumps(catalogue())


class TestEntries:
    @pytest.mark.parametrize(
        "entry",
        ["late-eos-score", {"late-eos-score": {"choice": 1}}, {"ids-nested-under-choice": {"completion": True}}],
    )
    def test_an_entry_reads_and_writes_the_same(self, entry: Any) -> None:
        assert entry == parse(entry).to_entry()

    def test_no_parameters_at_all(self) -> None:
        assert parse("stall") == parse({"stall": None}) == parse({"stall": {}})

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ("late-eos-scor", "there is no fault 'late-eos-scor'\n  hint: did you mean 'late-eos-score'?"),
            ({"stall": {"mss": 3}}, "stall has no parameter 'mss'\n  hint: did you mean 'ms'?"),
            ({"stall": {"ms": "3"}}, "stall: ms: Input should be a valid number"),
            ({"stall": {"times": 0}}, "stall: times: Input should be greater than or equal to 1"),
            ({"stall": 3}, "the parameters of stall must be a mapping, not 3"),
            ({"prompt-ids-late": {"chunk": "role"}}, "prompt-ids-late: chunk: Input should be 'finish' or 'usage'"),
            ({"stall": {}, "gzip": {}}, "a fault is written as its id"),
            (7, "a fault is written as its id"),
        ],
    )
    def test_what_is_wrong_is_said(self, entry: Any, words: str) -> None:
        with pytest.raises(FaultError) as error:
            parse(entry, "hello.yaml:3: replies[0].faults[0]")

        assert str(error.value).startswith(f"hello.yaml:3: replies[0].faults[0]: {words}")

    def test_a_plug_in_with_a_known_id(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stall = find("stall")

        class Point:
            def load(self) -> list[Fault]:
                return [stall]

        monkeypatch.setattr("fakellm.faults.registry.entry_points", lambda group: [Point()])
        faults.cache_clear()
        try:
            with pytest.raises(FaultError, match="two faults have the id 'stall'"):
                faults()
        finally:
            faults.cache_clear()


@on_told("test-random", family="test", may=RECOVER)
def random_model(told: Told, context: FaultContext[Parameters]) -> Told:
    """Draws a number.

    Why: a test. Right: nothing. Breaks: nothing.
    """
    return replace(told, weight_version=str(context.rng.random()))


class TestComposition:
    def test_the_order_is_meaning_layout_transport_and_then_as_written(self) -> None:
        names = ["gzip", "model-renamed", "logprob-null", "created-in-milliseconds"]

        composed = compose(names, ask(), LAYOUT)

        assert ["logprob-null", "model-renamed", "created-in-milliseconds", "gzip"] == [
            call.fault.id for call in composed.calls
        ]
        assert composed.touches("transport")
        assert not compose(["gzip"], ask(), LAYOUT).touches("meaning", "layout")

    def test_nothing_is_nothing(self) -> None:
        empty = compose([], ask(), LAYOUT)

        assert not empty
        assert told() == empty.told(told())

    def test_a_fault_that_does_not_apply_says_why(self) -> None:
        with pytest.raises(FaultError) as error:
            compose(["sse-crlf"], ask(), LAYOUT)

        assert str(error.value).startswith("fault sse-crlf: it does not apply here: the answer is not a stream")

    def test_an_optional_one_is_left_out(self) -> None:
        assert not compose([replace(parse("sse-crlf"), optional=True)], ask(), LAYOUT)

    def test_chance_is_drawn_under_the_seed_and_the_ordinal(self) -> None:
        entry = {"model-renamed": {"probability": 0.5}}
        happened = [bool(compose([entry], ask(), LAYOUT, seed=3, ordinal=ordinal)) for ordinal in range(200)]

        assert happened == [bool(compose([entry], ask(), LAYOUT, seed=3, ordinal=ordinal)) for ordinal in range(200)]
        assert 60 < sum(happened) < 140

    def test_the_same_distortion_twice_is_the_same(self) -> None:
        from fakellm.faults.registry import FaultCall

        composed = compose([FaultCall(random_model, Parameters())], ask(), LAYOUT, seed=1)

        assert composed.told(told()) == composed.told(told())
        assert composed.told(told()) != compose([composed.calls[0]], ask(), LAYOUT, seed=2).told(told())

    def test_the_first_request_only(self) -> None:
        entry = {"model-renamed": {"times": 1}}
        healthy = rendered(told(), ask())

        assert [False, True] == [healthy == distorted(entry, healthy, ordinal=ordinal) for ordinal in (0, 1)]

    def test_chaos_can_be_written_down_and_played_again(self) -> None:
        drawn = chaos(41)

        assert drawn == chaos(41)
        assert [replace(parse(call.to_entry()), optional=True) for call in drawn] == drawn
        assert 20 < len({call.fault.id for seed in range(40) for call in chaos(seed)})

    def test_chaos_is_the_same_on_any_machine(self) -> None:
        program = "from fakellm.faults.compose import chaos; print([c.to_entry() for c in chaos(41)])"
        environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}

        found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)

        assert str([call.to_entry() for call in chaos(41)]) == found.stdout.decode().strip()


class TestPages:
    def test_a_page_for_a_terminal(self) -> None:
        page = explain("stall", "--- before", "a chat answer")

        assert page.startswith("stall\n=====\nThe answer stands still for a while, then goes on.")
        assert "ms: how long, milliseconds [default 300.0]" in page
        assert "recover: recover the truth" in page
        assert page.endswith("On the wire (a chat answer):\n--- before")
        assert max(map(len, page.splitlines())) < 140

    def test_links_of_a_page(self) -> None:
        assert ("https://github.com/NVIDIA-NeMo/Gym/pull/1963",) == Page.of(find("logprobs-one-short")).links


class TestCommands:
    def run(self, command: Any, *words: str) -> Any:
        return CliRunner().invoke(command, list(words), standalone_mode=False)

    def test_the_list(self) -> None:
        result = self.run(faults_command)

        assert all(f"  {fault.id} " in result.stdout for fault in EVERY)

    def test_words_narrow_it(self) -> None:
        rows = json.loads(self.run(faults_command, "late", "score", "--json").stdout)["faults"]

        assert ["late-eos-score"] == [row["id"] for row in rows]

    def test_words_that_no_fault_has(self) -> None:
        assert isinstance(self.run(faults_command, "xyzzy").exception, FaultError)

    def test_chaos(self) -> None:
        assert [call.to_entry() for call in chaos(7)] == json.loads(self.run(faults_command, "--chaos", "7").stdout)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("late-eos-score", "On the wire (a chat stream, vllm-0.32.0):"),
            ("align.logprobs", "level MUST, modes client, gateway"),
            ("choices/two", "fakellm conform client --only 'choices/two**' -- COMMAND"),
            ("choices/two[api=chat,layout=vllm-0.32.0]", "choices/two"),
        ],
    )
    def test_a_page_of_a_fault_a_check_or_a_case(self, name: str, words: str) -> None:
        assert words in self.run(explain_command, name).stdout

    def test_a_page_of_nothing(self) -> None:
        assert "did you mean 'late-eos-score'?" in str(self.run(explain_command, "late-eos-scor").exception)
