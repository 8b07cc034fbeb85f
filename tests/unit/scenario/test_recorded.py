"""``say: {from: FILE}``: recorded truth in all its shapes, and no path that leaves the scenario's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakellm.ask import Wants
from fakellm.errors import ScenarioError
from fakellm.generation import Generation
from fakellm.scenario.compose import compose
from fakellm.scenario.load import load_file
from fakellm.scenario.match import Script
from support.asking import TOKENIZER, ask


def truth(*ids: int, prompt: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    rows = [
        {"id": each, "bytes": [65], "logprob": -0.25 * (at + 1), "rank": 1, "top": []} for at, each in enumerate(ids)
    ]
    choice = {"finish_reason": "stop", "tokens": rows, "chunks": [1] * len(rows)}
    return {"prompt_token_ids": list(prompt), "prompt_logprobs": None, "choices": [choice]}


def played(folder: Path, say: dict[str, Any], n: int = 1, prompts: int = 1) -> tuple[Generation, ...]:
    """What a scenario in this folder says to a request."""
    (folder / "story.yaml").write_text(json.dumps({"replies": [{"say": say}]}))
    request = ask(api="completions", prompts=["x"] * prompts, n=n, wants=Wants(logprobs=True, top_logprobs=2))
    return compose(Script(load_file(folder / "story.yaml")).match(request), request, TOKENIZER)


def ids(generation: Generation) -> list[tuple[int | None, ...]]:
    return [tuple(token.id for token in choice.tokens) for choice in generation.choices]


def refused(folder: Path, **say: Any) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        played(folder, say)
    return caught.value


class TestShapes:
    def test_one_truth(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(truth(7, 8)))

        generation = played(tmp_path, {"from": "one.json"})[0]

        assert ((1, 2), [(7, 8)]) == (generation.prompt_token_ids, ids(generation))
        assert [-0.25, -0.5] == [token.logprob for token in generation.choices[0].tokens]

    def test_an_entry_of_a_library(self, tmp_path: Path) -> None:
        (tmp_path / "truths.json").write_text(json.dumps({"ta": truth(7), "tb": truth(8)}))

        assert [(8,)] == ids(played(tmp_path, {"from": "truths.json", "truth": "tb"})[0])

    @pytest.mark.parametrize("library", ["truths.json", "exchanges/truths.json"])
    def test_an_exchange_that_names_its_truth(self, tmp_path: Path, library: str) -> None:
        (tmp_path / "exchanges").mkdir()
        (tmp_path / library).write_text(json.dumps({"ta": truth(7), "tb": truth(8)}))
        (tmp_path / "exchanges" / "hello.json").write_text(json.dumps({"name": "hello", "truth": ["tb", "ta"]}))

        generations = played(tmp_path, {"from": "exchanges/hello.json"}, prompts=2)

        assert [[(8,)], [(7,)]] == [ids(each) for each in generations]

    def test_an_exchange_that_holds_its_truth(self, tmp_path: Path) -> None:
        (tmp_path / "hello.json").write_text(json.dumps({"truth": [truth(7)]}))

        assert [(7,)] == ids(played(tmp_path, {"from": "hello.json"})[0])

    def test_a_line_of_a_recording(self, tmp_path: Path) -> None:
        rows = [{"name": "a", "truth": [truth(7)]}, {"name": "b", "truth": [truth(8)]}]
        (tmp_path / "exchanges.jsonl").write_text("\n".join(json.dumps(row) for row in rows))

        assert [(8,)] == ids(played(tmp_path, {"from": "exchanges.jsonl", "exchange": "b"})[0])

    def test_the_steps_of_this_very_exchange(self, tmp_path: Path) -> None:
        (tmp_path / "hello.json").write_text(json.dumps({"truth": [truth(7, 8, 9)], "chunks": [[2]]}))

        assert (2, 1) == played(tmp_path, {"from": "hello.json"})[0].choices[0].steps


class TestPlaying:
    def test_more_choices_than_recorded_begin_again(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(truth(7)))

        assert [(7,), (7,)] == ids(played(tmp_path, {"from": "one.json"}, n=2)[0])

    def test_the_prompt_may_be_the_requests_own(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(truth(7)))

        generation = played(tmp_path, {"from": "one.json", "prompt": "request"})[0]

        assert TOKENIZER.encode("x") == generation.prompt_token_ids

    def test_tokens_may_be_scored_anew(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(truth(65, 66)))

        generation = played(tmp_path, {"from": "one.json", "logprobs": "auto"})[0]

        assert [(65, 66)] == ids(generation)
        assert -0.25 not in [token.logprob for token in generation.choices[0].tokens]
        assert {2} == {len(token.top) for token in generation.choices[0].tokens}


class TestRefused:
    @pytest.mark.parametrize("name", ["../out.json", "/etc/passwd", "a/../../out.json", "link.json"])
    def test_no_path_leaves_the_folder(self, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        (tmp_path / "out.json").write_text(json.dumps(truth(7)))
        (folder / "link.json").symlink_to(tmp_path / "out.json")

        assert "lies outside of the scenario's folder" in refused(folder, **{"from": name}).message

    def test_no_library_outside_of_the_folder_is_read(self, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        (tmp_path / "truths.json").write_text(json.dumps({"ta": truth(7)}))
        (folder / "hello.json").write_text(json.dumps({"truth": ["ta"]}))

        assert "is not in the scenario's folder" in refused(folder, **{"from": "hello.json"}).message

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"\xff", "is not UTF-8"),
            (b"{", "is not JSON"),
            (b"[]", "holds neither a truth nor an exchange"),
            (b"{}", "holds neither a truth nor an exchange"),
            (b'{"truth": null, "note": "no engine"}', "has no truth: no engine"),
            (b'{"truth": [1]}', "is not an object"),
            (b'{"choices": [], "prompt_token_ids": 7}', "cannot be read"),
            (b'{"ta": {"choices": []}, "tb": {"choices": []}}', "holds 2 entries"),
            (
                b'{"truth": [{"prompt_token_ids": [], "choices": [{"tokens": []}]}], "chunks": [["x"]]}',
                "chunks that do not fit",
            ),
        ],
    )
    def test_a_file_that_holds_no_truth_is_told(self, tmp_path: Path, content: bytes, words: str) -> None:
        (tmp_path / "bad.json").write_bytes(content)

        error = refused(tmp_path, **{"from": "bad.json"})

        assert words in error.message
        assert "field replies[0].say.from" in (error.where or "")

    def test_a_truth_that_is_not_there_is_told_with_the_closest(self, tmp_path: Path) -> None:
        (tmp_path / "truths.json").write_text(json.dumps({"t12345": truth(7), "tb": truth(8)}))

        error = refused(tmp_path, **{"from": "truths.json", "truth": "t12354"})

        assert ("truths.json has no truth 't12354'", "did you mean 't12345'?") == (error.message, error.hint)

    def test_a_recording_says_itself_how_it_ended(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(truth(7)))
        (tmp_path / "story.yaml").write_text("replies: [{say: {from: one.json}, finish_reason: length}]")

        with pytest.raises(ScenarioError, match="finish_reason cannot be changed"):
            load_file(tmp_path / "story.yaml")
