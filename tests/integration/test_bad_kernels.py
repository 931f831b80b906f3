"""Mistakes in kernels, constraints and options: a code, the line, what to do."""

from __future__ import annotations

import operator
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
import wave_sim_cpu.plugin as simulator
from wave_core.compile import Session, wave_compile
from wave_core.diagnostics import UserError, WaveError
from wave_core.trace.value import _CALLED_HERE, _FUNCTIONS

sym = tkl.sym
M, N, K, J = sym.M, sym.N, sym.K, sym.J
BLOCK_M, BLOCK_N, BLOCK_K = sym.BLOCK_M, sym.BLOCK_N, sym.BLOCK_K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64)
SIZES = {M: 64, N: 64, K: 32}
TILES = {BLOCK_M: 32, BLOCK_N: 32, BLOCK_K: 16}
SESSION = Session(announce=lambda _: None)
ALONE = Session({"sim": simulator}, entry_points=(), announce=lambda _: None)
"""Core and the simulator, and nothing else that is installed."""


def constraints(*more, m=None, tiling=True):
    rows = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        HARDWARE,
        *more,
    ]
    rows += [tkw.TilingConstraint(K, BLOCK_K)] if tiling else []
    return rows if m is None else [*rows, m]


def gemm(rows):
    @tkw.wave(rows)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


def copying(body, rows=None):
    """A kernel with two memories; ``body`` is what it does."""

    @tkw.wave(constraints() if rows is None else rows)
    def copy(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16],
        b: tkl.Memory[M, N, GLOBAL, tkl.f16],
    ):
        body(a, b)

    return copy


def compiled(kernel, subs, session=SESSION, **options):
    given = tkw.WaveCompileOptions(subs=subs, device="sim", **options)
    return wave_compile(given, kernel, session=session)


def underlined(text):
    """The pieces of source that a rendered diagnostic marks, by mark."""
    lines = text.splitlines()
    marked = {"^": [], "-": []}
    for source, below in pairwise(lines):
        if not re.match(r"\s*\d+ \|", source):
            continue
        start = source.index("|")
        for found in re.finditer(r"\^+|-+", below[start:]):
            piece = source[start + found.start() : start + found.end()]
            marked[found.group()[0]].append(piece)
    return marked


def expect(make, code, *, marks, advice, also=(), kind=UserError):
    """``make`` fails with ``code``, under ``marks``, with ``advice`` to go on."""
    with pytest.raises(WaveError) as caught:
        make()
    error = caught.value
    assert isinstance(error, kind)
    assert error.code == code, str(error)
    text = error.diagnostics[0].render()
    found = underlined(text)
    assert any(marks in piece for piece in found["^"]), text
    for each in also:
        assert any(each in piece for piece in found["-"]), text
    assert advice in text.partition("= help:")[2], text
    assert text.startswith(f"error[{code}]")


def test_a_symbol_never_bound():
    expect(
        lambda: compiled(gemm(constraints()), SIZES | {BLOCK_M: 32, BLOCK_N: 32}),
        "WV0301",
        marks="tkw.TilingConstraint(K, BLOCK_K)",
        advice="bind it: WaveCompileOptions(subs={BLOCK_K: ...})",
    )


def test_a_misspelt_symbol_points_to_the_similar_one():
    tiles = {BLOCK_M: 32, BLOCK_N: 32, sym.BLOK_K: 16}
    expect(
        lambda: compiled(gemm(constraints()), SIZES | tiles),
        "WV0301",
        marks="BLOCK_K",
        advice="`BLOK_K`",
    )


def test_all_unbound_symbols_are_told_at_once():
    with pytest.raises(UserError) as caught:
        compiled(gemm(constraints()), {M: 64})
    found = {row.code for row in caught.value.diagnostics}
    text = str(caught.value)
    assert found == {"WV0301"}
    for name in ("N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K"):
        assert f"symbol `{name}` has no value" in text


def test_a_dimension_that_a_launch_would_have_to_give():
    expect(
        lambda: compiled(gemm(constraints()), TILES | {M: 64, N: 64}),
        "WV0301",
        marks="a: tkl.Memory[M, K, GLOBAL, tkl.f16]",
        advice="dynamic_symbols=[K]",
    )


def test_a_dynamic_dimension_without_constraint():
    kernel = copying(
        lambda a, b: tkw.write(tkw.read(a), b),
        [HARDWARE, tkw.WorkgroupConstraint(M, 16, 0)],
    )
    expect(
        lambda: compiled(kernel, {}, dynamic_symbols=[M, N]),
        "WV0302",
        marks="tkw.read(a)",
        advice="distribute `N` with a WorkgroupConstraint",
    )


def test_a_dynamic_symbol_that_no_argument_has():
    expect(
        lambda: compiled(
            gemm(constraints()),
            SIZES | {BLOCK_M: 32, BLOCK_N: 32},
            dynamic_symbols=[BLOCK_K],
        ),
        "WV0717",
        marks="tkw.TilingConstraint(K, BLOCK_K)",
        advice="SymbolBind[i32]",
    )


@pytest.mark.parametrize(
    ("tile", "code", "advice"),
    [
        (64, "WV0304", "at most 32"),
        (24, "WV0303", "divides the workgroup tile"),
    ],
)
def test_a_wave_tile_that_does_not_fit(tile, code, advice):
    rows = constraints(m=tkw.WaveConstraint(M, tile))
    expect(
        lambda: compiled(gemm(rows), SIZES | TILES),
        code,
        marks="tkw.WaveConstraint(M, tile)",
        also=["tkw.WorkgroupConstraint(M, BLOCK_M, 0)"],
        advice=advice,
    )


def test_half_of_an_odd_tile():
    expect(
        lambda: compiled(gemm(constraints()), SIZES | TILES | {BLOCK_N: 33}),
        "WV0308",
        marks="tkw.WaveConstraint(N, BLOCK_N / 2)",
        advice="sizes that divide",
    )


def test_a_loop_that_nothing_tiles():
    expect(
        lambda: compiled(gemm(constraints(tiling=False)), SIZES | TILES),
        "WV0311",
        marks="tkw.iterate(K, init_args=[zero])",
        advice="add TilingConstraint(K, tile)",
    )


def test_matrix_operands_that_share_no_dimension():
    @tkw.wave(constraints())
    def product(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, J, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        a_reg = tkw.read(a)
        b_reg = tkw.read(b)
        tkw.write(tkw.mma(a_reg, b_reg, zero), c)

    expect(
        lambda: compiled(product, SIZES | TILES | {J: 32}),
        "WV0203",
        marks="tkw.mma(a_reg, b_reg, zero)",
        also=["tkw.read(a)", "tkw.read(b)"],
        advice="check which dims the operands were read over",
    )


def test_layouts_that_no_barrier_can_reconcile():
    rows = [
        HARDWARE,
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 16, 1),
    ]

    @tkw.wave(rows)
    def twice(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, K, GLOBAL, tkl.f32],
        flag: tkl.i32,
    ):
        zero = tkl.Register[M, N, tkl.f32](0.0)
        first = tkw.mma(tkw.read(a), tkw.read(b), zero)
        half = tkw.cast(first, tkl.f16)

        @tkw.conditional(flag > 0)
        def only_then():
            other = tkl.Register[M, K, tkl.f32](0.0)
            turned = tkw.permute(tkw.read(b), target_shape=[K, N])
            tkw.write(tkw.mma(half, turned, other), c)

    expect(
        # A pass turns the first product so that the second can take it.
        lambda: compiled(
            twice,
            {M: 16, N: 16, K: 16},
            disable_passes=("chain-matrix-products",),
        ),
        "WV0309",
        marks="tkw.mma(half, turned, other)",
        also=["tkw.cast(first, tkl.f16)"],
        advice="out of the conditional",
    )


@pytest.mark.parametrize(
    ("body", "marks", "advice"),
    [
        (
            lambda a, b: tkw.write(tkw.exp2(tkw.read(a), precise=True), b),
            "tkw.exp2(tkw.read(a), precise=True)",
            "its fields are: value",
        ),
        (
            lambda a, b: tkw.write(tkw.sum(tkw.read(a), axis=N), b),
            "tkw.sum(tkw.read(a), axis=N)",
            "its arguments are: x, acc, dim, block, tag",
        ),
        (
            lambda a, b: tkw.write(tkw.read(a, elements=4), b),
            "tkw.read(a, elements=4)",
            "elements_per_thread",
        ),
        (
            lambda a, b: tkw.write(tkw.read(a), b, elements=4),
            "tkw.write(tkw.read(a), b, elements=4)",
            "elements_per_thread",
        ),
        (
            lambda a, b: tkw.iterate(N, [], count=4),
            "tkw.iterate(N, [], count=4)",
            "its arguments are: axis, init_args",
        ),
    ],
)
def test_an_unknown_attribute(body, marks, advice):
    expect(
        lambda: compiled(copying(body), SIZES | TILES),
        "WV0106",
        marks=marks,
        advice=advice,
    )


@pytest.mark.parametrize(
    ("body", "code", "marks", "advice"),
    [
        (
            lambda a, b: tkw.write(np.exp(tkw.read(a)), b),
            "WV0102",
            "np.exp(tkw.read(a))",
            "write `tkw.exp`",
        ),
        (
            lambda a, b: tkw.write(torch.rsqrt(tkw.read(a)), b),
            "WV0102",
            "torch.rsqrt(tkw.read(a))",
            "write `tkw.rsqrt`",
        ),
        (
            lambda a, b: tkw.write(torch.matmul(tkw.read(a), tkw.read(b)), b),
            "WV0102",
            "torch.matmul(tkw.read(a), tkw.read(b))",
            "write `tkw.mma`",
        ),
        (
            lambda a, b: tkw.write(np.ones(4) + tkw.read(a), b),
            "WV0102",
            "np.ones(4) + tkw.read(a)",
            "pass data in as an argument",
        ),
        (
            lambda a, b: tkw.store(tkw.read(a), b),
            "WV0150",
            "tkw.store(tkw.read(a), b)",
            "`write(register, memory)`",
        ),
        (
            lambda a, b: tkw.wriite(tkw.read(a), b),
            "WV0119",
            "tkw.wriite",
            "did you mean `write`?",
        ),
        (
            lambda a, b: tkw.sum(tkw.read(a), dim="N"),
            "WV0308",
            'tkw.sum(tkw.read(a), dim="N")',
            "a symbol and not its name: `sym.N`",
        ),
        (
            lambda a, b: tkw.read(a) * a.shape[0],
            "WV0104",
            "a.shape",
            "extents are the symbols of its dims",
        ),
        (
            lambda a, b: operator.setitem(b, 0, tkw.read(a)),
            "WV0104",
            "operator.setitem(b, 0, tkw.read(a))",
            "`write(x, memory)` sets it",
        ),
    ],
)
def test_what_other_libraries_have(body, code, marks, advice):
    expect(
        lambda: compiled(copying(body), SIZES | TILES), code, marks=marks, advice=advice
    )


def test_functions_that_help_names_are_there():
    assert all(hasattr(tkw, name) for name in {*_FUNCTIONS, *_CALLED_HERE.values()})


@pytest.mark.parametrize("number", [np.float32(2.5), np.int64(2), torch.tensor(2.5)])
def test_numbers_of_numpy_and_torch_are_numbers(number):
    def body(a, b):
        tkw.write(tkw.maximum(tkw.read(a), number) + number, b)

    kernel = compiled(copying(body), SIZES | TILES)
    a = torch.randn(64, 64).half()
    b = torch.full_like(a, torch.nan)
    kernel(a, b)
    value = float(number)
    assert torch.equal(b, a.clamp(min=value) + value)


def test_an_unknown_option():
    expect(
        lambda: tkw.WaveCompileOptions(sub={M: 64}),
        "WV0821",
        marks="tkw.WaveCompileOptions(sub={M: 64})",
        advice="did you mean `subs`?",
    )


def test_an_option_of_a_package_that_is_not_there():
    expect(
        lambda: compiled(
            gemm(constraints()), SIZES | TILES, ALONE, use_scheduling_barriers=True
        ),
        "WV0824",
        marks="tkw.WaveCompileOptions(",
        advice="pip install wave-passes-scheduling",
    )


def test_an_unknown_target():
    expect(
        lambda: compiled(gemm(constraints()), SIZES | TILES, target="gfx000"),
        "WV0701",
        marks="tkw.WaveCompileOptions(",
        advice="installed: `generic`",
    )


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"n_service_waves": 1}, "`preset='fetch-ahead'` lets each wave load"),
        ({"workgroups_per_cluster": [2, 1]}, "`SHARED_ADDRESS_SPACE` stages a tile"),
    ],
)
def test_a_field_for_a_machine_that_is_not_there(given, advice):
    expect(
        lambda: tkw.HardwareConstraint(**given),
        "WV0330",
        marks="tkw.HardwareConstraint(**given)",
        advice=advice,
    )


def test_waves_of_another_dimension():
    group = tkw.WorkgroupConstraint(N, 16, 0)
    expect(
        lambda: tkw.WaveConstraint(M, 16, wg_constraint=group),
        "WV0305",
        marks="tkw.WaveConstraint(",
        also=["tkw.WorkgroupConstraint(N, 16, 0)"],
        advice="leave `wg_constraint` out",
    )


def test_an_assumption_that_a_launch_breaks_writes_nothing():
    rows = constraints(tkw.Assumption(K > 64))
    kernel = compiled(gemm(rows), TILES, dynamic_symbols=[M, N, K])
    a, b = torch.zeros(64, 32).half(), torch.zeros(64, 32).half()
    c = torch.full((64, 64), 7.0)
    expect(
        lambda: kernel(a, b, c),
        "WV0718",
        marks="tkw.Assumption(K > 64)",
        also=["kernel(a, b, c)"],
        advice="sizes that satisfy it",
    )
    assert (c == 7.0).all()


def test_a_reordering_that_is_no_permutation_writes_nothing():
    rows = constraints(tkw.ReorderingConstraint(tkw.WORKGROUP_0 // 2, 0))
    kernel = compiled(gemm(rows), SIZES | TILES)
    a, b = torch.zeros(64, 32).half(), torch.zeros(64, 32).half()
    c = torch.full((64, 64), 7.0)
    expect(
        lambda: kernel(a, b, c),
        "WV0324",
        marks="tkw.ReorderingConstraint(tkw.WORKGROUP_0 // 2, 0)",
        also=["kernel(a, b, c)"],
        advice="one to one",
    )
    assert (c == 7.0).all()


def test_more_shared_memory_than_there_is():
    @tkw.wave(constraints())
    def greedy(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[M, K, GLOBAL, tkl.f16],
    ):
        buffer = tkw.allocate((M, K), (BLOCK_M, 4096), tkl.f16)
        tkw.write(tkw.read(a), buffer)
        tkw.write(tkw.read(buffer), b)

    expect(
        lambda: compiled(greedy, SIZES | TILES),
        "WV0406",
        marks="tkw.allocate((M, K), (BLOCK_M, 4096), tkl.f16)",
        advice="tiles",
    )


def test_a_copy_that_leaves_the_memory():
    i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
    shifted = tkw.IndexMapping(
        num_iterators=2, inputs={M: i, N: j + 1}, outputs={M: i, N: j}
    )
    kernel = compiled(
        copying(lambda a, b: tkw.write(tkw.read(a, mapping=shifted), b)), SIZES | TILES
    )
    a, b = torch.zeros(64, 64).half(), torch.zeros(64, 64).half()
    expect(
        lambda: kernel(a, b),
        "WV0903",
        marks="tkw.read(a, mapping=shifted)",
        advice="correct its index",
    )


@pytest.fixture
def usual_depth():
    """Python's own limit of recursion: tools around tests raise it."""
    found = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(found)


@pytest.mark.usefixtures("usual_depth")
def test_an_index_that_is_nested_too_deep():
    index = M
    for _ in range(2_000):
        index = index * N + M

    @tkw.wave([tkw.HardwareConstraint(vector_shapes={M: 64})])
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.i32]):
        tkw.write(tkw.broadcast(tkw.scalar(index, tkl.i32), [M]), c)

    with pytest.raises(UserError) as caught:
        kernel.trace({"M": 64, "N": 3})
    assert caught.value.code == "WV0308"
    assert "is nested too deep to be read" in str(caught.value)
    assert "tkw.scalar(index, tkl.i32)" in str(caught.value)
