"""Type rules that ops share: register operands, equal dtypes, unions of dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.types import DType, Family, MemoryType, RegisterType, dim_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr

FLOATS = frozenset({Family.FLOAT})
INTEGERS = frozenset({Family.INTEGER, Family.UNSIGNED, Family.INDEX})
NUMBERS = FLOATS | INTEGERS
BITS = INTEGERS | {Family.BOOL}
BOOLS = frozenset({Family.BOOL})
ANY = NUMBERS | BOOLS

_FAMILY_WORDS = {
    FLOATS: "a float",
    INTEGERS: "an integer",
    NUMBERS: "a number",
    BITS: "an integer or bool",
    BOOLS: "a bool",
}

_WHOLE = "elements of whole bytes"
PACKED = "`cast` converts it, `mma` and `scaled_mma` multiply it"
"""The help where elements that share bytes are computed with."""


def register_type(op: Op, value: Op, role: str) -> RegisterType:
    """The type of an operand that has to be a register.

    Raises:
        UserError: WV0201 for a memory or an op without a value.
    """
    found = value.type
    if isinstance(found, RegisterType):
        return found
    what = "a memory" if isinstance(found, MemoryType) else "no value"
    raise user_error(
        "WV0201",
        f"`{op.op_name}` needs a register as `{role}` and got {what}",
        at=op.location,
        label=f"`{role}` is {what}",
        secondary=((value.location, f"{what} comes from here"),),
        help="read it into a register first" if found is not None else (),
    )


def memory_type(op: Op, value: Op, role: str) -> MemoryType:
    """The type of an operand that has to be a memory.

    Raises:
        UserError: WV0202 for anything else.
    """
    found = value.type
    if isinstance(found, MemoryType):
        return found
    raise user_error(
        "WV0202",
        f"`{op.op_name}` needs a memory as `{role}` and got `{found}`",
        at=op.location,
        label=f"`{role}` is no memory",
        secondary=((value.location, "this value"),),
        help="pass a kernel argument or the result of `allocate`",
    )


def same_dtype(op: Op, values: Sequence[Op], roles: Sequence[str]) -> DType:
    """The element type that all operands have.

    Raises:
        UserError: WV0204 where two differ.
    """
    first = register_type(op, values[0], roles[0]).dtype
    for value, role in zip(values[1:], roles[1:], strict=True):
        other = register_type(op, value, role).dtype
        if other != first:
            raise _dtype_clash(op, (values[0], value), (roles[0], role))
    return first


def _dtype_clash(op: Op, values: tuple[Op, Op], roles: tuple[str, str]) -> Exception:
    first, second = (
        register_type(op, value, role).dtype
        for value, role in zip(values, roles, strict=True)
    )
    wider = max(first, second, key=lambda d: (d.is_float, d.bits))
    narrow = roles[0] if wider is second else roles[1]
    return user_error(
        "WV0204",
        f"`{op.op_name}` mixes element types `{first}` and `{second}`",
        at=op.location,
        label=f"`{roles[0]}` is {first}, `{roles[1]}` is {second}",
        secondary=(
            (values[0].location, f"this is {first}"),
            (values[1].location, f"this is {second}"),
        ),
        help=f"write `cast({narrow}, {wider})`: element types never convert silently",
    )


def require_family(
    op: Op,
    value: Op,
    role: str,
    allowed: frozenset[Family],
    hint: str = "",
    *,
    packed: bool = False,
) -> DType:
    """The element type of an operand, which has to be of an allowed family.

    Elements that share bytes count only where ``packed`` says so.

    Raises:
        UserError: WV0205 where it is not.
    """
    dtype = register_type(op, value, role).dtype
    fits = packed or not dtype.is_packed
    if dtype.family in allowed and fits:
        return dtype
    words = _FAMILY_WORDS.get(allowed, "another element type")
    raise user_error(
        "WV0205",
        f"`{op.op_name}` needs {words if fits else _WHOLE} as `{role}` and got "
        f"`{dtype}`",
        at=op.location,
        label=f"`{role}` is {dtype}",
        secondary=((value.location, f"this is {dtype}"),),
        help=(hint or f"write `cast({role}, ...)` to an element type that fits")
        if fits
        else PACKED,
    )


def require_bytes(what: str, dtype: DType, at: Location | None) -> None:
    """Refuse a memory of elements that share bytes.

    Raises:
        UserError: WV0425.
    """
    if dtype.is_packed:
        raise user_error(
            "WV0425",
            f"{what} of `{dtype}`: elements of {dtype.bits} bits have no addresses",
            at=at,
            help=(
                f"declare the bytes, of i8, and write `bitcast(read(memory), {dtype})`",
                f"{dtype.bits} bits of K elements are `K * {dtype.bits} / 8` bytes",
            ),
        )


def union_shape(op: Op, values: Sequence[Op], roles: Sequence[str]) -> tuple[Expr, ...]:
    """The dims of all operands, each once: in the order of the first that has all.

    Where none has all, in an order that suits all.

    Raises:
        UserError: WV0206 where no order does.
    """
    shapes = [register_type(op, v, r).shape for v, r in zip(values, roles, strict=True)]
    count = len({dim for shape in shapes for dim in shape})
    for shape in shapes:
        if len(shape) == count:
            return shape
    # The largest operand leads, so that its order is the result's where it can be.
    order = sorted(range(len(shapes)), key=lambda i: -len(shapes[i]))
    merged: tuple[Expr, ...] = ()
    for position in order:
        joined = merge_dims(merged, shapes[position])
        if joined is None:
            raise _order_clash(op, values[order[0]], values[position])
        merged = joined
    return merged


def merge_dims(
    first: Sequence[Expr], second: Sequence[Expr]
) -> tuple[Expr, ...] | None:
    """The union of two lists of dims that keeps both orders, or ``None``.

    Where both orders leave a choice, dims of ``first`` come first.
    """
    merged: list[Expr] = []
    rest = list(second)
    for dim in first:
        if dim in rest:
            position = rest.index(dim)
            ahead = rest[:position]
            if any(other in first for other in ahead):
                return None
            merged += [*ahead, dim]
            rest = rest[position + 1 :]
        elif dim in merged:
            return None
        else:
            merged.append(dim)
    merged += rest
    return tuple(merged) if len(set(merged)) == len(merged) else None


def _order_clash(op: Op, first: Op, second: Op) -> Exception:
    left, right = shape_text(first), shape_text(second)
    return user_error(
        "WV0206",
        f"`{op.op_name}` gets the same dimensions in two orders: {left} and {right}",
        at=op.location,
        label=f"combines {left} with {right}",
        secondary=(
            (first.location, f"this register has dims {left}"),
            (second.location, f"this register has dims {right}"),
        ),
        notes="no operand has all dimensions, so that neither order leads",
        help=f"write `permute(..., target_shape={left})` on the second",
    )


def shape_text(value: Op) -> str:
    """The dims of a register as a user writes them."""
    return dims_text(value.type.shape if value.type is not None else ())


def dims_text(dims: Iterable[Expr]) -> str:
    """Dims as a user writes them."""
    return f"[{', '.join(dim_name(dim) for dim in dims)}]"


def require_distinct(op: Op, dims: Collection[Expr], role: str) -> None:
    """Refuse a shape that names a dimension twice.

    Raises:
        UserError: WV0207.
    """
    seen: set[Expr] = set()
    for dim in dims:
        if dim in seen:
            raise user_error(
                "WV0207",
                f"`{op.op_name}`: `{role}` names dimension `{dim}` twice",
                at=op.location,
                label=f"{role} {dims_text(dims)}",
                help="each dimension of a tile needs a name of its own",
            )
        seen.add(dim)


def require_same_dims(
    op: Op, value: Op, shape: Sequence[Expr], what: str, code: str = "WV0208"
) -> None:
    """Refuse an operand whose set of dims is not that of ``shape``.

    Raises:
        UserError: ``code``.
    """
    dims = register_type(op, value, "value").shape
    if set(dims) == set(shape):
        return
    missing = dims_text(dim for dim in shape if dim not in dims)
    extra = dims_text(dim for dim in dims if dim not in shape)
    raise user_error(
        code,
        f"`{op.op_name}`: {what} needs dims {dims_text(shape)}, "
        f"the register has {dims_text(dims)}",
        at=op.location,
        label=f"missing {missing}" if missing != "[]" else f"not wanted: {extra}",
        secondary=((value.location, f"this register has dims {dims_text(dims)}"),),
        help="`broadcast` adds dimensions; `sum`, `max` and `extract` remove one",
    )
