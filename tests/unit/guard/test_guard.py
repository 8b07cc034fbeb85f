"""fakellm_conformance: finds another package of the same name, in either order of installation."""

import os
from pathlib import Path

import pytest

import fakellm_conformance as guard

OUR_INIT = f"{guard.MARKER}\n"
THEIR_INIT = "class FakeLLM: ...\n"


def install(site: Path, name: str, init: str, *, record: bool = True) -> None:
    """What an installer leaves behind: the package, and the metadata that owns it."""
    (site / "fakellm").mkdir(exist_ok=True)
    (site / "fakellm" / "__init__.py").write_text(init)
    info = site / f"{name.replace('-', '_')}-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n")
    if record:
        (info / "RECORD").write_text("fakellm/__init__.py,,\n")
    else:
        (info / "top_level.txt").write_text("fakellm\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of its own: only what a test installs is found."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(__import__("sys").modules, "fakellm", raising=False)
    return tmp_path


def test_ours_alone_is_no_trouble(site: Path) -> None:
    install(site, "fakellm-conformance", OUR_INIT)

    assert guard.trouble() is None


@pytest.mark.parametrize("last", ["ours", "theirs"])
def test_another_package_of_the_name_is_found_in_either_order(site: Path, last: str) -> None:
    order = [("fakellm", THEIR_INIT), ("fakellm-conformance", OUR_INIT)]
    for name, init in order if last == "ours" else reversed(order):
        install(site, name, init)

    found = guard.trouble()

    assert found is not None
    assert "fakellm 1.2.3" in found
    assert "pip uninstall --yes fakellm fakellm-conformance" in found


@pytest.mark.parametrize(
    "told, source",
    [
        (None, "fakellm-conformance"),
        ('{"url": "file://localhost/checkouts/fakellm%20two", "dir_info": {}}', "'/checkouts/fakellm two'"),
        ('{"url": "https://example.com/fakellm.whl", "archive_info": {}}', "https://example.com/fakellm.whl"),
        ("[1]", "fakellm-conformance"),
        ("{", "fakellm-conformance"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths are written otherwise there")
def test_it_is_mended_from_where_ours_came_from(site: Path, told: str | None, source: str) -> None:
    install(site, "fakellm-conformance", OUR_INIT)
    install(site, "fakellm", THEIR_INIT)
    if told is not None:
        (site / "fakellm_conformance-1.2.3.dist-info" / "direct_url.json").write_text(told)

    assert f"  python -m pip install {source}\n" in str(guard.trouble())
    assert f"  uvx --from {source} fakellm" in str(guard.trouble())


@pytest.mark.parametrize("record", [True, False], ids=["by its files", "by top_level.txt"])
def test_a_distribution_of_another_name_that_overwrote_ours_is_named(site: Path, record: bool) -> None:
    install(site, "fakellm-conformance", OUR_INIT)
    install(site, "mockery", THEIR_INIT, record=record)

    assert "is not ours, but of mockery 1.2.3" in str(guard.trouble())


def test_a_package_of_the_name_without_metadata_is_found_by_the_missing_mark(site: Path) -> None:
    install(site, "fakellm-conformance", THEIR_INIT)

    assert "is not ours, but of an unknown distribution" in str(guard.trouble())


def test_a_package_that_is_gone_is_told(site: Path) -> None:
    assert "not installed completely" in str(guard.trouble())


def test_distributions_that_do_not_own_the_name_do_not_matter(site: Path) -> None:
    install(site, "fakellm-conformance", OUR_INIT)
    other = site / "other-1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (other / "RECORD").write_text("other/fakellm/__init__.py,,\n")

    assert guard.trouble() is None


def test_trouble_ends_the_command_with_a_text_and_code_four(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "fakellm", THEIR_INIT)

    with pytest.raises(SystemExit) as ended:
        guard.main(["--help"])

    assert guard.EXIT_USAGE == ended.value.code
    assert "error: another distribution" in capsys.readouterr().err


def test_without_trouble_the_command_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        guard.main(["--version"])

    assert 0 == ended.value.code
    assert capsys.readouterr().out.startswith("fakellm, version ")
