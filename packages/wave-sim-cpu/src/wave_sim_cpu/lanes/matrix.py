"""Matrix instructions: operands gathered from lanes, one product for all waves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_sim_cpu.lanes.value import Poison, Value, join

if TYPE_CHECKING:
    from wave_core.ops.matrix import Mma
    from wave_core.symbols import Layout
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
    """``acc + lhs * rhs^T`` with the layouts of the target's row."""
    row = program.target.matrix_instruction(str(op.mma_type), op.location)
    lanes = program.target.wave_size
    m, n, k = row.shape
    lhs = _Tile(row.lhs, lanes, {"M": m, "K": k})
    rhs = _Tile(row.rhs, lanes, {"K": k, "N": n})
    acc = _Tile(row.acc, lanes, {"M": m, "N": n})
    result = row.result_dtype.numpy()
    # Integer products are exact in f64 up to 2**53.
    wide = result if row.result_dtype.is_float else np.dtype(np.float64)

    def step(machine: Machine) -> None:
        left, right = machine.value(op.lhs), machine.value(op.rhs)
        added = machine.value(op.acc)
        a = left.form((row.name, "lhs"), lambda: _wide(lhs, left, wide))
        b = right.form((row.name, "rhs"), lambda: _wide(rhs, right, wide))
        c = added.form((row.name, "acc"), lambda: acc.dense(added.data))
        product = np.matmul(a, b)
        if product.dtype != result:
            product = product.astype(result)
        dense = product + c
        poison = _poison((lhs, rhs, acc), (left, right, added))
        value = Value(None, poison, lambda: acc.registers(dense))
        value.give((row.name, "acc"), dense)
        machine.values[op.ident] = value
        machine.counters.instructions["mma"] += machine.active_waves

    return step


def _wide(tile: _Tile, value: Value, dtype: np.dtype[np.generic]) -> Array:
    return tile.dense(value.data.astype(dtype))


def _poison(
    tiles: tuple[_Tile, _Tile, _Tile], values: tuple[Value, Value, Value]
) -> Poison | None:
    """Poison in a row of lhs or a column of rhs spoils that row or column."""
    if all(v.poison is None for v in values):
        return None
    found: Poison | None = None
    for tile, value, axis in zip(tiles, values, (2, 1, None), strict=True):
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
