"""Which dims are aligned while a kernel is traced, and what is refused."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ops.matrix import Mma
from wave_core.ops.shape import Broadcast, Permute, Squeeze
from wave_core.symbols import symbol

H, H_KV, M, N, K = (getattr(tkl.sym, x) for x in ("H", "H_KV", "M", "N", "K"))
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
HEADS = tkw.WorkgroupConstraint(H, 1, 2)


def product(
    q: tkl.Memory[H, M, K, GLOBAL, tkl.f16],
    k: tkl.Memory[H_KV, N, K, GLOBAL, tkl.f16],
    c: tkl.Memory[H, M, N, GLOBAL, tkl.f32],
):
    zero = tkl.Register[H, M, N, tkl.f32](0.0)
    queries = tkw.read(q)
    keys = tkw.read(k)
    tkw.write(tkw.mma(queries, keys, zero), c)


def ops(graph, cls):
    return [op for op in graph.walk() if isinstance(op, cls)]


def names(*dims):
    return tuple(symbol(str(dim)) for dim in dims)


def test_a_coordinate_on_the_axis_of_the_result_goes(traced):
    heads = tkw.WorkgroupConstraint(H_KV, 1, 2, primary=False)
    graph = traced(product, HEADS, heads)
    (squeezed,) = ops(graph, Squeeze)
    (found,) = ops(graph, Mma)
    assert found.rhs is squeezed
    assert squeezed.register_type.shape == names(N, K)


def test_a_tile_of_one_may_be_bound_later(traced):
    tile = tkl.sym.BLOCK_H
    heads = tkw.WorkgroupConstraint(H_KV, tile, 2, primary=False)
    assert ops(traced(product, HEADS, heads, BLOCK_H=1), Squeeze)


def test_an_alias_of_a_coordinate_is_one(traced):
    alias = tkw.SymbolicAlias(H_KV, H, lambda heads: (heads + 3) // 4)
    assert ops(traced(product, HEADS, alias), Squeeze)


@pytest.mark.parametrize(
    ("heads", "why"),
    [
        (tkw.WorkgroupConstraint(H_KV, 1, 3), "no dim of `acc` is on axis 3"),
        (tkw.WorkgroupConstraint(H_KV, 2, 2, primary=False), "its tile is `2`, not 1"),
        (
            tkw.WorkgroupConstraint(H_KV, tkl.sym.TILE, 2, primary=False),
            "its tile is `TILE`, not 1",
        ),
    ],
)
def test_a_dim_that_names_no_place_of_the_result_is_refused(
    refused, line_of, heads, why
):
    found = refused(product, HEADS, heads)
    assert found.code == "WV0203"
    assert found.message == f"`rhs` of `mma` alone has dim `H_KV`, and {why}"
    lines = [line_of(label.location) for label in (found.primary, *found.secondary)]
    assert lines[0].startswith("tkw.write(tkw.mma(")
    assert lines[1] == "keys = tkw.read(k)"
    assert "WorkgroupConstraint(H_KV" in lines[2]


def test_a_dim_that_no_workgroup_cuts_is_refused(refused):
    found = refused(product, HEADS)
    assert found.code == "WV0203"
    assert "`rhs` should have dims [H, N, K]" in found.message


def test_a_write_does_not_lose_a_coordinate_that_the_memory_names_nowhere(refused):
    def kernel(
        a: tkl.Memory[H_KV, M, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a), b)

    found = refused(kernel, tkw.WorkgroupConstraint(H_KV, 1, 0))
    assert found.code == "WV0208"


def test_a_write_renames_a_coordinate(traced):
    def kernel(
        a: tkl.Memory[H_KV, M, GLOBAL, tkl.f32], b: tkl.Memory[M, H, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a), b)

    graph = traced(kernel, HEADS, tkw.WorkgroupConstraint(H_KV, 1, 2, primary=False))
    assert [op.register_type.shape for op in ops(graph, Squeeze)] == [names(M)]
    assert [op.register_type.shape for op in ops(graph, Broadcast)] == [names(M, H)]


def test_a_carried_value_keeps_its_order(traced):
    def kernel(a: tkl.Memory[N, M, GLOBAL, tkl.f32]):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def loop(acc):
            return tkw.read(a) + acc

    (turned,) = ops(traced(kernel), Permute)
    assert turned.register_type.shape == names(M, N)


def test_an_index_with_a_dim_of_its_own_is_refused():
    i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
    rows = tkw.IndexMapping(
        2, inputs={M: tkw.IndexMapping.dynamic_val(0), N: j}, outputs={M: i, N: j}
    )

    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        at: tkl.Memory[M, K, GLOBAL, tkl.i32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        index = tkw.read(at)
        tkw.write(tkw.read(a, mapping=rows, mapping_dynamic_vals=(index,)), b)

    with pytest.raises(UserError, match="has dims \\[M, K\\]") as caught:
        tkw.wave(())(kernel).trace()
    assert caught.value.code == "WV0402"
