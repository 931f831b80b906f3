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
    """What to raise for a mapping of the wrong make."""
    return user_error(
        "WV0403",
        f"malformed index mapping: {what}",
        at=at,
        label="this mapping",
        help="write `IndexMapping(2, inputs={M: i, N: j}, outputs={M: i, N: j})`, "
        "with i and j from `IndexMapping.iterator(0)` and `(1)`",
    )


@dataclass(frozen=True)
class Resolved:
    """An access mapping with the register's shape, as read and write need it."""

    mapping: AccessMapping
    shape: tuple[Expr, ...]


@dataclass(frozen=True)
class _Context:
    """Where an access is, and what it accesses."""

    tracer: Tracer
    memory: MemoryType
    location: Location

    def expression(self, value: Any) -> Expr:
        return self.tracer.expression(value, self.location)


def resolve_mapping(
    tracer: Tracer,
    mapping: IndexMapping,
    memory: MemoryType,
    indices: Sequence[Any],
    *,
    reading: bool,
    location: Location,
) -> Resolved:
    """The mapping of one access in the terms of the IR.

    Raises:
        UserError: WV0403 for a mapping whose register side is not one iterator for
            each dim, WV0401 where it does not fit the memory.
    """
    context = _Context(tracer, memory, location)
    register_side = mapping.outputs if reading else mapping.inputs
    memory_side = mapping.inputs if reading else mapping.outputs
    dims = _register_dims(context, mapping, register_side)
    shape = tuple(context.expression(dim) for dim in register_side)
    coordinates = _coordinates(context, mapping, memory_side)
    dynamic = _dynamic_dims(context, mapping, dims, indices)
    return Resolved(AccessMapping(dims, coordinates, dynamic), shape)


def _register_dims(
    context: _Context, mapping: IndexMapping, side: Mapping[Any, Any]
) -> tuple[str, ...]:
    """The register dim that each iterator walks."""
    iterators = {iterator_symbol(i): i for i in range(mapping.num_iterators)}
    walked: dict[int, str] = {}
    for dim, value in side.items():
        position = iterators.get(context.expression(value))
        if position is None or position in walked:
            raise _malformed(
                mapping,
                f"register dim `{dim}` is indexed by `{value}`",
                "a register is indexed by one iterator for each dim; "
                "put the arithmetic on the memory's side",
                context,
            )
        walked[position] = dim_name(context.expression(dim))
    if len(walked) != mapping.num_iterators:
        raise _malformed(
            mapping,
            f"{mapping.num_iterators} iterators walk {len(walked)} register dims",
            "every iterator walks one dim of the register",
            context,
        )
    return tuple(walked[i] for i in range(mapping.num_iterators))


def _coordinates(
    context: _Context, mapping: IndexMapping, side: Mapping[Any, Any]
) -> tuple[Expr, ...]:
    given = {dim_name(context.expression(dim)): value for dim, value in side.items()}
    names = context.memory.dims
    if set(given) != set(names):
        raise user_error(
            "WV0401",
            f"the mapping gives coordinates along [{', '.join(given)}], "
            f"the memory has [{', '.join(names)}]",
            at=mapping.location,
            label="this mapping",
            secondary=((context.location, f"accesses {context.memory}"),),
            help="one expression for each dim of the memory",
        )
    coordinates = tuple(context.expression(given[name]) for name in names)
    _check_iterators(context, mapping, coordinates)
    return coordinates


def _check_iterators(
    context: _Context, mapping: IndexMapping, coordinates: tuple[Expr, ...]
) -> None:
    known = {iterator_symbol(i).name for i in range(mapping.num_iterators)}
    for coordinate in coordinates:
        for found in sorted(s.name for s in coordinate.free_symbols):
            if found.startswith("$index") and found not in known:
                raise _malformed(
                    mapping,
                    f"`{found}` is used, there are {mapping.num_iterators} iterators",
                    "count it in `num_iterators`",
                    context,
                )


def _dynamic_dims(
    context: _Context,
    mapping: IndexMapping,
    dims: tuple[str, ...],
    indices: Sequence[Any],
) -> tuple[tuple[str, ...], ...]:
    """For each index register the register dims that index it."""
    if not mapping.dynamic_val_mappings:
        return tuple(
            value.type.dims if isinstance(value, Value) else () for value in indices
        )
    iterators = {iterator_symbol(i): dims[i] for i in range(mapping.num_iterators)}
    rows: list[tuple[str, ...]] = []
    for position, row in enumerate(mapping.dynamic_val_mappings):
        names = tuple(dim_name(context.expression(dim)) for dim in row)
        walked = tuple(iterators.get(context.expression(v)) for v in row.values())
        if names != walked:
            raise _malformed(
                mapping,
                f"index register {position} is indexed by {dict(row)}",
                "each dim of an index register is walked by the iterator that "
                "walks the same dim of the register",
                context,
            )
        rows.append(names)
    return tuple(rows)


def _malformed(
    mapping: IndexMapping,
    what: str,
    help: str,  # noqa: A002 - the word that is printed
    context: _Context,
) -> Exception:
    return user_error(
        "WV0403",
        f"malformed index mapping: {what}",
        at=mapping.location,
        label="this mapping",
        secondary=((context.location, "used here"),),
        help=help,
    )


def mapping_of_iterators(
    tracer: Tracer,
    source: Sequence[Any],
    target: Sequence[Any],
    *,
    reading: bool,
    memory: MemoryType,
    location: Location,
) -> tuple[IndexMapping, tuple[Any, ...]]:
    """The mapping that ``source=`` and ``target=`` stand for, and its index registers.

    The register's side names iterators of the kernel's ``IteratorBindings``; the
    memory's side has one expression, or index register, for each dim.

    Raises:
        UserError: WV0404 for an iterator without a binding, WV0401 where the
            memory has another rank.
    """
    bound = _bindings(tracer)
    register_side, memory_side = (target, source) if reading else (source, target)
    unbound = [
        it for it in register_side if tracer.expression(it, location) not in bound
    ]
    if unbound or len(memory_side) != len(memory.shape):
        raise _bad_iterators(unbound, memory, location)
    iterators = [tracer.expression(it, location) for it in register_side]
    symbols = {it: iterator_symbol(i) for i, it in enumerate(iterators)}
    register = {bound[it]: symbol for it, symbol in symbols.items()}
    indices: list[Any] = []
    coordinates: dict[Any, Any] = {}
    for dim, value in zip(memory.shape, memory_side, strict=True):
        if isinstance(value, Value):
            coordinates[dim] = dynamic_symbol(len(indices))
            indices.append(value)
        else:
            coordinates[dim] = tracer.expression(value, location).subs(symbols)
    sides = (coordinates, register) if reading else (register, coordinates)
    return IndexMapping(len(symbols), *sides), tuple(indices)


def _bindings(tracer: Tracer) -> dict[Expr, Expr]:
    rows: dict[Expr, Expr] = {}
    for constraint in tracer.graph.constraints:
        if isinstance(constraint, IteratorBindings):
            assert not isinstance(constraint.bindings, Mapping), "converted"
            rows |= dict(constraint.bindings)
    return rows


def _bad_iterators(
    unbound: list[Any], memory: MemoryType, location: Location
) -> Exception:
    if not unbound:
        return user_error(
            "WV0401",
            f"one expression is needed for each dim of {memory}",
            at=location,
        )
    return user_error(
        "WV0404",
        f"iterator `{unbound[0]}` is bound to no dimension",
        at=location,
        label="used as an iterator of the register",
        help=f"add `IteratorBindings({{{unbound[0]}: DIM}})` to the constraints",
    )
