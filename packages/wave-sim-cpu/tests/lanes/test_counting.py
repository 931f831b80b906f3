"""Cache lines and bank conflicts against a count element by element."""

from __future__ import annotations

import numpy as np
import pytest
from lowered import WG, WV, Kernel, L, M, R, flat

from wave_core.ops.constant import Splat
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.symbols import Expr, evaluate, lt
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import Counters, lanes

F16, F32 = DTYPES["f16"], DTYPES["f32"]


def count_global(at: Expr, mask: Expr | None = None) -> Counters:
    kernel = Kernel(waves=2, groups=2, M=4096)
    source = kernel.parameter("a", (M,), F16)
    kernel.read(source, (at,), 4, mask=mask)
    a = np.zeros(4096, np.float16)
    return lanes.run(kernel.finish(), {"a": a}, {}, generic_target()).counters


def lines(at: Expr, mask: Expr | None, run: int) -> int:
    """Lines that each access of ``run`` registers touches, wave by wave."""
    touched = set()
    for group, wave, lane, register in np.ndindex(2, 2, 64, 4):
        env = {WG: group, WV: wave, L: lane, R: register}
        if mask is None or evaluate(mask, env):
            line = int(evaluate(at, env)) * 2 // 128
            touched.add((group, wave, register // run, line))
    return len(touched)


@pytest.mark.parametrize(
    ("at", "run"),
    [
        (WG * 512 + WV * 256 + L * 4 + R, 4),
        (WG * 500 + WV * 260 + L * 4 + R, 4),
        (WG * 512 + L * 28 + R, 4),
        ((L * 4 + R) // 8 * 8, 1),
        ((WG * 300 + L * 20 + R * 2) % 512, 1),
    ],
)
@pytest.mark.parametrize("mask", [None, lt(L, 40), lt(L * 4 + R, 96)])
def test_cache_lines(at: Expr, run: int, mask: Expr | None) -> None:
    found = count_global(at, mask).cache_lines["global_read"]
    assert found == lines(at, mask, run)


def test_widths_and_bytes() -> None:
    counters = count_global(L * 4 + R)
    assert counters.instructions["global_read.b64"] == 4
    assert counters.bytes_moved["global_read"] == 4 * 64 * 4 * 2
    assert counters.cache_lines_minimum["global_read"] == 16
    assert count_global(L * 4 + R * 2).instructions["global_read.b16"] == 16


@pytest.mark.parametrize(
    ("stride", "cycles"), [(1, 0), (2, 2), (4, 6), (32, 62), (33, 0), (0, 0)]
)
def test_bank_conflicts(stride: int, cycles: int) -> None:
    """32 banks serve 32 lanes at a time: stride s makes gcd(s, 32) lanes meet."""
    kernel = Kernel(M=64)
    buffer = kernel.lds((64 * 33,), F32)
    one = kernel.add(Splat((M,), F32, 1.0), flat(1))
    kernel.write(one, buffer, (L,))
    kernel.add(SharedMemoryBarrier())
    kernel.read(buffer, (L * stride,))
    counters = lanes.run(kernel.finish(), {}, {}, generic_target()).counters
    assert counters.lds_conflict_cycles["read"] == cycles


@pytest.mark.parametrize(("ends", "width"), [(20, 64), (24, 128), (22, 32), (21, 16)])
def test_elements_that_do_not_exist_together_are_accesses_apart(
    ends: int, width: int
) -> None:
    """Rows of 24 elements, of which each lane reads eight; a row has ``ends``."""
    kernel = Kernel(M=64 * 24)
    source = kernel.parameter("a", (M,), F16)
    row, column = L // 3 * 24, L % 3 * 8 + R
    kernel.read(source, (row + column,), 8, mask=lt(column, ends))
    a = np.zeros(64 * 24, np.float16)
    counters = lanes.run(kernel.finish(), {"a": a}, {}, generic_target()).counters
    assert counters.instructions[f"global_read.b{width}"] == 128 // width
