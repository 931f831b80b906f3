"""Cases of lowering that random programs found."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import InternalError, UserError
from wave_core.ir import ACCESS, PLACEMENT
from wave_core.ops.control import Conditional
from wave_core.ops.memory import Read, Write
from wave_core.ops.shape import Squeeze
from wave_core.trace.context import active
from wave_core.trace.value import Value

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
ROWS = [
    tkw.HardwareConstraint(threads_per_wave=64),
    tkw.WorkgroupConstraint(M, 8, 0),
    tkw.TilingConstraint(K, 4),
]


def accesses(graph, kind):
    found = (op for op in graph.walk() if isinstance(op, kind))
    return [graph.facts.get(ACCESS, op) for op in found]


@pytest.mark.parametrize(("start", "step"), [(1, 1), (0, 2), (2, 3)])
def test_a_loop_counts_in_tiles(lowered, start, step):
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        @tkw.iterate(K, start=start, step=step)
        def loop():
            tkw.write(tkw.read(a), b)

    graph = lowered(kernel, M=8, K=64)
    (access,) = accesses(graph, Read)
    assert str(access.coordinates[1]) == "4*$IV:K + $LANE % 4"


def test_padding_is_no_room_for_another_tile_of_the_loop(lowered):
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32], b: tkl.Memory[M, K, GLOBAL, tkl.f32]
    ):
        shared = tkw.allocate((M, K), (8, 4), tkl.f32, padding=8)

        @tkw.iterate(K)
        def loop():
            tkw.write(tkw.read(a), shared)
            tkw.write(tkw.read(shared), b)

    graph = lowered(kernel, M=8, K=64)
    staged = accesses(graph, Write)[0]
    assert str(staged.coordinates[1]) == "$LANE % 4"


def test_sources_of_a_reduction_may_order_their_dims_differently(lowered):
    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[N, M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        tkw.write(tkw.max([tkw.read(a), tkw.read(b)], dim=N), c)

    lowered(kernel, M=8, N=12).verify()


@pytest.fixture(name="branch")
def _branch():
    """Writes where a condition on the rows holds; the tile is wider than it."""

    @tkw.wave([*ROWS, tkw.WorkgroupConstraint(N, 32, 1)])
    def kernel(c: tkl.Memory[M, GLOBAL, tkl.i32], o: tkl.Memory[M, N, GLOBAL, tkl.i32]):
        value = tkl.Register[M, N, tkl.i32](1)

        @tkw.conditional(tkw.read(c) > 0)
        def body():
            tkw.write(value, o)

    return kernel


def test_a_lane_decides_about_what_it_writes_itself(branch, lowered):
    graph = lowered(branch, upto="assign-layouts", M=8, N=32)
    (op,) = (op for op in graph.walk() if isinstance(op, Conditional))
    (write,) = (op for op in graph.walk() if isinstance(op, Write))
    rows = [graph.facts.get(PLACEMENT, v).layout for v in (op.condition, write.value)]
    assert rows[0].lane_digits("M") == rows[1].lane_digits("M")


def test_a_condition_on_what_the_tile_has_not_is_refused(lowered):
    @tkw.wave(ROWS)
    def kernel(c: tkl.Memory[M, N, GLOBAL, tkl.i32], o: tkl.Memory[M, GLOBAL, tkl.i32]):
        value = tkl.Register[M, tkl.i32](1)

        @tkw.conditional(tkw.read(c) > 0)
        def body():
            tkw.write(value, o)

    with pytest.raises(UserError, match="in other lanes than what depends on it"):
        lowered(kernel, M=8, N=8)


def test_what_is_squeezed_has_one_element(lowered):
    @tkw.wave([*ROWS, tkw.WorkgroupConstraint(N, 2, 1)])
    def kernel(a: tkl.Memory[N, M, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]):
        wide = tkw.read(a).op
        narrow = active("squeeze").emit(Squeeze(wide, wide.type.shape[1:]), None)
        tkw.write(Value(narrow), b)

    with pytest.raises(InternalError, match="of which a wave holds 2 elements"):
        lowered(kernel, M=8, N=8)
