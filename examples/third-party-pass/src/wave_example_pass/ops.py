"""The ops: all that Wave has to know about them before they run is here."""

from __future__ import annotations

from typing import Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand
from wave_core.ops.elementwise import Unary
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType


class Relu6(Unary, name="wave_example.relu6"):
    """The element, but at least 0 and at most ``cap``; NaN stays NaN.

    Shapes: those of the operand. Dtypes: any number, the result has the same.

    Raises:
        UserError: WV0201 for a memory, WV0205 for booleans.
    """

    cap: float = attribute(default=6.0, help="the largest result")

    def compute(self, np: Any, *arrays: Any) -> Any:
        """The meaning on numpy arrays; both simulators use it."""
        (value,) = arrays
        return np.clip(value, value.dtype.type(0), value.dtype.type(self.cap))


class SwapPairs(
    Op,
    name="wave_example.swap_pairs",
    traits={Trait.PURE, Trait.FOLLOWS_OPERANDS},
):
    """Elements ``2 i`` and ``2 i + 1`` along the fastest dimension change places.

    Rotary embeddings need it. Where the extent is odd, the last element has no
    partner, and what it becomes is not specified. Shapes: those of the value.
    Dtypes: any.

    Raises:
        UserError: WV0201 for a memory, WV0208 for a scalar, WV0601 where a wave's
            tile cuts a pair in two.
    """

    value: Op = operand(help="the register")

    def infer(self) -> RegisterType:
        """The type of the value, which has a dimension."""
        found = rules.register_type(self, self.value, "value")
        if not found.shape:
            raise user_error(
                "WV0208",
                "`swap_pairs` needs a register with a dimension and got a scalar",
                at=self.location,
                secondary=((self.value.location, "this is a scalar"),),
                help="`broadcast` adds dimensions",
            )
        return found

    def evaluate(self, *operands: Any) -> Any:
        """The meaning on whole tiles; the simulator `sim-logical` uses it."""
        (tile,) = operands
        if tile.shape[-1] % 2:
            raise cut_in_two(self, self.value)
        pairs = tile.reshape(*tile.shape[:-1], -1, 2)
        return pairs[..., ::-1].reshape(tile.shape)


def cut_in_two(op: Op, value: Op) -> Exception:
    """The error that the elements of a pair are in two tiles, or in two pieces."""
    name = op.op_name.removeprefix("wave_example.")
    return user_error(
        "WV0601",
        f"`{name}` cannot combine elements of different tiles",
        at=op.location,
        label=f"`{value.type}` is cut between the elements of a pair",
        help="make the tiles of its fastest dimension even",
    )
