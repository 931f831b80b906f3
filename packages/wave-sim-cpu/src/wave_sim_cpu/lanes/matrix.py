"""Matrix instructions: operands gathered from lanes, one product for all waves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ops.matrix import ScaledMma
from wave_sim_cpu.lanes.tiles import Fetch
from wave_sim_cpu.lanes.value import Poison, Value, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.ops.base import Op
    from wave_core.ops.matrix import Mma
    from wave_core.symbols import Layout
    from wave_core.targets import MatrixInstruction
    from wave_sim_cpu.arrays import Array
    from wave_sim_cpu.lanes.machine import Machine
    from wave_sim_cpu.lanes.program import Program, Step


class _Tile:
    """How a matrix sits in the lanes and registers of a wave."""

    def __init__(self, layout: Layout, lanes: int, shape: dict[str, int]) -> None:
        self.shape = tuple(shape.values())
        self._slots = lanes * layout.registers
        position = np.zeros((lanes, layout.registers), np.int64)
        for dim, extent in shape.items():
            position = position * extent + layout.offsets(dim)
        self._position = position
        self._slot = np.zeros(int(np.prod(self.shape)), np.int64)
        self._slot[position.reshape(-1)] = np.arange(self._slots)

    def dense(self, data: Array) -> Array:
        """The matrices ``[units, rows, columns]`` that registers hold."""
        if data.shape[1:] == (1, 1):
            return np.broadcast_to(data, (data.shape[0], *self.shape))
        full = (data.shape[0], *self._position.shape)
        flat = np.broadcast_to(data, full).reshape(data.shape[0], self._slots)
        return flat.take(self._slot, axis=1).reshape(-1, *self.shape)

    def registers(self, dense: Array) -> Array:
        """The registers ``[units, lanes, registers]`` that hold matrices."""
        flat = dense.reshape(dense.shape[0], -1)
        return flat.take(self._position, axis=1)


def mma(op: Mma, program: Program) -> Step:
    """``acc + lhs * rhs^T`` with the layouts of the target's row.

    Operands that stay in LDS are read when the product is issued; where it goes on
    after that, nobody may write them, nor use the result, before it was awaited.
    """
    dtype = op.lhs.register_type.dtype
    row = program.target.matrix_instruction(str(op.mma_type), op.location, dtype)
    lanes = program.geometry.lanes
    m, n, k = row.shape
    lhs = _Tile(row.lhs, lanes, {"M": m, "K": k})
    rhs = _Tile(row.rhs, lanes, {"K": k, "N": n})
    acc = _Tile(row.acc, lanes, {"M": m, "N": n})
    factors = _factors(op, row, lanes)
    tiles = (lhs, rhs, acc, *factors)
    result = row.result_dtype.numpy()
    # Integer products are exact in f64 up to 2**53, and so are scaled ones, nearly.
    exact = bool(factors) or not row.result_dtype.is_float
    fetches: dict[Op, Fetch] = {t: Fetch(t, program) for t in op.shared_tiles}
    wide = np.dtype(np.float64) if exact else result

    def step(machine: Machine) -> None:
        values = [
            fetches[v].gather(machine) if v in fetches else machine.value(v)
            for v in op.operands
        ]
        left, right, added, *scales = values
        a = left.form((row.name, "lhs"), lambda: _wide(lhs, left, wide))
        b = right.form((row.name, "rhs"), lambda: _columns(_wide(rhs, right, wide)))
        c = added.form((row.name, "acc"), lambda: acc.dense(added.data))
        if factors:
            by_row, by_column = map(_wide, factors, scales, (wide, wide))
            product = np.matmul(
                a * by_row.repeat(row.scale_block, axis=2),
                b * by_column.repeat(row.scale_block, axis=1),
            )
            dense = (product + c).astype(result)
        else:
            product = np.matmul(a, b)
            if product.dtype != result:
                product = product.astype(result)
            dense = product + c
        value = Value(None, _poison(tiles, values), lambda: acc.registers(dense))
        value.give((row.name, "acc"), dense)
        machine.values[op.ident] = value
        if row.counter:
            value.product = machine.next_access()
            machine.epochs.products.issue(machine.active_units(), value.product)
            for each in fetches.values():
                each.reads_on(op, machine, value.product)
        machine.counters.instructions["mma"] += machine.active_waves

    return step


def _factors(op: Mma, row: MatrixInstruction, lanes: int) -> tuple[_Tile, ...]:
    """How the scales of rows and of columns sit, where the op has any."""
    if not isinstance(op, ScaledMma):
        return ()
    assert row.scales is not None, "the instruction takes scales"
    (m, n, k), of_columns = row.shape, row.scales.rename({"M": "N"})
    blocks = k // row.scale_block
    return (
        _Tile(row.scales, lanes, {"M": m, "K": blocks}),
        _Tile(of_columns, lanes, {"K": blocks, "N": n}),
    )


def _wide(tile: _Tile, value: Value, dtype: np.dtype[np.generic]) -> Array:
    return tile.dense(value.data.astype(dtype))


def _columns(matrices: Array) -> Array:
    """The same, each column in one piece.

    BLAS adds products in an order that it chooses by how operands lie: so they do in
    the emulators, whose sums have the same bits then.
    """
    return np.ascontiguousarray(matrices.swapaxes(1, 2)).swapaxes(1, 2)


_CONTRACTED = (2, 1, None, 2, 1)
"""The axis of K in each operand."""


def _poison(tiles: Sequence[_Tile], values: Sequence[Value]) -> Poison | None:
    """Poison in a row of lhs or a column of rhs spoils that row or column."""
    if all(v.poison is None for v in values):
        return None
    found: Poison | None = None
    for tile, value, axis in zip(tiles, values, _CONTRACTED, strict=False):
        poison = value.poison
        if poison is None:
            continue
        bits = tile.dense(poison.bits)
        if axis is not None:
            bits = np.asarray(bits.any(axis=axis, keepdims=True))
        found = join(found, poison.of(bits))
    assert found is not None, "one operand is poison"
    shape = (found.bits.shape[0], *tiles[2].shape)
    bits = tiles[2].registers(np.ascontiguousarray(np.broadcast_to(found.bits, shape)))
    return found.of(bits)
