"""Dims of operands are aligned by name: coordinates come and go, orders do not matter.

What an op is given is fitted to what it takes by ops of the graph, so that later passes
see types that fit exactly. Only what the constraints prove is done: a dim is dropped or
added where a workgroup holds one element of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.compare import Cast
from wave_core.ops.matrix import Mma, ScaledMma
from wave_core.ops.memory import Read, Write
from wave_core.ops.reduce import Reduce
from wave_core.ops.shape import Broadcast, Permute, Squeeze
from wave_core.symbols import parse_expr
from wave_core.types import MemoryType, RegisterType, dim_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_core.trace.tracer import Tracer
    from wave_core.types import DType

Fields = dict[str, Any]


class Fitting:
    """Fits values to dims at one place of a kernel."""

    def __init__(self, tracer: Tracer, location: Location) -> None:
        self._tracer = tracer
        self.location = location
        self.coordinates = tracer.coordinates
        self._threads = tracer.threads

    def without(self, value: Op, dims: Collection[Expr]) -> Op:
        """``value`` without ``dims``, which are coordinates."""
        shape = value.register_type.shape
        kept = tuple(dim for dim in shape if dim not in dims)
        return value if kept == shape else self._emit(Squeeze(value, kept))

    def over(self, value: Op, shape: tuple[Expr, ...]) -> Op:
        """``value`` over exactly ``shape``, if only coordinates and the order differ.

        Otherwise the value itself, which the op that takes it then refuses.
        """
        found = value.type
        if not isinstance(found, RegisterType) or found.shape == shape:
            return value
        extra = [dim for dim in found.shape if dim not in shape]
        missing = [dim for dim in shape if dim not in found.shape]
        if self.known(missing) != missing or not self._may_lose(extra, shape):
            return value
        value = self.without(value, extra)
        if missing:
            return self._emit(Broadcast(value, shape))
        same = value.register_type.shape == shape
        return value if same else self._emit(Permute(value, shape))

    def within(self, value: Op, shape: Collection[Expr]) -> Op:
        """``value`` without the coordinates that ``shape`` names in another way."""
        dims = value.register_type.shape
        extra = [dim for dim in dims if dim not in shape]
        return self.without(value, extra) if self._may_lose(extra, shape) else value

    def rounded(self, value: Op, dtype: DType) -> Op:
        """A float as another type of float; other values as they are."""
        found = value.register_type.dtype
        if found == dtype or not (found.is_float and dtype.is_float):
            return value
        return self._emit(Cast(value, dtype))

    def _may_lose(self, dims: Collection[Expr], rest: Collection[Expr]) -> bool:
        """Whether ``dims`` name places that ``rest`` names as well."""
        known = self.coordinates
        return all(dim in known and known.share_axis(dim, rest) for dim in dims)

    def known(self, dims: Collection[Expr]) -> list[Expr]:
        """Those of ``dims`` that are coordinates, or threads."""
        return [dim for dim in dims if dim in self.coordinates or dim in self._threads]

    def _emit(self, op: Op) -> Op:
        return self._tracer.emit(op, self.location)


def aligned(
    tracer: Tracer, cls: type[Op], fields: Fields, location: Location
) -> Fields:
    """The fields of an op of class ``cls`` with its operands fitted to each other."""
    rule = _RULES.get(cls)
    return fields if rule is None else rule(Fitting(tracer, location), fields)


def _mma(fit: Fitting, fields: Fields) -> Fields:
    """Coordinates that the accumulator lacks go; rows and columns come where missing.

    A coordinate that both operands have stays where nothing else is contracted.
    """
    lhs, rhs, acc = fields["lhs"], fields["rhs"], fields["acc"]
    if not all(isinstance(op.type, RegisterType) for op in (lhs, rhs, acc)):
        return fields
    shape = acc.register_type.shape
    shared = [d for d in lhs.type.shape if d in rhs.type.shape and d not in shape]
    dropped = [dim for dim in shared if dim in fit.coordinates]
    if len(dropped) == len(shared):
        dropped = []
    found: list[Op] = []
    for role, value, other in (("lhs", lhs, rhs), ("rhs", rhs, lhs)):
        own = [d for d in value.type.shape if d not in (*shape, *other.type.shape)]
        for dim in own:
            _require_shared_place(fit, dim, value, acc, role)
        found.append(fit.without(value, {*fit.known(own), *dropped}))
    if len(shape) >= 2:
        found = [_with_dim(fit, v, d) for v, d in zip(found, shape[-2:], strict=True)]
    return {**fields, "lhs": found[0], "rhs": found[1]}


def _scaled_mma(fit: Fitting, fields: Fields) -> Fields:
    """Scales lose the coordinates that their operands do."""
    fields = _mma(fit, fields)
    sides = zip((fields["lhs"], fields["rhs"]), fields["scales"], strict=True)
    scales = tuple(
        fit.without(scale, fit.known(_others(scale, side.type.dims)))
        if isinstance(side.type, RegisterType)
        else scale
        for side, scale in sides
    )
    return {**fields, "scales": scales}


def _with_dim(fit: Fitting, value: Op, dim: Expr) -> Op:
    """An operand with the rows or columns of the accumulator."""
    shape = value.register_type.shape
    return value if dim in shape else fit.over(value, (dim, *shape))


def _require_shared_place(
    fit: Fitting, dim: Expr, value: Op, acc: Op, role: str
) -> None:
    """A dim of one operand alone names a place that the result names as well.

    Raises:
        UserError: WV0203.
    """
    known, shape = fit.coordinates, acc.register_type.shape
    row = known.rows.get(dim)
    # What no workgroup cuts is refused by the type rule of the product.
    if row is None or (dim in known and known.share_axis(dim, shape)):
        return
    where = f"axis {row.workgroup_dim}"
    what = (
        f"no dim of `acc` is on {where}"
        if dim in known
        else f"its tile is `{known.tiles[dim]}`, not 1"
    )
    raise user_error(
        "WV0203",
        f"`{role}` of `mma` alone has dim `{dim}`, and {what}",
        at=fit.location,
        label=f"adds to {rules.shape_text(acc)}",
        secondary=(
            (value.location, f"this register has dims {rules.shape_text(value)}"),
            (row.location, f"`{dim}` is distributed here"),
        ),
        notes="with a tile of 1 on the axis of a dim of `acc`, both name one place",
        help=f"write `WorkgroupConstraint({dim}, 1, axis, primary=False)`",
    )


def _read(fit: Fitting, fields: Fields) -> Fields:
    """Index registers lose the coordinates that the mapping does not walk."""
    mapping, indices = fields["mapping"], fields["indices"]
    if mapping is None or len(indices) != len(mapping.dynamic_dims):
        return fields
    found = [
        fit.without(value, fit.known(_others(value, dims)))
        if isinstance(value.type, RegisterType)
        else value
        for value, dims in zip(indices, mapping.dynamic_dims, strict=True)
    ]
    return {**fields, "indices": tuple(found)}


def _others(value: Op, names: Collection[str]) -> list[Expr]:
    """The dims of a register that are not among ``names``."""
    if not isinstance(value.type, RegisterType):
        return []
    return [dim for dim in value.type.shape if dim_name(dim) not in names]


def _write(fit: Fitting, fields: Fields) -> Fields:
    """The register gets the dims of the memory, or of the mapping; floats round."""
    fields = _read(fit, fields)
    memory, mapping, value = fields["memory"], fields["mapping"], fields["value"]
    if not isinstance(memory.type, MemoryType):
        return fields
    shape = memory.type.shape
    if mapping is not None:
        shape = tuple(parse_expr(name) for name in mapping.register_dims)
    found = value.type
    if isinstance(found, RegisterType):
        value = fit.rounded(value, memory.type.dtype)
        if set(found.shape) != set(shape):  # any order will do
            value = fit.over(value, shape)
    return {**fields, "value": value}


def _reduce(fit: Fitting, fields: Fields) -> Fields:
    """The value to start from, with the dims of the result."""
    init, sources = fields.get("init"), fields["sources"]
    if init is None or not isinstance(sources[0].type, RegisterType):
        return fields
    shape = tuple(d for d in sources[0].type.shape if d != fields["dim"])
    return {**fields, "init": fit.over(init, shape)}


def _reshaped(fit: Fitting, fields: Fields) -> Fields:
    """Coordinates that the new shape names in another way go."""
    value = fields["value"]
    if not isinstance(value.type, RegisterType):
        return fields
    return {**fields, "value": fit.within(value, fields["shape"])}


_RULES: dict[type[Op], Callable[[Fitting, Fields], Fields]] = {
    Mma: _mma,
    ScaledMma: _scaled_mma,
    Read: _read,
    Write: _write,
    Reduce: _reduce,
    Broadcast: _reshaped,
    Permute: _reshaped,
}
