"""The emulator as a device of the runtime: what reaches it, and what it tells."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from wave_emulator_ptx.device import EmulationError, EmulatorDevice
from wave_runtime import (
    Artifact,
    BindingInfo,
    ConstantInfo,
    DeviceError,
    LaunchRefused,
    LoadedKernel,
    Manifest,
    devices,
    open_device,
)
from wave_runtime.arrays import ArrayView
from wave_runtime.manifest import digest

PROJECT = Path(__file__).parent.parent / "pyproject.toml"

AXPY = """
.version 8.3
.target sm_90a
.address_size 64
.file 1 "mine.py"
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<6>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [y];
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 64, %r2;
    setp.ge.u32 %p0, %r3, %r0;
    @%p0 ret;
    mul.wide.u32 %d2, %r3, 4;
    add.s64 %d3, %d0, %d2;
    add.s64 %d4, %d1, %d2;
    .loc 1 7 0
    ld.global.f32 %f1, [%d3];
    ld.global.f32 %f2, [%d4];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%d4], %f3;
    ret;
}
"""

RACE = """
.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 smem[];
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a)
{
    .reg .b32 %r<4>;
    mov.u32 %r0, smem;
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    add.u32 %r2, %r2, %r0;
    st.shared.u32 [%r2], %r1;
    xor.b32 %r3, %r2, 128;
    ld.shared.u32 %r1, [%r3];
    ret;
}
"""


def artifact(text=AXPY, **changes):
    code = text.encode() if isinstance(text, str) else text
    fields = {
        "name": "axpy",
        "target": "sm_90a",
        "parameters": ("x", "a", "y"),
        "bindings": (
            BindingInfo("x", "f32", ("N",), written=False),
            BindingInfo("y", "f32", ("N",), written=True),
        ),
        "constants": (
            ConstantInfo("N", "i32", 1, parameter=False),
            ConstantInfo("a", "f32", 1, parameter=True),
        ),
        "grid": ("ceildiv(N, 64)",),
        "threads": 64,
        "wave_size": 32,
        "lds_bytes": 0,
        "max_extent": 1 << 30,
        "code_bytes": len(code),
        "code_digest": digest(code),
        "versions": {},
    }
    return Artifact(Manifest(**fields | changes), code)


def vectors(n=100):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n).astype("f4") for _ in range(2)]


@pytest.fixture
def device():
    return EmulatorDevice()


@pytest.mark.parametrize("n", [1, 64, 100])
def test_a_launch_writes_in_place(device, n):
    x, y = vectors(n)
    expected = np.float64(1.5) * x + y
    LoadedKernel(artifact(), device)(x, 1.5, y)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert device.reports() == []
    assert device.summary()["waves"] == 2 * -(-n // 64)
    assert device.summary()["counters"]["instructions"] > 0


def test_nothing_runs_for_empty_arrays(device):
    LoadedKernel(artifact(), device)(*vectors(0)[:1], 1.5, vectors(0)[1])
    assert device.results == []


def test_what_launches_write_can_be_dropped(device):
    x, y = vectors()
    before = y.copy()
    device.configure(hazards=True, poison=frozenset(), keep=False)
    LoadedKernel(artifact(), device)(x, 1.5, y)
    assert (y == before).all()


def test_memory_that_nobody_wrote_is_reported_with_both_lines(device):
    device.configure(hazards=True, poison=frozenset({0}))
    LoadedKernel(artifact(), device)(vectors()[0], 1.5, vectors()[1])
    (row,) = json.loads(json.dumps(device.reports()))
    assert (row["code"], row["count"], row["source"]) == ("EP0505", 100, "mine.py:7")
    assert AXPY.splitlines()[row["line"] - 1].strip().startswith("ld.global.f32 %f1")
    assert "nobody wrote" in row["message"]


def test_hazards_can_be_left_out(device):
    device.configure(hazards=False, poison=frozenset())
    LoadedKernel(artifact(RACE, lds_bytes=256), device)(vectors()[0], 1.5, vectors()[1])
    assert device.reports() == []


def test_a_launch_asks_for_the_shared_memory_of_the_manifest(device):
    x, y = vectors()
    LoadedKernel(artifact(RACE, lds_bytes=256), device)(x, 1.5, y)
    assert {row["code"] for row in device.reports()} == {"EP0501"}
    device.configure(hazards=True, poison=frozenset())
    LoadedKernel(artifact(RACE, lds_bytes=64), device)(x, 1.5, y)
    assert "EP0503" in {row["code"] for row in device.reports()}


def test_numbers_of_64_bits_take_two_words(device):
    wide = AXPY.replace(".param .u32 n", ".param .u64 n").replace(
        "ld.param.u32 %r0", "ld.param.u64 %d5, [n];\n    cvt.u32.u64 %r0, %d5;//"
    )
    x, y = vectors()
    constants = (
        ConstantInfo("n", "i64", 2, parameter=True),
        ConstantInfo("a", "f32", 1, parameter=True),
    )
    made = artifact(wide, constants=constants, parameters=("x", "n", "a", "y"))
    expected = y.copy()
    expected[:70] += np.float32(2) * x[:70]
    LoadedKernel(made, device)(x, 70, 2.0, y)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


REFUSED = {
    "EP0101": {"text": AXPY.replace("mad.lo.u32", "mad.lo.u32 ,,")},
    "EP0102": {"name": "other"},
    "EP0103": {"text": b"\x7fELF cubin"},
    "EP0301": {"text": AXPY.replace("fma.rn.f32", "tex.fma")},
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_be_executed_is_refused_when_it_is_loaded(device, code):
    with pytest.raises(EmulationError, match=code) as caught:
        device.load(artifact(**REFUSED[code]))
    assert caught.value.code == code
    assert isinstance(caught.value, DeviceError)


def test_more_shared_memory_than_there_is(device):
    with pytest.raises(EmulationError, match="EP0203: 300000 bytes of shared"):
        LoadedKernel(artifact(lds_bytes=300_000), device)(
            *vectors()[:1], 1, vectors()[1]
        )


def test_parameters_that_the_manifest_does_not_have(device):
    one = artifact(AXPY.replace(", .param .f32 a)", ")").replace("[a]", "[n]"))
    with pytest.raises(EmulationError, match="take 4 bytes, and the launch gives 8"):
        LoadedKernel(one, device)(vectors()[0], 1.5, vectors()[1])


def test_memory_of_a_gpu_is_refused(device):
    there = ArrayView(0x7000, (100,), "f32", (4,), 4, "cuda", 0)
    with pytest.raises(LaunchRefused, match="device emulator-ptx reaches that of cpu"):
        LoadedKernel(artifact(), device)(there, 1.5, vectors()[1])


def test_the_runtime_finds_it_by_name(monkeypatch):
    """By the entry point that this package declares, whatever is installed here."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    (row,) = project["entry-points"][devices.GROUP].items()
    point = EntryPoint(*row, devices.GROUP)
    monkeypatch.setattr(devices, "entry_points", lambda group: (point,))
    assert open_device("emulator-ptx").name == "emulator-ptx"
    with pytest.raises(DeviceError, match="'emulator-ptx' is one alone"):
        open_device("emulator-ptx:1")
