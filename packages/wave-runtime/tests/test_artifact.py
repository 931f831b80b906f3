"""Manifests and artifacts: round trips, and what is refused."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from wave_runtime import (
    Artifact,
    ArtifactError,
    BindingInfo,
    Manifest,
    TensorMapInfo,
    load_artifact,
    save_artifact,
)


def test_manifest_round_trip(manifest):
    text = manifest.to_json()
    assert Manifest.from_json(text) == manifest
    assert Manifest.from_json(text).to_json() == text


def test_artifact_round_trip(artifact, tmp_path):
    assert load_artifact(save_artifact(artifact, tmp_path / "k")) == artifact


@pytest.mark.parametrize("form", ["hsaco", "cubin", "ptx"])
def test_the_file_of_the_code_is_named_by_its_form(artifact, form, tmp_path):
    manifest = msgspec.structs.replace(artifact.manifest, form=form)
    given = Artifact(manifest, artifact.code)
    assert load_artifact(save_artifact(given, tmp_path)) == given
    assert (tmp_path / f"code.{form}").read_bytes() == artifact.code


def test_a_manifest_that_names_no_form_is_of_an_amd_code_object(manifest):
    table = json.loads(manifest.to_json())
    del table["form"]
    assert Manifest.from_json(json.dumps(table).encode()).form == "hsaco"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "../../etc"},
        {"form": "../secret"},
        {"form": "exe"},
        {"format": 99},
        {"grid": ()},
        {"threads": 0},
        {"threads": 1025},
        {"bindings": (BindingInfo("b", "f16", (), written=False),) * 2},
        {"parameters": ("a", "b")},
        {"code_bytes": -1},
        {"tensor_maps": (TensorMapInfo("a", (64,)),)},
        {"tensor_maps": (TensorMapInfo("s", (64, 8)),)},
        {"tensor_maps": (TensorMapInfo("a", (64, 257)),)},
        {"tensor_maps": (TensorMapInfo("a", (0, 64)),)},
        {"tensor_maps": (TensorMapInfo("a", (64, 64), 48),)},
    ],
)
def test_manifest_that_no_compiler_writes(changed, fields):
    with pytest.raises(ArtifactError):
        Manifest.from_json(changed(**fields).to_json())


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_no_manifest(text):
    with pytest.raises(ArtifactError):
        Manifest.from_json(text)


def test_unknown_field_is_refused(manifest):
    table = json.loads(manifest.to_json()) | {"hook": "os.system"}
    with pytest.raises(ArtifactError):
        Manifest.from_json(json.dumps(table).encode())


def test_every_flipped_byte_of_the_code_is_found(artifact):
    for place in range(len(artifact.code)):
        data = bytearray(artifact.code)
        data[place] ^= 1
        with pytest.raises(ArtifactError):
            Artifact(artifact.manifest, bytes(data))


def test_links_are_not_followed(artifact, tmp_path):
    folder = save_artifact(artifact, tmp_path / "k")
    secret = tmp_path / "secret"
    secret.write_bytes(artifact.code)
    (folder / "code.hsaco").unlink()
    (folder / "code.hsaco").symlink_to(secret)
    with pytest.raises(ArtifactError, match="no plain file"):
        load_artifact(folder)
    secret.write_bytes(b"mine")
    assert load_artifact(save_artifact(artifact, folder)) == artifact
    assert secret.read_bytes() == b"mine"


def test_pipes_do_not_block(artifact, tmp_path):
    folder = save_artifact(artifact, tmp_path / "k")
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(ArtifactError, match="no plain file"):
        load_artifact(folder)


def test_huge_code_is_not_read(artifact, tmp_path):
    folder = save_artifact(artifact, tmp_path / "k")
    with (folder / "code.hsaco").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ArtifactError, match="larger than"):
        load_artifact(folder)


def test_a_folder_that_cannot_be_written(artifact, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArtifactError, match="cannot write"):
        save_artifact(artifact, tmp_path / "file" / "k")
