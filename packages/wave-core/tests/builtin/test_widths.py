"""Layouts of registers that are read as elements of two widths."""

from __future__ import annotations

import numpy as np
import pytest

from wave_core.builtin.distribute.widths import operand_of, result_of
from wave_core.ir import Placement
from wave_core.ops.matrix import ScaledMma
from wave_core.ops.shape import Bitcast, reinterpreted
from wave_core.ops.structure import Argument
from wave_core.symbols import parse_expr, parse_layout
from wave_core.types import DTYPES, RegisterType


def argument(dims, dtype):
    shape = tuple(map(parse_expr, dims))
    op = Argument("parameter", "x", RegisterType(shape, DTYPES[dtype]))
    op.type = op.declared
    return op


def bitcast(old, new, dim="K // 2"):
    op = Bitcast(argument(("M", dim), old), DTYPES[new])
    op.type = op.infer()
    return op


@pytest.mark.parametrize(
    ("old", "new", "dim", "wanted"),
    [
        ("i8", "f4e2m1fn", "K // 2", "K"),
        ("i8", "f6e2m3fn", "3*K // 4", "K"),
        ("f4e2m1fn", "i8", "K", "K // 2"),
        ("i8", "i32", "4*K", "K"),
        ("f32", "i32", "K", "K"),
    ],
)
def test_the_last_dimension_scales(old, new, dim, wanted):
    assert bitcast(old, new, dim).type.dims == ("M", wanted)


@pytest.mark.parametrize(
    ("old", "new", "layout"),
    [
        (
            "i8",
            "f4e2m1fn",
            '64x16 {"K // 2": 16*(lane/16%4) + (reg/1%16), M: (lane/1%16)}',
        ),
        ("i8", "i32", '64x8 {"K // 2": (reg/1%4) + 4*(lane/1%4), M: (reg/4%2)}'),
        ("i32", "i8", '64x2 {"K // 2": (lane/1%64), M: (reg/1%2)}'),
        ("i8", "f6e2m3fn", '64x24 {"K // 2": 24*(lane/16%4) + (reg/1%24)}'),
    ],
)
def test_result_and_operand_hold_the_same_bits(old, new, layout):
    """Every register of the result has the bits that its place in the tile has."""
    op = bitcast(old, new)
    have = Placement(parse_layout(layout), ())
    want = result_of(op, have)
    assert want is not None
    assert operand_of(op, want) == have
    (dim,), (other,) = op.value.type.dims[-1:], op.type.dims[-1:]
    tile = np.arange(768).astype(np.uint8).reshape(1, -1)
    old_type, new_type = DTYPES[old], DTYPES[new]
    source = reinterpreted(tile, DTYPES["u8"], old_type)[0]
    whole = reinterpreted(tile, DTYPES["u8"], new_type)[0]
    held = source[have.layout.offsets(dim)]
    found = reinterpreted(held, old_type, new_type).view(np.uint8)
    assert (found == whole[want.layout.offsets(other)].view(np.uint8)).all()


@pytest.mark.parametrize(
    "layout", ["64x1 {K: (lane/1%64)}", "64x2 {K: (lane/1%64), M: (reg/1%2)}"]
)
def test_a_lane_that_holds_half_of_a_byte(layout):
    op = bitcast("i8", "f4e2m1fn")
    assert operand_of(op, Placement(parse_layout(layout), ())) is None


def test_a_scaled_product_means_that_of_scaled_elements():
    rng = np.random.default_rng(5)
    dtypes = ("f4e2m1fn", "f4e2m1fn", "f32", "f8e8m0fnu", "f8e8m0fnu")
    dims = (("M", "K"), ("N", "K"), ("M", "N"), ("M", "K // 32"), ("N", "K // 32"))
    lhs, rhs, acc, *scales = map(argument, dims, dtypes)
    op = ScaledMma(lhs, rhs, acc, None, tuple(scales))
    assert op.infer() == acc.type
    shapes = ((3, 64), (5, 64), (3, 5), (3, 2), (5, 2))
    arrays = [
        rng.integers(-3, 4, shape).astype(np.float32).astype(DTYPES[dtype].numpy())
        for shape, dtype in zip(shapes[:3], dtypes, strict=False)
    ]
    powers = [rng.integers(-9, 9, shape) for shape in shapes[3:]]
    arrays += [np.exp2(p).astype(DTYPES["f8e8m0fnu"].numpy()) for p in powers]
    x, y = (
        arrays[i].astype(np.float64) * np.exp2(powers[i]).repeat(32, axis=1)
        for i in range(2)
    )
    wanted = (x @ y.T + arrays[2]).astype(np.float32)
    assert (op.evaluate(*arrays) == wanted).all()
