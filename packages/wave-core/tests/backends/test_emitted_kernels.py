"""Whole kernels through what code generators share, lane by lane, with numpy memory."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from computed_code import ComputedEmission

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.backends import LoweringTable, lowers, rules_of
from wave_core.backends.emission import Kind, Value, element, gathered, sliced
from wave_core.backends.emission.accesses import pieces
from wave_core.backends.emission.memories import extents, size, strides
from wave_core.backends.emission.symbols import (
    bind_constants,
    bind_machine,
    constants_of,
    facts_of,
)
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.choosing import settlements
from wave_core.compile.compiler import lower_front
from wave_core.compile.front import front_of
from wave_core.constraints.geometry import Geometry
from wave_core.ir import resolve
from wave_core.ops.memory import Read, Write
from wave_core.types import MemoryType

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
i, j = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
ROOM = "wave_core.backends.emission.rules"
FAMILIES = ("arithmetic", "compare", "constants", "random", "shape")


class Array:
    """A memory: its elements in a row."""

    def __init__(self, array, dtype, shape):
        self.elements = array.reshape(-1)
        self.dtype = dtype
        self.strides = strides(shape)


@lowers(Read)
def read(op, emit):
    """Piece by piece; 0 where the mask fails."""
    memory = emit.memories[resolve(op.memory).ident]
    item, names = element(memory.dtype), []
    for piece in pieces(op, emit, memory):
        start = emit.place(piece)
        data = np.zeros(piece.count, memory.elements.dtype)
        if start is not None:
            data = memory.elements[start : start + piece.count]
            assert len(data) == piece.count
            assert start * memory.dtype.bytes % piece.alignment == 0
        names += [emit.instructions.name(Kind(item), [each]) for each in data]
    emit.define(op, Value(gathered(emit, names, item), item, len(names)))


@lowers(Write)
def write(op, emit):
    """Piece by piece, where the mask holds."""
    memory, value = emit.memories[resolve(op.memory).ident], emit.value(op.value)
    code = emit.instructions
    for piece in pieces(op, emit, memory):
        start = emit.place(piece)
        if start is None:
            continue
        name = sliced(emit, value, piece.register, piece.count)
        data = code.read(name, Kind(value.item, piece.count))
        assert start + piece.count <= len(memory.elements)
        memory.elements[start : start + piece.count] = data


RULES = [read, write]
TABLE = LoweringTable.of(
    "computed",
    RULES + [r for name in FAMILIES for r in rules_of(import_module(f"{ROOM}.{name}"))],
)


class Lane(ComputedEmission):
    """One lane of a launch."""

    def __init__(self, graph, target, facts, words, workgroup, thread):
        super().__init__(TABLE, 1)
        self.graph, self.target, self.facts = graph, target, facts
        self.indices = type(self.indices)(self.instructions, facts)
        self.words, self.where, self.number = words, workgroup, thread
        self.memories = {}

    def registers(self, op):
        return super(ComputedEmission, self).registers(op)

    def i32(self, number):
        return self.instructions.name(Kind("i32"), [number])

    def word(self, position):
        return self.i32(self.words[position])

    def thread(self, threads):
        assert self.number < threads
        return self.i32(self.number)

    def workgroup(self, axis):
        return self.i32(self.where[axis])

    def place(self, piece):
        """The first element of a piece; none where its mask fails."""
        code = self.instructions
        if piece.mask is not None:
            (holds,) = code.read(self.indices.truth(piece.mask), Kind("i1"))
            if not holds:
                return None
        (start,) = code.signed(self.indices.number(piece.offset, 64))
        return start


def launch(kernel, arrays, sizes, dynamic=()):
    """Run every lane of a kernel that core alone has lowered."""
    session = Session(config=Config(cache=False), announce=lambda _: None)
    options = WaveCompileOptions(
        subs={k: v for k, v in sizes.items() if k not in dynamic},
        dynamic_symbols=dynamic,
        target="generic",
        preset="naive",
    )
    front = front_of(settlements(options, kernel, session)[0], kernel, session)
    graph, target = lower_front(front, kernel).graph, front.target
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    constants = constants_of(graph, geometry)
    facts = facts_of(graph, geometry, constants)
    named = {symbol.name: number for symbol, number in sizes.items()}
    words = [named[row.name] for row in constants]
    known = {s: named[s.name] for s in graph.dynamic_symbols if s.name in named}
    grid = [axis.subs(known).constant_value for axis in geometry.grid]
    for workgroup in np.ndindex(*grid):
        for thread in range(geometry.waves_per_workgroup * target.wave_size):
            lane = Lane(graph, target, facts, words, workgroup, thread)
            bind_constants(lane, constants)
            bind_machine(lane, geometry)
            for argument, array in zip(graph.parameters, arrays, strict=True):
                assert isinstance(argument.type, MemoryType)
                shape = extents(graph, argument.type)
                assert size(shape).subs(known).constant_value == array.size
                memory = Array(array, argument.type.dtype, shape)
                lane.memories[argument.ident] = memory
            lane.lower(graph.body)


def tiles(m, n, waves):
    return [
        tkw.WorkgroupConstraint(M, m, 0),
        tkw.WorkgroupConstraint(N, n, 1),
        tkw.WaveConstraint(M, m // waves),
        tkw.WaveConstraint(N, n // waves),
        tkw.HardwareConstraint(
            threads_per_wave=64, vector_shapes={M: m // waves, N: n // waves}
        ),
    ]


@pytest.mark.covering(1)
@pytest.mark.parametrize("dynamic", [(), (M, N)], ids=str)
@pytest.mark.parametrize("shape", [(7, 130), (1, 1), (12, 67)], ids=str)
def test_a_sum_of_rows_that_stick_out(shape, dynamic):
    @tkw.wave(tiles(8, 128, 2))
    def both(
        a: tkl.Memory[M, N, GLOBAL, tkl.f16],
        b: tkl.Memory[M, N, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f16],
    ):
        tkw.write(tkw.read(a) * tkw.read(b) + tkw.read(a), c)

    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(np.float16) for _ in range(2))
    c = np.full(shape, np.nan, np.float16)
    launch(both, [a, b, c], dict(zip((M, N), shape, strict=True)), dynamic)
    np.testing.assert_array_equal(c, a * b + a)


def test_rows_that_a_table_names():
    rows = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: tkw.IndexMapping.dynamic_val(0), N: j},
        outputs={M: i, N: j},
        dynamic_val_mappings=({M: i},),
    )

    @tkw.wave(tiles(8, 128, 1))
    def gather(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        table: tkl.Memory[M, GLOBAL, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        taken = tkw.read(table)
        tkw.write(tkw.read(a, mapping=rows, mapping_dynamic_vals=(taken,)), c)

    rng = np.random.default_rng(6)
    a = rng.standard_normal((10, 64)).astype(np.float32)
    table = rng.permutation(10).astype(np.int32)
    c = np.full_like(a, np.nan)
    launch(gather, [a, table, c], {M: 10, N: 64})
    np.testing.assert_array_equal(c, a[table])


def test_columns_that_a_table_names():
    columns = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: i, N: tkw.IndexMapping.dynamic_val(0)},
        outputs={M: i, N: j},
        dynamic_val_mappings=({N: j},),
    )

    @tkw.wave(tiles(8, 128, 1))
    def gather(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        table: tkl.Memory[N, GLOBAL, tkl.i32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        taken = tkw.read(table)
        tkw.write(tkw.read(a, mapping=columns, mapping_dynamic_vals=(taken,)), c)

    rng = np.random.default_rng(7)
    a = rng.standard_normal((8, 128)).astype(np.float32)
    table = rng.permutation(128).astype(np.int32)
    c = np.full_like(a, np.nan)
    launch(gather, [a, table, c], {M: 8, N: 128})
    np.testing.assert_array_equal(c, a[:, table])


def test_a_function_of_where_a_lane_stands():
    @tkw.wave(tiles(8, 128, 2))
    def places(c: tkl.Memory[M, N, GLOBAL, tkl.i32]):
        row, column = tkw.self_index(M, tkl.i32), tkw.self_index(N, tkl.i32)
        tkw.write(row * 1000 + column, c)

    c = np.full((11, 150), -1, np.int32)
    launch(places, [c], {M: 11, N: 150})
    row, column = np.indices(c.shape)
    np.testing.assert_array_equal(c, row * 1000 + column)
