"""Damaged files and wrong launches: typed errors, and memory as it was."""

from __future__ import annotations

from dataclasses import replace

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
STEPS = LaunchOptions(step_limit=5_000)


def attempt(data):
    """Load and launch whatever the bytes are; buffers change only on success."""
    buffers = [np.full(4096, k, np.float32) for k in range(2)]
    try:
        emulate(load(data), buffers, grid=(2, 1, 1), options=STEPS)
    except EmulatorError:
        assert all((b == k).all() for k, b in enumerate(buffers))
        return False
    return True


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_truncated_at_every_97th_byte(code_bytes, arch):
    data = code_bytes("copy", arch)
    assert attempt(data)
    assert not any(attempt(data[:size]) for size in range(0, len(data), 97))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["copy", "softmax"])
def test_flipped_bytes(code_bytes, arch, name):
    data = code_bytes(name, arch)
    rng = np.random.default_rng(len(data))
    for _ in range(12):
        damaged = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 6)):
            damaged[at] ^= 1 << rng.integers(0, 8)
        attempt(bytes(damaged))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_flipped_bits_of_the_code(code_bytes, arch):
    """Every few words of the kernel's own instructions."""
    data = code_bytes("exchange", arch)
    code = load(data)
    start = next(address for address, part in code.elf.image
                 if address <= code.kernel().entry < address + len(part))  # fmt: skip
    part = dict(code.elf.image)[start]
    where = data.index(part) + code.kernel().entry - start
    rng = np.random.default_rng(11)
    for at in rng.integers(where, where + 256, 30):
        damaged = bytearray(data)
        damaged[at] ^= 1 << rng.integers(0, 8)
        attempt(bytes(damaged))


@pytest.mark.parametrize("at", [15, 23])
def test_resources_in_registers_that_there_are_not(code_bytes, at):
    """In a random order the load runs late, when its wait demands it."""
    data = code_bytes("copy", "gfx1201")
    code = load(data)
    start, part = code.elf.part(code.kernel().entry)
    damaged = bytearray(data)
    damaged[data.index(part) + code.kernel().entry - start + at] ^= 1 << 6
    buffers = [np.zeros(4096, np.float32) for _ in range(2)]
    for order in (None, 1):
        options = LaunchOptions(order=order)
        with pytest.raises(EmulatorError, match=r"EM0301.*no such register"):
            emulate(load(bytes(damaged)), buffers, grid=(1, 1, 1), options=options)


def with_descriptor(data, **words):
    """The file with 32-bit words of its only descriptor changed, and no metadata."""
    code = load(data)
    (symbol,) = (s for name, s in code.elf.symbols.items() if name.endswith(".kd"))
    at = data.index(code.elf.read(symbol.value, 64))
    changed = bytearray(data.replace(b"AMDGPU\0", b"NOBODY\0"))
    for place, value in words.items():
        start = at + int(place.removeprefix("at"))
        changed[start : start + 4] = value.to_bytes(4, "little")
    return bytes(changed)


def test_arguments_of_an_odd_size_are_preloaded(code_bytes):
    properties = 1 << 3 | 2 << 16  # the pointer to the arguments, and two words
    data = with_descriptor(code_bytes("copy", "gfx942"), at8=257, at56=properties)
    attempt(data)


def test_more_preloaded_words_than_registers(code_bytes):
    properties = 1 << 3 | 127 << 16
    data = with_descriptor(code_bytes("copy", "gfx942"), at8=2048, at56=properties)
    with pytest.raises(CodeObjectError, match=r"EM0104.*129 user SGPRs, at most 106"):
        load(data)


def test_a_kernel_without_arguments_takes_buffers(code_object):
    """LLVM drops the arguments of a kernel whose output is empty."""
    code = code_object("copy", "gfx942")
    kernel = replace(code.kernel(), arguments=(), kernarg_bytes=0)
    buffers = [np.zeros(4096, np.float32) for _ in range(2)]
    assert emulate(replace(code, kernels={"copy": kernel}), buffers, grid=(1, 1, 1))


FOREIGN = {
    "nothing": b"",
    "text": b"hello, world, this is no ELF" * 8,
    "an archive": b"!<arch>\n" + bytes(200),
    "32 bits": b"\x7fELF\x01\x01\x01" + bytes(200),
    "big-endian": b"\x7fELF\x02\x02\x01" + bytes(200),
    "x86": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00" + bytes(200),
    "only a header": b"\x7fELF\x02\x01\x01\x40" + bytes(8) + b"\x03\x00\xe0\x00",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(name):
    with pytest.raises(CodeObjectError, match="EM0101"):
        load(FOREIGN[name])


@pytest.mark.parametrize("flag", [0x00, 0x2C, 0x33, 0xFF])
def test_architectures_that_it_does_not_know(code_bytes, flag):
    data = bytearray(code_bytes("copy", "gfx942"))
    data[48] = flag
    with pytest.raises(CodeObjectError, match="EM0103"):
        load(bytes(data))


def test_a_kernel_that_is_not_there(code_object):
    a, b = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    with pytest.raises(CodeObjectError, match="EM0102"):
        emulate(code_object("copy", "gfx942"), [a, b], grid=(1, 1, 1), kernel="gemm")
    assert (b == 0).all()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_few_and_too_many_buffers(code_object, count):
    buffers = [np.zeros(4096, np.float32) for _ in range(count)]
    with pytest.raises(LaunchError, match="EM0201"):
        emulate(code_object("copy", "gfx942"), buffers, grid=(1, 1, 1))
    assert not any(buffer.any() for buffer in buffers)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("size", [0, 1, 1000, 4095])
def test_buffers_that_are_too_small(code_object, arch, size):
    """What lies inside is done, what lies outside is reported and not done."""
    a, b = np.ones(4096, np.float32), np.zeros(size, np.float32)
    result = emulate(code_object("copy", arch), [a, b], grid=(16, 1, 1))
    (report,) = result.reports
    assert report.code == "EM0503"
    assert report.count >= 4096 - size - 3
    assert (b[: size // 4 * 4] == 1).all()
    assert (a == 1).all()


def test_read_only_and_strided_buffers(code_object):
    a, b = np.ones(4096, np.float32), np.zeros(8192, np.float32)[::2]
    with pytest.raises(LaunchError, match="EM0202"):
        emulate(code_object("copy", "gfx942"), [a, b], grid=(1, 1, 1))
    fixed = np.zeros(4096, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(LaunchError, match="EM0202"):
        emulate(code_object("copy", "gfx942"), [a, fixed], grid=(1, 1, 1))


@pytest.mark.parametrize("grid", [(-1, 1, 1), (1, 1 << 31, 1)])
def test_impossible_grids(code_object, grid):
    a, b = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    with pytest.raises(LaunchError, match="EM0203"):
        emulate(code_object("copy", "gfx942"), [a, b], grid=grid)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_loop_without_end(code_bytes, arch):
    """A branch to itself in place of the first instruction."""
    data = bytearray(code_bytes("copy", arch))
    code = load(bytes(data))
    kernel = code.kernel()
    start, part = next(
        p for p in code.elf.image if p[0] <= kernel.entry < p[0] + len(p[1])
    )
    preload = 256 if kernel.descriptor.preload_dwords else 0
    at = bytes(data).index(part) + kernel.entry + preload - start
    opcode = {"gfx90a": 0xBF82, "gfx942": 0xBF82, "gfx950": 0xBF82}.get(arch, 0xBFA0)
    data[at : at + 4] = (opcode << 16 | 0xFFFF).to_bytes(4, "little")
    a, b = np.ones(4096, np.float32), np.full(4096, 7, np.float32)
    with pytest.raises(StepLimitError, match="EM0303"):
        emulate(load(bytes(data)), [a, b], grid=(1, 1, 1), options=STEPS)
    assert (b == 7).all()
