"""Copies of gathered tiles: rows that a table names, shared out among all threads."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from staged import (
    BLOCK_K,
    BLOCK_M,
    BLOCK_N,
    GLOBAL,
    SHARED,
    K,
    M,
    N,
    ops,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.ir import ACCESS

R, S = tkl.sym.R, tkl.sym.S
TILE = (64, 64, 32)


def gathering(kind, space):
    """``c = a b^T``, where a table names rows or columns of what b is read from.

    ``keys``: row n, in memory along k. ``values``: row k, in memory along n.
    ``columns``: column k of row n. ``diagonal``: column k of a row that k names.
    """
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    found = tkw.IndexMapping.dynamic_val(0)
    where = {
        "keys": {R: found, S: j},
        "values": {R: found, S: i},
        "columns": {R: i, S: found},
        "diagonal": {R: found, S: j},
    }
    named = N if kind == "keys" else K
    mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs=where[kind],
        outputs={N: i, K: j},
        dynamic_val_mappings={named: i if kind == "keys" else j},
    )
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, space, tkl.f16],
        b: tkl.Memory[R, S, space, tkl.f16],
        table: tkl.Memory[named, GLOBAL, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            at = (tkw.read(table),)
            rows = tkw.read(b, mapping=mapping, mapping_dynamic_vals=at)
            return tkw.mma(tkw.read(a), rows, acc)

        tkw.write(repeat, c)

    return kernel


@cache
def compiled(kind, sizes, disabled, device, space):
    """The kernel for ``sizes``, or with all of them dynamic."""
    names = (M, N, K, R, S)
    subs = dict(zip((BLOCK_M, BLOCK_N, BLOCK_K), TILE, strict=True))
    subs |= dict(zip(names, sizes or (), strict=False))
    options = tkl.WaveCompileOptions(
        subs=subs,
        target="gfx942",
        preset="default",
        disable_passes=disabled,
        device=device,
        dynamic_symbols=[] if sizes else list(names),
    )
    return wave_compile(options, gathering(kind, space), session=session())


def run(sizes, kind="keys", disabled=(), device="sim", dynamic=False, space=SHARED):
    """The kernel, the largest error, and what the lane simulator says."""
    m, n, k, r, s = sizes
    kernel = compiled(kind, None if dynamic else sizes, disabled, device, space)
    rng = np.random.default_rng(sum(sizes))
    a = rng.integers(-2, 3, (m, k)).astype(np.float16)
    b = rng.integers(-2, 3, (r, s)).astype(np.float16)
    limit, count = (s if kind == "columns" else r), (n if kind == "keys" else k)
    table = rng.integers(0, limit, count).astype(np.int32)
    c = np.full((m, n), np.nan, dtype=np.float32)
    taken = {
        "keys": lambda: b[table, :k],
        "values": lambda: b[table, :n].T,
        "columns": lambda: b[:n, table],
        "diagonal": lambda: np.broadcast_to(b[table, np.arange(k)], (n, k)),
    }[kind]()
    wanted = a.astype(np.float32) @ taken.astype(np.float32).T
    if device == "emulator":
        kernel(a, b, table, c)
        return kernel, np.abs(c - wanted).max(), kernel.last_run
    symbols = dict(zip("MNKRS", sizes, strict=True)) if dynamic else None
    result = simulate(kernel, [a, b, table, c], symbols)
    return kernel, np.abs(c - wanted).max(), result


@pytest.mark.parametrize(
    "sizes",
    [
        (64, 64, 32, 300, 32),
        (128, 128, 64, 5, 64),
        (65, 63, 33, 7, 33),
        (1, 1, 1, 1, 1),
        (17, 67, 40, 3, 48),
    ],
)
def test_gathered_rows_are_right(sizes):
    _, error, result = run(sizes)
    assert (error, result.reports) == (0, ())


def test_each_thread_copies_its_share_of_a_gathered_tile():
    kernel, _, result = run((64, 64, 64, 300, 64))
    *_, before = run((64, 64, 64, 300, 64), disabled=("minimize-global-loads",))
    reads = [op for op in ops(kernel.graph, "read") if op.indices]
    assert [kernel.graph.facts.get(ACCESS, op).registers for op in reads] == [8]
    after, first = (r.counters.instructions for r in (result, before))
    # a and b took two loads and two writes of each thread in each of two iterations.
    assert (after["global_read.b128"], first["global_read.b128"]) == (16, 32)
    assert (after["lds_write.b128"], first["lds_write.b128"]) == (16, 32)


def test_the_table_is_read_once_for_each_load():
    kernel, _, _ = run((64, 64, 64, 300, 64))
    tables = [op for op in ops(kernel.graph, "read") if op.memory.type.dtype == tkl.i32]
    assert len(tables) == 1
    assert tables[0].owner is kernel.graph.body


@pytest.mark.parametrize(
    "sizes",
    [(64, 64, 64, 9, 64), (65, 63, 33, 7, 64), (1, 1, 1, 1, 1), (3, 40, 9, 5, 40)],
)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", ["keys", "values"])
def test_rows_named_in_the_loop_are_right(kind, dynamic, sizes):
    if kind == "keys":
        sizes = (*sizes[:4], max(sizes[2], sizes[4]))
    _, error, result = run(sizes, kind, dynamic=dynamic)
    assert (error, result.reports) == (0, ())


@pytest.mark.parametrize("sizes", [(65, 63, 33, 80, 9), (64, 64, 64, 64, 100)])
def test_columns_from_a_table_are_right(sizes):
    _, error, result = run(sizes, "columns")
    assert (error, result.reports) == (0, ())


def test_machine_code_is_right():
    _, error, last = run((65, 63, 40, 7, 40), device="emulator")
    assert (error, last.reports) == (0, ())


@pytest.mark.covering(2)
@pytest.mark.parametrize("space", [SHARED, GLOBAL])
@pytest.mark.parametrize("kind", ["keys", "values", "columns", "diagonal"])
@pytest.mark.parametrize("device", ["sim", "emulator"])
def test_a_gather_feeds_a_product_in_the_order_of_its_table(device, kind, space):
    sizes = (64, 64, 64, 70, 64 if kind == "keys" else 70)
    _, error, result = run(sizes, kind, device=device, space=space)
    assert (error, result.reports) == (0, ())
