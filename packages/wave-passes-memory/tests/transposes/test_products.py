"""Products with transposed operands: right, few and wide accesses, no conflicts."""

from __future__ import annotations

import pytest
from across import Product, per_thread
from staged import ops

import wave_core.lang as tkl
from wave_core.ir import ACCESS
from wave_core.types import MemoryType

SMALL = ((128, 128, 32), (2, 2))
LARGE = ((256, 256, 64), (2, 4))
F16, FNUZ, OCP = tkl.f16, tkl.f8e4m3fnuz, tkl.f8e4m3fn

IN_THREADS = [
    (SMALL, F16, {"global_read.b128": 4, "lds_write.b32": 8}, 18),
    (LARGE, F16, {"global_read.b128": 8, "lds_write.b64": 8}, 36),
    (SMALL, FNUZ, {"global_read.b32": 4, "lds_write.b32": 4}, 13),
    (LARGE, FNUZ, {"global_read.b64": 4, "lds_write.b32": 8}, 22),
]
"""Tile and waves, element type, accesses of a thread and iteration, all of LDS."""

IN_HARDWARE = [(SMALL, F16, 16), (LARGE, F16, 40), (SMALL, OCP, 10), (LARGE, OCP, 20)]
"""Tile and waves, element type, accesses of LDS of a thread and iteration."""


def whole(config, dtype, target, stored="row", **options):
    tile, waves = config
    sizes = (tile[0], tile[1], 2 * tile[2])
    return Product(stored, sizes, tile, waves, dtype, target, **options)


@pytest.mark.parametrize(("config", "dtype", "some", "total"), IN_THREADS)
def test_threads_transpose(config, dtype, some, total):
    found = whole(config, dtype, "gfx942")
    error, counters = found.simulate()
    counts = per_thread(counters, 2)
    assert error < 1e-5
    assert some.items() <= counts.items()
    assert sum(n for name, n in counts.items() if name.startswith("lds")) == total
    assert counters.lds_conflict_cycles["write"] == 0
    assert found.counted("transpose-in-threads")["transposed_buffers"] == 1


@pytest.mark.parametrize(("config", "dtype", "total"), IN_HARDWARE)
def test_the_target_transposes(config, dtype, total):
    found = whole(config, dtype, "gfx950")
    error, counters = found.simulate()
    counts = per_thread(counters, 2)
    assert error < 1e-5
    assert sum(n for name, n in counts.items() if name.startswith("lds")) == total
    assert {n for n in counts if n.startswith("global")} == {"global_read.b128"}
    assert counters.lds_conflict_cycles["write"] == 0
    assert ops(found.kernel.graph, "transposed_read")


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("config", [SMALL, LARGE])
@pytest.mark.parametrize("stored", ["row", "both", "left"])
def test_f16_has_no_conflicts(target, config, stored):
    error, counters = whole(config, F16, target, stored).simulate()
    assert error < 1e-5
    assert sum(counters.lds_conflict_cycles.values()) == 0
    if stored == "both":  # what is not transposed has rows of K, which are short
        lines = counters.cache_lines
        assert lines["global_read"] == counters.cache_lines_minimum["global_read"]


@pytest.mark.covering(2)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100", "generic"])
@pytest.mark.parametrize("stored", ["row", "both", "left"])
@pytest.mark.parametrize("sizes", [(136, 133, 67), (64, 70, 33), (130, 72, 40)])
def test_partial_tiles(target, stored, sizes):
    tile, waves = (64, 64, 32), (2, 2)
    error, _ = Product(stored, sizes, tile, waves, F16, target).simulate()
    assert error < 1e-5


@pytest.mark.parametrize(("idle", "loads"), [("false", "b32"), ("true", "b64")])
def test_wider_loads_where_threads_may_idle(idle, loads):
    options = {"passes": f"transpose-in-threads{{idle={idle}}}"}
    found = whole(SMALL, FNUZ, "gfx942", **options)
    error, counters = found.simulate()
    assert error < 1e-5
    assert per_thread(counters, 2)[f"global_read.{loads}"] == 4


def test_the_buffer_is_stored_with_k_last():
    graph = whole(SMALL, F16, "gfx942").kernel.graph
    buffers = [op.type for op in ops(graph, "allocate")]
    assert all(isinstance(kind, MemoryType) for kind in buffers)
    assert [kind.dims[-1] for kind in buffers] == ["K", "K"]


def test_all_that_is_read_without_a_transpose_is_single():
    without = ("transpose-in-threads", "use-transposed-reads")
    found = whole(SMALL, F16, "gfx950", disable_passes=without)
    assert per_thread(found.simulate()[1], 2)["lds_read.b16"] == 32
    reads = [r for r in ops(found.kernel.graph, "read") if r.memory.type.physical]
    rows = [found.kernel.graph.facts.get(ACCESS, read) for read in reads]
    assert min(row.registers for row in rows) == 1
