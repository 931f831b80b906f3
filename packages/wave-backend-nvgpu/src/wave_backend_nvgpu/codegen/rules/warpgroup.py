"""Matrix products of four warps, which go on after they are issued: `wgmma`."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen import warpgroup
from wave_backend_nvgpu.codegen.descriptors import descriptor
from wave_backend_nvgpu.codegen.memories import is_box
from wave_backend_nvgpu.codegen.under_way import made_by
from wave_backend_nvgpu.targets.matrix import PIECE_BITS
from wave_core.analysis.operands import is_across, unturned
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, element, recast, sliced
from wave_core.backends.emission.rules.control import get_result
from wave_core.ir import region_of, resolve
from wave_core.ops.constant import Splat
from wave_core.ops.matrix import Mma, SharedTile
from wave_core.ops.memory import GatherToLDS
from wave_core.ops.structure import Argument, GetResult
from wave_core.ops.sync import MemoryCounterWait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.ops.base import Op
    from wave_core.targets import MatrixInstruction


@lowers(SharedTile)
def shared_tile(op: SharedTile, emit: Emitter) -> None:
    """Nothing: products read it where it is."""
    del op, emit


def product(op: Mma, emit: Emitter, row: MatrixInstruction) -> None:
    """Issue one, and its neighbours; what they make is there behind the wait for it.

    Where no wait is in the graph, neighbours are awaited together.
    """
    if op in emit.under_way.issued:
        return
    if not isinstance(op.rhs, SharedTile):
        raise emit.unsupported(op, f"`{row.name}` has its columns in shared memory")
    _order(op, emit)
    together = list(_together(op, emit))
    _issue(together, emit, row)
    last = together[-1]
    if any(each is not last for each in _run(last, emit)):
        return
    if emit.boxes is not None:
        emit.under_way.enter()  # Around the branch of a copy no group may be open.
    if not emit.has_waits:
        emit.under_way.wait(0)


def _together(op: Mma, emit: Emitter) -> Iterator[Mma]:
    """The op and its neighbours by the same instruction.

    What one of them makes is lost where the next one adds to it. Copies of boxes come
    behind them: one thread makes these, and around its branch the assembler would
    divide the group (C7519). What a product reads no copy beside it writes, since the
    product would have to wait for that.
    """
    found: set[Op] = set()
    for each in dropwhile(lambda other: other is not op, region_of(op).ops):
        if isinstance(each, SharedTile) or is_box(each):
            continue
        if not isinstance(each, Mma) or not emit.under_way.is_asynchronous(each):
            return
        acc = resolve(each.acc)
        if made_by(each) != made_by(op) or (acc in found and len(acc.users) > 1):
            return
        found.add(each)
        yield each


def _issue(ops: Sequence[Mma], emit: Emitter, row: MatrixInstruction) -> None:
    """Write products as one piece of assembly."""
    emit.under_way.begin(ops[0])
    sums: list[warpgroup.Sum] = []
    rows: list[warpgroup.Product] = []
    place: dict[Op, int] = {}
    kind = Kind(element(row.result_dtype), row.acc.registers)
    for op in ops:
        acc = place.get(resolve(op.acc), len(sums))
        adds = acc < len(sums)
        if not adds:
            start = emit.under_way.copies.pop(op, None) or _accumulator(op.acc, emit)
            sums.append(warpgroup.Sum(kind, start))
            adds = start is not None
        sides = (_operand(op, op.lhs, emit), _operand(op, op.rhs, emit))
        rows.append(warpgroup.Product(sides, acc, adds))
        place[op] = acc
    dtype = ops[0].lhs.register_type.dtype
    made = warpgroup.products(emit.builder, row.shape, dtype, rows, sums)
    for op, each in zip(ops, rows, strict=True):
        words = [n for side in each.sides if not side.stays for n in side.names]
        emit.under_way.issue(op, sums[each.acc].start, made[each.acc], words)
        emit.define(op, made[each.acc])


def _order(op: Mma, emit: Emitter) -> None:
    """Fence the registers of this product, and of those that follow.

    A fence between products that are under way would wait for them: the assembler
    says C7517. So whatever is there already is ordered before the first.
    """
    run, later = list(_run(op, emit)), dict(_later(op, emit))
    made = set(map(id, (*run, *later)))
    sums: list[Value] = []
    kept: dict[Op, Value] = {}
    for each in (*run, *later):
        if id(resolve(each.acc)) in made:
            continue
        found = _accumulator(each.acc, emit)
        if found is None:
            continue
        if _is_used_up(each):
            sums.append(found)
        elif each not in emit.under_way.copies:
            kept[each] = found
    run += [each for each, is_whole in later.items() if is_whole]
    others = [
        _words(emit, each.lhs) for each in run if not isinstance(each.lhs, SharedTile)
    ]
    fresh = _accumulator(op.acc, emit) is None
    named = {value.name: value for value in others}
    emit.under_way.order(sums, list(named.values()), kept, fresh=fresh)


def _is_used_up(op: Mma) -> bool:
    """Whether nothing else has a use for the registers of what a product adds to.

    Products, and what loops carry or leave, have registers of their own; constants
    and values in another order share those of others.
    """
    acc = resolve(op.acc)
    own = isinstance(acc, Mma | Argument | GetResult)
    return own and region_of(acc) is region_of(op) and len(acc.users) == 1


def _run(op: Mma, emit: Emitter) -> Iterator[Mma]:
    """The op and the products behind it, up to an op that computes something else.

    Copies past the registers may come between.
    """
    for each in dropwhile(lambda other: other is not op, region_of(op).ops):
        if isinstance(each, Mma) and emit.under_way.is_asynchronous(each):
            yield each
        elif not isinstance(each, SharedTile | GatherToLDS):
            return


def _later(op: Mma, emit: Emitter) -> Iterator[tuple[Mma, bool]]:
    """Products behind the run, up to a wait, that add to what is there before it.

    And whether their words are there, too: those that are not have a fence later, when
    nothing may be written to accumulators any more.
    """
    run, new = set(map(id, _run(op, emit))), set[int]()
    for each in dropwhile(lambda other: other is not op, region_of(op).ops):
        if each.regions or (
            isinstance(each, MemoryCounterWait) and each.mma is not None
        ):
            return
        if isinstance(each, GetResult):
            get_result(each, emit)  # There since the loop ended, by the same name.
        elif not isinstance(each, SharedTile):
            new.add(id(each))
        if isinstance(each, Mma) and id(each) not in run and _is_used_up(each):
            acc, lhs = id(resolve(each.acc)), id(resolve(each.lhs))
            if emit.under_way.is_asynchronous(each) and acc not in new:
                yield each, lhs not in new


def _accumulator(op: Op, emit: Emitter) -> Value | None:
    """The value that a product adds to; nothing where that is zero."""
    source = unturned(op)
    if isinstance(source, Splat) and source.value == 0:
        return None
    value, count = emit.value(op), emit.registers(op)
    return Value(emit.spread(value, count), value.item, count)


def _operand(op: Mma, side: Op, emit: Emitter) -> warpgroup.Operand:
    if not isinstance(side, SharedTile):
        words = emit.under_way.words(_words(emit, side))
        names = [sliced(emit, words, at, 1) for at in range(words.registers)]
        return warpgroup.Operand(tuple(names), stays=False)
    across = is_across(side.memory, op)
    name = descriptor(emit, side, across=across)
    return warpgroup.Operand((name,), stays=True, across=across)


def _words(emit: Emitter, op: Op) -> Value:
    """An operand in registers of 32 bits."""
    value, count = emit.value(op), emit.registers(op)
    value = Value(emit.spread(value, count), value.item, count)
    words = count * emit.dtype(op).bits // PIECE_BITS
    name = emit.builder.once(
        ("words", value.name),
        lambda: recast(emit, value, "i32", words).name,
        emit.builder.level,
    )
    return Value(name, "i32", words)
