"""Loops and conditions: what they carry, capture and refuse."""

from __future__ import annotations

import wave_core.lang as tkw
from wave_core.ir.graph import resolve
from wave_core.ops.control import Conditional, Iterate
from wave_core.symbols import symbol

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
SPACE = tkw.GLOBAL_ADDRESS_SPACE
A = tkw.Memory[M, K, SPACE, tkw.f32]
OUT = tkw.Memory[M, SPACE, tkw.f32]
ROW = tkw.Register[M, tkw.f32]


def only(graph, cls):
    (found,) = [op for op in graph.walk() if isinstance(op, cls)]
    return found


def test_loop_without_values(traced):
    def kernel(a: A, out: OUT):
        @tkw.iterate(K)
        def body():
            tkw.write(tkw.sum(tkw.read(a), dim=K), out)

        assert body is None

    loop = only(traced(kernel), Iterate)
    assert loop.inits == ()
    assert [resolve(a).label for a in loop.body.arguments] == ["a", "out"]


def test_results_of_several_values_unpack_and_index(traced):
    seen = []

    def kernel(a: A, out: OUT):
        zero = tkw.Register[M, tkw.f32](0.0)

        @tkw.iterate(K, init_args=[zero, zero])
        def body(low: ROW, high: ROW):
            x = tkw.read(a)
            return tkw.min(x, low, dim=K), tkw.max(x, high, dim=K)

        low, high = body
        seen.extend([low.op, body[0].op, tkw.get_result(body, 1).op, high.op])
        tkw.write(low + high, out)

    traced(kernel)
    assert seen[0] is seen[1]
    assert seen[2] is seen[3]
    assert [op.position for op in seen] == [0, 0, 1, 1]


def test_single_result_indexes_and_unpacks(traced):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.Register[M, tkw.f32](0.0)])
        def body(acc):
            return acc + 1.0

        (result,) = body
        assert result is body
        tkw.write(tkw.get_result(body, 0), out)

    assert only(traced(kernel), Iterate).axis == symbol("K")


def test_body_may_return_a_number(traced):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.Register[M, tkw.f32](1.0)])
        def body(acc):
            return 0.0

        tkw.write(body, out)

    loop = only(traced(kernel), Iterate)
    assert str(loop.body.terminator.values[0].type) == "reg<M, f32>"


def test_captures_go_through_every_region_between(traced):
    def kernel(a: A, out: OUT):
        bias = tkw.read(out)

        @tkw.iterate(N)
        def outer():
            @tkw.iterate(K)
            def inner():
                tkw.write(tkw.sum(tkw.read(a), dim=K) + bias + bias, out)

    graph = traced(kernel)
    outer, inner = [op for op in graph.walk() if isinstance(op, Iterate)]
    assert len(outer.captures) == len(inner.captures) == 3
    names = [resolve(argument).op_name for argument in inner.body.arguments]
    assert sorted(names) == ["argument", "argument", "read"]


def test_steps_and_starts(traced):
    def kernel(out: OUT):
        @tkw.iterate(K, step=2, start=M // 4, tag="loop")
        def body():
            tkw.write(tkw.Register[M, tkw.f32](0.0), out)

    loop = only(traced(kernel), Iterate)
    assert (loop.step, loop.start) == (2, symbol("M") // 4)
    assert loop.tags == {"loop"}


def test_carried_names_are_unique(traced):
    def kernel(out: OUT):
        zero = tkw.Register[M, tkw.f32](0.0)
        for _ in range(2):

            @tkw.iterate(K, init_args=[zero])
            def body(acc):
                return acc

        tkw.write(body, out)

    loops = [op for op in traced(kernel).walk() if isinstance(op, Iterate)]
    labels = [loop.body.arguments[0].label for loop in loops]
    assert len(set(labels)) == 2


def test_value_of_a_body_that_ended(refused, line_of):
    kept = []

    def kernel(a: A, out: OUT):
        @tkw.iterate(K)
        def body():
            kept.append(tkw.sum(tkw.read(a), dim=K))

        tkw.write(kept[0], out)

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0103"
    assert line_of(diagnostic.location) == "tkw.write(kept[0], out)"
    assert "kept.append" in line_of(diagnostic.secondary[0].location)


def test_wrong_number_of_parameters(refused, line_of):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.read(out)])
        def body(one, two):
            return one, two

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0108"
    assert line_of(diagnostic.location) == "def body(one, two):"
    assert line_of(diagnostic.secondary[0].location).startswith("@tkw.iterate")


def test_a_starred_parameter_takes_the_values_that_are_left(traced):
    def kernel(out: OUT):
        first, *others = (tkw.read(out) * float(i) for i in range(3))

        @tkw.iterate(K, init_args=[first, *others])
        def body(one, *rest):
            return one, *(one + each for each in rest)

        tkw.write(body[2], out)

    (loop,) = (op for op in traced(kernel).walk() if op.op_name == "iterate")
    labels = [each.label for each in loop.body.arguments if each.role == "carried"]
    assert labels == ["one", "rest", "rest_1"]


def test_annotation_that_contradicts_the_initial_value(refused, line_of):
    def kernel(out: OUT):
        init = tkw.read(out)

        @tkw.iterate(K, init_args=[init])
        def body(acc: tkw.Register[M, tkw.f16]):
            return acc

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0108"
    assert line_of(diagnostic.location).startswith("def body(acc")
    assert line_of(diagnostic.secondary[0].location) == "init = tkw.read(out)"


def test_wrong_number_of_results(refused):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.read(out)])
        def body(acc):
            return acc, acc

    assert refused(kernel).code == "WV0109"


def test_forgotten_return(refused):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.read(out)])
        def body(acc):
            acc + 1.0

    assert refused(kernel).code == "WV0109"


def test_result_of_another_type(refused, line_of):
    def kernel(out: OUT):
        @tkw.iterate(K, init_args=[tkw.read(out)])
        def body(acc):
            narrow = tkw.cast(acc, tkw.f16)
            return narrow  # noqa: RET504 - a line of its own

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0109"
    assert line_of(diagnostic.location) == "narrow = tkw.cast(acc, tkw.f16)"
    assert "cast(value, f32)" in diagnostic.help[0]


def test_loop_body_annotations_may_name_locals_of_the_kernel(traced):
    def kernel(out: OUT):
        Row = tkw.Register[M, tkw.f32]

        @tkw.iterate(K, init_args=[Row(0.0)])
        def body(acc: Row):
            return acc

        tkw.write(body, out)

    assert traced(kernel)


def test_conditional_on_a_register(traced):
    def kernel(out: OUT):
        x = tkw.read(out)

        @tkw.conditional(x > 0.0)
        def then():
            tkw.write(x + 1.0, out)

        assert then is None

    found = only(traced(kernel), Conditional)
    assert found.condition.op_name == "gt"
    assert len(found.captures) == 2


def test_conditional_on_symbols_with_results(traced):
    def kernel(out: OUT):
        x = tkw.read(out)

        @tkw.conditional(tkw.WORKGROUP_0 < 4, else_return=x)
        def then():
            return x + 1.0

        tkw.write(then, out)

    found = only(traced(kernel), Conditional)
    assert found.condition is None
    assert found.expr.is_boolean
    assert str(found.users[0].type) == "reg<M, f32>"


def test_conditional_results_need_an_else(refused):
    def kernel(out: OUT):
        x = tkw.read(out)

        @tkw.conditional(x > 0.0)
        def then():
            return x

    assert refused(kernel).code == "WV0109"


def test_conditional_takes_truth_values_only(refused):
    def kernel(out: OUT):
        @tkw.conditional(tkw.read(out))
        def then():
            pass

    assert refused(kernel).code == "WV0205"


def test_conditional_takes_relations_only(refused):
    def kernel(out: OUT):
        @tkw.conditional(M + 1)
        def then():
            pass

    assert refused(kernel).code == "WV0218"
