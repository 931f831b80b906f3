"""Ops on whole tiles: elementwise, shapes, reductions, matrix products, constants."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wave_core.constraints import threads_symbol
from wave_core.diagnostics import user_error
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, Splat, argument_symbol
from wave_core.ops.elementwise import compute_dtype, convert
from wave_core.ops.matrix import ScaledMma
from wave_core.ops.reduce import Reduce, Shuffle, identity_value
from wave_core.symbols import Expr, as_expr
from wave_core.types import DTYPES
from wave_sim_cpu import codes
from wave_sim_cpu.lanes.reductions import COMBINE, Combine, across_waves
from wave_sim_cpu.logical.memory_rules import shape_of
from wave_sim_cpu.logical.state import Dims, State, aligned, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.matrix import Mma
    from wave_core.ops.shape import Extract, ExtractSlice, Reshape
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.expressions import Number


def operand(state: State, value: Op, wanted: Dims) -> Array:
    """A value with its axes in the order of ``wanted``."""
    return aligned(state.values[value.ident], shape_of(value), wanted)


def whole(state: State, value: Op) -> Array:
    """A value with all elements of its tile in place."""
    data = state.values[value.ident]
    extents = tuple(state.tile(dim) for dim in shape_of(value))
    return np.broadcast_to(data, (data.shape[0], *extents))


def elementwise(op: Op, state: State) -> None:
    """The op's own meaning, dims of the operands aligned by name."""
    dims = shape_of(op)
    arrays = [operand(state, value, dims) for value in op.operands]
    state.values[op.ident] = np.asarray(op.evaluate(*arrays))


def evaluated(op: Op, state: State) -> None:
    """The op's own meaning on whole tiles; each operand has its own dims in order."""
    operands = [whole(state, value) for value in op.operands]
    state.values[op.ident] = np.asarray(op.evaluate(*operands))


def splat(op: Splat, state: State) -> None:
    """One number for all."""
    rank = 1 + len(op.shape)
    state.values[op.ident] = np.asarray(op.evaluate()).reshape((1,) * rank)


def scalar(op: Scalar, state: State) -> None:
    """A number, or an expression of uniform symbols."""
    if isinstance(op.value, Expr):
        data = convert(np.asarray(state.uniform(op.value)), op.dtype)
    else:
        data = np.asarray(op.evaluate())
    state.values[op.ident] = data.reshape(-1)


def self_index(op: SelfIndex, state: State) -> None:
    """Each element's index in the whole tensor."""
    state.values[op.ident] = convert(state.index(op.dim, 2, 1), op.dtype)


def apply_expr(op: ApplyExpr, state: State) -> None:
    """An expression of registers and uniform symbols."""
    dims = shape_of(op)
    values: dict[Expr, Number] = {
        argument_symbol(i): operand(state, value, dims).astype(np.int64)
        for i, value in enumerate(op.values)
    }
    number = np.asarray(state.over(op.expr, 1 + len(dims), values))
    number = number.reshape((1,) * (1 + len(dims) - number.ndim) + number.shape)
    state.values[op.ident] = convert(number, op.register_type.dtype)


def realign(op: Op, state: State) -> None:
    """Broadcast, permute, relayout: dims are matched by name."""
    state.values[op.ident] = operand(state, op.operands[0], shape_of(op))


def reshape(op: Reshape, state: State) -> None:
    """Pieces joined, or a piece cut, along the fastest dim."""
    pieces = [whole(state, value) for value in op.values]
    units = max(piece.shape[0] for piece in pieces)
    pieces = [np.broadcast_to(p, (units, *p.shape[1:])) for p in pieces]
    state.values[op.ident] = op.evaluate(*pieces)


def extract(op: Extract, state: State) -> None:
    """One position of the fastest dim."""
    data = state.values[op.value.ident]
    at = state.uniform(as_expr(op.offset[0]))
    if data.shape[-1] == 1:
        found = data[..., 0]
    elif isinstance(at, np.ndarray):
        data = np.broadcast_to(data, (at.size, *data.shape[1:]))
        index = spread(at, data.ndim)
        found = np.take_along_axis(data, np.asarray(index), axis=-1)[..., 0]
    else:
        found = data[..., at]
    state.values[op.ident] = found


def extract_slice(op: ExtractSlice, state: State) -> None:
    """Positions of each dim that is cut; the last one in place of those beyond."""
    data = whole(state, op.value)
    for position in op.cut:
        axis, count = 1 + position, state.tile(op.shape[position])
        first, step = (
            np.asarray(state.uniform(as_expr(row[position]))).reshape(-1, 1)
            for row in (op.offsets, op.strides)
        )
        index = np.minimum(first + step * np.arange(count), data.shape[axis] - 1)
        shape = [1] * data.ndim
        shape[0], shape[axis] = index.shape
        data = np.take_along_axis(data, index.reshape(shape), axis=axis)
    state.values[op.ident] = data


def shuffle(op: Shuffle, state: State) -> None:
    """Each thread has its partner's value; only dims of threads know their lanes.

    Raises:
        UserError: WV0912 for a tile.
    """
    dims, lanes = shape_of(op), threads_symbol(0)
    if lanes not in dims:
        raise user_error(
            codes.UNSUPPORTED_OP,
            "whole tiles cannot execute `shuffle`",
            at=op.location,
            notes="it moves values between lanes, which tiles do not have",
            help="simulate the lowered graph on lanes",
        )
    data, count = whole(state, op.value), state.tile(lanes)
    op.check_wave(count)
    partners = [op.partner(lane) for lane in range(count)]
    state.values[op.ident] = data.take(partners, axis=1 + dims.index(lanes))


def reduce(op: Reduce, state: State) -> None:
    """All existing elements along a dim, in all waves that share it."""
    dims, wide = shape_of(op), compute_dtype(op.register_type.dtype)
    combine = COMBINE[op.kind]
    start = convert(identity_value(op.kind, op.register_type.dtype), wide)
    total: Array | None = None
    for source in op.sources:
        part = _reduced(op, source, combine, start, state)
        total = part if total is None else combine(total, part)
    assert total is not None, "a reduction has a source"
    total = _across_waves(op, total, combine, state)
    if op.init is not None:
        total = combine(total, convert(operand(state, op.init, dims), wide))
    state.values[op.ident] = convert(total, op.register_type.dtype)


def _reduced(
    op: Reduce, source: Op, combine: Combine, start: Array, state: State
) -> Array:
    own = shape_of(source)
    axis = 1 + own.index(op.dim)
    data = convert(state.values[source.ident], compute_dtype(op.register_type.dtype))
    extents = list(data.shape)
    extents[axis] = extent = extent_of(state, op.dim, [extents[axis]])
    data = np.broadcast_to(data, extents)
    exists = state.exists(op.dim, data.ndim, axis, extent)
    if exists is not None:
        data = np.where(exists, data, start)
    rest = tuple(dim for dim in own if dim is not op.dim)
    found = combine.reduce(data, axis=axis, dtype=data.dtype, initial=start)
    return aligned(found, rest, shape_of(op))


def _across_waves(op: Reduce, data: Array, combine: Combine, state: State) -> Array:
    """Waves that hold parts of the dim combine theirs; all get the whole."""
    axis = state.launch.geometry.split_among_waves(str(op.dim))
    if axis is None:
        return data
    return across_waves(data, combine, state.units, axis)


def mma(op: Mma, state: State) -> None:
    """A matrix product over the existing elements of the contracted dims."""
    result = op.acc.register_type.dtype
    roles = op.contraction()
    scales = (None, None)
    # Integer products are exact in f64 up to 2**53.
    wide = result if result.is_float else DTYPES["f64"]
    if isinstance(op, ScaledMma):
        scales, wide = op.scales, DTYPES["f64"]
    sides = [
        convert(operand(state, value, dims), wide)
        for value, dims in ((op.lhs, roles.lhs), (op.rhs, roles.rhs))
    ]
    extents = [
        extent_of(state, dim, [side.shape[axis] for side in sides])
        for axis, dim in zip(range(-len(roles.k), 0), roles.k, strict=True)
    ]
    lhs, rhs = (
        _scaled(op, _matrix(side, roles.k, extents, state), scale, dims, state)
        for side, dims, scale in zip(sides, (roles.lhs, roles.rhs), scales, strict=True)
    )
    product = np.matmul(lhs, np.swapaxes(rhs, -1, -2))
    acc = operand(state, op.acc, roles.acc)
    found = (
        product + acc if isinstance(op, ScaledMma) else convert(product, result) + acc
    )
    state.values[op.ident] = aligned(convert(found, result), roles.acc, shape_of(op))


def _scaled(op: Mma, data: Array, scale: Op | None, dims: Dims, state: State) -> Array:
    """An operand times its scales, one for each block along K."""
    if scale is None or not isinstance(op, ScaledMma):
        return data
    blocks, size = op.block()
    own = operand(state, scale, (*dims[:-1], blocks))
    factor = convert(own, DTYPES["f64"])
    factor = np.broadcast_to(factor, (*factor.shape[:-1], state.tile(blocks)))
    return data * factor.repeat(size, axis=-1)


def extent_of(state: State, dim: Expr, found: Sequence[int]) -> int:
    """Elements along ``dim`` of values that have so many of them, or one for all.

    Those that a loop over the dim gives have a turn's, behind it too, where a tile has
    all that there are.
    """
    return next((each for each in found if each != 1), state.tile(dim))


def _matrix(
    data: Array, contracted: Dims, extents: Sequence[int], state: State
) -> Array:
    """An operand, its contracted dims made one, at the end."""
    rows = data.ndim - len(contracted)
    data = np.broadcast_to(data, (*data.shape[:rows], *extents))
    for position, (dim, extent) in enumerate(zip(contracted, extents, strict=True)):
        exists = state.exists(dim, data.ndim, rows + position, extent)
        if exists is not None:
            data = np.where(exists, data, np.zeros((), data.dtype))
    return data.reshape(*data.shape[:rows], prod(extents))
