"""An op with a layout of its own: the product of complex numbers.

Each pair of neighbours along the fastest dimension is a number, real part first, so a
lane must hold both of a pair. The op, how it is laid out, and nothing about devices.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from wave_core.ops import rules
from wave_core.ops.base import Op, operand
from wave_core.ops.elementwise import convert
from wave_core.ops.traits import Trait
from wave_core.plugin.tiles import (
    Digit,
    Expander,
    Layout,
    Placement,
    Scope,
    Solver,
    demands,
    expand_elementwise,
    expands,
    placed,
    static_tile,
    supplies,
)
from wave_core.types import Family, RegisterType
from wave_example_pass.ops import cut_in_two

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOATS = frozenset({Family.FLOAT})


class ComplexMul(
    Op,
    name="wave_example.complex_mul",
    traits={Trait.PURE, Trait.LAYS_OUT_ITSELF},
):
    """The product of complex numbers, each in two neighbours: real, imaginary.

    Narrow floats are computed in f32 and rounded once. Where the extent is odd, the
    last element has no partner, and what it becomes is not specified. Shapes: both
    operands have the same. Dtypes: any float, the result has the same.

    Raises:
        UserError: WV0201 for a memory, WV0204 and WV0205 for element types, WV0208
            for a scalar or other dimensions, WV0601 where a tile cuts a pair in two.
    """

    lhs: Op = operand(help="the left factor")
    rhs: Op = operand(help="the right factor")

    def infer(self) -> RegisterType:
        """The type of both factors."""
        rules.require_family(self, self.lhs, "lhs", FLOATS)
        rules.same_dtype(self, (self.lhs, self.rhs), ("lhs", "rhs"))
        found = rules.register_type(self, self.lhs, "lhs")
        rules.require_same_dims(self, self.rhs, found.shape, "`rhs`")
        if not found.shape:
            raise cut_in_two(self, self.lhs)
        return found

    def evaluate(self, *operands: Any) -> Any:
        """The meaning on whole tiles, and on the two registers of each lane."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        assert isinstance(self.type, RegisterType), "inferred before evaluation"
        lhs, rhs = np.broadcast_arrays(*operands)
        if lhs.shape[-1] % 2:
            raise cut_in_two(self, self.lhs)
        wide = np.result_type(lhs.dtype, np.float32)
        a, b = lhs[..., ::2].astype(wide), lhs[..., 1::2].astype(wide)
        c, d = rhs[..., ::2].astype(wide), rhs[..., 1::2].astype(wide)
        with np.errstate(all="ignore"):
            parts = np.stack((a * c - b * d, a * d + b * c), axis=-1)
        return convert(parts.reshape(lhs.shape), self.type.dtype)


@supplies(ComplexMul)
def pairs_in_a_lane(op: ComplexMul, solver: Solver) -> Placement:
    """Two registers are a number; lanes go along the row, then down the column.

    No operand is asked for its layout, so the op is an anchor.
    """
    assert isinstance(op.type, RegisterType), "inferred before it is laid out"
    *others, fastest = op.type.dims
    tile = static_tile(op, op.type.dims, solver.geometry)
    if tile[fastest] % 2:
        raise cut_in_two(op, op.lhs)
    lanes = solver.geometry.lanes
    along = gcd(lanes, tile[fastest] // 2)
    digits = {fastest: [Digit(1, "reg", 1, 2), Digit(2, "lane", 1, along)]}
    if others:
        digits[others[-1]] = [Digit(1, "lane", along, lanes // along)]
    return placed(Layout.make(lanes, 2, digits), tile)


@demands(ComplexMul)
def pairs_of_factors(op: ComplexMul, solver: Solver) -> Iterator[tuple[int, Placement]]:
    """Both factors sit where the product does."""
    placement = solver.known(op)
    if placement is not None:
        yield from ((position, placement) for position in range(2))


@expands(ComplexMul)
def one_number_each(expander: Expander, op: ComplexMul, scope: Scope) -> None:
    """One product for each piece: a number in each lane."""
    expand_elementwise(expander, op, scope)
