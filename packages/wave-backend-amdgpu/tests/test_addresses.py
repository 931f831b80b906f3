"""Addresses: 32 bits where that is proved, 64 elsewhere, what is uniform in scalars."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
import wave_emulator_amdgcn.launch as launch
from wave_core.diagnostics import UserError
from wave_emulator_amdgcn import load
from wave_runtime import LoadedKernel
from wave_runtime.artifact import Artifact
from wave_runtime.errors import LaunchRefused
from wave_runtime.manifest import Manifest
from wave_runtime.null import NullDevice

M, N, R, C = tkl.sym.M, tkl.sym.N, tkl.sym.R, tkl.sym.C
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
WIDE = re.compile(r"v_lshl_add_u64|v_addc_co|v_mad_[iu]64|v_lshlrev_b64|_u64_u32")


def copy(rows=16, dtype=tkl.f16):
    """One wave copies a tile."""

    @tkw.wave([tkw.WorkgroupConstraint(M, rows, 0), tkw.HardwareConstraint()])
    def copy(a: tkl.Memory[M, N, GLOBAL, dtype], b: tkl.Memory[M, N, GLOBAL, dtype]):
        tkw.write(tkw.read(a), b)

    return copy


def far(first):
    """Copies rows of a large matrix, from ``first``, to a small one."""
    i, j = (tkw.IndexMapping.iterator(position) for position in range(2))
    rows = tkw.IndexMapping(
        num_iterators=2, inputs={R: first + i, C: j}, outputs={M: i, N: j}
    )

    @tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
    def far(a: tkl.Memory[R, C, GLOBAL, tkl.f16], b: tkl.Memory[M, N, GLOBAL, tkl.f16]):
        tkw.write(tkw.read(a, mapping=rows), b)

    return far


# ---- beyond 32 bits


@pytest.fixture
def window(monkeypatch):
    """Buffer 0 of a launch is what lies ``offset`` bytes into a larger one."""
    plain = launch._arguments

    def open_at(offset):
        def moved(kernel, *rest):
            data = bytearray(plain(kernel, *rest).tobytes())
            at = next(a.offset for a in kernel.arguments if a.kind == "global_buffer")
            (address,) = struct.unpack_from("<Q", data, at)
            struct.pack_into("<Q", data, at, (address - offset) % (1 << 64))
            return np.frombuffer(bytes(data), np.uint8)

        monkeypatch.setattr(launch, "_arguments", moved)

    return open_at


LARGE = [
    pytest.param(70_000, 40_000, 69_000, 16, id="offset"),
    pytest.param(70_000, 40_000, 69_000, 13, id="masked"),
    pytest.param(70_000, 140_000, 69_900, 16, id="elements"),
    pytest.param(3, (1 << 31) + 640, 1, 1, id="extent"),
]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(("height", "width", "first", "rows"), LARGE)
def test_static_extents_beyond_32_bits(
    emitted, window, target, height, width, first, rows
):
    subs = {M: rows, N: 64, R: height, C: width}
    code = emitted.files(far(first), "hsaco", target, subs)["code.hsaco"]
    window(2 * first * width)
    check_far(code, rows, width)


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize(("height", "width", "first", "rows"), LARGE[:3:2])
def test_sizes_of_the_launch_beyond_32_bits(
    emitted, window, target, height, width, first, rows
):
    files = emitted.files(far(first), "hsaco", target, {M: rows, N: 64}, (R, C))
    window(2 * first * width)
    check_far(files["code.hsaco"], rows, width, (width, height))


def check_far(code, rows, width, constants=()):
    """Row ``i`` of the result is what starts at ``i * width`` of the window."""
    wanted = np.random.default_rng(1).standard_normal((rows, 64)).astype(np.float16)
    large = np.zeros((rows - 1) * width + 64, np.float16)
    for row in range(rows):
        large[row * width : row * width + 64] = wanted[row]
    found = np.zeros_like(wanted)
    launch.emulate(load(code), [large, found], grid=(1, 1, 1), constants=constants)
    assert np.array_equal(found, wanted)


def artifact_of(files):
    manifest = Manifest.from_json(files["manifest.json"])
    return Artifact(manifest, files["code.hsaco"])


def test_masked_memory_of_a_launch_has_a_limit(emitted):
    files = emitted.files(far(1), "hsaco", subs={M: 13, N: 64}, dynamic=(R, C))
    artifact = artifact_of(files)
    assert [row.limit for row in artifact.manifest.bindings] == [(1 << 31) - 16, None]
    # Memory that is never touched takes no space.
    large = np.empty((1 << 15, 1 << 15), np.float16)
    with pytest.raises(LaunchRefused, match="out of reach"):
        LoadedKernel(artifact, NullDevice())(large, np.zeros((13, 64), np.float16))


def test_extents_of_a_launch_beyond_the_limit_are_refused(emitted):
    files = emitted.files(copy(dtype=tkl.i8), "hsaco", subs={N: 64}, dynamic=(M,))
    artifact = artifact_of(files)
    assert artifact.manifest.max_extent == 2**31 - 2**20
    rows = artifact.manifest.max_extent
    kernel = LoadedKernel(artifact, NullDevice())
    large = np.lib.stride_tricks.as_strided(np.zeros(64, np.int8), (rows, 64), (0, 1))
    with pytest.raises(LaunchRefused, match=f"{rows} is beyond"):
        kernel(large, large)


def test_a_grid_that_no_launch_can_ask_for_is_refused(emitted):
    with pytest.raises(UserError) as caught:
        emitted(copy(1), "mlir", subs={M: 1 << 27, N: 64})
    assert caught.value.code == "WV0605"
    assert f"needs {1 << 33} work-items on axis 0" in str(caught.value)
    assert f"counts to {(1 << 32) - 1}" in str(caught.value)


# ---- no more bits than needed


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_static_sizes_are_computed_in_32_bits(emitted, target):
    subs = {M: 1000, N: 60}
    assert " : i64" not in emitted(copy(), "mlir", target, subs)
    assert not WIDE.search(emitted(copy(), "asm", target, subs))


def test_unmasked_addresses_too(emitted):
    assert " : i64" not in emitted(copy(), "mlir", subs={M: 1024, N: 64})


def test_sizes_beyond_are_not(emitted):
    subs = {M: 100_000, N: 60_000}
    rows = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 64, 1)]
    assert " : i64" in emitted(with_rows(rows), "mlir", subs=subs)


def with_rows(rows):
    @tkw.wave([*rows, tkw.HardwareConstraint()])
    def copy(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16], b: tkl.Memory[M, N, GLOBAL, tkl.f16]
    ):
        tkw.write(tkw.read(a), b)

    return copy


# ---- buffers


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_masked_accesses_are_buffer_instructions_with_the_size(emitted, target):
    text = emitted(copy(), "asm", target, {M: 129, N: 100})
    assert "buffer_load" in text
    assert "buffer_store" in text
    assert "global_" not in text.partition("s_endpgm")[0]
    assert re.search(rf"s_mov(k_i32|_b32) s\d+, {129 * 100 * 2:#x}\b", text)


def test_the_size_of_a_launch_is_in_the_descriptor(emitted):
    text = emitted(copy(), "llvm", subs={N: 100}, dynamic=(M,))
    assert re.search(r"make\.buffer\.rsrc.*, i32 %\d+, i32 \d+\)", text)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_nothing_is_touched_out_of_bounds(emitted, target):
    code = emitted.files(copy(), "hsaco", target, {M: 5, N: 36})["code.hsaco"]
    source = np.random.default_rng(2).standard_normal((5, 36)).astype(np.float16)
    # What lies behind the arrays, and must stay.
    there, back = np.full(6 * 64, 3, np.float16), np.full(6 * 64, 7, np.float16)
    there[: source.size] = source.ravel()
    launch.emulate(load(code), [there, back], grid=(1, 1, 1))
    assert np.array_equal(back[: source.size], source.ravel())
    assert (back[source.size :] == 7).all()


def test_unmasked_accesses_of_large_files_need_no_buffer(emitted):
    subs = {M: 128, N: 64}
    assert "buffer_" not in emitted(copy(), "asm", "gfx942", subs)
    assert "buffer_load" in emitted(copy(), "asm", "gfx942", subs, use_buffer_ops=True)
    assert "buffer_load" in emitted(copy(), "asm", "gfx1100", subs)


# ---- uniform parts


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_what_is_uniform_is_computed_in_scalar_registers(emitted, target):
    rows = [tkw.WorkgroupConstraint(M, 16, 0), tkw.WorkgroupConstraint(N, 64, 1)]
    text = emitted(with_rows(rows), "asm", target, {M: 1000, N: 1000})
    assert re.search(r"s_mul_i32 s\d+, \w+, 0x3e80\b", text), "16 rows of 1000"
    products = [x for x in text.splitlines() if "0x3e80" in x and "\tv_" in x]
    assert products == []


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_the_wave_is_uniform(emitted, target):
    rows = [tkw.WorkgroupConstraint(M, 64, 0), tkw.WaveConstraint(M, 16)]
    text = emitted(with_rows(rows), "asm", target, {M: 1024, N: 64})
    assert text.count("v_readfirstlane_b32") == 1
