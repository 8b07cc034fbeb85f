"""Case files become concrete cases; what is mis-spelt is named."""

from pathlib import Path

import pytest

from fakellm.conform.case import CaseError, Template, core_of, expand, load

FILE = """
area: ids
defaults: {call: {prompt: "Hi.", max_tokens: 8}, axes: {api: [chat, completions], stream: [false, true]}}
cases:
  - name: nested
    title: Prompt ids stand under the choice
    why: https://example.org/1
    was: [ids/below]
    faults: [{prompt-ids-nested: {deep: $depth}}]
    axes: {depth: [1, 2]}
    unless: [{api: completions, stream: true}]
    call: {n: 2}
"""


def write(folder: Path, text: str, name: str = "ids.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def one(folder: Path, text: str = FILE) -> Template:
    return load([write(folder, text)])[0]


def test_ids_carry_the_axes_sorted_by_name(tmp_path: Path) -> None:
    cases = expand(one(tmp_path), ["vllm-0.32.0"])

    assert "ids/nested[api=chat,depth=1,layout=vllm-0.32.0,stream=false]" == cases[0].id


def test_every_combination_is_there_but_those_ruled_out(tmp_path: Path) -> None:
    cases = expand(one(tmp_path), ["vllm-0.32.0", "sglang-0.5.23"])

    assert 2 * 2 * 3 == len(cases)
    assert not any(case.api == "completions" and case.stream for case in cases)
    assert len({case.id for case in cases}) == len(cases)


def test_an_axis_value_fills_a_placeholder_with_its_own_type(tmp_path: Path) -> None:
    cases = expand(one(tmp_path), ["vllm-0.32.0"])

    assert {1, 2} == {case.scenario["replies"][0]["faults"][0]["prompt-ids-nested"]["deep"] for case in cases}


def test_defaults_are_merged_under_a_case(tmp_path: Path) -> None:
    case = expand(one(tmp_path), ["vllm-0.32.0"])[0]

    assert {"prompt": "Hi.", "max_tokens": 8, "n": 2, "flags": True, "extra": {}} == dict(case.call)
    assert 2 == case.n


def test_a_layout_axis_names_vendors_or_layouts(tmp_path: Path) -> None:
    template = one(tmp_path, FILE.replace("axes: {depth: [1, 2]}", "axes: {depth: [1], layout: [sglang]}"))

    assert {"sglang-0.5.23"} == {case.layout for case in expand(template, ["vllm-0.32.0", "sglang-0.5.23"])}


def test_the_core_takes_the_first_that_is_left(tmp_path: Path) -> None:
    template = one(tmp_path)
    possible = [case for case in expand(template, ["vllm-0.32.0"]) if case.stream]

    assert (possible[0],) == core_of(template, possible)


def test_the_core_takes_those_it_names(tmp_path: Path) -> None:
    template = one(tmp_path, FILE.replace("    was:", "    core: [{stream: true}, {api: completions}]\n    was:"))
    cases = core_of(template, expand(template, ["vllm-0.32.0"]))

    assert 4 == len(cases)
    assert all(case.stream or case.api == "completions" for case in cases)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("title:", "titel:"), "title"),
        (("call: {n: 2}", "call: {max_token: 2}"), "did you mean 'max_tokens'?"),
        (("name: nested", "name: Nested Ids"), "name"),
        (("area: ids", "aera: ids"), "unknown key 'aera'; did you mean 'area'?"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(CaseError) as caught:
        load([write(tmp_path, FILE.replace(*change))])

    assert words.split("; ", maxsplit=1)[0] in str(caught.value)
    assert words.rsplit("; ", maxsplit=1)[-1] in str(caught.value)
    assert "ids.yaml" in str(caught.value)


def test_a_slug_stands_only_once_former_names_included(tmp_path: Path) -> None:
    other = FILE.replace("name: nested", "name: below").replace("    was: [ids/below]\n", "")

    with pytest.raises(CaseError, match="ids/below"):
        load([write(tmp_path, FILE), write(tmp_path, other, "more.yaml")])
