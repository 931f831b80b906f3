"""Libraries of the kernel of `conftest`, written into a folder."""

from __future__ import annotations

import msgspec

from wave_runtime import Artifact, Entry, Index, TensorInfo, save_artifact
from wave_runtime.library import INDEX
from wave_runtime.manifest import digest

HERE = ("kernels", "1.0", "sources")


def entry_of(artifact, place, **fields):
    manifest = artifact.manifest
    rows = tuple(TensorInfo(row.dtype, row.shape) for row in manifest.bindings)
    row = Entry(
        "add",
        {},
        "add f16",
        manifest.target,
        manifest.form,
        rows,
        {},
        {},
        place,
        digest(manifest.to_json()),
    )
    return msgspec.structs.replace(row, **fields)


def write_library(folder, artifact, *entries):
    entries = entries or (entry_of(artifact, f"{artifact.manifest.target}/add"),)
    for each in entries:
        save_artifact(artifact, folder / each.place)
    (folder / INDEX).write_bytes(Index(*HERE, tuple(entries)).to_json())
    return folder


def another_target(artifact, target, form="hsaco"):
    manifest = msgspec.structs.replace(artifact.manifest, target=target, form=form)
    return Artifact(manifest, artifact.code)
