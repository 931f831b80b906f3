"""Libraries: what is read, what is refused, which kernel a call gets."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint

import msgspec
import pytest
from libraries import HERE, another_target, entry_of, write_library

from wave_runtime import (
    ArtifactError,
    Index,
    Library,
    Runs,
    choose,
    library,
    library_folders,
    of_sizes,
    of_tensors,
    open_device,
)

HOPPER = Runs(("sm_90a", "sm_90"), ("sm_90a", "sm_90", "sm_80"))


def test_a_library_gives_the_kernels_that_were_written(artifact, tmp_path):
    found = Library.open(write_library(tmp_path, artifact)).made_from(*HERE)
    (entry,) = found.index.entries
    assert found.artifact(entry) == artifact
    assert Index.from_json(found.index.to_json()) == found.index


def test_a_kernel_is_loaded_once_for_a_device(artifact, tmp_path):
    found, device = Library.open(write_library(tmp_path, artifact)), open_device("null")
    (entry,) = found.index.entries
    assert found.kernel(entry, device) is found.kernel(entry, device)


@pytest.mark.parametrize("place", range(3))
def test_another_package_version_or_source_is_foreign(artifact, place, tmp_path):
    other = [*HERE]
    other[place] = "other"
    with pytest.raises(ArtifactError, match="build"):
        Library.open(write_library(tmp_path, artifact)).made_from(*other)


@pytest.mark.parametrize("file", ["manifest.json", "code.hsaco"])
def test_what_was_changed_is_refused(artifact, file, tmp_path):
    found = Library.open(write_library(tmp_path, artifact))
    (entry,) = found.index.entries
    path = tmp_path / entry.place / file
    path.write_bytes(path.read_bytes().replace(b"64", b"32").replace(b"ELF", b"FLE"))
    with pytest.raises(ArtifactError, match="describes"):
        found.artifact(entry)


@pytest.mark.parametrize("place", ["../secret", "/etc", "a/../../b", "", "a//b", ".a"])
def test_places_outside_are_refused(artifact, place):
    row = entry_of(artifact, place)
    with pytest.raises(ArtifactError, match="no place"):
        Index.from_json(Index(*HERE, (row,)).to_json())


@pytest.mark.parametrize(
    "change", [{"format": 9}, {"entries": 1}, {"more": 1}, {"name": None}]
)
def test_what_is_no_index_is_refused(artifact, change, tmp_path):
    path = write_library(tmp_path, artifact) / "library.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ArtifactError):
        Library.open(tmp_path)


def test_every_cut_of_an_index_is_refused(artifact):
    text = Index(*HERE, (entry_of(artifact, "a"),)).to_json()
    for length in range(len(text)):
        with pytest.raises(ArtifactError):
            Index.from_json(text[:length])


def entry(artifact, place, target="sm_90a", form="cubin", **fields):
    return entry_of(another_target(artifact, target, form), place, **fields)


def test_the_best_target_comes_first_then_fixed_sizes_then_the_nearest(artifact):
    rows = [
        entry(artifact, "old", "sm_80", "ptx", fixed={"N": 64}),
        entry(artifact, "any", tuned={"M": 4096, "N": 4096}),
        entry(artifact, "near", tuned={"M": 16, "N": 64}),
        entry(artifact, "fixed", fixed={"N": 64}),
        entry(artifact, "foreign", "gfx942", "hsaco"),
    ]
    order = []
    while rows:
        found = choose(rows, of_sizes({"M": 8, "N": 64}), HOPPER, "add")
        if found.entry is None:
            break
        order.append(found.entry.place)
        assert found.entry.place in found.reason
        assert {*found.passed_over} == {row.place for row in rows} - {order[-1]}
        rows = [row for row in rows if row is not found.entry]
    assert order == ["fixed", "near", "any", "old"]
    assert "hsaco for gfx942" in found.reason


def test_machine_code_of_another_generation_is_not_taken(artifact):
    rows = [entry(artifact, "old", "sm_80", "cubin")]
    assert choose(rows, of_sizes({}), HOPPER, "add").entry is None


def test_tensors_decide_with_their_types_and_shapes(artifact):
    rows = [entry(artifact, "any")]
    fitting = [("f16", (3, 5)), ("f16", (3, 5))]
    assert choose(rows, of_tensors(fitting), HOPPER, "add").entry is rows[0]
    for wrong in (
        [("f32", (3, 5)), ("f16", (3, 5))],
        [("f16", (3, 5)), ("f16", (3, 6))],
        [("f16", (3, 5))],
        [("f16", (3,)), ("f16", (3,))],
    ):
        found = choose(rows, of_tensors(wrong), HOPPER, "add")
        assert found.entry is None
        assert "f16 [M, N]" in found.reason


def test_a_number_of_a_shape_is_a_size_that_was_fixed(artifact):
    (row, *others) = entry_of(artifact, "a").tensors
    fixed = msgspec.structs.replace(row, shape=("M", "64"))
    rows = [entry(artifact, "fixed", tensors=(fixed, *others))]
    for wide, found in ((64, rows[0]), (65, None)):
        given = [("f16", (3, wide)), ("f16", (3, wide))]
        assert choose(rows, of_tensors(given), HOPPER, "add").entry is found


NO_PACKAGES = (
    *("no_such_package_of_kernels", "no_such.package", "prebuilt_kernels.more", "json"),
    *("", ".", ".json", "__main__", "a/b", "a b", "\0", "json:x"),
)


def test_installed_libraries_are_found_and_not_imported(
    artifact, tmp_path, monkeypatch
):
    folder = tmp_path / "prebuilt_kernels"
    write_library(folder, artifact)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("mine", "prebuilt_kernels", library.GROUP)
    others = [EntryPoint("gone", value, library.GROUP) for value in NO_PACKAGES]
    monkeypatch.setattr(library, "entry_points", lambda group: [*others, point])
    assert library_folders() == {"mine": folder}
    assert "prebuilt_kernels" not in sys.modules
