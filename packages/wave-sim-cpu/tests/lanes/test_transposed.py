"""Reads of LDS that exchange what lanes fetched, on hand-built lowered graphs."""

from __future__ import annotations

import numpy as np
import pytest
from lowered import Kernel, L, M, R, flat

from wave_core.ir.facts import ACCESS, Access
from wave_core.ops.memory import TransposedRead
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.symbols import lt
from wave_core.targets import generic_target
from wave_core.types import DTYPES
from wave_sim_cpu import lanes

LANES = 64


def transposing(count: int, dtype: str, *, written: int = LANES) -> Kernel:
    """Lane ``l`` fetches ``count`` elements from ``count * l`` on, then exchanges."""
    size = LANES * count
    kernel = Kernel(M=size)
    source = kernel.parameter("a", (M,), DTYPES[dtype])
    target = kernel.parameter("b", (M,), DTYPES[dtype])
    buffer = kernel.lds((size,), DTYPES[dtype])
    at = (L * count + R,)
    mask = None if written == LANES else lt(L, written)
    value = kernel.read(source, at, count)
    kernel.write(value, buffer, at, count, mask=mask)
    kernel.add(SharedMemoryBarrier())
    read = kernel.add(TransposedRead(buffer), flat(count))
    kernel.graph.facts.put(ACCESS, read, Access(at, count))
    kernel.write(read, target, at, count)
    return kernel


@pytest.mark.parametrize(("count", "dtype"), [(4, "f16"), (8, "i8"), (8, "f8e4m3fn")])
def test_sixteen_lanes_hold_columns_of_what_they_fetched(
    count: int, dtype: str
) -> None:
    kind = DTYPES[dtype].numpy()
    a = np.random.default_rng(0).integers(-8, 8, LANES * count).astype(kind)
    b = np.zeros_like(a)
    kernel = transposing(count, dtype)
    result = lanes.run(kernel.finish(), {"a": a, "b": b}, {}, generic_target())
    assert result.reports == ()
    for lane in range(LANES):
        group, column = divmod(lane, 16)
        rows = a[group * 16 * count :][: 16 * count].reshape(count, 16)
        held = b[lane * count :][:count]
        assert held.tolist() == rows[:, column].tolist()
    assert result.counters.instructions["lds_read.b64"] == 1


def test_poison_moves_with_its_elements() -> None:
    a, b = np.ones(256, np.float16), np.zeros(256, np.float16)
    kernel = transposing(4, "f16", written=63)
    result = lanes.run(kernel.finish(), {"a": a, "b": b}, {}, generic_target())
    (report,) = result.reports
    # Lane 63 fetched the end of the last row: columns 12 to 15 of the last lanes.
    assert report.code == "WV0905"
    assert "lane 60 " in str(report)
