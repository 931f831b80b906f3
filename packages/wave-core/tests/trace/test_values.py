"""Values of a kernel: their operators, and what Python may not do with them."""

from __future__ import annotations

import operator

import pytest

import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.ops.constant import Scalar
from wave_core.symbols import symbol

M, N = tkw.sym.M, tkw.sym.N
SPACE = tkw.GLOBAL_ADDRESS_SPACE

BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def names(graph):
    return [op.op_name for op in graph.walk()]


@pytest.mark.parametrize("name", BINARY)
def test_operators_emit_ops(name, traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        x = tkw.read(a)
        BINARY[name](x, x)

    assert names(traced(kernel)) == ["read", name, "yield"]


@pytest.mark.parametrize("number", [3, M, 2 * M + 1], ids=str)
@pytest.mark.parametrize("name", [name for name in BINARY if name != "ne"])
def test_numbers_and_symbols_adopt_the_element_type(name, number, traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        x = tkw.read(a)
        BINARY[name](x, number)
        BINARY[name](number, x)

    expected = ["read", "scalar", name, "scalar", MIRRORED.get(name, name), "yield"]
    graph = traced(kernel)
    assert names(graph) == expected
    scalars = [op for op in graph.walk() if isinstance(op, Scalar)]
    assert {str(op.type) for op in scalars} == {"reg<i32>"}


def test_symbol_unequal_register_is_refused_and_the_other_way_works(traced, refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        tkw.read(a) != M  # noqa: B015

    def reversed_kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        # sympy answers `!=` by negating `==` in Python.
        M != tkw.read(a)  # noqa: B015, SIM300

    assert names(traced(kernel)) == ["read", "scalar", "ne", "yield"]
    assert refused(reversed_kernel).code == "WV0102"


def test_float_operators(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f16]):
        x = tkw.read(a)
        abs(-((1 / x) ** 2.0))

    assert names(traced(kernel)) == [
        *("read", "scalar", "div", "scalar", "powf", "neg", "abs", "yield")
    ]


def test_a_number_that_is_a_half_makes_a_power_a_root(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        x = tkw.read(a)
        (x**0.5) ** -0.5

    assert names(traced(kernel)) == ["read", "sqrt", "rsqrt", "yield"]


def test_in_place_operators_rebind_the_name(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        x = tkw.read(a)
        x *= 2.0
        tkw.write(x, a)

    graph = traced(kernel)
    assert names(graph) == ["read", "scalar", "mul", "write", "yield"]
    assert list(graph.walk())[3].value.op_name == "mul"


def test_number_that_does_not_fit(refused, line_of):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i8]):
        tkw.read(a) + 300

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0209"
    assert line_of(diagnostic.location) == "tkw.read(a) + 300"


@pytest.mark.parametrize(
    "use",
    [bool, len, int, float, lambda x: [1, 2][x], range],
    ids=["bool", "len", "int", "float", "index", "range"],
)
def test_python_cannot_know_the_numbers(use, refused, line_of):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        x = tkw.read(a)
        use(x)

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0102"
    assert diagnostic.help


def test_branch_on_a_register_points_at_the_if(refused, line_of):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        x = tkw.read(a)
        if x > 0:
            tkw.write(x, a)

    diagnostic = refused(kernel)
    assert line_of(diagnostic.location) == "if x > 0:"
    assert line_of(diagnostic.secondary[0].location) == "if x > 0:"


@pytest.mark.parametrize("use", [lambda x: x[1], list], ids=["subscript", "unpack"])
def test_registers_have_no_subscripts(use, refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        use(tkw.read(a))

    assert refused(kernel).code == "WV0104"


@pytest.mark.parametrize("thing", [None, "text", (1, 2), object()], ids=type)
def test_other_things_are_no_operands(thing, refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        tkw.read(a) + thing

    assert refused(kernel).code == "WV0105"


def test_two_numbers_have_no_element_type(refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.i32]):
        tkw.select(tkw.read(a) > 0, 1, 0)

    assert refused(kernel).code == "WV0105"


def test_select_takes_a_number_beside_a_register(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        x = tkw.read(a)
        tkw.select(x > 0, x, 0.0)

    select = next(op for op in traced(kernel).walk() if op.op_name == "select")
    assert str(select.type) == "reg<M, f32>"


def test_ops_need_a_kernel():
    with pytest.raises(UserError) as caught:
        tkw.Register[M, tkw.f32](0.0)
    assert caught.value.code == "WV0101"
    with pytest.raises(UserError) as caught:
        tkw.shared_memory_barrier()
    assert caught.value.code == "WV0101"


def test_values_of_one_kernel_are_unknown_to_another(traced, refused):
    kept = []

    def first(a: tkw.Memory[M, SPACE, tkw.f32]):
        kept.append(tkw.read(a))

    def second(a: tkw.Memory[M, SPACE, tkw.f32]):
        tkw.write(kept[0], a)

    traced(first)
    assert refused(second).code == "WV0103"


def test_every_op_knows_its_line(traced, line_of):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        x = tkw.read(a)
        y = x + 1.0
        tkw.write(y, a)

    found = {op.op_name: line_of(op.location) for op in traced(kernel).walk()}
    assert found["add"] == "y = x + 1.0"
    assert found["write"] == "tkw.write(y, a)"


def test_tags(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        x = tkw.read(a, tag="load")
        y = tkw.tag(x + x, {"sum", "first"})
        tkw.write(tkw.exp(y, tag="e"), a, tag=["store"])

    tags = {op.op_name: sorted(op.tags) for op in traced(kernel).walk()}
    del tags["yield"]
    assert tags == {
        "read": ["load"],
        "add": ["first", "sum"],
        "exp": ["e"],
        "write": ["store"],
    }


@pytest.mark.parametrize("tag", [1, ["a", 2]])
def test_tags_are_strings(tag, refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        tkw.read(a, tag=tag)

    assert refused(kernel).code == "WV0115"


def test_dims_that_need_to_divide_become_assumptions(traced):
    def kernel(a: tkw.Memory[M, N / 2, SPACE, tkw.i8]):
        tkw.read(a)

    graph = traced(kernel)
    assert graph.parameters[0].type.shape[1] == symbol("N") // 2
    (assumption,) = graph.constraints
    assert assumption.expr.subs({symbol("N"): 4}).constant_value == 1
    assert assumption.expr.subs({symbol("N"): 5}).constant_value == 0
