"""Memories, registers and scalars, as kernel authors annotate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import (
    capture_location,
    coded_arguments,
    coded_init,
    user_error,
)
from wave_core.ops import rules
from wave_core.ops.constant import Scalar, Splat
from wave_core.ops.shape import Broadcast
from wave_core.symbols import Expr
from wave_core.trace.context import active
from wave_core.trace.operands import as_number, as_tuple, is_number
from wave_core.trace.value import Value, emit_op
from wave_core.types import AddressSpace, DType, MemoryType, RegisterType, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wave_core.diagnostics import Location
    from wave_core.trace.annotations import ToExpr

GLOBAL_ADDRESS_SPACE = AddressSpace.GLOBAL
SHARED_ADDRESS_SPACE = AddressSpace.SHARED
GLOBAL_MEMORY = AddressSpace.GLOBAL
SHARED_MEMORY = AddressSpace.SHARED


@coded_init
@dataclass(frozen=True)
class MemoryLayout:
    """The shape of a memory in storage, where it is not the logical one.

    ``None`` stands for the logical extent. Units: elements.
    """

    shape: Sequence[Any]

    def __post_init__(self) -> None:
        """See that the shape lists sizes.

        Raises:
            UserError: WV0220.
        """
        given: Any = self.shape
        listed = isinstance(given, tuple | list)
        if not listed or not _are_dims(d for d in self.shape if d is not None):
            raise _malformed("MemoryLayout", self.shape, "(shape=(dims..))")
        object.__setattr__(self, "shape", tuple(self.shape))


@coded_init
@dataclass(frozen=True)
class Memory:
    """A tensor argument: ``Memory[M, K, GLOBAL_ADDRESS_SPACE, f16]``.

    ``SHARED_ADDRESS_SPACE`` asks for staging through LDS; a symbol in its place is
    bound when the kernel is compiled. A ``MemoryLayout`` may follow the dtype, and a
    ``KernelBufferUsage``: what it says is checked, and changes nothing else.
    """

    dims: tuple[Any, ...]
    space: Any
    dtype: DType
    layout: MemoryLayout | None = None
    usage: Usage = Usage.NONE

    def __post_init__(self) -> None:
        """See that each part is of its kind: this is open to callers.

        Raises:
            UserError: WV0220.
        """
        parts = (self.dims, self.dtype, self.layout, self.usage)
        kinds = (tuple, DType, MemoryLayout | None, Usage)
        if not all(map(isinstance, parts, kinds)):
            raise _malformed("Memory", parts, "[dims.., address_space, dtype]")

    def __class_getitem__(cls, items: Any) -> Memory:
        """The annotation with these dims, address space and element type.

        Raises:
            UserError: WV0220, WV0410, WV0425.
        """
        parts = _flatten(items)
        layout, usage = None, Usage.NONE
        if parts and isinstance(parts[-1], Usage):
            *parts, usage = parts
        if parts and isinstance(parts[-1], MemoryLayout):
            *parts, layout = parts
        if len(parts) < 3 or not isinstance(parts[-1], DType):
            raise _malformed("Memory", items, "[dims.., address_space, dtype]")
        *dims, space, dtype = parts
        if space is AddressSpace.REGISTER:
            raise _in_registers()
        fits = layout is None or len(layout.shape) == len(dims)
        if not _is_space(space) or not _are_dims(dims) or not fits:
            raise _malformed("Memory", items, "[dims.., address_space, dtype]")
        rules.require_bytes("`Memory`", dtype, capture_location())
        return cls(tuple(dims), space, dtype, layout, usage)

    def declared_type(self, expression: ToExpr, location: Location) -> MemoryType:
        """The type of a parameter that is annotated with this."""
        shape = tuple(expression(dim, location) for dim in self.dims)
        space = self.space
        if not isinstance(space, AddressSpace):
            space = expression(space, location)
        physical = None
        if self.layout is not None:
            pairs = zip(self.layout.shape, shape, strict=True)
            physical = tuple(
                own if given is None else expression(given, location)
                for given, own in pairs
            )
        return MemoryType(shape, space, self.dtype, physical)


@dataclass(frozen=True)
class Register:
    """A tile in registers: ``Register[M, N, f32]``.

    Calling it with a number gives a tile that has the number in every element.
    """

    dims: tuple[Any, ...]
    dtype: DType

    def __post_init__(self) -> None:
        """See that each part is of its kind: this is open to callers.

        Raises:
            UserError: WV0220.
        """
        parts = (self.dims, self.dtype)
        if not all(map(isinstance, parts, (tuple, DType))):
            raise _malformed("Register", parts, "[dims.., dtype]")

    def __class_getitem__(cls, items: Any) -> Register:
        """The annotation with these dims and element type.

        Raises:
            UserError: WV0220.
        """
        parts = _flatten(items)
        if not parts or not isinstance(parts[-1], DType) or not _are_dims(parts[:-1]):
            raise _malformed("Register", items, "[dims.., dtype]")
        return cls(tuple(parts[:-1]), parts[-1])

    def declared_type(self, expression: ToExpr, location: Location) -> RegisterType:
        """The type of a parameter that is annotated with this."""
        shape = tuple(expression(dim, location) for dim in self.dims)
        return RegisterType(shape, self.dtype)

    @coded_arguments
    def __call__(self, value: Any, *, tag: str | Iterable[str] | None = None) -> Value:
        """A tile with ``value`` in every element: a number, a scalar, an expression."""
        return splat(self.dims, self.dtype, value, tag=tag)


@dataclass(frozen=True)
class SymbolBind:
    """A scalar argument that gives the symbol of the same name its value."""

    dtype: DType

    def __class_getitem__(cls, dtype: Any) -> SymbolBind:
        """The annotation with this element type.

        Raises:
            UserError: WV0220.
        """
        if not isinstance(dtype, DType) or not dtype.is_integer:
            raise _malformed("SymbolBind", dtype, "[an integer dtype]")
        return cls(dtype)

    def declared_type(
        self,
        expression: ToExpr,  # noqa: ARG002 - the protocol's signature
        location: Location,  # noqa: ARG002
    ) -> RegisterType:
        """The type of a parameter that is annotated with this."""
        return RegisterType((), self.dtype)


def splat(
    shape: Iterable[Any],
    dtype: DType,
    value: Any,
    *,
    tag: str | Iterable[str] | None = None,
) -> Value:
    """A tile of ``shape`` with ``value`` in every element.

    That is a number, a scalar, or an expression of symbols. A whole float will do for
    an integer.
    """
    location = capture_location()
    dims = dims_of("register", shape, location)
    if isinstance(value, float) and value.is_integer() and dtype.is_integer:
        value = int(value)
    if is_number(value):
        value = as_number(active("register"), value, location)
    if isinstance(value, Expr):
        value = emit_op(Scalar, {"value": value, "dtype": dtype}, location=location)
    if isinstance(value, Value):
        fields = {"value": value, "shape": dims}
        return emit_op(Broadcast, fields, tag=tag, location=location)
    fields = {"shape": dims, "dtype": dtype, "value": value}
    return emit_op(Splat, fields, tag=tag, location=location)


def dims_of(what: str, shape: Iterable[Any], location: Location) -> tuple[Expr, ...]:
    """Dims as expressions."""
    tracer = active(what)
    return tuple(tracer.expression(dim, location) for dim in _flatten(shape))


def _flatten(items: Any) -> list[Any]:
    return [part for item in as_tuple(items) for part in as_tuple(item)]


def _are_dims(dims: Iterable[Any]) -> bool:
    return all(map(_is_dim, dims))


def _is_dim(dim: Any) -> bool:
    """Whether something may be a size: an expression, or a number from 0 on."""
    if isinstance(dim, int):
        return dim >= 0
    of_another_kind = isinstance(dim, (DType, AddressSpace, str, float))
    return not of_another_kind and getattr(dim, "is_negative", None) is not True


def _is_space(space: Any) -> bool:
    if isinstance(space, AddressSpace):
        return True
    return getattr(space, "is_Symbol", False) is True


def _in_registers() -> Exception:
    return user_error(
        "WV0410",
        "a memory cannot lie in registers",
        at=capture_location(),
        help="write `Register[dims.., dtype]` for a value",
    )


def _malformed(what: str, items: Any, wanted: str) -> Exception:
    return user_error(
        "WV0220",
        f"`{what}` cannot be made of `{items}`",
        at=capture_location(),
        label=f"needs {wanted}",
        help=(f"write `{what}{wanted}`", "dims are symbols, or integers from 0 on"),
    )
