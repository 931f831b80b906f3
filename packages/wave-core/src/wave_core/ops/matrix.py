"""Matrix products on tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand
from wave_core.ops.elementwise import convert
from wave_core.ops.shape import align
from wave_core.ops.traits import Trait
from wave_core.types import DTYPES, RegisterType

if TYPE_CHECKING:
    from wave_core.symbols import Expr

_ACC_BITS = 32


@dataclass(frozen=True, slots=True)
class Contraction:
    """The roles of dims in a matrix product."""

    batch: tuple[Expr, ...]
    m: Expr
    n: Expr
    k: tuple[Expr, ...]

    @property
    def lhs(self) -> tuple[Expr, ...]:
        """The dims of the left operand, contracted ones last."""
        return (*self.batch, self.m, *self.k)

    @property
    def rhs(self) -> tuple[Expr, ...]:
        """The dims of the right operand, contracted ones last."""
        return (*self.batch, self.n, *self.k)

    @property
    def acc(self) -> tuple[Expr, ...]:
        """The dims of the result."""
        return (*self.batch, self.m, self.n)


class Mma(Op, name="mma", traits={Trait.PURE}):
    """``acc + lhs * rhs^T``: a product of tiles, added to an accumulator.

    The last two dims of ``acc`` are M and N. ``lhs`` has M, ``rhs`` has N; dims
    that both have and ``acc`` has not are contracted (K); the other shared dims
    are batch. Elements at or beyond the extent of K take no part.

    Shapes: ``lhs: [.., M, K]``, ``rhs: [.., N, K]`` in any order of dims,
    ``acc: [.., M, N]``; the result is as ``acc``. Dtypes: ``lhs`` and ``rhs`` the
    same; ``acc`` f32 or f64 for floats, i32 or i64 for integers. Raises: WV0203
    where the dims do not form a product, WV0204, WV0205.
    """

    lhs: Op = operand(help="the left tile, with M and K")
    rhs: Op = operand(help="the right tile, with N and K")
    acc: Op = operand(help="what the product is added to, with M and N")
    mma_type: str | None = attribute(default=None, help="the matrix instruction")

    def infer(self) -> RegisterType:
        """The type of the accumulator."""
        roles = ("lhs", "rhs")
        dtype = rules.same_dtype(self, (self.lhs, self.rhs), roles)
        for value, role in zip((self.lhs, self.rhs), roles, strict=True):
            rules.require_family(self, value, role, rules.NUMBERS)
        acc = rules.register_type(self, self.acc, "acc")
        if acc.dtype.is_float != dtype.is_float or acc.dtype.bits < _ACC_BITS:
            wanted = "f32" if dtype.is_float else "i32"
            raise user_error(
                "WV0205",
                f"`mma` of {dtype} tiles cannot add up in `{acc.dtype}`",
                at=self.location,
                label=f"`acc` is {acc.dtype}",
                secondary=((self.acc.location, f"this is {acc.dtype}"),),
                help=f"accumulate in {wanted}",
            )
        self.contraction()
        return acc

    def contraction(self) -> Contraction:
        """The role of each dim.

        Raises:
            UserError: WV0203 where the dims do not form a product.
        """
        lhs = rules.register_type(self, self.lhs, "lhs").shape
        rhs = rules.register_type(self, self.rhs, "rhs").shape
        acc = rules.register_type(self, self.acc, "acc").shape
        if len(acc) < 2:
            raise self._mismatch("`acc` needs the dims M and N", self.acc)
        batch, (m, n) = acc[:-2], acc[-2:]
        k = tuple(dim for dim in lhs if dim in rhs and dim not in acc)
        if not k:
            raise self._mismatch("lhs and rhs share no dim that acc lacks", self.rhs)
        found = Contraction(batch, m, n, k)
        if set(lhs) != set(found.lhs):
            raise self._mismatch(_expects("lhs", found.lhs), self.lhs)
        if set(rhs) != set(found.rhs):
            raise self._mismatch(_expects("rhs", found.rhs), self.rhs)
        return found

    def _mismatch(self, what: str, culprit: Op) -> Exception:
        texts = [rules.shape_text(op) for op in (self.lhs, self.rhs, self.acc)]
        others = [op for op in (self.lhs, self.rhs, self.acc) if op is not culprit]
        return user_error(
            "WV0203",
            f"the operands of `mma` do not form a matrix product: {what}",
            at=self.location,
            label=f"multiplies {texts[0]} by {texts[1]} into {texts[2]}",
            secondary=tuple(
                (op.location, f"this register has dims {rules.shape_text(op)}")
                for op in (culprit, *others)
            ),
            notes="acc is [.., M, N], lhs has M and K, rhs has N and K",
            help="check which dims the operands were read over",
        )

    def evaluate(self, *operands: Any) -> Any:
        """The product in the accumulator's element type."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        acc_type = rules.register_type(self, self.acc, "acc")
        # An integer product is exact in f64 up to 2**53, and much faster there.
        wide = acc_type.dtype if acc_type.dtype.is_float else DTYPES["f64"]
        roles = self.contraction()
        lhs = self._matrix(self.lhs, operands[0], roles.lhs, len(roles.k), wide)
        rhs = self._matrix(self.rhs, operands[1], roles.rhs, len(roles.k), wide)
        with np.errstate(all="ignore"):
            product = np.matmul(lhs, np.swapaxes(rhs, -1, -2))
            return operands[2] + convert(product, acc_type.dtype)

    def _matrix(
        self, op: Op, array: Any, dims: tuple[Expr, ...], contracted: int, wide: Any
    ) -> Any:
        found = rules.register_type(self, op, "operand")
        aligned = convert(align(array, found.shape, dims), wide)
        return aligned.reshape(*aligned.shape[: len(dims) - contracted], -1)


def _expects(role: str, dims: tuple[Expr, ...]) -> str:
    return f"`{role}` should have dims {rules.dims_text(dims)}"
