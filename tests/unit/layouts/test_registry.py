"""Finding layouts by name, for vendors whose names have several words."""

from __future__ import annotations

import pytest

from fakellm.errors import LayoutError
from fakellm.layouts.registry import VENDORS, find, release, vendor_layouts


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_vendor_has_a_newest_layout_of_its_own(vendor: str) -> None:
    assert find(vendor).layout.vendor == vendor
    assert {layout.vendor for layout in vendor_layouts(vendor)} == {vendor}


def test_the_name_of_a_variant_is_no_version() -> None:
    assert find("dynamo-responses-logprobs-capped").layout.name == "dynamo-responses-logprobs-capped"


def test_a_vendor_of_several_words_is_not_taken_for_a_version_of_another() -> None:
    assert find("tensorrt-llm").layout.vendor == "tensorrt-llm"
    assert find("llama-cpp").layout.vendor == "llama-cpp"


def test_without_a_version_the_newest_release_is_meant() -> None:
    assert find("dynamo").layout.name == "dynamo-1.7"


def test_a_development_version_is_its_release() -> None:
    assert release("1.7.0.dev20261026") == (1, 7)
    assert find("dynamo-1.7.0.dev20261026").layout.name == "dynamo-1.7"


def test_an_unknown_vendor_is_told_with_what_was_perhaps_meant() -> None:
    with pytest.raises(LayoutError, match="lama-cpp") as told:
        find("lama-cpp")

    assert "llama-cpp" in str(told.value.hint)
