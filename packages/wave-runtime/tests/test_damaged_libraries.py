"""Libraries that are damaged or foreign in any part are refused by one clear error.

What is drawn is a change of a library's files: of their bytes, which digests tell, or
of what they say with digests that fit, as a careless or hostile builder writes them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from libraries import entry_of, write_library
from test_signing import write_keys

from wave_runtime import (
    Artifact,
    ArtifactError,
    Library,
    Manifest,
    Runs,
    RuntimeFailure,
    TensorMapInfo,
    Trust,
    choose,
    of_sizes,
    of_tensors,
    open_device,
    signature_of,
)
from wave_runtime.library import INDEX
from wave_runtime.manifest import digest
from wave_runtime.signing import SIGNATURE

PLACE = "gfx942/add"
MANIFEST, CODE = f"{PLACE}/manifest.json", f"{PLACE}/code.hsaco"
FILES = (INDEX, MANIFEST, CODE)
EXAMPLES = 100
DEVICE = open_device("null")

LEFT_OUT, TWICE = object(), object()
VALUES = (None, True, 1.5, 1e308, [], {}, [[]], "", "..", "/", "\0")
NUMBERS = (-1, 0, 1 << 31, 1 << 63, 10**400)
TEXTS = (
    "a" * 300,
    "9" * 5000,
    "(" * 5000,
    "M // 0",
    "min(M)",
    "select(M)",
    "M" + "*M" * 999,
)
EDITS = (LEFT_OUT, TWICE, *VALUES, *NUMBERS, *TEXTS)


def write_everything(folder, artifact):
    """A library whose records have a value in each of their fields."""
    maps = (TensorMapInfo("a", (8, 8), 32),)
    fields = {"tensor_maps": maps, "devices": ("1",)}
    manifest = msgspec.structs.replace(artifact.manifest, **fields)
    whole = Artifact(manifest, artifact.code)
    sizes = {"options": {"bias": True}, "fixed": {"N": 5}, "tuned": {"M": 64}}
    return write_library(folder, whole, entry_of(whole, PLACE, **sizes))


def used(folder, trust):
    """Open a library and call its kernels; what a call looks at is looked at."""
    library = Library.open(folder, trust)
    a, b = (np.zeros((3, 5), np.float16) for _ in range(2))
    ways = of_sizes({"M": 3, "N": 5}), of_tensors([("f16", (3, 5))] * 2)
    for fit in ways:
        choose(library.index.entries, fit, Runs.of(DEVICE), "add")
    for entry in library.index.entries:
        library.kernel(entry, DEVICE)(a, 1.0, b)
    return [library.artifact(entry) for entry in library.index.entries]


@st.composite
def damaged(draw, data):
    """Other bytes in place of these."""
    at, way = draw(st.integers(0, len(data) - 1)), draw(st.integers(0, 3))
    if way == 0:
        return (
            data[:at]
            + bytes([data[at] ^ 1 << draw(st.integers(0, 7))])
            + data[at + 1 :]
        )
    if way == 1:
        return data[:at]
    if way == 2:
        return data[:at] + draw(st.binary(min_size=1, max_size=9)) + data[at:]
    return data + data


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return write_keys(tmp_path_factory.mktemp("keys"), "maker")


# The artifact that is shared by the examples does not change.
many = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("signed", [False, True])
@many
@given(data=st.data())
def test_other_bytes_are_refused_or_say_the_same(signed, keys, artifact, data):
    private, public = keys
    with TemporaryDirectory() as place:
        folder = write_library(Path(place), artifact)
        signature = signature_of((folder / INDEX).read_bytes(), private)
        (folder / SIGNATURE).write_bytes(signature)
        file = data.draw(st.sampled_from((*FILES, SIGNATURE) if signed else FILES))
        path = folder / file
        path.write_bytes(data.draw(damaged(path.read_bytes())))
        trust = Trust((public,), required=True) if signed else Trust()
        try:
            found = used(folder, trust)
        except RuntimeFailure:
            return
        assert found == [artifact]
        assert not signed or file != INDEX


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("way", ["nothing", "folder", "link", "loop"])
def test_what_is_no_file_is_refused(file, way, artifact, tmp_path):
    folder = write_library(tmp_path / "library", artifact)
    path = folder / file
    path.rename(tmp_path / "elsewhere")
    if way == "folder":
        path.mkdir()
    elif way != "nothing":
        path.symlink_to(tmp_path / "elsewhere" if way == "link" else path)
    with pytest.raises(RuntimeFailure):
        used(folder, Trust())


# ------------------------------------------------------------- of what they say


def places(document, path=()):
    """Where each value of a document is."""
    if path:
        yield path
    if isinstance(document, dict | list):
        rows = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in rows:
            yield from places(value, (*path, key))


def edited(text, path, edit):
    """A document with a value left out, given twice, or another in its place."""
    document = holder = json.loads(text)
    *way, last = path
    for key in way:
        holder = holder[key]
    if edit is LEFT_OUT:
        del holder[last]
    elif edit is TWICE and isinstance(holder, list):
        holder.append(holder[last])
    elif edit is TWICE:
        holder[f"{last}_"] = holder[last]
    else:
        holder[last] = edit
    return json.dumps(document)


def sealed(folder):
    """Let the index have the digest of the manifest, as its builder would."""
    try:
        manifest = Manifest.from_json((folder / MANIFEST).read_bytes())
        document = json.loads((folder / INDEX).read_bytes())
        for row in document["entries"]:
            row["manifest_digest"] = digest(manifest.to_json())
    except (RuntimeFailure, LookupError, TypeError):
        return
    (folder / INDEX).write_text(json.dumps(document))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("file", [INDEX, MANIFEST])
def test_any_edit_anywhere_is_refused_or_does_no_harm(file, step, artifact, tmp_path):
    """Of ``step`` edits one in each place, and each edit in many places."""
    folder = write_everything(tmp_path, artifact)
    before = {each: (folder / each).read_text() for each in (INDEX, MANIFEST)}
    for number, path in enumerate(places(json.loads(before[file]))):
        for edit in EDITS[number % step :: step]:
            (folder / file).write_text(edited(before[file], path, edit))
            sealed(folder)
            with suppress(RuntimeFailure):
                used(folder, Trust())
            (folder / INDEX).write_text(before[INDEX])


@many
@given(data=st.data(), times=st.integers(2, 4))
def test_several_edits_are_refused_or_do_no_harm(artifact, data, times):
    with TemporaryDirectory() as place:
        folder = write_everything(Path(place), artifact)
        for _ in range(times):
            path = folder / data.draw(st.sampled_from((INDEX, MANIFEST)))
            text = path.read_text()
            where = data.draw(st.sampled_from([*places(json.loads(text))]))
            edit = data.draw(st.sampled_from(EDITS) | st.integers())
            path.write_text(edited(text, where, edit))
        sealed(folder)
        with suppress(RuntimeFailure):
            used(folder, Trust())


def test_two_kernels_at_one_place_are_refused(artifact, tmp_path):
    rows = [entry_of(artifact, PLACE), entry_of(artifact, PLACE, function="subtract")]
    with pytest.raises(ArtifactError, match="gfx942/add"):
        Library.open(write_library(tmp_path, artifact, *rows))
