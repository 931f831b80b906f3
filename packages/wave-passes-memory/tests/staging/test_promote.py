"""Arguments in SHARED are staged once for each tile, where that is possible."""

from __future__ import annotations

import numpy as np
import pytest
from staged import (
    GLOBAL,
    SHARED,
    compiled_gemm,
    ops,
    run_case,
    run_gemm,
    session,
    simulate,
)

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import wave_compile
from wave_core.diagnostics import UserError
from wave_core.ir import region_of

M, N = tkl.sym.M, tkl.sym.N
E, COUNT = tkl.sym.E, tkl.sym.COUNT
TILE = 16
ROWS = [
    tkw.WorkgroupConstraint(M, TILE, 0),
    tkw.WaveConstraint(M, TILE // 2),
    tkw.HardwareConstraint(),
]


def row_kernel(body, space=SHARED):
    """``out = body(a)`` over tiles of M by all of N."""

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, N, space, tkl.f16], out: tkl.Memory[M, N, GLOBAL, tkl.f16]
    ) -> None:
        body(a, out)

    return kernel


def run_rows(kernel, rows=32, columns=64):
    """The input, the output, and the compiled kernel."""
    options = tkl.WaveCompileOptions(subs={M: rows, N: columns}, target="generic")
    compiled = wave_compile(options, kernel, session=session())
    a = np.arange(rows * columns, dtype=np.float16).reshape(rows, columns) % 97
    out = np.full_like(a, np.nan)
    result = simulate(compiled, [a, out])
    assert not result.reports
    return a, out, compiled


def test_both_operands_get_a_buffer_and_stay_right():
    kernel = compiled_gemm((256, 256, 64), (128, 128, 32))
    error, result = run_gemm(kernel, (256, 256, 64))
    assert (error, result.reports) == (0, ())
    assert len(ops(kernel.graph, "allocate")) == 2
    assert all(
        p.type.space is tkl.GLOBAL_ADDRESS_SPACE for p in kernel.graph.parameters
    )


def test_reads_of_one_tile_share_a_buffer():
    def body(a, out):
        tkw.write(tkw.read(a) + tkw.read(a, elements_per_thread=2), out)

    a, out, compiled = run_rows(row_kernel(body))
    assert np.array_equal(out, a + a)
    assert len(ops(compiled.graph, "allocate")) == 1


def test_what_a_loop_does_not_change_is_copied_before_it():
    kernel, result, right = run_case("attention", "gfx942")
    assert right
    assert not result.reports
    loops = {region_of(op).parent.op_name for op in ops(kernel.graph, "write")[:2]}
    assert loops == {"iterate"}


def test_an_argument_that_the_kernel_writes_is_not_staged():
    def body(a, out):
        tkw.write(tkw.read(a) * tkl.Register[M, N, tkl.f16](2.0), a)
        tkw.write(tkw.read(a), out)

    kernel = row_kernel(body)
    options = tkl.WaveCompileOptions(subs={M: 32, N: 64}, target="generic")
    compiled = wave_compile(options, kernel, session=session())
    assert not ops(compiled.graph, "allocate")


def of_all(flags):
    """A sum over all flags: the same for every wave."""
    number = tkw.self_index(E, tkl.i32)
    return tkw.sum(tkw.select(tkw.read(flags) < number, number, number - 1), dim=E)


def of_own_rows(flags):
    """A sum over the rows of one wave."""
    row = tkw.IndexMapping.iterator(0)
    first = tkw.IndexMapping(1, inputs={E: row // 8}, outputs={M: row})
    return tkw.read(flags, mapping=first)


def at_own_rows(flags):
    """The same without a look at memory."""
    del flags
    return tkw.self_index(M, tkl.i32) // 8


@pytest.mark.parametrize(
    ("count", "staged"), [(of_all, True), (of_own_rows, False), (at_own_rows, False)]
)
def test_what_is_read_behind_a_condition_is_staged_where_all_waves_agree(count, staged):
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, N, SHARED, tkl.f16],
        flags: tkl.Memory[E, GLOBAL, tkl.i32],
        out: tkl.Memory[M, N, GLOBAL, tkl.f16],
    ) -> None:
        tkw.set_symbol(COUNT, count(flags))

        @tkw.conditional(COUNT > 0)
        def body():
            tkw.write(tkw.read(a), out)

    sizes = {M: TILE, N: 64, E: 3}
    options = tkl.WaveCompileOptions(subs=sizes, target="generic")
    compiled = wave_compile(options, kernel, session=session())
    assert len(ops(compiled.graph, "allocate")) == int(staged)
    a, out = np.ones((TILE, 64), np.float16), np.zeros((TILE, 64), np.float16)
    simulate(compiled, [a, np.array([0, 1, 0], np.int32), out])
    wanted = a.copy()
    wanted[: 0 if staged else TILE // 2] = 0
    assert np.array_equal(out, wanted)


def test_a_tile_of_unknown_size_stays_in_global_memory():
    def body(a, out):
        tkw.write(tkw.read(a), out)

    options = tkl.WaveCompileOptions(
        subs={M: 32}, dynamic_symbols=[N], target="generic"
    )
    with pytest.raises(UserError, match="WV0302"):
        wave_compile(options, row_kernel(body), session=session())


def test_more_than_there_is_names_the_buffers():
    with pytest.raises(UserError) as caught:
        compiled_gemm((512, 512, 128), (256, 256, 128))
    (found,) = caught.value.diagnostics
    assert (found.code, "65536" in found.message) == ("WV0406", True)
    assert found.secondary


@pytest.mark.parametrize("sizes", [(1, 1, 1), (63, 65, 33), (64, 64, 0), (130, 70, 41)])
def test_sizes_that_no_tile_divides(sizes):
    kernel = compiled_gemm(sizes, (64, 64, 32), target="generic")
    error, result = run_gemm(kernel, sizes)
    assert (error, result.reports) == (0, ())


def test_dims_of_one_element_stand_where_registers_have_them():
    # Products take the last two dims of a buffer as rows and columns.
    heads = tkl.sym.H
    constraints = [
        tkw.WorkgroupConstraint(M, TILE, 0),
        tkw.WorkgroupConstraint(heads, 1, 1),
        tkw.HardwareConstraint(vector_shapes={heads: 0}),
    ]
    i, j, k = (tkw.IndexMapping.iterator(n) for n in range(3))
    turned = tkw.IndexMapping(
        num_iterators=3,
        inputs={M: j, heads: i, N: k},
        outputs={heads: i, M: j, N: k},
    )

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, heads, N, SHARED, tkl.f16],
        out: tkl.Memory[heads, M, N, GLOBAL, tkl.f16],
    ) -> None:
        tkw.write(tkw.read(a, mapping=turned), out)

    options = tkl.WaveCompileOptions(subs={M: 37, heads: 3, N: 64}, target="generic")
    compiled = wave_compile(options, kernel, session=session())
    a = np.arange(37 * 3 * 64, dtype=np.float16).reshape(37, 3, 64) % 97
    out = np.full((3, 37, 64), np.nan, np.float16)
    assert not simulate(compiled, [a, out]).reports
    assert np.array_equal(out, a.swapaxes(0, 1))
    (buffer,) = ops(compiled.graph, "allocate")
    assert [str(dim) for dim in buffer.shape] == ["H", "M", "N"]
