"""Libraries in repositories of Hugging Face's layout."""

from __future__ import annotations

import json
import platform
import sys
from base64 import b64encode
from hashlib import sha256

import pytest
from libraries import write_library

from wave_runtime import ArtifactError, hub_variants, open_hub

HERE = f"{platform.machine().lower()}-{sys.platform}"


def write_metadata(variant):
    files = (path for path in variant.rglob("*") if path.is_file())
    digests = {
        str(path.relative_to(variant)): b64encode(
            sha256(path.read_bytes()).digest()
        ).decode()
        for path in files
    }
    digest = {"algorithm": "sha256", "files": digests}
    facts = {"id": "_add", "name": "add", "version": 1, "digest": digest}
    (variant / "metadata.json").write_text(json.dumps(facts))


@pytest.fixture
def repository(artifact, tmp_path):
    for name in (
        f"torch210-cxx11-cu128-{HERE}",
        f"torch210-cxx11-rocm70-{HERE}",
        "torch210-cxx11-cu128-m68k-linux",
        "torch-universal",
    ):
        variant = tmp_path / "build" / name
        write_library(variant / "add", artifact)
        write_metadata(variant)
    (tmp_path / "build" / "torch210-cxx11-cu126-x86_64-linux").mkdir()
    (tmp_path / "build" / "notes.txt").write_text("no variant")
    return tmp_path


def test_builds_without_a_library_are_left_out(repository):
    assert len(hub_variants(repository)) == 4


@pytest.mark.parametrize(("backend", "word"), [("cuda", "cu128"), ("rocm", "rocm70")])
def test_the_build_for_this_machine_is_opened(repository, backend, word):
    found = open_hub(repository, backend)
    assert found.folder.parent.name == f"torch210-cxx11-{word}-{HERE}"


def test_a_universal_build_is_for_all(repository):
    for each in hub_variants(repository):
        if each.backend == "cuda":
            (each.folder / "add" / "library.json").unlink()
    assert open_hub(repository).folder.parent.name == "torch-universal"


def test_what_is_there_is_told_where_nothing_fits(repository):
    for each in hub_variants(repository):
        if each.backend in ("cuda", "universal") and "m68k" not in each.folder.name:
            (each.folder / "add" / "library.json").unlink()
    with pytest.raises(ArtifactError, match="m68k"):
        open_hub(repository)


def test_files_that_are_not_those_of_the_metadata_are_refused(repository):
    folder = open_hub(repository).folder
    (code,) = folder.rglob("code.hsaco")
    code.write_bytes(b"something else")
    with pytest.raises(ArtifactError, match=r"not what metadata\.json says"):
        open_hub(repository)


@pytest.mark.parametrize(
    "digest",
    [
        {"algorithm": "md5", "files": {}},
        {"algorithm": "sha256", "files": {"../../x": ""}},
        {"algorithm": "sha256", "files": {"add/library.json": "?"}},
        {},
    ],
)
def test_metadata_that_means_nothing_is_refused(repository, digest):
    path = open_hub(repository).folder.parent / "metadata.json"
    path.write_text(json.dumps({"digest": digest}))
    with pytest.raises(ArtifactError):
        open_hub(repository)


def test_a_folder_of_another_layout_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="no folder `build`"):
        open_hub(tmp_path)
