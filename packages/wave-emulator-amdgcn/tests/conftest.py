"""What the tests share: code objects of the fixtures, and machine code run alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.codeobject import load
from wave_emulator_amdgcn.machine import Machine, Shape
from wave_emulator_amdgcn.memory import Regions
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="session")
def code_bytes():
    """The bytes of a fixture by kernel and architecture."""
    return lambda name, arch: (FIXTURES / f"{name}.{arch}.hsaco").read_bytes()


@pytest.fixture(scope="session")
def code_object(code_bytes):
    """A fixture, loaded."""
    return lambda name, arch: load(code_bytes(name, arch))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def machine():
    """A machine of some waves, all in one workgroup."""

    def make(arch="gfx942", waves=2, lds=4096, sizes=(("m", 4096),)):
        architecture = ARCHITECTURES[arch]
        shape = Shape(waves, architecture.lanes, waves, lds, private_bytes=64)
        return Machine(architecture, shape, Regions(list(sizes)))

    return make


@pytest.fixture
def execute():
    """Run encoded instructions on a machine; every architecture ends alike."""

    def run(m, *instructions):
        data = b"".join(i.to_bytes() for i in instructions)
        end = 0xBF810000 if m.architecture.family == "cdna" else 0xBFB00000
        data += end.to_bytes(4, "little") * 8
        loop = Loop(m, Program(data, 0x1000, m.architecture), 0x1000)
        loop.run(10_000)
        return m

    return run
