"""Layouts: bijections, free of conflicts where it is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from staged import compiled_gemm, ops, run_case, run_gemm, session

from wave_core.ir import ACCESS, resolve
from wave_passes_memory.layouts.patterns import conflict_cycles, split_accesses
from wave_passes_memory.layouts.schemes import schemes

TARGETS = ("gfx942", "gfx950")


@given(
    rows=st.integers(1, 130),
    chunks=st.integers(1, 40),
    width=st.sampled_from([4, 8, 16]),
)
def test_every_scheme_gives_each_element_a_place_of_its_own(rows, chunks, width):
    row, column = np.divmod(np.arange(rows * chunks * width), chunks * width)
    for scheme in schemes(chunks * width, width):
        places = scheme.places(row, column, chunks * width)
        assert len(np.unique(places)) == len(places)
        assert places.max() < rows * (chunks * width + scheme.padding)
        # An aligned access keeps its bytes together.
        starts = places.reshape(-1, width)
        assert (np.diff(starts, axis=1) == 1).all()
        assert (starts[:, 0] % width == 0).all()


@given(halves=st.integers(1, 130), width=st.sampled_from([4, 8, 16]))
def test_rows_of_other_layouts_start_at_multiples_of_the_widest_access(halves, width):
    plain, *others = schemes(2 * halves, width)
    assert plain.is_plain
    assert others
    assert all((2 * halves + scheme.padding) % width == 0 for scheme in others)


def test_rows_that_are_no_multiple_of_the_access_split_it():
    rows = np.arange(64)[None]
    alive = np.ones_like(rows, dtype=bool)
    assert split_accesses(rows * 40, alive, 16) == 1
    assert split_accesses(rows * 42, alive, 16) == 7
    assert split_accesses(rows * 48, alive, 16) == 0
    assert split_accesses(rows * 40, rows == 2, 16) == 0


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1201"])
def test_rows_grow_until_wide_accesses_are_aligned(target):
    sizes = {"B": 2, "M": 33, "H": 3, "N": 17, "K1": 20, "K2": 40}
    kernel, result, right = run_case("attention-heads", target, sizes, {})
    assert right
    assert result.reports == ()
    buffers = ops(kernel.graph, "allocate")
    (keys,) = [op for op in buffers if op.type.dims[-1] == "K1"]
    reads = [op for op in ops(kernel.graph, "read") if resolve(op.memory) is keys]
    width = max(kernel.graph.facts.get(ACCESS, op).registers for op in reads)
    assert bool(keys.padding) == bool(20 % width)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("tile", [(128, 128, 32), (256, 256, 32)])
def test_gemm_has_no_conflicts(target, tile):
    waves = (2, 2) if tile[0] == 128 else (2, 4)
    sizes = (tile[0], tile[1], 64)
    kernel = compiled_gemm(sizes, tile, waves, target=target)
    error, result = run_gemm(kernel, sizes)
    assert error == 0
    assert sum(result.counters.lds_conflict_cycles.values()) == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [64, 128])
def test_attention_has_no_conflicts(target, depth):
    shape = {"B": 1, "M": 128, "K1": depth, "N": depth, "K2": 64}
    _, result, right = run_case("attention", target, shape, {"BLOCK_N": depth})
    assert right
    assert sum(result.counters.lds_conflict_cycles.values()) == 0


def test_rows_as_they_come_do_conflict():
    memory = session().target("gfx942").memory
    lanes = np.arange(64)
    places = (lanes % 16 * 64 + lanes // 16 * 16)[None]
    alive = np.ones_like(places, dtype=bool)
    found = conflict_cycles(places, alive, 16, memory, reads=True)
    assert found[0] > 0
