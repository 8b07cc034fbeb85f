"""library: recordings from a folder, a root and a packed file."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from fakellm.errors import CaptureError
from fakellm.fidelity.library import Library
from support.recordings import write_folder

SERVER: dict[str, Any] = {
    "server": "vllm",
    "version": "0.32.0",
    "launch": ["--max-model-len", "256"],
    "tolerance": 1e-6,
    "options": {"worker": 1},
}
EXCHANGE: dict[str, Any] = {
    "name": "a",
    "truth": None,
    "request": {"method": "GET", "path": "/", "headers": {}},
    "response": {"status": 200, "headers": {}, "body": ""},
}
MASKS: dict[str, Any] = {
    "headers": ["date"],
    "servers": {"vllm": [{"kind": "random-id", "regex": "id-[0-9]+", "replace": "ID"}]},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_folder(tmp_path, "vllm-0.32.0-x", SERVER, {"a": EXCHANGE}, {"t": {"prompt_token_ids": []}})
    (tmp_path / "masks.json").write_text(json.dumps(MASKS))
    return tmp_path


@pytest.fixture(params=["folder", "root", "packed"])
def path(request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "folder":
        return root / "vllm-0.32.0-x"
    if request.param == "packed":
        packed = tmp_path_factory.mktemp("packed") / "library.tar.xz"
        with tarfile.open(packed, "w:xz") as archive:
            archive.add(root, arcname=".")
        return packed
    return root


def test_folder_root_and_packed_file_read_alike(path: Path) -> None:
    with Library([path]) as library:
        (folder,) = library.folders

        assert "vllm-0.32.0-x" == folder.name
        assert "vllm-0.32.0" == folder.server.layout
        assert ("--max-model-len", "256") == folder.server.launch
        assert {"options": {"worker": 1}} == folder.server.extra
        assert ["a"] == list(folder.exchanges)
        assert {"t": {"prompt_token_ids": []}} == folder.truths


def test_masks_beside_the_folder_are_found(path: Path) -> None:
    with Library([path]) as library:
        masks = library.folders[0].masks

        assert "x ID y" == masks.apply("x id-12 y")
        assert {"date"} == masks.headers


def test_masks_in_the_folder_come_first_and_packaged_ones_last(root: Path) -> None:
    own = {"headers": ["vary"], "servers": {}}
    (root / "vllm-0.32.0-x" / "masks.json").write_text(json.dumps(own))
    bare = write_folder(root / "elsewhere", "vllm-0.32.0", SERVER, {})

    with Library([root / "vllm-0.32.0-x", bare]) as library:
        assert {"vary"} == library.folders[0].masks.headers
        assert "content-length" in library.folders[1].masks.headers


@pytest.mark.parametrize("place", ["vllm-0.32.0-x", "."])
def test_the_tokenizer_is_looked_for_in_the_folder_and_in_its_parent(root: Path, place: str) -> None:
    (root / place / "tokenizers" / "mine").mkdir(parents=True)
    (root / "vllm-0.32.0-x" / "server.json").write_text(json.dumps({**SERVER, "tokenizer": "mine"}))

    with Library([root / "vllm-0.32.0-x"]) as library:
        assert (root / place / "tokenizers" / "mine").resolve() == Path(str(library.folders[0].tokenizer)).resolve()


def test_the_packaged_tokenizers_are_found_last(root: Path) -> None:
    (root / "vllm-0.32.0-x" / "server.json").write_text(json.dumps({**SERVER, "tokenizer": "parrot"}))

    with Library([root]) as library:
        assert (Path(str(library.folders[0].tokenizer)) / "tokenizer.json").is_file()


def broken(root: Path, name: str, text: str) -> Path:
    (root / "vllm-0.32.0-x" / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("server.json", "{", "server.json"),
        ("server.json", "[]", "no object"),
        ("server.json", '{"server": "vllm"}', "version"),
        ("server.json", '{"server": "vllm", "version": "1", "tokenizer": "gone"}', "gone"),
        ("truths.json", "{", "truths.json"),
        ("masks.json", '{"servers": {"vllm": [{"regex": "("}]}}', "masks.json"),
        ("exchanges/a.json", "{", "a.json"),
        ("exchanges/a.json", '{"name": "a"}', "request"),
        ("exchanges/a.json", json.dumps({**EXCHANGE, "compere": "status"}), "compere"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(root: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(CaptureError, match=words) as refused:
        Library([broken(root, name, text)])

    assert name.rpartition("/")[2].split(".")[0] in str(refused.value) or "server" in str(refused.value)


def test_paths_without_recordings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "broken.tar.xz").write_bytes(b"nothing")

    for path, words in (
        (tmp_path, "no server.json"),
        (tmp_path / "gone", "no such"),
        (tmp_path / "notes.txt", "neither"),
        (tmp_path / "broken.tar.xz", "cannot be read"),
    ):
        with pytest.raises(CaptureError, match=words):
            Library([path])


def test_an_archive_cannot_write_outside(tmp_path: Path) -> None:
    (tmp_path / "evil").write_text("x")
    packed = tmp_path / "library.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(tmp_path / "evil", arcname="../fakellm-evil/server.json")

    with pytest.raises(CaptureError, match=r"leads out"):
        Library([packed])
