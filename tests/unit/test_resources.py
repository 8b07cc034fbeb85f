"""resources: data beside the code, found alike in a checkout and in a wheel (for the wheel see tests/packaging)."""

from pathlib import Path

import pytest

from fakellm import resources
from fakellm.errors import UsageError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation without any data."""
    monkeypatch.setattr(resources, "_DATA", tmp_path / "_data")
    monkeypatch.setattr(resources, "_CHECKOUT", tmp_path / "checkout")
    return tmp_path


@pytest.mark.parametrize("name", ["scenarios", "conformance", "golden", "shapes"])
def test_a_checkout_has_everything(name: str) -> None:
    assert resources.resource(name).exists()


def test_what_the_wheel_brings_comes_first(nowhere: Path) -> None:
    (nowhere / "checkout" / "scenarios").mkdir(parents=True)
    assert nowhere / "checkout" / "scenarios" == resources.resource("scenarios")

    (nowhere / "_data" / "scenarios").mkdir(parents=True)

    assert nowhere / "_data" / "scenarios" == resources.resource("scenarios")


def test_what_is_missing_is_told_with_a_way_out(nowhere: Path) -> None:
    assert resources.golden() is None
    with pytest.raises(UsageError, match="has no 'golden' files") as missing:
        resources.resource("golden")

    assert "reinstall fakellm-conformance" in str(missing.value)
