"""``IndexMapping``: which memory element each register element touches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import sympy

from wave_core.constraints import IteratorBindings
from wave_core.diagnostics import capture_location, coded_arguments, user_error
from wave_core.symbols import constant, parse_expr
from wave_core.trace.value import Value
from wave_core.types import (
    AccessMapping,
    MemoryType,
    beyond_mapping,
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

    Attributes:
        input_mapping: What ``inputs`` is.
        output_mapping: What ``outputs`` is.

    Args:
        num_iterators: How many iterators there are.
        inputs: For each dim of the source, an expression.
        outputs: For each dim of the destination, an expression.
        dynamic_val_mappings: For each index register, an expression of the iterators
            for each of its dims: ``{M: i, N1: j // 2}``.

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
        self.input_mapping = dict(inputs)
        self.output_mapping = dict(outputs)
        self.dynamic_val_mappings = tuple(dict(m) for m in dynamic_val_mappings)

    def _check(self, count: object, sides: Iterable[object], dynamic: object) -> None:
        if type(count) is not int or not 0 <= count <= _MAX_ITERATORS:
            raise no_mapping("`num_iterators` counts iterators", self.location)
        listed = isinstance(dynamic, Sequence)
        rows = (*sides, *cast("Sequence[object]", dynamic if listed else ()))
        if not listed or not all(isinstance(row, Mapping) for row in rows):
            what = "`inputs`, `outputs` and `dynamic_val_mappings` are dictionaries"
            raise no_mapping(what, self.location)

    @property
    def num_dynamic_vals(self) -> int:
        """How many index registers there are."""
        return len(self.dynamic_val_mappings)

    @property
    def input_shape(self) -> tuple[Any, ...]:
        """The dims of the source."""
        return tuple(self.input_mapping)

    @property
    def output_shape(self) -> tuple[Any, ...]:
        """The dims of the destination."""
        return tuple(self.output_mapping)

    def is_input_identity(self) -> bool:
        """Whether the source is walked by the iterators, one dim each, in order."""
        return self._is_walked(self.input_mapping)

    def is_output_identity(self) -> bool:
        """Whether the destination is: for a read, the register."""
        return self._is_walked(self.output_mapping)

    def is_identity(self) -> bool:
        """Whether each element goes to where it comes from, dim by dim."""
        same = self.input_shape == self.output_shape
        return same and self.is_input_identity() and self.is_output_identity()

    def _is_walked(self, side: Mapping[Any, Any]) -> bool:
        return list(side.values()) == [*map(self.iterator, range(self.num_iterators))]

    def substitute(self, subs: Mapping[Any, Any]) -> IndexMapping:
        """The mapping with expressions put for symbols, in coordinates alone."""

        def changed(side: Mapping[Any, Any]) -> dict[Any, Any]:
            return {
                dim: place.subs(subs) if isinstance(place, sympy.Basic) else place
                for dim, place in side.items()
            }

        sides = changed(self.input_mapping), changed(self.output_mapping)
        rows = [changed(row) for row in self.dynamic_val_mappings]
        return IndexMapping(self.num_iterators, *sides, dynamic_val_mappings=rows)

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
    ) -> tuple[AccessMapping, tuple[Expr, ...], tuple[Any, ...]]:
        """The mapping in the terms of the IR, the register's shape, its indices.

        Raises:
            UserError: WV0403 for a mapping whose register side is not one iterator
                for each dim, WV0401 where it does not fit the memory.
        """
        register, memory = mapping.output_mapping, mapping.input_mapping
        if not self.reading:
            register, memory = memory, register
        dims = self._register_dims(mapping, register)
        shape = tuple(self._expression(dim) for dim in register)
        coordinates = self._coordinates(mapping, memory, dims, len(indices))
        walked = {iterator_symbol(dims.index(dim_name(dim))): dim for dim in shape}
        indices = self._dynamic(mapping, walked, indices)
        dynamic = tuple(_own_dims(value, dims) for value in indices)
        return AccessMapping(dims, coordinates, dynamic), shape, indices

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

    def _check_placed(
        self,
        mapping: IndexMapping,
        dims: tuple[str, ...],
        names: Sequence[str],
        coordinates: Sequence[Expr],
    ) -> None:
        """Refuse to add the place of a workgroup to an iterator that begins there.

        Raises:
            UserError: WV0146.
        """
        for walked, dim in enumerate(dims):
            place = self.tracer.place_of(dim)
            for name, each in zip(names, coordinates, strict=True):
                terms = each.linear()[1]
                if place is None or iterator_symbol(walked) not in each.free_symbols:
                    continue
                if any(place in t.free_symbols and factor > 0 for t, factor in terms):
                    raise _placed_twice(mapping, name, dim, self.location)

    def _coordinates(
        self,
        mapping: IndexMapping,
        side: Mapping[Any, Any],
        dims: tuple[str, ...],
        registers: int,
    ) -> tuple[Expr, ...]:
        given = dict(zip(self._names(side), side.values(), strict=True))
        names = self.memory.dims
        extra = [name for name in given if name not in names]
        if not set(names) <= set(given) or not all(
            self._is_one_place(name, given[name]) for name in extra
        ):
            raise user_error(
                "WV0401",
                f"the mapping gives coordinates along [{', '.join(given)}], "
                f"the memory has [{', '.join(names)}]",
                at=mapping.location,
                label="this mapping",
                secondary=((self.location, f"accesses {self.memory}"),),
                help="one expression for each dim of the memory; others name a place "
                "of which a workgroup holds one, or are 0",
            )
        coordinates = tuple(
            self.tracer.number(given[name], self.location, mapped=True)
            for name in names
        )
        self._check_placed(mapping, dims, names, coordinates)
        self._check_symbols(mapping, coordinates, registers)
        return coordinates

    def _check_symbols(
        self, mapping: IndexMapping, coordinates: Sequence[Expr], registers: int
    ) -> None:
        """Refuse iterators and index registers that the access does not have."""
        iterators = mapping.num_iterators
        for name in beyond_mapping(coordinates, iterators, registers):
            if name.startswith("$index"):
                raise self._malformed(
                    mapping,
                    f"`{name}` is used, there are {iterators} iterators",
                    "count it in `num_iterators`",
                )
            raise user_error(
                "WV0402",
                f"the mapping uses `{name}`, {registers} index registers are given",
                at=self.location,
                secondary=((mapping.location, "this mapping"),),
                help="give a register for each: `mapping_dynamic_vals=(register,)`",
            )

    def _is_one_place(self, name: str, value: Any) -> bool:
        """Whether a coordinate that the memory lacks is the same for a workgroup."""
        is_zero = self._expression(value) is constant(0)
        return is_zero or parse_expr(name) in self.tracer.coordinates

    def _dynamic(
        self,
        mapping: IndexMapping,
        walked: Mapping[Expr, Expr],
        indices: Sequence[Any],
    ) -> tuple[Any, ...]:
        """The index registers at the places where the mapping takes them."""
        rows = mapping.dynamic_val_mappings
        if not rows:
            return tuple(indices)
        if len(rows) != len(indices):
            raise user_error(
                "WV0402",
                f"the mapping says how {len(rows)} index registers are indexed, "
                f"{len(indices)} are given",
                at=self.location,
                secondary=((mapping.location, "this mapping"),),
                help="`dynamic_val_mappings` has one dictionary for each of them",
            )
        return tuple(
            self._taken(mapping, row, value, walked)
            for row, value in zip(rows, indices, strict=True)
        )

    def _taken(
        self,
        mapping: IndexMapping,
        row: Mapping[Any, Any],
        value: Any,
        walked: Mapping[Expr, Expr],
    ) -> Any:
        """One index register; computed once more where it is taken at other places."""
        names = self._names(row)
        where = dict(zip(names, map(self._expression, row.values()), strict=True))
        stray = [
            symbol
            for place in where.values()
            for symbol in place.free_symbols
            if symbol.name.startswith("$") and symbol not in walked
        ]
        if not isinstance(value, Value) or stray:
            raise self._malformed(
                mapping,
                f"an index register is indexed by {dict(row)}",
                "give an expression of the mapping's iterators for each of its dims",
            )
        moved = {
            name: place
            for name, place in where.items()
            if name in value.type.dims
            and (place not in walked or dim_name(walked[place]) != name)
        }
        if not moved:
            return value
        # It asks about the graph, which the language does not load before it is needed.
        from wave_core.trace.reindex import Reindexing  # noqa: PLC0415

        dims = tuple(walked[iterator_symbol(i)] for i in range(len(walked)))
        return Value(Reindexing(self.tracer, self.location, dims, moved).of(value.op))

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


def _placed_twice(
    mapping: IndexMapping, memory_dim: str, dim: str, at: Location
) -> Exception:
    return user_error(
        "WV0146",
        f"the place of the workgroup counts twice in the coordinate along "
        f"`{memory_dim}`",
        at=mapping.location,
        label=f"the iterator of `{dim}` begins there already",
        secondary=((at, "accessed after the kernel set the workgroup's coordinate"),),
        help="leave the workgroup's coordinate out of the mapping",
    )


def _own_dims(value: Any, dims: tuple[str, ...]) -> tuple[str, ...]:
    """The dims of an index register that the register it indexes has as well."""
    own = value.type.dims if isinstance(value, Value) else ()
    return tuple(dim for dim in own if dim in dims)
