"""Rows that a table of pages names, copied to LDS past the registers."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

import numpy as np
import pytest
import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Session, wave_compile
from wave_core.diagnostics import SimulationError
from wave_core.executors import LaunchRequest
from wave_core.ir import erase
from wave_core.ops.control import Iterate
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.sync import SharedMemoryBarrier

S, M, N, K = tkl.sym.S, tkl.sym.M, tkl.sym.N, tkl.sym.K
PAGES, SLOT, COUNT = tkl.sym.PAGES, tkl.sym.SLOT, tkl.sym.COUNT
FIRST, KEYS = tkl.sym.FIRST, tkl.sym.KEYS
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
PAGE, HEADS, COLUMNS, MOST = 16, 16, 64, 160
"""Rows of a page, and of a tile; what a result has; the most rows of a sequence."""

RAGGED = (1, PAGE - 1, 0, PAGE, PAGE + 1, 3 * PAGE + 5, MOST)
COPIED = pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80", "sm_90a"])


def paged_product(*, moved=False):
    """``c[s] = a[s] b[s]``, where b has as many rows as its sequence.

    Row k of sequence s is row ``k % SLOT`` of page ``table[starts[s] + k // SLOT]``,
    and ``lengths[s]`` says how many there are. With ``moved``, symbols change between
    what is read of the table and the rows.
    """
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    page, k = tkw.IndexMapping.dynamic_val(0), tkw.IndexMapping.iterator(2)
    rows = tkw.IndexMapping(
        3,
        inputs={PAGES: page, SLOT: k % SLOT, N: j},
        outputs={S: i, N: j, K: k},
        dynamic_val_mappings={K: k},
    )
    pages = tkw.IndexMapping(1, inputs={COUNT: i // SLOT + FIRST}, outputs={K: i})
    constraints = [
        tkw.WorkgroupConstraint(M, HEADS, 0),
        tkw.WorkgroupConstraint(N, COLUMNS, 1),
        tkw.WorkgroupConstraint(S, 1, 2),
        tkw.TilingConstraint(K, 32, iters=sympy.ceiling(KEYS / 32)),
        tkw.WaveConstraint(M, HEADS),
        tkw.WaveConstraint(N, COLUMNS // 2),
        tkw.HardwareConstraint(vector_shapes={S: 0}),
    ]

    @tkw.wave(constraints)
    def paged(
        a: tkl.Memory[S, M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[PAGES, SLOT, N, SHARED, tkl.f16],
        starts: tkl.Memory[S, GLOBAL, tkl.i32],
        lengths: tkl.Memory[S, GLOBAL, tkl.i32],
        table: tkl.Memory[COUNT, GLOBAL, tkl.i32],
        c: tkl.Memory[S, M, N, GLOBAL, tkl.f32],
    ):
        tkw.set_symbol(FIRST, tkw.read(starts))
        tkw.set_symbol(KEYS, tkw.read(lengths))

        @tkw.iterate(K, init_args=[tkl.Register[S, M, N, tkl.f32](0.0)])
        def loop(acc):
            tkw.set_symbol(FIRST, tkw.read(starts)) if moved else None
            at = (tkw.read(table, mapping=pages, bounds={K: KEYS}),)
            tkw.set_symbol(FIRST, tkw.read(lengths)) if moved else None
            found = tkw.read(b, mapping=rows, mapping_dynamic_vals=at, bounds={K: KEYS})
            return tkw.mma(tkw.read(a), found, acc)

        tkw.write(loop, c)

    return paged


@cache
def session():
    return Session(announce=lambda _: None)


@cache
def compiled(target, preset, device, *, moved=False):
    sizes = {S: len(RAGGED), M: HEADS, N: COLUMNS, K: MOST, SLOT: PAGE}
    options = tkl.WaveCompileOptions(
        subs=sizes,
        dynamic_symbols=[PAGES, COUNT],
        target=target,
        preset=preset,
        device=device,
        use_global_to_shared=True,
    )
    kernel = paged_product(moved=moved)
    return wave_compile(options, kernel, session=session())


def operands(seed=3):
    """Random operands, a poisoned result, and what it should be."""
    rng = np.random.default_rng(seed)
    counts = [-(-length // PAGE) for length in RAGGED]
    starts = np.array([0, *accumulate(counts)][:-1], np.int32)
    table = rng.permutation(sum(counts) + 3)[: sum(counts)].astype(np.int32)
    a = rng.integers(-4, 5, (len(RAGGED), HEADS, MOST)).astype(np.float16)
    b = rng.integers(-4, 5, (sum(counts) + 3, PAGE, COLUMNS)).astype(np.float16)
    c = np.full((len(RAGGED), HEADS, COLUMNS), np.nan, np.float32)
    wanted = np.zeros(c.shape)
    for s, (first, count, length) in enumerate(
        zip(starts, counts, RAGGED, strict=True)
    ):
        rows = b[table[first : first + count]].reshape(-1, COLUMNS)[:length]
        wanted[s] = a[s, :, :length].astype(float) @ rows.astype(float)
    return [a, b, starts, np.array(RAGGED, np.int32), table, c], wanted


def gathers(graph):
    return [op for op in graph.walk() if isinstance(op, GatherToLDS)]


def barriers(graph):
    """Those of loops."""
    loops = [op for op in graph.walk() if isinstance(op, Iterate)]
    bodies = [op for loop in loops for op in loop.body.ops]
    return [op for op in bodies if isinstance(op, SharedMemoryBarrier)]


@pytest.mark.covering(1)
@COPIED
@pytest.mark.parametrize("preset", ["default", "prefetch", "fetch-ahead", "modulo"])
def test_rows_of_pages_are_copied_directly(target, preset):
    kernel = compiled(target, preset, "sim")
    given, wanted = operands()
    kernel(*given)
    assert np.array_equal(given[-1], wanted)
    assert kernel.last_run.reports == ()
    assert gathers(kernel.graph)
    assert all(op.indices for op in gathers(kernel.graph))


def test_symbols_that_change_behind_the_table_leave_the_rows_to_registers():
    kernel = compiled("sm_90a", "default", "sim", moved=True)
    given, wanted = operands()
    kernel(*given)
    assert np.array_equal(given[-1], wanted)
    assert gathers(kernel.graph) == []


@pytest.mark.covering(1)
@COPIED
@pytest.mark.parametrize("preset", ["default", "fetch-ahead"])
def test_machine_code_copies_rows_of_pages(target, preset):
    kernel = compiled(target, preset, "emulator")
    given, wanted = operands()
    kernel(*given)
    assert np.array_equal(given[-1], wanted)
    assert kernel.last_run.reports == ()


@pytest.mark.parametrize("target", ["gfx950", "sm_90a"])
@pytest.mark.parametrize("preset", ["default", "fetch-ahead"])
def test_each_barrier_and_wait_of_a_loop_is_needed(target, preset):
    kernel = compiled(target, preset, "sim")
    count = len(barriers(kernel.graph))
    assert any(op.wait_async_ops for op in barriers(kernel.graph))
    device = session().plugins.load_executor("sim")
    for position in range(count):
        graph = kernel.graph.clone()
        erase(barriers(graph)[position])
        given, _ = operands()
        sizes = {"PAGES": len(given[1]), "COUNT": len(given[4])}
        request = LaunchRequest.of(graph, kernel.compiled.target, given, sizes)
        assert device.launch(request).reports


def test_a_page_that_is_not_there_is_reported():
    kernel = compiled("sm_90a", "default", "sim")
    given, _ = operands()
    given[4][0] = len(given[1])
    with pytest.raises(SimulationError, match="`gather_to_lds` touches element") as row:
        kernel(*given)
    assert row.value.code == "WV0903"
