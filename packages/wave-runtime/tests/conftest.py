"""A manifest and an artifact of a kernel that adds a number to a matrix."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from wave_runtime import Artifact, BindingInfo, ConstantInfo, Manifest
from wave_runtime.manifest import digest

sys.path.insert(0, str(Path(__file__).parent))

CODE = b"\x7fELF code"


@pytest.fixture
def manifest():
    return Manifest(
        name="add",
        target="gfx942",
        parameters=("a", "s", "b"),
        bindings=(
            BindingInfo("a", "f16", ("M", "N"), written=False),
            BindingInfo("b", "f16", ("M", "N"), written=True, limit=1 << 31),
        ),
        constants=(
            ConstantInfo("M", "i32", 1, parameter=False),
            ConstantInfo("N", "i32", 1, parameter=False),
            ConstantInfo("s", "f32", 1, parameter=True),
        ),
        grid=("ceildiv(M, 64)", "ceildiv(N, 64)"),
        threads=256,
        wave_size=64,
        lds_bytes=0,
        max_extent=1 << 30,
        code_bytes=len(CODE),
        code_digest=digest(CODE),
        versions={"wave-core": "0.1.0"},
    )


@pytest.fixture
def artifact(manifest):
    return Artifact(manifest, CODE)


@pytest.fixture
def changed(manifest):
    def change(**fields):
        return msgspec.structs.replace(manifest, **fields)

    return change
