"""While loops as traced: what they carry and name, and what is left of them."""

from __future__ import annotations

import wave_core.lang as tkw
from wave_core.analysis.dependences.uniform import Uniformity
from wave_core.ir import parse_graph, print_graph, problems
from wave_core.ir.dead_code import eliminate_dead_code
from wave_core.ops.control import SetSymbol, While

M, S, X = tkw.sym.M, tkw.sym.S, tkw.sym.X
SPACE = tkw.GLOBAL_ADDRESS_SPACE
OUT = tkw.Memory[M, SPACE, tkw.f32]


def loop_of(graph):
    (found,) = [op for op in graph.walk() if isinstance(op, While)]
    return found


def counting(out: OUT, n: tkw.i32):
    zero = tkw.Register[M, tkw.f32](0.0)
    unused = tkw.Register[M, tkw.f32](1.0)
    condition = (X < S) & (tkw.GET_ITER_ARG(1) > 0)
    tkw.set_symbol(S, n)

    @tkw.iterate(X, start=2, condition=condition, init_args=[zero, n, unused])
    def each(total, left, dead):
        tkw.set_symbol(X, X + S)
        return total + 1.0, left - 1, dead + total

    tkw.write(each[0], out)


def test_the_first_carried_values_have_names(traced):
    loop = loop_of(traced(counting))
    assert [str(s) for s in loop.symbols] == ["$WHILE1:X", "$WHILE1.1?"]
    assert len(loop.inits) == 5
    assert loop.condition.free_symbols == {*loop.symbols, *_named(loop, "S")}
    (setting,) = [op for op in loop.body.ops if isinstance(op, SetSymbol)]
    assert str(setting.symbol) == "$WHILE1:X.next"


def _named(loop, name):
    return {s for s in loop.condition.free_symbols if s.name == name}


def test_text_comes_back(traced):
    graph = traced(counting)
    text = print_graph(graph)
    assert print_graph(parse_graph(text)) == text
    assert not problems(parse_graph(text))


def test_what_decides_stays_and_the_rest_goes(traced):
    graph = traced(counting)
    eliminate_dead_code(graph)
    loop = loop_of(graph)
    # Where it stands, the number that decides, its copy for the body, the total.
    assert len(loop.inits) == len(loop.body.end.operands) == 4
    assert not problems(graph)


def test_waves_agree_on_what_follows_from_scalars(traced):
    loop = loop_of(traced(counting))
    assert Uniformity(loop.owner.graph).together(loop)


def test_waves_may_disagree_on_what_is_read(traced):
    def kernel(out: tkw.Memory[M, SPACE, tkw.i32]):
        tkw.set_symbol(S, tkw.read(out))

        @tkw.iterate(X, start=0, condition=X < S)
        def each():
            tkw.set_symbol(X, X + 1)

    loop = loop_of(traced(kernel))
    assert not Uniformity(loop.owner.graph).together(loop)


def test_waves_may_disagree_after_a_loop_that_each_leaves_by_itself(traced):
    def kernel(out: tkw.Memory[M, SPACE, tkw.i32]):
        tkw.set_symbol(S, tkw.read(out))
        zero = tkw.scalar(0, tkw.i32)

        @tkw.iterate(X, start=0, condition=X < S, init_args=[zero])
        def first(count):
            tkw.set_symbol(X, X + 1)
            return count + 1

        @tkw.iterate(condition=tkw.GET_ITER_ARG(0) > 0, init_args=[first])
        def second(left):
            return left - 1

    graph = traced(kernel)
    loops = [op for op in graph.walk() if isinstance(op, While)]
    assert [Uniformity(graph).together(op) for op in loops] == [False, False]
