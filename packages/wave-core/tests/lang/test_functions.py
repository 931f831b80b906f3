"""Surface functions that are written by hand."""

from __future__ import annotations

from itertools import product

import pytest

import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.symbols import evaluate, logical_and, lt, symbol

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
SPACE = tkw.GLOBAL_ADDRESS_SPACE


def traced(body, dtype=tkw.f32):
    @tkw.wave([])
    def kernel(a: tkw.Memory[M, K, SPACE, dtype]):
        body(a)

    return [op for op in kernel.trace().walk() if op.op_name != "yield"]


def refusal(body, dtype=tkw.f32) -> str:
    with pytest.raises(UserError) as caught:
        traced(body, dtype)
    return caught.value.code


@pytest.mark.parametrize("function", [tkw.sum, tkw.max, tkw.min])
def test_reductions(function):
    _, reduced = traced(lambda a: function(tkw.read(a), dim=K))
    assert (reduced.kind, reduced.dim, str(reduced.type)) == (
        function.__name__,
        symbol("K"),
        "reg<M, f32>",
    )


def test_reduction_defaults_to_the_fastest_dim():
    assert traced(lambda a: tkw.sum(tkw.read(a)))[1].dim == symbol("K")


def test_reduction_of_several_with_a_number():
    ops = traced(lambda a: tkw.sum([tkw.read(a), tkw.read(a)], 0.0, dim=K, block=True))
    assert [op.op_name for op in ops] == ["read", "read", "register", "reduce"]
    assert (len(ops[3].sources), ops[3].init, ops[3].block) == (2, ops[2], True)


def test_smaller_accumulators_are_repeated():
    def body(a):
        x = tkw.read(a)
        tkw.max(x, tkw.scalar(0.0, tkw.f32), dim=K)

    assert [op.op_name for op in traced(body)] == [
        *("read", "scalar", "broadcast", "reduce")
    ]


def test_apply_expr_of_several_registers():
    def body(a):
        m, k = tkw.self_index(M, tkw.i32), tkw.self_index(K, tkw.i32)
        tkw.apply_expr((m, k), lambda x, y: x + 2 * y)
        tkw.apply_expr((m, k), lambda x, y: x <= y)

    *_, total, relation = traced(body)
    assert str(total.type) == "reg<M, K, i32>"
    assert str(relation.type) == "reg<M, K, bool>"


def test_apply_expr_compares_quotients():
    """sympy makes ``x/3 + y/3 < 4`` of it, which is no less exact."""

    def body(a):
        m, k = tkw.self_index(M, tkw.i32), tkw.self_index(K, tkw.i32)
        tkw.apply_expr((m, k), lambda x, y: (x + y) // 3 < 4)

    *_, relation = traced(body)
    assert relation.dtype.name == "bool"
    for x, y in product(range(-9, 9), repeat=2):
        values = {"$ARG0": x, "$ARG1": y}
        given = {name: values[name.name] for name in relation.expr.free_symbols}
        found = evaluate(relation.expr, given)
        assert bool(found) == ((x + y) // 3 < 4)


@pytest.mark.parametrize("factor", [0, 1])
def test_apply_expr_that_gets_simple_keeps_the_element_type(factor):
    *_, applied = traced(
        lambda a: tkw.apply_expr(tkw.self_index(M, tkw.i32), lambda x: x * factor)
    )
    assert str(applied.type) == "reg<M, i32>"


def test_apply_expr_of_what_is_no_integer_expression():
    def body(a):
        tkw.apply_expr(tkw.self_index(M, tkw.i32), lambda x: x**0.5)

    assert refusal(body) == "WV0308"


def test_relation_that_is_always_true():
    def body(a):
        tkw.apply_expr(tkw.self_index(M, tkw.i32), lambda x: x < x + 1)

    assert str(traced(body)[1].type) == "reg<M, bool>"


def test_registers_of_scalars_are_broadcasts():
    def body(a):
        tkw.Register[M, tkw.i32](tkw.scalar(K * 2, tkw.i32))
        tkw.register([M, K], tkw.f32, 1.0)

    scalar, broadcast, splat = traced(body)
    assert str(broadcast.type) == "reg<M, i32>"
    assert str(splat.type) == "reg<M, K, f32>"
    assert scalar.value == 2 * symbol("K")


def test_shape_functions():
    def body(a):
        x = tkw.read(a)
        tkw.permute(x, target_shape=[K, M])
        tkw.broadcast(x, [N, M, K])
        tkw.extract(x, 0)
        tkw.extract(x, [1])
        tkw.reshape([x, x], [M, K])

    assert [str(op.type) for op in traced(body)] == [
        "reg<M, K, f32>",
        "reg<K, M, f32>",
        "reg<N, M, K, f32>",
        "reg<M, f32>",
        "reg<M, f32>",
        "reg<M, K, f32>",
    ]


def test_shuffles():
    shuffled = traced(lambda a: tkw.shuffle(tkw.read(a), 1, 64, tkw.ShuffleMode.UP))[1]
    assert (shuffled.offset, shuffled.width, shuffled.mode) == (1, 64, "up")


def test_symbols_are_set():
    def body(a):
        tkw.set_symbol(tkw.sym.START, 4)
        tkw.set_symbol(tkw.sym.START, tkw.scalar(M, tkw.i32))

    ops = traced(body)
    assert [op.op_name for op in ops] == ["scalar", "set_symbol"] * 2
    assert ops[1].symbol == symbol("START")


def test_allocations():
    def body(a):
        shared = tkw.allocate((M, K), (64, 32), tkw.f32, padding=4)
        tkw.write(tkw.read(a), shared)
        tkw.shared_memory_barrier()
        tkw.read(shared)

    allocated = traced(body)[0]
    assert str(allocated.type) == "mem<M, K, shared, f32, physical[64, 36]>"


def test_allocations_are_in_lds():
    assert refusal(lambda a: tkw.allocate((M,), (64,), tkw.f32, SPACE)) == "WV0405"


def test_access_options():
    flags = tkw.MemoryAccessFlags.VOLATILE
    read = traced(lambda a: tkw.read(a, elements_per_thread=4, flags=flags))[0]
    assert (read.elements_per_thread, read.flags) == (4, "volatile")


def test_bounds_are_a_condition_of_the_mapping():
    read, same = traced(
        lambda a: (tkw.read(a, bounds={M: 3, K: K - 1}), tkw.read(a, bounds={}))
    )
    # The index itself is never negative; what stands for it may be.
    x, y = symbol("x"), symbol("y")
    expected = logical_and(lt(x, 3), lt(y, symbol("K") - 1))
    assert read.mapping.condition({"M": x, "K": y}) is expected
    assert same.mapping is None


def test_matrix_products_name_their_instruction():
    def body(a):
        x = tkw.read(a)
        tkw.mma(x, tkw.read(a, mapping=MAPPING), ACC(0.0), tkw.MMAType.F32_32x32x8_F16)

    assert traced(body)[-1].mma_type == "F32_32x32x8_F16"


MAPPING = tkw.IndexMapping(
    2,
    inputs={M: tkw.IndexMapping.iterator(0), K: tkw.IndexMapping.iterator(1)},
    outputs={N: tkw.IndexMapping.iterator(0), K: tkw.IndexMapping.iterator(1)},
)
ACC = tkw.Register[M, N, tkw.f32]


def test_synchronisation():
    def body(a):
        tkw.shared_memory_barrier(wait_async_ops=True)
        tkw.shared_memory_barrier_signal(1, ds_wait=False)
        tkw.shared_memory_barrier_wait(bar_id=1)
        tkw.workgroup_barrier()
        tkw.set_wave_prio(3)
        tkw.memory_counter_wait(load=0)
        tkw.memory_counter_wait_barrier(ds=0)
        tkw.scheduling_barrier([tkw.Operation.MMA])
        tkw.scheduling_group_barrier({tkw.Operation.VALU: 2}, 1)

    ops = traced(body)
    assert ops[0].wait_async_ops
    assert (ops[1].bar_id, ops[1].ds_wait) == (1, False)
    assert [op.op_name for op in ops[6:8]] == [
        "memory_counter_wait",
        "workgroup_barrier",
    ]
    assert ops[8].operations == ("mma",)
    assert ops[9].instructions == (("valu", 2),)


def test_breakpoints_label_their_values():
    def body(a):
        x = tkw.read(a)
        tkw.breakpoint_here(x, doubled=x + x)

    *_, stop = traced(body)
    assert stop.labels == ("value0", "doubled")
    assert [value.op_name for value in stop.values] == ["read", "add"]


def test_wrong_argument_of_a_derived_function():
    assert refusal(lambda a: tkw.exp(tkw.read(a), base=2)) == "WV0106"
    assert refusal(lambda a: tkw.maximum(tkw.read(a))) == "WV0106"
