"""Matrix products on tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand, variadic
from wave_core.ops.elementwise import convert
from wave_core.ops.shape import align
from wave_core.ops.traits import Effect, EffectKind, Trait
from wave_core.symbols import ratio_of
from wave_core.types import DTYPES, RegisterType

if TYPE_CHECKING:
    from wave_core.ops.base import Slot
    from wave_core.symbols import Expr
    from wave_core.types import DType

_ACC_BITS = 32
_SCALE = DTYPES["f8e8m0fnu"]


@dataclass(frozen=True, slots=True)
class Contraction:
    """The roles of dims in a matrix product; operands may lack dims of ``batch``."""

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


class SharedTile(Op, name="shared_tile", traits={Trait.PURE}):
    """An operand of a matrix product that stays in LDS.

    Only in lowered graphs, for matrix instructions whose row takes such operands, and
    only as their operand, in their region: the product reads the buffer, when it is
    issued and until it is done. The box row says what the tile covers. The access row
    says where each element lies, as that of a read into the row's registers would; the
    tile takes none.

    Shapes: the memory's dims, or ``shape``. Dtypes: the memory's. Raises: WV0202.
    """

    memory: Op = operand(help="the buffer in LDS")
    shape: tuple[Expr, ...] | None = attribute(default=None, help="dims of the tile")

    def infer(self) -> RegisterType:
        """A tile of the memory's element type."""
        memory = rules.memory_type(self, self.memory, "memory")
        shape = memory.shape if self.shape is None else tuple(self.shape)
        rules.require_distinct(self, shape, "shape")
        return RegisterType(shape, memory.dtype)


class Mma(Op, name="mma", traits={Trait.PURE}):
    """``acc + lhs * rhs^T``: a product of tiles, added to an accumulator.

    The last two dims of ``acc`` are M and N. ``lhs`` has M, ``rhs`` has N; dims
    that both have and ``acc`` has not are contracted (K); the other dims of ``acc``
    are batch, and an operand that lacks one is the same for all of it. Elements at or
    beyond the extent of K take no part.

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
            rules.require_family(self, value, role, rules.NUMBERS, packed=True)
        acc = rules.register_type(self, self.acc, "acc")
        if acc.dtype.is_float != dtype.is_float or acc.dtype.bits < _ACC_BITS:
            wanted = "f32" if dtype.is_float else "i32"
            raise user_error(
                "WV0205",
                f"`{self.op_name}` of {dtype} tiles cannot add up in `{acc.dtype}`",
                at=self.location,
                label=f"`acc` is {acc.dtype}",
                secondary=((self.acc.location, f"this is {acc.dtype}"),),
                help=f"accumulate in {wanted}",
            )
        self.contraction()
        return acc

    @property
    def exchanged(self) -> tuple[Slot, ...]:
        """The operands of the product with rows and columns exchanged."""
        return (self.rhs, self.lhs, self.acc)

    @property
    def shared_tiles(self) -> tuple[SharedTile, ...]:
        """The operands that stay in LDS."""
        both = (self.lhs, self.rhs)
        return tuple(value for value in both if isinstance(value, SharedTile))

    def has(self, trait: Trait) -> bool:
        """Whether the op has ``trait``: one that reads LDS is not pure."""
        if trait is Trait.PURE and self.shared_tiles:
            return False
        return super().has(trait)

    def effects(self) -> tuple[Effect, ...]:
        """Reads the buffers of operands that stay in LDS."""
        return tuple(Effect(EffectKind.READ, tile.memory) for tile in self.shared_tiles)

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
        if not {m, *k} <= set(lhs) <= set(found.lhs):
            raise self._mismatch(_expects("lhs", found.lhs), self.lhs)
        if not {n, *k} <= set(rhs) <= set(found.rhs):
            raise self._mismatch(_expects("rhs", found.rhs), self.rhs)
        return found

    def _mismatch(self, what: str, culprit: Op) -> Exception:
        texts = [rules.shape_text(op) for op in (self.lhs, self.rhs, self.acc)]
        others = [op for op in (self.lhs, self.rhs, self.acc) if op is not culprit]
        return user_error(
            "WV0203",
            f"the operands of `{self.op_name}` do not form a matrix product: {what}",
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


class ScaledMma(Mma, name="scaled_mma"):
    """``acc + (lhs * s) * (rhs * t)^T``: a product of tiles whose blocks have scales.

    Elements of a block along K share a scale, a power of two. The scales of an operand
    have its dims, but for K that of blocks: ``K // 32`` for blocks of 32 elements.
    Everything else is as for `Mma`.

    Shapes: ``scales`` are ``[.., M, K // b]`` and ``[.., N, K // b]``. Dtypes: ``lhs``
    and ``rhs`` the same float, scales f8e8m0fnu, ``acc`` f32. Raises: WV0203, WV0204,
    WV0205, WV0223 where the scales do not fit the tile.
    """

    scales: tuple[Op, ...] = variadic(
        default=(), help="the scales of lhs, and those of rhs"
    )

    @property
    def exchanged(self) -> tuple[Slot, ...]:
        """The operands of the product with rows and columns exchanged."""
        return (self.rhs, self.lhs, self.acc, self.scales[::-1])

    def infer(self) -> RegisterType:
        """The type of the accumulator."""
        found = super().infer()
        if len(self.scales) != 2:
            raise self._unfit("it takes two registers of scales", self.acc)
        for scale, role in zip(self.scales, ("lhs_scale", "rhs_scale"), strict=True):
            dtype = rules.register_type(self, scale, role).dtype
            if dtype != _SCALE:
                raise self._no_scale(scale, role, dtype)
        self.block()
        return found

    def block(self) -> tuple[Expr, int]:
        """The dimension of blocks along K, and the elements of one block.

        Raises:
            UserError: WV0223 where the scales have no such dimension.
        """
        *outer, k = self.contraction().k
        found: list[tuple[Expr, int]] = []
        for value, scale in zip((self.lhs, self.rhs), self.scales, strict=True):
            own, dims = value.register_type.shape, scale.register_type.shape
            blocks = [dim for dim in dims if dim not in own]
            size = _elements(k, blocks[0]) if len(blocks) == 1 else None
            if size is None or outer or len(dims) != len(own) or k in dims:
                wanted = [f"{dim} // 32" if dim is k else f"{dim}" for dim in own]
                what = f"the scales of {rules.shape_text(value)} have dims "
                raise self._unfit(f"{what}[{', '.join(wanted)}]", scale)
            found.append((blocks[0], size))
        if found[0] != found[1]:
            raise self._unfit("both operands have blocks of one size", self.scales[1])
        return found[0]

    def evaluate(self, *operands: Any) -> Any:
        """The product of scaled elements, exact before it is rounded once."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        roles, (blocks, size) = self.contraction(), self.block()
        sides: list[Any] = []
        for i, dims in enumerate((roles.lhs, roles.rhs)):
            value, scale = (self.lhs, self.rhs)[i], self.scales[i]
            data = self._matrix(value, operands[i], dims, 1, DTYPES["f64"])
            of_blocks = (*dims[:-1], blocks)
            factor = self._matrix(scale, operands[3 + i], of_blocks, 1, DTYPES["f64"])
            sides.append(data * factor.repeat(size, axis=-1))
        with np.errstate(all="ignore"):
            total = np.matmul(sides[0], np.swapaxes(sides[1], -1, -2)) + operands[2]
            return convert(total, self.acc.register_type.dtype)

    def _unfit(self, what: str, culprit: Op) -> Exception:
        texts = [rules.shape_text(op) for op in (self.lhs, self.rhs)]
        dims = rules.shape_text(culprit)
        return user_error(
            "WV0223",
            f"the scales of `scaled_mma` do not fit: {what}",
            at=self.location,
            label=f"multiplies {texts[0]} by {texts[1]}",
            secondary=((culprit.location, f"this register has dims {dims}"),),
            help="read scales from a memory over `[M, K/32]`: one for each block of K",
        )

    def _no_scale(self, scale: Op, role: str, dtype: DType) -> Exception:
        way = "bitcast" if dtype.bits == _SCALE.bits else "cast"
        return user_error(
            "WV0205",
            f"`scaled_mma` needs {_SCALE} as `{role}` and got `{dtype}`",
            at=self.location,
            label=f"`{role}` is {dtype}",
            secondary=((scale.location, f"this is {dtype}"),),
            help=f"write `{way}({role}, {_SCALE})`",
        )


def _elements(k: Expr, blocks: Expr) -> int | None:
    """Elements of K in a block, where ``blocks`` counts whole ones."""
    whole, part = ratio_of(k), ratio_of(blocks)
    if whole is None or part is None or whole[0] is not part[0]:
        return None
    size = whole[1] / part[1]
    return size.numerator if size.denominator == 1 and size > 1 else None


def _expects(role: str, dims: tuple[Expr, ...]) -> str:
    return f"`{role}` should have dims {rules.dims_text(dims)}"
