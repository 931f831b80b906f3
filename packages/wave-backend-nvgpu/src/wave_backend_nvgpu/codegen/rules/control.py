"""Loops, conditions, and symbols that change their value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.types import typed
from wave_core.backends import lowers
from wave_core.backends.emission import Value
from wave_core.backends.emission.elements import as_index
from wave_core.constraints.machine import LANE
from wave_core.ir import region_of, walk
from wave_core.ops.control import (
    Breakpoint,
    Conditional,
    Iterate,
    SetSymbol,
    While,
)
from wave_core.ops.reduce import Shuffle
from wave_core.ops.sync import WaveFence
from wave_core.symbols import as_expr, symbol

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.types import DType


@lowers(Iterate)
def iterate(op: Iterate, emit: Emitter) -> None:
    """A counted loop; its counter and carried values are phis of its head."""
    builder, region = emit.builder, op.body
    assert op.count is not None, "set by expansion"
    assert op.induction is not None, "set by expansion"
    iterations = emit.expr(as_expr(op.count))
    count = emit.indices.wrapped(iterations)
    start, step = emit.expr(as_expr(op.start)), op.step
    emit.under_way.enter()
    inits = [emit.value(value) for value in op.inits]
    counter, next_ = builder.fresh(), builder.fresh()
    outer, where = dict(emit.renamed), builder.where
    going_on = emit.under_way.carried(region, inits)
    with builder.region() as block, emit.under_way.inside(region, repeats=True):
        carried = _bind_carried(emit, region, inits)
        pairs = zip(_named(carried, inits), going_on, strict=True)
        waiting = [value for value, on in pairs if on]
        emit.under_way.hand_over(inits, waiting)
        iteration = symbol(f"$iteration:{counter[1:]}")
        emit.indices.bind(iteration, counter, 32, builder.level)
        emit.indices.counters[iteration] = iterations
        emit.renamed[op.induction] = start + iteration * step
        emit.lower(region)
        values = _as_wide(emit, emit.yielded(region), inits)
        builder.locate(op.location)
        builder.line(f"{next_} = add nuw nsw i32 {counter}, 1")
    emit.renamed, builder.where = outer, where
    before, head, end = builder.blocks[-1].label, builder.label(), builder.label()
    test = builder.fresh()
    phis = [("i32", counter, "0", next_)]
    pairs = zip(carried, inits, values, strict=True)
    phis += [(typed(init.kind), name, init.name, new) for name, init, new in pairs]
    builder.splice(
        f"br label %{head}",
        f"{head}:",
        *[
            f"{name} = phi {kind} [ {first}, %{before} ], [ {new}, %{block.label} ]"
            for kind, name, first, new in phis
        ],
        f"{test} = icmp slt i32 {counter}, {count}",
        f"br i1 {test}, label %{block.entry}, label %{end}",
        block,
        f"br label %{head}",
        f"{end}:",
    )
    emit.under_way.hand_over(inits, waiting)
    emit.set_results(op, _named(carried, inits))


def _bind_carried(emit: Emitter, region: Region, inits: list[Value]) -> list[str]:
    names: list[str] = []
    for argument, init in zip(region.arguments, inits, strict=False):
        name = emit.builder.fresh()
        emit.define(argument, Value(name, init.item, init.registers))
        names.append(name)
    return names


def _as_wide(emit: Emitter, values: tuple[Value, ...], like: list[Value]) -> list[str]:
    """The values of a region's end, of as many registers as its results."""
    return [emit.spread(v, w.registers) for v, w in zip(values, like, strict=True)]


def _named(names: list[str], like: list[Value]) -> tuple[Value, ...]:
    pairs = zip(names, like, strict=True)
    return tuple(Value(name, value.item, value.registers) for name, value in pairs)


@lowers(While)
def while_loop(op: While, emit: Emitter) -> None:
    """A loop that each thread decides before each iteration."""
    builder, region = emit.builder, op.body
    inits = [emit.value(value) for value in op.inits]
    outer, where, around = dict(emit.renamed), builder.where, emit.lanes
    names, left = [builder.fresh() for _ in inits], builder.fresh()
    parts = op.by_lane and _exchanges(region)
    emit.under_way.enter()
    with builder.region() as before:
        for named, name, first in zip(op.symbols, names, op.inits, strict=False):
            value = emit.value(first)
            given = Value(name, value.item, value.registers)
            _name(emit, named, given, emit.dtype(first))
        test = names[0] if op.by_lane else ""
        if op.condition is not None:
            test = emit.indices.truth(emit.expr(op.condition))
        if parts:
            emit.lanes = _ballot(emit, left, test)
    inside = emit.lanes
    with builder.region() as after, emit.under_way.inside(region, repeats=True):
        for argument, name, init in zip(region.arguments, names, inits, strict=False):
            emit.define(argument, Value(name, init.item, init.registers))
        for named, argument in zip(op.symbols, region.arguments, strict=False):
            _name(emit, named, emit.value(argument), emit.dtype(argument))
        emit.lower(region)
        builder.locate(op.location)
        values = _as_wide(emit, emit.yielded(region), inits)
    emit.renamed, builder.where, emit.lanes = outer, where, around
    entry, end = builder.blocks[-1].label, builder.label()
    pairs = zip(names, inits, values, strict=True)
    phis = [(typed(init.kind), name, init.name, new) for name, init, new in pairs]
    if parts:
        phis.append(("i32", left, around, inside))
    before.lines[:0] = [
        f"  {name} = phi {kind} [ {first}, %{entry} ], [ {new}, %{after.label} ]"
        for kind, name, first, new in phis
    ]
    builder.splice(
        f"br label %{before.entry}",
        before,
        f"br i1 {test}, label %{after.entry}, label %{end}",
        after,
        f"br label %{before.entry}",
        f"{end}:",
    )
    emit.set_results(op, _named(names, inits))


@lowers(Conditional)
def conditional(op: Conditional, emit: Emitter) -> None:
    """A branch; lanes for which it does not hold take the other values."""
    builder, region = emit.builder, op.body
    around = emit.lanes
    if op.expr is not None:
        relation = emit.expr(op.expr)
        test = emit.indices.truth(relation)
        apart = LANE in relation.free_symbols
        if not apart and emit.has_products and _is_passed_by_all(op):
            test = _agreed(emit, test)
    else:
        assert op.condition is not None, "a condition or a relation"
        test, apart = emit.value(op.condition).name, True
    if apart and _exchanges(region):
        emit.lanes = _ballot(emit, emit.lanes, test)
    otherwise = [emit.value(value) for value in op.else_values]
    outer, where = dict(emit.renamed), builder.where
    emit.under_way.enter()
    with builder.region() as block, emit.under_way.inside(region, repeats=False):
        emit.lower(region)
        names = _as_wide(emit, emit.yielded(region), otherwise) if otherwise else []
    emit.renamed, builder.where, emit.lanes = outer, where, around
    pairs = zip(names, otherwise, strict=True)
    rows = [(typed(value.kind), name, value.name) for name, value in pairs]
    emit.set_results(op, _named(builder.branch(test, block, rows), otherwise))


def _exchanges(region: Region) -> bool:
    """Whether lanes ask others for something in a region."""
    return any(isinstance(op, Shuffle | WaveFence) for op in walk(region))


def _is_passed_by_all(op: Op) -> bool:
    """Whether no lane of a wave is elsewhere: only counted loops are around it."""
    return all(isinstance(each, Iterate) for each in region_of(op).around)


def _agreed(emit: Emitter, test: str) -> str:
    """A test that is the same in all lanes of a wave, so that the assembler knows it.

    It takes a branch on anything else for one at which threads part, and does products
    behind it one after the other (C7519).
    """
    arguments = [("i32", emit.lanes), ("i1", test)]
    return emit.builder.call("llvm.nvvm.vote.any.sync", "i1", arguments)


def _ballot(emit: Emitter, lanes: str, test: str) -> str:
    """The lanes of a mask, all of which are here, for which a test holds."""
    arguments = [("i32", lanes), ("i1", test)]
    return emit.builder.call("llvm.nvvm.vote.ballot.sync", "i32", arguments)


@lowers(SetSymbol)
def set_symbol(op: SetSymbol, emit: Emitter) -> None:
    """The value, which is the same in all lanes of a wave."""
    _name(emit, op.symbol, emit.value(op.value), emit.dtype(op.value))


def _name(emit: Emitter, named: Expr, value: Value, dtype: DType) -> None:
    """Let ``named`` stand for a value from here on."""
    make, name = emit.instructions, value.name
    if value.registers > 1:
        name = make.extract(value.kind, name, 0)
    name, width = as_index(emit, name, dtype)
    text = f"$set:{name}:{emit.builder.fresh()}"
    stand_in = symbol(text, nonnegative=named.nonnegative)
    emit.indices.bind(stand_in, name, width, make.level)
    emit.renamed[named] = stand_in


@lowers(Breakpoint)
def breakpoint_op(op: Breakpoint, emit: Emitter) -> None:
    """Nothing: for a launch, logs have taken its place."""
    del op, emit
