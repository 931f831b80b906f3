"""Ops that change which dims a tile has, or where its elements sit."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_core.ops import rules
from wave_core.ops.base import Op, attribute, operand, variadic
from wave_core.ops.traits import Trait
from wave_core.symbols import Kind
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.types import DType, Type


def align(array: Any, dims: tuple[Expr, ...], shape: tuple[Expr, ...]) -> Any:
    """``array`` over ``dims`` with its axes in the order of ``shape``.

    Dims of ``shape`` that the array lacks become axes of length 1.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

    array = np.asarray(array)
    if array.ndim != len(dims):
        return array
    order = [dims.index(dim) for dim in shape if dim in dims]
    extents = iter(array.shape[axis] for axis in order)
    target = [next(extents) if dim in dims else 1 for dim in shape]
    return array.transpose(order).reshape(target)


class Broadcast(Op, name="broadcast", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """The same elements repeated along the dims that ``value`` lacks.

    Shapes: ``shape``, which has all dims of the value. Dtypes: that of the value.
    Raises: WV0207, WV0211 where ``shape`` lacks a dimension of the value.
    """

    value: Op = operand(help="the register to repeat")
    shape: tuple[Expr, ...] = attribute(help="the dims of the result")

    def infer(self) -> RegisterType:
        """The value's element type on more dims."""
        found = rules.register_type(self, self.value, "value")
        rules.require_distinct(self, self.shape, "target_shape")
        lost = [dim for dim in found.shape if dim not in self.shape]
        if lost:
            raise user_error(
                "WV0211",
                f"`broadcast` to {rules.dims_text(self.shape)} would drop "
                f"{rules.dims_text(lost)}",
                at=self.location,
                label=f"target_shape lacks {rules.dims_text(lost)}",
                secondary=((self.value.location, f"this has {found}"),),
                help="`sum`, `max`, `min` or `extract` remove a dimension",
            )
        return RegisterType(tuple(self.shape), found.dtype)

    def evaluate(self, *operands: Any) -> Any:
        """Axes of length 1 for the new dims; they broadcast."""
        return align(operands[0], self.value.register_type.shape, self.shape)


class Squeeze(Op, name="squeeze", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """The same elements without dims of which a workgroup holds one.

    Which these are follows from the constraints: their index is the workgroup's
    place on a grid axis. Shapes: ``shape``, the other dims of the value in their
    order. Dtypes: that of the value. Raises: WV0208 where ``shape`` is not of these.
    """

    value: Op = operand(help="the register")
    shape: tuple[Expr, ...] = attribute(help="the dims that stay")

    def infer(self) -> RegisterType:
        """The value's element type on fewer dims."""
        found = rules.register_type(self, self.value, "value")
        kept = tuple(dim for dim in found.shape if dim in self.shape)
        if kept != tuple(self.shape):
            rules.require_same_dims(self, self.value, self.shape, "the tile")
        return RegisterType(kept, found.dtype)

    def evaluate(self, *operands: Any) -> Any:
        """The only element of the axes that go."""
        dims = self.value.register_type.shape
        gone = tuple(i - len(dims) for i, d in enumerate(dims) if d not in self.shape)
        return operands[0].squeeze(axis=gone)


class Permute(Op, name="permute", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """The same elements with the dims in another order.

    Shapes: ``shape``, the dims of the value reordered. Dtypes: that of the value.
    Raises: WV0207, WV0221 where the dims differ.
    """

    value: Op = operand(help="the register to reorder")
    shape: tuple[Expr, ...] = attribute(help="the dims of the result")

    def infer(self) -> RegisterType:
        """The value's element type, dims reordered."""
        found = rules.register_type(self, self.value, "value")
        rules.require_distinct(self, self.shape, "target_shape")
        wanted, code = "the target shape", "WV0221"
        rules.require_same_dims(self, self.value, self.shape, wanted, code)
        return RegisterType(tuple(self.shape), found.dtype)

    def evaluate(self, *operands: Any) -> Any:
        """The axes transposed."""
        return align(operands[0], self.value.register_type.shape, self.shape)


class Reshape(Op, name="reshape", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """Pieces of a tile put together, or one piece of a tile.

    With several ``values`` of equal dims their elements follow one another along
    the fastest dimension; with one, it is piece ``logical_slice`` of
    ``num_slices`` equal pieces along it. Shapes: ``shape``. Dtypes: that of the
    values. Raises: WV0204, WV0212 for slices that do not exist.
    """

    values: tuple[Op, ...] = variadic(help="the pieces, or the whole")
    shape: tuple[Expr, ...] = attribute(help="the dims of the result")
    logical_slice: int = attribute(default=0, help="which piece")
    num_slices: int = attribute(default=1, help="of how many")

    def infer(self) -> RegisterType:
        """The element type of the values on ``shape``."""
        roles = tuple(f"value {i}" for i in range(len(self.values)))
        inside = 0 <= self.logical_slice < self.num_slices
        if not self.values or not inside or (len(roles) > 1 < self.num_slices):
            raise user_error(
                "WV0212",
                f"`reshape` cannot take slice {self.logical_slice} of "
                f"{self.num_slices} from {len(self.values)} values",
                at=self.location,
                help=(
                    "give several values to join, or one value with "
                    "`0 <= logical_slice < num_slices` to cut"
                ),
            )
        rules.require_distinct(self, self.shape, "shape")
        dtype = rules.same_dtype(self, self.values, roles)
        return RegisterType(tuple(self.shape), dtype)

    def evaluate(self, *operands: Any) -> Any:
        """Joined or cut along the last axis."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

        first, *others = operands
        if others:
            return np.concatenate(operands, axis=-1)
        pieces: list[Any] = np.split(np.asarray(first), self.num_slices, axis=-1)
        return pieces[self.logical_slice]


class Bitcast(Op, name="bitcast", traits={Trait.PURE}):
    """The same bits read as elements of another type.

    Where the widths differ, elements along the last dim are cut or joined, the
    first in the lowest bits. Shapes: the dims of the value; the last one is scaled by
    the ratio of the widths: ``[M, K // 2]`` of i8 is ``[M, K]`` of f4e2m1fn. Dtypes:
    any but bool. Raises: WV0224 where the elements do not come out even.
    """

    value: Op = operand(help="the register")
    dtype: DType = attribute(help="the element type of the result")

    @property
    def ratio(self) -> tuple[int, int]:
        """So many elements of the result for so many of the value, in lowest terms."""
        old, new = self.value.register_type.dtype.bits, self.dtype.bits
        common = gcd(old, new)
        return old // common, new // common

    def infer(self) -> RegisterType:
        """The element type asked for, the last dim scaled."""
        found = rules.register_type(self, self.value, "value")
        truth = found.dtype.is_bool or self.dtype.is_bool
        times, parts = (1, 1) if truth else self.ratio
        if truth or (times != parts and not found.shape):
            raise self._uneven(found)
        if times == parts:
            return RegisterType(found.shape, self.dtype)
        *outer, last = found.shape
        return RegisterType((*outer, _scaled(last, times, parts)), self.dtype)

    def _uneven(self, found: RegisterType) -> Exception:
        truth = found.dtype.is_bool or self.dtype.is_bool
        why = "truth values have no bits" if truth else "a scalar has no dim to scale"
        return user_error(
            "WV0224",
            f"`bitcast` of {found} to {self.dtype}: {why}",
            at=self.location,
            secondary=((self.value.location, f"this is {found}"),),
            help="`cast` converts numbers; `bitcast` keeps bits",
        )

    def evaluate(self, *operands: Any) -> Any:
        """The bits along the last axis, taken apart and put together again."""
        return reinterpreted(operands[0], self.value.register_type.dtype, self.dtype)


def _scaled(dim: Expr, times: int, parts: int) -> Expr:
    """``dim * times / parts``; a fraction of a dimension becomes the dimension again.

    That fractions come out even is an obligation of whoever wrote them.
    """
    if dim.kind is Kind.FLOORDIV and dim.args[1].is_constant:
        common = gcd(times, dim.args[1].constant_value)
        whole = dim.args[1].constant_value // common
        return dim.args[0] * (times // common) // (whole * parts)
    return dim * times // parts


def reinterpreted(array: Any, old: DType, new: DType) -> Any:
    """The bits of elements along the last axis as elements of another type."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

    array = np.ascontiguousarray(array)
    if not (old.is_packed or new.is_packed):
        return array.view(new.numpy())
    own = array.view(np.uint8).reshape(*array.shape, old.bytes)
    bits = np.unpackbits(own, axis=-1, bitorder="little")[..., : old.bits]
    bits = bits.reshape(*array.shape[:-1], -1, new.bits)
    packed = np.packbits(bits, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(new.numpy())[..., 0]


class Extract(Op, name="extract", traits={Trait.PURE}):
    """The element at ``offset`` along the fastest dimension, which is dropped.

    Shapes: the dims of the value but the last. Dtypes: that of the value. Units:
    ``offset`` in elements of the wave's tile. Raises: WV0213 for a scalar or an
    offset that is not one number.
    """

    value: Op = operand(help="the register")
    offset: tuple[int | Expr, ...] = attribute(help="one offset")

    def infer(self) -> RegisterType:
        """The value's tile without its last dim."""
        found = rules.register_type(self, self.value, "value")
        if not found.shape or len(self.offset) != 1:
            raise user_error(
                "WV0213",
                f"`extract` takes one offset along the last dim of a register; "
                f"got {len(self.offset)} for {found}",
                at=self.location,
                secondary=((self.value.location, f"this has {found}"),),
                help="write `extract(register, 0)`",
            )
        return RegisterType(found.shape[:-1], found.dtype)

    def evaluate(self, *operands: Any) -> Any:
        """One position of the last axis."""
        offset = next(iter(self.offset))
        assert isinstance(offset, int), "needs the values of symbols"
        return operands[0][..., offset]


class ExtractSlice(Op, name="extract_slice", traits={Trait.PURE}):
    """Elements at equal distances along dims, with dims of their own.

    Element ``i`` along a dim of ``shape`` is element ``offset + stride * i`` along the
    dim of the value in its place; one beyond the extent has no particular value.

    Shapes: ``shape``, a dim for each of the value's. Dtypes: that of the value.
    Raises: WV0207, WV0238 for numbers that do not fit the value.
    """

    value: Op = operand(help="the register")
    shape: tuple[Expr, ...] = attribute(help="the dims of the result")
    offsets: tuple[int | Expr, ...] = attribute(help="the first element of each")
    strides: tuple[int | Expr, ...] = attribute(help="from one element to the next")

    def infer(self) -> RegisterType:
        """The value's element type on the dims of the slice."""
        found = rules.register_type(self, self.value, "value")
        rules.require_distinct(self, self.shape, "sizes")
        counts = {len(row) for row in (self.shape, self.offsets, self.strides)}
        numbers = ((0, self.offsets), (1, self.strides))
        small = any(isinstance(n, int) and n < least for least, r in numbers for n in r)
        if counts != {len(found.shape)} or small:
            raise user_error(
                "WV0238",
                f"`extract_slice` of {found} with offsets {list(self.offsets)}, sizes "
                f"{rules.dims_text(self.shape)} and strides {list(self.strides)}",
                at=self.location,
                secondary=((self.value.location, f"this has {found}"),),
                help="give one offset, size and stride for each of the last dims; "
                "offsets are from 0, strides from 1",
            )
        return RegisterType(tuple(self.shape), found.dtype)

    @property
    def cut(self) -> tuple[int, ...]:
        """The positions of the dims that are not kept as they are."""
        dims = self.value.register_type.shape
        rows = zip(dims, self.shape, self.offsets, self.strides, strict=True)
        return tuple(
            position
            for position, (dim, size, offset, stride) in enumerate(rows)
            if (size, offset, stride) != (dim, 0, 1)
        )

    def evaluate(self, *operands: Any) -> Any:
        """The positions of each axis; sizes of the shape are known there."""
        (array,) = operands
        rows = zip(self.shape, self.offsets, self.strides, strict=True)
        for axis, (size, offset, stride) in enumerate(rows, -len(self.shape)):
            assert isinstance(offset, int), "needs the values of symbols"
            assert isinstance(stride, int), "needs the values of symbols"
            places = [offset + stride * i for i in range(size.constant_value)]
            array = array.take(places, axis=axis, mode="clip")
        return array


class Assemble(Op, name="assemble", traits={Trait.PURE}):
    """A vector put together from registers of others, lane by lane.

    Only in lowered graphs: register ``r`` of the result is register
    ``picks[r][1]`` of source ``picks[r][0]``. Shapes: ``shape``. Dtypes: that of
    the sources.
    """

    sources: tuple[Op, ...] = variadic(help="the vectors to pick from")
    picks: tuple[tuple[int, int], ...] = attribute(help="(source, register) pairs")
    shape: tuple[Expr, ...] = attribute(help="the dims of the result")

    def infer(self) -> RegisterType:
        """The element type of the sources on ``shape``."""
        roles = tuple(f"source {i}" for i in range(len(self.sources)))
        dtype = rules.same_dtype(self, self.sources, roles)
        return RegisterType(tuple(self.shape), dtype)


class Relayout(Op, name="relayout", traits={Trait.PURE}):
    """The same tile in another layout (its placement row says which).

    Inserted where a use needs a layout that the value does not have; expansion
    renames registers where it can and goes through LDS where it must. Where the
    exchange is ``near``, lanes shuffle if the layouts differ by bits of lane and
    register that swap. Shapes and dtypes: those of the value.
    """

    value: Op = operand(help="the register")
    near: bool = attribute(default=False, help="whether lanes shuffle, if they can")

    def infer(self) -> Type | None:
        """The type of the operand."""
        return self.value.type

    def evaluate(self, *operands: Any) -> Any:
        """The value itself."""
        return operands[0]
