from __future__ import annotations

import numpy as np
import pytest

from wave_emulator_amdgcn.codeobject import load
from wave_emulator_amdgcn.errors import (
    CodeObjectError,
    EmulatorError,
    LaunchError,
    StepLimitError,
)
from wave_emulator_amdgcn.launch import LaunchOptions, emulate

ARCHITECTURES = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_reads_kernel_and_architecture(code_object, arch):
    code = code_object("gemm" if arch in ARCHITECTURES[:3] else "exchange", arch)
    kernel = code.kernel()
    assert code.architecture.name == arch
    assert kernel.block == (256, 1, 1)
    assert kernel.lds_bytes == (5120 if kernel.name == "gemm" else 1024)


def test_truncated_files_are_refused(code_bytes):
    data = code_bytes("copy", "gfx942")
    for size in (0, 3, 16, 63, 64, 200, len(data) // 2, len(data) - 1):
        with pytest.raises(CodeObjectError, match="EM0101"):
            load(data[:size])


def test_damaged_bytes_never_crash(code_bytes):
    data = bytearray(code_bytes("copy", "gfx942"))
    rng = np.random.default_rng(3)
    for _ in range(100):
        damaged = bytearray(data)
        for at in rng.integers(0, len(data), 4):
            damaged[at] = rng.integers(0, 256)
        buffers = [np.zeros(4096, np.float32) for _ in range(2)]
        try:
            options = LaunchOptions(step_limit=20_000)
            emulate(load(bytes(damaged)), buffers, grid=(1, 1, 1), options=options)
        except EmulatorError:
            pass


def test_foreign_files_are_refused(code_bytes):
    data = bytearray(code_bytes("copy", "gfx942"))
    data[18:20] = (62).to_bytes(2, "little")
    with pytest.raises(CodeObjectError, match=r"EM0101.*62"):
        load(bytes(data))
    with pytest.raises(CodeObjectError, match="EM0101"):
        load(b"hello, world, this is no ELF")


def test_an_unknown_architecture_is_refused(code_bytes):
    data = bytearray(code_bytes("copy", "gfx942"))
    data[48] = 0x2C
    with pytest.raises(CodeObjectError, match="EM0103"):
        load(bytes(data))


def test_a_missing_kernel_is_refused(code_object):
    with pytest.raises(CodeObjectError, match=r"EM0102.*there are: copy"):
        code_object("copy", "gfx942").kernel("gemm")


def test_wrong_buffers_leave_memory_untouched(code_object):
    code = code_object("copy", "gfx942")
    a = np.ones(4096, np.float32)
    with pytest.raises(LaunchError, match="EM0201"):
        emulate(code, [a], grid=(1, 1, 1))
    with pytest.raises(LaunchError, match="EM0202"):
        emulate(code, [a, np.zeros((64, 128), np.float32)[:, ::2]], grid=(1, 1, 1))
    with pytest.raises(LaunchError, match="EM0203"):
        emulate(code, [a, a.copy()], grid=(1, 1, 1), block=(64, 1, 1))


def test_a_small_buffer_is_reported(code_object):
    a, b = np.ones(4096, np.float32), np.zeros(1000, np.float32)
    result = emulate(code_object("copy", "gfx942"), [a, b], grid=(16, 1, 1))
    assert [r.code for r in result.reports] == ["EM0503"]
    assert (b == 1).all()


def test_the_step_limit_ends_a_loop(code_object):
    i, b = np.ones(256, np.int32), np.full(256, 7, np.int32)
    with pytest.raises(StepLimitError, match="EM0303"):
        emulate(
            code_object("triangle", "gfx942"),
            [i, b],
            grid=(1, 1, 1),
            options=LaunchOptions(step_limit=200),
        )
    assert (b == 7).all()


def test_an_empty_grid_runs_nothing(code_object):
    a, b = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    result = emulate(code_object("copy", "gfx942"), [a, b], grid=(0, 1, 1))
    assert result.instructions == 0
    assert (b == 0).all()
