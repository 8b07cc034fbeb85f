"""The matrix tool: recipes, results made short, cross tables, the site, findings and the README's table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matrix import findings, readme, recipe, result, running, site, table
from matrix.scrub import Machine

MACHINE = Machine("/srv/repo", "box7", "ann", "/srv/ann", "/scratch")
PLAIN = "happy/plain[api=chat,layout=vllm-0.32.0,stream=false]"
SHORT = "scores/one-short[api=chat,layout=vllm-0.32.0,stream=false]"
HOSTILE = "<script>alert(1)</script>"
ABOUT = {
    "name": "one",
    "kind": "client",
    "recipe": "one",
    "title": "One",
    "homepage": "https://example.org/one",
    "driven": "by hand",
    "installed": {"one": "1.0"},
    "date": "2026-11-29",
    "platform": "Linux",
}


def observed(ids: list[int] | None, *, faults: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    def side(got: list[int] | None) -> dict[str, Any]:
        return {"capture": {"choices": [{"index": 0, "completion_token_ids": got, "logprobs": [-0.1], "text": "hi"}]}}

    return [
        {
            "mode": "client",
            "case": {"faults": [{"id": fault} for fault in faults]},
            "sent": side([5, 2]),
            "ending": side(ids),
        }
    ]


def report() -> list[str]:
    rows: list[dict[str, Any]] = [
        {
            "type": "header",
            "suite": "0.1.0",
            "mode": "client",
            "client": {"name": "One", "version": "1.0"},
            "layouts": [],
        },
        {
            "type": "case",
            "id": SHORT,
            "ending": "captured",
            "elapsed_ms": 7.2,
            "why": f"{HOSTILE} https://example.org/a",
            "observed": observed([5], faults=("logprobs-one-short",)),
            "reproduce": "fakellm /srv/repo/x",
            "evidence": {"request": HOSTILE, "response": "x" * 5000},
        },
        {
            "type": "finding",
            "case": SHORT,
            "check": "align.ids-vs-logprobs",
            "level": "MUST",
            "outcome": "FAIL",
            "standing": "unexpected",
            "message": f"one short {HOSTILE}",
        },
        {"type": "case", "id": PLAIN, "ending": "captured", "observed": observed([5, 2])},
        {"type": "finding", "case": PLAIN, "check": "align.completion-ids", "level": "MUST", "outcome": "PASS"},
        {"type": "case", "id": "run"},
        {
            "type": "finding",
            "case": PLAIN,
            "record": "run",
            "check": "capture.kept",
            "level": "MUST",
            "outcome": "PASS",
        },
        {"type": "finding", "case": "run", "check": "choices.apart", "level": "MUST", "outcome": "UNTESTED"},
        {"type": "footer", "verdict": "nonconformant", "exit": 1, "usable": [1, 2], "counts": {"fail": 1}, "stale": []},
    ]
    return [json.dumps(row) for row in rows]


@pytest.fixture
def outcome() -> result.Result:
    return result.from_report(report(), ABOUT, MACHINE)


class TestResult:
    def test_it_is_the_same_every_time_and_reads_back(self, outcome: result.Result, tmp_path: Path) -> None:
        text = result.written(outcome)
        (tmp_path / "one.jsonl").write_text(text)

        assert text == result.written(result.from_report(report(), ABOUT, MACHINE))
        assert text == result.written(result.read(tmp_path / "one.jsonl"))

    def test_cases_stand_in_order_without_clock_and_machine(self, outcome: result.Result) -> None:
        assert [PLAIN, "run", SHORT] == [row["id"] for row in outcome.cases]
        assert "elapsed" not in result.written(outcome)
        assert "fakellm x" == outcome.cases[2]["reproduce"]

    def test_a_finding_about_the_run_stands_at_the_case_that_it_names(self, outcome: result.Result) -> None:
        assert ["align.completion-ids", "capture.kept"] == outcome.cases[0]["passed"]

    def test_a_reason_is_kept_without_what_was_taken_from_results(self) -> None:
        rows = [json.loads(line) for line in report()]
        failing = next(row for row in rows if row.get("outcome") == "FAIL")
        failing |= {"standing": "expected", "reason": "it does not count. Seen: 11 for 12"}

        outcome = result.from_report(map(json.dumps, rows), ABOUT, MACHINE)

        assert "it does not count." == outcome.cases[2]["failed"][0]["reason"]

    def test_what_a_message_does_not_tell_is_told_beside_it(self) -> None:
        rows = [json.loads(line) for line in report()]
        rows[1]["evidence"]["captured"] = json.dumps([{"text": "Hello"}, {"text": None}])
        next(row for row in rows if row.get("outcome") == "FAIL")["check"] = "text.kept"

        outcome = result.from_report(map(json.dumps, rows), ABOUT, MACHINE)

        assert 'text "Hello", null' == outcome.cases[2]["failed"][-1]["kept"]

    def test_evidence_is_kept_for_failures_and_cut(self, outcome: result.Result) -> None:
        assert "evidence" not in outcome.cases[0]
        assert len(outcome.cases[2]["evidence"]["response"]) < 5000

    @pytest.mark.parametrize("ids, state", [([5, 2], "kept"), (None, "null"), ([5], "changed")])
    def test_what_became_of_a_value(self, ids: list[int] | None, state: str) -> None:
        assert state == result.values_of(observed(ids))["completion_token_ids"]

    def test_surprises_are_what_baseline_and_recipe_do_not_know(self, outcome: result.Result) -> None:
        assert [f"align.ids-vs-logprobs in {SHORT}", "choices.apart was not tested"] == result.surprises(outcome, {})
        assert 1 == len(result.surprises(outcome, {"choices.apart": "one choice"}))
        assert "text.kept was tested after all" in result.surprises(outcome, {"text.kept": "no", "choices.apart": "no"})

    def test_a_file_without_its_footer_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "cut.jsonl").write_text('{"type": "header"}\n')

        with pytest.raises(ValueError):
            result.read(tmp_path / "cut.jsonl")


class TestSite:
    def test_hostile_text_is_text(self, outcome: result.Result) -> None:
        for page in (site.index([outcome], {"two": HOSTILE}), site.about(outcome)):
            assert "<script" not in page
            assert "&lt;script&gt;" in page

    def test_every_cell_leads_to_its_evidence(self, outcome: result.Result) -> None:
        page = site.about(outcome)

        for case in (PLAIN, SHORT):
            assert f'runs/one.html#{site.anchor(case)}"' in site.index([outcome], {})
            assert f'id="{site.anchor(case)}"' in page

    def test_nothing_is_loaded_from_anywhere(self, outcome: result.Result) -> None:
        for page in (site.index([outcome], {}), site.about(outcome)):
            assert not [word for word in ("src=", "<link", "@import", "url(") if word in page]

    @pytest.mark.parametrize("text", ["javascript:alert(1)", "data:text/html,x", 'x" onclick="y'])
    def test_only_web_addresses_become_links(self, text: str) -> None:
        assert "<a" not in site.linked(text)


class TestTables:
    def test_a_cell_shows_the_worst_of_its_variants(self, outcome: result.Result) -> None:
        assert ("ok", "fail") == (
            table.judged(outcome, "happy/plain").state,
            table.judged(outcome, "scores/one-short").state,
        )
        assert "absent" == table.judged(outcome, "ids/elsewhere").state

    def test_what_is_kept_is_read_off_healthy_answers_alone(self, outcome: result.Result) -> None:
        assert "kept" == table.kept(outcome, ("chat", False))["completion_token_ids"].state

    def test_the_readme_changes_between_its_marks_alone(self, outcome: result.Result) -> None:
        text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"

        changed = readme.with_table(text, [outcome], {})

        assert changed.startswith("before\n")
        assert changed.endswith(f"{readme.END}\nafter\n")
        assert "| [One](conformance/results/runs/one.html) | 1.0 | nonconformant | 1 of 2 |" in changed
        assert changed == readme.with_table(changed, [outcome], {})

    def test_the_results_say_how_each_client_is_driven(self, tmp_path: Path) -> None:
        model = recipe.RecipeModel(name="one", homepage="h", driven="by hand", not_installed="it is not published")
        text = f"a\n{readme.DRIVEN_BEGIN}\nold\n{readme.DRIVEN_END}\nb\n"

        changed = readme.with_driven(text, [recipe.Recipe("client", model, Path("conformance/adapters/one"), tmp_path)])

        assert "| [one](../../conformance/adapters/one) | by hand | not installed |" in changed
        assert "old" not in changed
        assert changed.startswith("a\n")
        assert changed.endswith("\nb\n")


class TestFindings:
    CLAIM = {"title": "It counts nothing", "run": "one", "case": SHORT, "check": "align.ids-vs-logprobs"}

    def claim(self, root: Path, **changed: str) -> list[findings.Claim]:
        model = recipe.RecipeModel(name="one", homepage="https://example.org/one", driven="by hand")
        words = {**self.CLAIM, "kept": "both lists", "right": "an error", **changed}
        return [findings.Claim(recipe.Recipe("client", model, Path("x"), root), findings.ClaimModel(**words))]

    def test_a_claim_shows_its_evidence(self, outcome: result.Result, tmp_path: Path) -> None:
        page = findings.document(self.claim(tmp_path), [outcome])

        assert "### It counts nothing" in page
        assert f"make matrix CLIENT=one MATRIX_ARGS=\"--only '{SHORT}'\"" in page

    def test_a_claim_without_evidence_does_not_build(self, outcome: result.Result, tmp_path: Path) -> None:
        with pytest.raises(recipe.RecipeError, match="has no evidence"):
            findings.document(self.claim(tmp_path, check="text.kept"), [outcome])


class TestRecipes:
    ROOT = Path(__file__).parents[3]

    def test_every_recipe_of_the_repository_can_be_read(self) -> None:
        recipes = recipe.load(self.ROOT)

        assert len([one for one in recipes if one.kind == "client"]) >= 14
        assert len([one for one in recipes if one.kind == "gateway"]) >= 5

    def test_every_file_that_a_recipe_names_is_there(self) -> None:
        for one in recipe.load(self.ROOT):
            install = one.model.install
            named = [install.pip, install.pip_alone, install.npm, *(run.baseline for run in one.model.runs)]
            missing = [name for name in named if name and not (self.ROOT / one.folder / name).is_file()]
            assert [] == missing, one.name

    def test_every_version_that_is_installed_is_held_by_a_lock_file(self) -> None:
        for one in recipe.load(self.ROOT):
            install, folder = one.model.install, self.ROOT / one.folder
            locks = ["package-lock.json"] * (install.npm is not None) + ["requirements.lock"] * (
                install.pip is not None
            )
            assert [] == [name for name in locks if not (folder / name).is_file()], one.name
            assert all("==" in package for package in install.sources)

    def test_commands_are_relative_to_the_repository(self) -> None:
        for one in recipe.load(self.ROOT):
            for run in one.model.runs:
                assert str(self.ROOT) not in " ".join(running.command(one, run))

    def test_an_unknown_name_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(recipe.RecipeError, match="openai-python"):
            recipe.chosen(recipe.load(self.ROOT), ["openai-pyhton"])

    def test_a_misspelt_key_is_an_error_that_names_it(self, tmp_path: Path) -> None:
        folder = tmp_path / "conformance" / "adapters" / "x"
        folder.mkdir(parents=True)
        (folder / "adapter.yaml").write_text("name: x\nhomepage: h\ndriven: d\nrunz: []\n")

        with pytest.raises(recipe.RecipeError, match="runz"):
            recipe.load(tmp_path)
