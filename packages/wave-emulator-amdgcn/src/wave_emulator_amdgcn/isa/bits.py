"""Functions on the bits of integers of any width, of scalars and of lanes."""

# Arrays whose type depends on the instruction are Any at this edge.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Function


def swapped(function: Function) -> Function:
    """The first two operands in the other order."""
    return lambda a, b, *more: function(b, a, *more)


def shift(function: Function) -> Function:
    """A shift by as much as the width holds."""
    return lambda a, n: function(a, low_bits(a, n))


def low_bits(a: Array, n: Array) -> Array:
    """The bits of ``n`` that number a bit of ``a``, in the type of ``a``."""
    return n.astype(a.dtype) & a.dtype.type(8 * a.dtype.itemsize - 1)


def highest(a: Array) -> Array:
    """Zeros above the highest one; -1 for zero."""
    bits, filled = 8 * a.dtype.itemsize, a.copy()
    for n in (1, 2, 4, 8, 16, 32):
        filled |= filled >> a.dtype.type(n % bits)
    return np.where(a == 0, -1, bits - np.bitwise_count(filled).astype(np.int64))


def lowest(a: Array) -> Array:
    """Zeros below the lowest one; -1 for zero."""
    one = a.dtype.type(1)
    index = np.bitwise_count((a & (~a + one)) - one).astype(np.int64)
    return np.where(a == 0, -1, index)


def sign_run(a: Array) -> Array:
    """Bits at the top that are equal; -1 where all are."""
    return highest(np.where(a < 0, ~a, a).view(np.uint32))


def reverse(a: Array) -> Array:
    """The highest bit lowest."""
    data = np.ascontiguousarray(a)[..., None].view(np.uint8)
    flipped = np.unpackbits(data, axis=-1, bitorder="little")[..., ::-1]
    packed = np.packbits(flipped, axis=-1, bitorder="little")
    return packed.view(a.dtype)[..., 0]


def ones(bits: int) -> Function:
    """So many ones from a bit on, below a width."""
    one, limit = np.uint64(1), np.uint64(bits - 1)

    def call(a: Array, b: Array) -> Array:
        count, first = (v.astype(np.uint64) & limit for v in (a, b))
        return ((one << count) - one) << first

    return call
