"""A kernel as a whole: parameters, annotations, bindings, usage."""

from __future__ import annotations

import wave_core.lang as tkw
from wave_core.symbols import symbol
from wave_core.trace import parameter_usage
from wave_core.types import Usage

M, N = tkw.sym.M, tkw.sym.N
SPACE = tkw.GLOBAL_ADDRESS_SPACE


def test_scalars_and_symbols_are_parameters(traced):
    def kernel(
        a: tkw.Memory[M, SPACE, tkw.f32], scale: tkw.f32, n: tkw.SymbolBind[tkw.i32]
    ):
        tkw.write(tkw.read(a) * scale, a)

    graph = traced(kernel)
    assert [p.label for p in graph.parameters] == ["a", "scale", "n"]
    types = [str(p.type) for p in graph.parameters]
    assert types == ["mem<M, global, f32>", "reg<f32>", "reg<i32>"]
    assert parameter_usage(graph) == {"a": Usage.OUTPUT}


def test_annotations_name_what_the_function_does_not_use(traced):
    depth = tkw.sym.DEPTH

    def kernel(a: tkw.Memory[depth, SPACE, tkw.f32]):
        tkw.read(a)

    @tkw.wave([])
    def decorated(a: tkw.Memory[depth, SPACE, tkw.f32]):
        tkw.read(a)

    assert decorated.trace().parameters[0].type.dims == ("DEPTH",)


def test_annotations_as_objects(traced):
    def kernel(a):
        tkw.read(a)

    kernel.__annotations__ = {"a": tkw.Memory[M, SPACE, tkw.f32]}
    assert traced(kernel).parameters[0].type.dims == ("M",)


def test_unknown_name_in_an_annotation(refused):
    def kernel(a: tkw.Memory[Nowhere, SPACE, tkw.f32]):  # noqa: F821
        tkw.read(a)

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0107"
    assert "Nowhere" in diagnostic.message


def test_parameter_without_a_type(refused, line_of):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32], b):
        tkw.read(a)

    diagnostic = refused(kernel)
    assert diagnostic.code == "WV0111"
    assert "`b`" in diagnostic.message
    assert line_of(diagnostic.location).startswith("def kernel")


def test_parameter_of_a_python_type(refused):
    def kernel(a: int):
        pass

    assert refused(kernel).code == "WV0111"


def test_returning_a_value(refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        return tkw.read(a)

    assert refused(kernel).code == "WV0112"


def test_a_generator_and_a_coroutine_say_so(refused):
    def generator(a: tkw.Memory[M, SPACE, tkw.f32]):
        yield tkw.read(a)

    async def coroutine(a: tkw.Memory[M, SPACE, tkw.f32]):
        tkw.read(a)

    for kernel in (generator, coroutine):
        diagnostic = refused(kernel)
        name = kernel.__name__
        assert diagnostic.code == "WV0112"
        assert diagnostic.message == f"kernel `{name}` is a {name}"
        assert diagnostic.help == ("take out `yield`, `async` and `await`",)


def test_parameters_that_no_launch_passes(refused):
    def several(*arguments: tkw.f32): ...
    def named(**arguments: tkw.f32): ...
    def only_named(a: tkw.f32, *, b: tkw.f32): ...
    def with_default(a: tkw.f32, scale: tkw.f32 = 2.0): ...

    found = [refused(kernel) for kernel in (several, named, only_named, with_default)]
    assert {each.code for each in found} == {"WV0111"}
    assert [each.message for each in found] == [
        f"kernel parameter `{name}` {why}"
        for name, why in (
            ("arguments", "is variadic positional, and arguments come in order"),
            ("arguments", "is variadic keyword, and arguments come in order"),
            ("b", "is keyword-only, and arguments come in order"),
            ("scale", "has a default, and each launch passes all arguments"),
        )
    ]


def test_a_memory_written_in_a_loop_is_an_output(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32], b: tkw.Memory[M, SPACE, tkw.f32]):
        @tkw.iterate(N)
        def outer():
            @tkw.iterate(N)
            def inner():
                tkw.write(tkw.read(a), b)

    usage = parameter_usage(traced(kernel))
    assert usage == {"a": Usage.INPUT, "b": Usage.OUTPUT}


def test_an_error_leaves_no_kernel_active(refused):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        tkw.read(a) + None

    assert refused(kernel).code == "WV0105"
    assert refused(kernel).code == "WV0105"


def test_one_function_makes_equal_graphs_every_time(traced):
    def kernel(a: tkw.Memory[M, SPACE, tkw.f32]):
        tkw.write(tkw.read(a) + 1.0, a)

    first, second = traced(kernel, M=3), traced(kernel, M=3)
    assert first is not second
    assert first.bindings == second.bindings == {symbol("M"): 3}
    idents = [[op.ident for op in graph.walk()] for graph in (first, second)]
    assert idents[0] == idents[1]
