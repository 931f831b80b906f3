"""Loops, conditions, and symbols that change their value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import Value
from wave_core.backends.emission.rules.control import name_first
from wave_core.ops.control import Conditional, Iterate, SetSymbol, While
from wave_core.symbols import as_expr, symbol

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.builder import Block
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.ir import Region


@lowers(Iterate)
def iterate(op: Iterate, emit: Emitter) -> None:
    """A counted loop; carried values are its arguments."""
    builder = emit.builder
    assert op.count is not None, "set by expansion"
    assert op.induction is not None, "set by expansion"
    iterations = emit.expr(as_expr(op.count))
    count = emit.indices.wrapped(iterations)
    start, step = emit.expr(as_expr(op.start)), op.step
    inits = [emit.value(value) for value in op.inits]
    counter = builder.fresh()
    region = op.body
    outer, where = dict(emit.renamed), builder.where
    with builder.region() as block:
        carried = _bind_carried(emit, region, inits)
        iteration = symbol(f"$iteration:{counter[1:]}")
        emit.indices.bind(iteration, counter, 32, builder.level)
        emit.indices.counters[iteration] = iterations
        emit.renamed[op.induction] = start + iteration * step
        emit.lower(region)
        values = emit.yielded(region)
        builder.locate(op.location)
        _yield(emit, values, inits)
    emit.renamed = outer
    builder.where = where
    zero, one = (builder.constant(n, "i32") for n in ("0", "1"))
    head = f"scf.for {counter} = {zero} to {count} step {one}"
    names = _close(emit, head, carried, inits, block, " : i32")
    emit.set_results(op, names)


def _bind_carried(emit: Emitter, region: Region, inits: list[Value]) -> list[str]:
    names: list[str] = []
    for argument, init in zip(region.arguments, inits, strict=False):
        name = emit.builder.fresh()
        emit.define(argument, Value(name, init.item, init.registers))
        names.append(name)
    return names


def _yield(
    emit: Emitter, values: tuple[Value, ...], inits: list[Value] | None = None
) -> None:
    """End a region; the loop's values have as many registers as its arguments."""
    if not values:
        return
    wanted = values if inits is None else inits
    names = [emit.spread(v, w.registers) for v, w in zip(values, wanted, strict=True)]
    kinds = ", ".join(vector(*w.kind) for w in wanted)
    emit.builder.line(f"scf.yield {', '.join(names)} : {kinds}")


def _close(
    emit: Emitter,
    head: str,
    carried: list[str],
    inits: list[Value],
    block: Block[str],
    suffix: str,
) -> tuple[Value, ...]:
    builder = emit.builder
    if not inits:
        builder.splice(f"{head} {suffix} {{", block, "}")
        return ()
    pack = builder.fresh()
    pairs = zip(carried, inits, strict=True)
    args = ", ".join(f"{name} = {init.name}" for name, init in pairs)
    kinds = ", ".join(vector(*init.kind) for init in inits)
    builder.splice(
        f"{pack}:{len(inits)} = {head} iter_args({args}) -> ({kinds}) {suffix} {{",
        block,
        "}",
    )
    return _unpack(pack, inits)


def _unpack(pack: str, like: list[Value]) -> tuple[Value, ...]:
    return tuple(
        Value(f"{pack}#{i}", value.item, value.registers)
        for i, value in enumerate(like)
    )


@lowers(While)
def while_loop(op: While, emit: Emitter) -> None:
    """A loop; the scalar unit decides before each iteration, or each lane does."""
    builder, region = emit.builder, op.body
    inits = [emit.value(value) for value in op.inits]
    outer, where = dict(emit.renamed), builder.where
    with builder.region() as before:
        names = [builder.fresh() for _ in inits]
        for named, name, first in zip(op.symbols, names, op.inits, strict=False):
            value = emit.value(first)
            given = Value(name, value.item, value.registers)
            name_first(emit, named, given, emit.dtype(first))
        test = names[0] if op.by_lane else ""
        if op.condition is not None:
            test = emit.indices.truth(emit.expr(op.condition))
        kinds = ", ".join(vector(*init.kind) for init in inits)
        passed = f" {', '.join(names)} : {kinds}" if inits else ""
        builder.line(f"scf.condition({test}){passed}")
    with builder.region() as after:
        carried = _bind_carried(emit, region, inits)
        for named, argument in zip(op.symbols, region.arguments, strict=False):
            name_first(emit, named, emit.value(argument), emit.dtype(argument))
        emit.lower(region)
        builder.locate(op.location)
        _yield(emit, emit.yielded(region), inits)
    emit.renamed, builder.where = outer, where
    pairs = zip(names, inits, strict=True)
    args = ", ".join(f"{name} = {init.name}" for name, init in pairs)
    typed = zip(carried, inits, strict=True)
    block = ", ".join(f"{name}: {vector(*init.kind)}" for name, init in typed)
    pack = builder.fresh()
    head = f"{pack}:{len(inits)} = scf.while ({args}) : ({kinds}) -> ({kinds}) {{"
    before.lines += ["} do {", f"^bb0({block}):", *after.lines]
    builder.splice(head, before, "}")
    emit.set_results(op, _unpack(pack, inits))


@lowers(Conditional)
def conditional(op: Conditional, emit: Emitter) -> None:
    """A branch; lanes for which it does not hold take the other values."""
    builder = emit.builder
    if op.expr is not None:
        test = emit.indices.truth(emit.expr(op.expr))
    else:
        assert op.condition is not None, "a condition or a relation"
        test = emit.value(op.condition).name
    region = op.body
    otherwise = [emit.value(value) for value in op.else_values]
    outer, where = dict(emit.renamed), builder.where
    with builder.region() as block:
        emit.lower(region)
        _yield(emit, emit.yielded(region), otherwise or None)
    emit.renamed = outer
    builder.where = where
    if not otherwise:
        builder.splice(f"scf.if {test} {{", block, "}")
        emit.set_results(op, ())
        return
    pack, kinds = builder.fresh(), ", ".join(vector(*value.kind) for value in otherwise)
    with builder.region() as other:
        _yield(emit, tuple(otherwise))
    block.lines += ["} else {", *other.lines]
    head = f"{pack}:{len(otherwise)} = scf.if {test} -> ({kinds}) {{"
    builder.splice(head, block, "}")
    emit.set_results(op, _unpack(pack, otherwise))


@lowers(SetSymbol)
def set_symbol(op: SetSymbol, emit: Emitter) -> None:
    """The value of the first active lane, in a scalar register."""
    name_first(emit, op.symbol, emit.value(op.value), emit.dtype(op.value))
