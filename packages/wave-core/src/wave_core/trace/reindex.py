"""Index registers that are taken at other places: ``{N1: j // 2}``.

Such a register is computed once more, at the places that are asked for: its reads get
mappings that go there, and what is computed from them follows. That is the same value
as long as nobody writes the memories that are read, or sets the symbols that are used,
after the register was computed; `check_steady` looks once the whole kernel is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.ir.graph import resolve
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, Splat, argument_symbol
from wave_core.ops.control import SetSymbol
from wave_core.ops.elementwise import Elementwise
from wave_core.ops.memory import Read
from wave_core.ops.shape import Broadcast, Permute, Squeeze
from wave_core.symbols import Expr
from wave_core.types import AccessMapping, dim_name, iterator_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op, Slot
    from wave_core.trace.tracer import Tracer


@dataclass(frozen=True)
class Reindexing:
    """One index register, taken at other places.

    Attributes:
        tracer: The kernel.
        location: The access that asks.
        dims: The dims of the register that it accesses, by iterator.
        where: For dims of the index register, an expression of the iterators.
    """

    tracer: Tracer
    location: Location
    dims: tuple[Expr, ...]
    where: Mapping[str, Expr]

    def of(self, value: Op) -> Op:
        """``value`` at the other places, over the dims that these depend on.

        Raises:
            UserError: WV0417 for a value that is not computed from reads, indices and
                constants, element by element.
        """
        op = resolve(value)
        if not op.register_type.shape:
            return self.tracer.use(op, self.location)
        if isinstance(op, Read):
            return self._read(op)
        if isinstance(op, SelfIndex):
            return self._index(op)
        if isinstance(op, Splat):
            return self._emit(Splat((), op.dtype, op.value))
        if isinstance(op, (Broadcast, Permute)):
            return self.of(op.value)
        if isinstance(op, Squeeze):
            return self._squeezed(op)
        if isinstance(op, (Elementwise, ApplyExpr)):
            return self._computed(op)
        raise self._unknown(op)

    def _emit(self, op: Op) -> Op:
        return self.tracer.emit(op, self.location)

    def _read(self, op: Read) -> Op:
        if op.flags != "none":
            raise self._unknown(op)
        dims = self._dims(op)
        place = {
            iterator_symbol(i): iterator_symbol(dims.index(dim))
            for i, dim in enumerate(self.dims)
            if dim in dims
        }
        index = {
            dim_name(dim): self.where[dim_name(dim)].subs(place)
            if dim_name(dim) in self.where
            else iterator_symbol(dims.index(dim))
            for dim in op.register_type.shape
        }
        indices = tuple(self.of(value) for value in op.indices)
        mapping = AccessMapping(
            tuple(map(dim_name, dims)),
            tuple(index[dim] for dim in op.memory_type.dims)
            if op.mapping is None
            else op.mapping.apply(index),
            tuple(value.register_type.dims for value in indices),
            None if op.mapping is None else op.mapping.condition(index),
        )
        memory = resolve(op.memory)
        self._rely_on(op, memory, *self._symbols(*mapping.expressions))
        memory = self.tracer.use(memory, self.location)
        return self._emit(Read(memory, indices, mapping=mapping, shape=dims))

    def _dims(self, op: Op) -> tuple[Expr, ...]:
        """The dims of ``op`` that stay, and those that the others follow from."""
        shape = op.register_type.shape
        kept = [dim for dim in shape if dim_name(dim) not in self.where]
        moved = [self.where[d] for d in map(dim_name, shape) if d in self.where]
        used = {symbol for place in moved for symbol in place.free_symbols}
        walked = (d for i, d in enumerate(self.dims) if iterator_symbol(i) in used)
        return tuple(dict.fromkeys((*kept, *walked)))

    def _index(self, op: SelfIndex) -> Op:
        """The number of the place itself."""
        place = self.where.get(dim_name(op.dim))
        if place is None:
            return self._emit(SelfIndex(op.dim, op.dtype))
        self._rely_on(op, *self._symbols(place))
        used = [
            i for i in range(len(self.dims)) if iterator_symbol(i) in place.free_symbols
        ]
        if not used:
            return self._emit(Scalar(place, op.dtype))
        arguments = {iterator_symbol(n): argument_symbol(i) for i, n in enumerate(used)}
        values = tuple(self._emit(SelfIndex(self.dims[n], op.dtype)) for n in used)
        return self._emit(ApplyExpr(values, place.subs(arguments), op.dtype))

    def _squeezed(self, op: Squeeze) -> Op:
        value = self.of(op.value)
        gone = set(op.value.register_type.shape) - set(op.shape)
        kept = tuple(dim for dim in value.register_type.shape if dim not in gone)
        return self._emit(Squeeze(value, kept))

    def _computed(self, op: Op) -> Op:
        slots: list[Slot] = []
        for slot in op.slots:
            if isinstance(slot, tuple):
                slots.append(tuple(self.of(value) for value in slot))
            else:
                slots.append(None if slot is None else self.of(slot))
        if isinstance(op, ApplyExpr):
            self._rely_on(op, *self._symbols(op.expr))
        return self._emit(type(op).build(tuple(slots), dict(op.attributes)))

    def _symbols(self, *exprs: Expr) -> set[Expr]:
        return {symbol for expr in exprs for symbol in expr.free_symbols}

    def _rely_on(self, op: Op, *things: Op | Expr) -> None:
        """Note that memories and symbols must not change after ``op``."""
        for thing in things:
            self.tracer.steady.append((thing, op, self.location))

    def _unknown(self, op: Op) -> Exception:
        places = ", ".join(f"{dim}: {place}" for dim, place in self.where.items())
        return user_error(
            "WV0417",
            f"an index register made by `{op.op_name}` cannot be taken at other places",
            at=self.location,
            label=f"takes it at {places}",
            secondary=((op.location, f"this is {op.type}"),),
            help="compute the index from reads element by element, or write it to a "
            "memory and read that",
        )


def check_steady(tracer: Tracer) -> None:
    """Check that what was read again has not changed since it was read first.

    Raises:
        UserError: WV0417 with the line that writes the memory, or sets the symbol.
    """
    for thing, first, location in tracer.steady:
        for op in tracer.graph.walk():
            if op.ident > first.ident and _changes(op, thing):
                raise _changed(op, first, location)


def _changes(op: Op, thing: Op | Expr) -> bool:
    if isinstance(thing, Expr):
        return isinstance(op, SetSymbol) and op.symbol is thing
    return any(
        effect.writes and effect.memory is not None and resolve(effect.memory) is thing
        for effect in op.effects()
    )


def _changed(op: Op, first: Op, location: Location) -> Exception:
    return user_error(
        "WV0417",
        "an index register is taken at other places, and what it is computed from "
        "changes",
        at=location,
        label="read once more here",
        secondary=(
            (first.location, "the index register is computed here"),
            (op.location, "this changes what it is computed from"),
        ),
        help="index with a register that is not changed in this kernel",
    )
