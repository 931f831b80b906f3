"""``IndexMapping``: which memory element each register element touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import sympy

from wave_core.constraints import IteratorBindings
from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.trace.value import Value
from wave_core.types import (
    AccessMapping,
    MemoryType,
    dim_name,
    dynamic_symbol,
    iterator_symbol,
)

if TYPE_CHECKING:
    from wave_core.diagnostics import Location
    from wave_core.symbols import Expr
    from wave_core.trace.tracer import Tracer


#: More than any memory has dims.
_MAX_ITERATORS = 64


class IndexMapping:
    """A map between the elements of a register and those of a memory.

    One side names the register's dims, each with one iterator; the other gives
    the coordinate along every dim of the memory as an expression of the iterators.
    A read takes ``inputs`` as the memory and ``outputs`` as the register, a write
    the other way round.

    Args:
        num_iterators: How many iterators there are.
        inputs: For each dim of the source, an expression.
        outputs: For each dim of the destination, an expression.
        dynamic_val_mappings: For each index register, which iterator walks each
            of its dims.

    Raises:
        UserError: WV0403 for a mapping that is malformed.
    """

    @coded_arguments
    def __init__(
        self,
        num_iterators: int,
        inputs: Mapping[Any, Any],
        outputs: Mapping[Any, Any],
        dynamic_val_mappings: Mapping[Any, Any] | Sequence[Mapping[Any, Any]] = (),
    ) -> None:
        self.location = capture_location()
        if isinstance(dynamic_val_mappings, Mapping):
            dynamic_val_mappings = (dynamic_val_mappings,)
        self._check(num_iterators, (inputs, outputs), dynamic_val_mappings)
        self.num_iterators = num_iterators
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self.dynamic_val_mappings = tuple(dict(m) for m in dynamic_val_mappings)

    def _check(self, count: object, sides: Iterable[object], dynamic: object) -> None:
        if type(count) is not int or not 0 <= count <= _MAX_ITERATORS:
            raise no_mapping("`num_iterators` counts iterators", self.location)
        listed = isinstance(dynamic, Sequence)
        rows = (*sides, *cast("Sequence[object]", dynamic if listed else ()))
        if not listed or not all(isinstance(row, Mapping) for row in rows):
            what = "`inputs`, `outputs` and `dynamic_val_mappings` are dictionaries"
            raise no_mapping(what, self.location)

    @staticmethod
    def iterator(position: int) -> sympy.Symbol:
        """The iterator number ``position``."""
        return sympy.Symbol(f"$index{position}", integer=True, nonnegative=True)

    @staticmethod
    def dynamic_val(position: int) -> sympy.Symbol:
        """The value of index register ``position`` at the element."""
        return sympy.Symbol(f"$dynamic_val{position}", integer=True)


def no_mapping(what: str, at: Location) -> Exception:
    """The error for a mapping of the wrong make."""
    return user_error(
        "WV0403",
        f"malformed index mapping: {what}",
        at=at,
        label="this mapping",
        help="write `IndexMapping(2, inputs={M: i, N: j}, outputs={M: i, N: j})`, "
        "with i and j from `IndexMapping.iterator(0)` and `(1)`",
    )


@dataclass(frozen=True)
class MappedAccess:
    """An access that goes through a mapping: where it is, and what it accesses."""

    tracer: Tracer
    memory: MemoryType
    location: Location
    reading: bool

    def resolve(
        self, mapping: IndexMapping, indices: Sequence[Any]
    ) -> tuple[AccessMapping, tuple[Expr, ...]]:
        """The mapping in the terms of the IR, and the register's shape.

        Raises:
            UserError: WV0403 for a mapping whose register side is not one iterator
                for each dim, WV0401 where it does not fit the memory.
        """
        register, memory = mapping.outputs, mapping.inputs
        if not self.reading:
            register, memory = memory, register
        dims = self._register_dims(mapping, register)
        shape = tuple(self._expression(dim) for dim in register)
        coordinates = self._coordinates(mapping, memory)
        dynamic = self._dynamic_dims(mapping, dims, indices)
        return AccessMapping(dims, coordinates, dynamic), shape

    def _expression(self, value: Any) -> Expr:
        return self.tracer.expression(value, self.location)

    def _names(self, dims: Iterable[Any]) -> tuple[str, ...]:
        return tuple(dim_name(self._expression(dim)) for dim in dims)

    def _register_dims(
        self, mapping: IndexMapping, side: Mapping[Any, Any]
    ) -> tuple[str, ...]:
        """The register dim that each iterator walks."""
        iterators = {iterator_symbol(i): i for i in range(mapping.num_iterators)}
        walked: dict[int, str] = {}
        for name, (dim, value) in zip(self._names(side), side.items(), strict=True):
            position = iterators.get(self._expression(value))
            if position is None or position in walked:
                raise self._malformed(
                    mapping,
                    f"register dim `{dim}` is indexed by `{value}`",
                    "a register is indexed by one iterator for each dim; "
                    "put the arithmetic on the memory's side",
                )
            walked[position] = name
        if len(walked) != mapping.num_iterators:
            raise self._malformed(
                mapping,
                f"{mapping.num_iterators} iterators walk {len(walked)} register dims",
                "every iterator walks one dim of the register",
            )
        return tuple(walked[i] for i in range(mapping.num_iterators))

    def _coordinates(
        self, mapping: IndexMapping, side: Mapping[Any, Any]
    ) -> tuple[Expr, ...]:
        given = dict(zip(self._names(side), side.values(), strict=True))
        names = self.memory.dims
        if set(given) != set(names):
            raise user_error(
                "WV0401",
                f"the mapping gives coordinates along [{', '.join(given)}], "
                f"the memory has [{', '.join(names)}]",
                at=mapping.location,
                label="this mapping",
                secondary=((self.location, f"accesses {self.memory}"),),
                help="one expression for each dim of the memory",
            )
        coordinates = tuple(self._expression(given[name]) for name in names)
        known = {iterator_symbol(i).name for i in range(mapping.num_iterators)}
        used = (s.name for each in coordinates for s in each.free_symbols)
        for name in sorted({n for n in used if n.startswith("$index")} - known):
            raise self._malformed(
                mapping,
                f"`{name}` is used, there are {mapping.num_iterators} iterators",
                "count it in `num_iterators`",
            )
        return coordinates

    def _dynamic_dims(
        self, mapping: IndexMapping, dims: tuple[str, ...], indices: Sequence[Any]
    ) -> tuple[tuple[str, ...], ...]:
        """For each index register the register dims that index it."""
        if not mapping.dynamic_val_mappings:
            return tuple(
                value.type.dims if isinstance(value, Value) else () for value in indices
            )
        iterators = {iterator_symbol(i): dims[i] for i in range(mapping.num_iterators)}
        rows: list[tuple[str, ...]] = []
        for position, row in enumerate(mapping.dynamic_val_mappings):
            names = self._names(row)
            if names != tuple(iterators.get(self._expression(v)) for v in row.values()):
                raise self._malformed(
                    mapping,
                    f"index register {position} is indexed by {dict(row)}",
                    "each dim of an index register is walked by the iterator that "
                    "walks the same dim of the register",
                )
            rows.append(names)
        return tuple(rows)

    def _malformed(self, mapping: IndexMapping, what: str, remedy: str) -> Exception:
        return user_error(
            "WV0403",
            f"malformed index mapping: {what}",
            at=mapping.location,
            label="this mapping",
            secondary=((self.location, "used here"),),
            help=remedy,
        )

    def mapping_of(
        self, source: Sequence[Any], target: Sequence[Any]
    ) -> tuple[IndexMapping, tuple[Any, ...]]:
        """The mapping that ``source=`` and ``target=`` mean, and its index registers.

        The register's side names iterators of the kernel's ``IteratorBindings``; the
        memory's side has one expression, or index register, for each dim.

        Raises:
            UserError: WV0404 for an iterator without a binding, WV0401 where the
                memory has another rank.
        """
        bound = _bindings(self.tracer)
        named, memory_side = (target, source) if self.reading else (source, target)
        iterators = [self._expression(iterator) for iterator in named]
        unbound = [n for n, it in zip(named, iterators, strict=True) if it not in bound]
        if unbound or len(memory_side) != len(self.memory.shape):
            raise self._unfit(unbound)
        symbols = {it: iterator_symbol(i) for i, it in enumerate(iterators)}
        register = {bound[it]: symbol for it, symbol in symbols.items()}
        indices: list[Any] = []
        coordinates: dict[Any, Any] = {}
        for dim, value in zip(self.memory.shape, memory_side, strict=True):
            if isinstance(value, Value):
                coordinates[dim] = dynamic_symbol(len(indices))
                indices.append(value)
            else:
                coordinates[dim] = self._expression(value).subs(symbols)
        sides = (coordinates, register) if self.reading else (register, coordinates)
        return IndexMapping(len(symbols), *sides), tuple(indices)

    def _unfit(self, unbound: list[Any]) -> Exception:
        if not unbound:
            what = f"one expression is needed for each dim of {self.memory}"
            return user_error("WV0401", what, at=self.location)
        return user_error(
            "WV0404",
            f"iterator `{unbound[0]}` is bound to no dimension",
            at=self.location,
            label="used as an iterator of the register",
            help=f"add `IteratorBindings({{{unbound[0]}: DIM}})` to the constraints",
        )


def _bindings(tracer: Tracer) -> dict[Expr, Expr]:
    rows: dict[Expr, Expr] = {}
    for constraint in tracer.graph.constraints:
        if isinstance(constraint, IteratorBindings):
            assert not isinstance(constraint.bindings, Mapping), "converted"
            rows |= dict(constraint.bindings)
    return rows
