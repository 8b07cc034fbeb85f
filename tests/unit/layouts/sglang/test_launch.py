"""Launch options by SGLang's own names: what they change, what is only noted, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.errors import LayoutError
from fakellm.layouts.registry import find
from fakellm.layouts.sglang import VERSIONS, layouts
from fakellm.layouts.sglang.traits import Trait, Traits
from support.stages import station


def started(*options: str, version: str = "0.5.23", **launch: Any) -> Any:
    return station(f"sglang-{version}", *options, **launch)[1]


class TestVersions:
    def test_every_version_is_a_layout_and_says_how_it_is_known(self) -> None:
        assert [
            ("sglang-0.5.3", "captured"),
            ("sglang-0.5.6", "captured"),
            ("sglang-0.5.9", "captured"),
            ("sglang-0.5.10", "source"),
            ("sglang-0.5.12", "captured"),
            ("sglang-0.5.13", "source"),
            ("sglang-0.5.17", "source"),
            ("sglang-0.5.18", "captured"),
            ("sglang-0.5.20", "source"),
            ("sglang-0.5.23", "captured"),
        ] == [(layout.name, layout.evidence) for layout in layouts()]

    @pytest.mark.parametrize(("wanted", "got"), [("0.5.11", "0.5.10"), ("0.5.19", "0.5.18"), ("0.5.23", "0.5.23")])
    def test_a_version_between_two_behaves_like_the_older(self, wanted: str, got: str) -> None:
        assert f"sglang-{got}" == find(f"sglang-{wanted}").layout.name

    def test_no_trait_begins_behind_the_newest_version_or_holds_nowhere(self) -> None:
        versions = [version for version, _ in VERSIONS]
        silent = [trait.name for trait in Trait if not any(trait.span.holds(version) for version in versions)]
        assert [] == silent

    def test_traits_hold_from_their_first_version_to_before_their_last(self) -> None:
        held = [version[2] for version, _ in VERSIONS if Traits.of(version).has(Trait.PROMPT_TAIL_IN_OUTPUT_IDS)]
        assert [3] == held
        assert [20, 23] == [version[2] for version, _ in VERSIONS if Traits.of(version).has(Trait.SGLEXT_IDS)]


class TestOptions:
    def test_values_are_read_in_every_spelling(self) -> None:
        settings = started("--served-model-name", "mine", "--context-length=512", "--stream_interval", "4").settings
        assert ("mine", 512, 4) == (settings.model_name, settings.context_length, settings.stream_interval)

    def test_an_alias_and_a_unique_beginning_are_the_option(self) -> None:
        assert started("--stream-output").settings.incremental
        assert "mine" == started("--served-model", "mine").settings.model_name

    def test_an_option_without_wire_effect_is_noted(self) -> None:
        station = started("--tp", "8", "--mem-fraction-static", "0.8", "--disable-cuda-graph")
        noted = ("tp", "mem-fraction-static", "disable-cuda-graph")
        assert tuple(f"--{name} has no effect on the wire" for name in noted) == station.notes

    def test_the_stream_flag_does_nothing_where_the_version_ignores_it(self) -> None:
        station = started("--stream-output", version="0.5.3")
        assert not station.settings.incremental
        assert ("--stream-output has no effect on the wire",) == station.notes

    @pytest.mark.parametrize(
        ("options", "words", "hint"),
        [
            (("--tool-call-parsr", "qwen25"), "no option --tool-call-parsr", "--tool-call-parser"),
            (("--served-model-name",), "--served-model-name needs a value", None),
            (("--served-model-name", "--enable-metrics"), "--served-model-name needs a value", None),
            (("tiny",), "'tiny' is not an option", "two dashes"),
            (("--context-length", "many"), "--context-length takes a number", None),
            (("--default-chat-template-kwargs", "{"), "takes a JSON object", None),
            (("--reasoning-parser", "qwen33"), "qwen33 is not imitated", "qwen3"),
            (("--tool-call-parser", "lisp"), "lisp is not imitated", "qwen25"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_a_hint(
        self, options: tuple[str, ...], words: str, hint: str | None
    ) -> None:
        with pytest.raises(LayoutError, match=words) as refused:
            started(*options)
        assert hint is None or hint in (refused.value.hint or "")

    def test_the_launch_facts_of_a_recording_stand_beside_the_options(self) -> None:
        settings = started(model="tiny", max_model_len=512, engine={"weight_version": "w1"}).settings
        assert ("tiny", 512, "w1") == (settings.model_name, settings.context_length, settings.weight_version)


class TestAccessors:
    def test_chat_streams_tell_ids_in_sglext_where_the_version_has_it(self) -> None:
        places = {
            layout.name: [row.path for row in layout.accessors["chat", True] if "token_ids" in row.value]
            for layout in layouts()
        }
        assert ["sglext.input_ids", "sglext.output_ids[]"] == places["sglang-0.5.23"] == places["sglang-0.5.20"]
        assert [] == places["sglang-0.5.18"]

    def test_the_flags_of_a_chat_stream_are_those_to_send(self) -> None:
        rows = find("sglang-0.5.23").layout.accessors["chat", True]
        flags = {name for row in rows if "token_ids" in row.value for name in row.flags}
        assert {"return_input_ids_in_sglext", "return_output_ids_in_sglext"} == flags

    def test_losses_are_declared(self) -> None:
        table = find("sglang-0.5.3").layout.accessors
        lossy = {(api, stream, row.value) for (api, stream), rows in table.items() for row in rows if row.loss}
        ids = {("generate", stream, "completion_token_ids") for stream in (False, True)}
        alternatives = {("chat", stream, "top_logprobs") for stream in (False, True)}
        assert {*ids, *alternatives, ("chat", True, "logprobs")} == lossy
