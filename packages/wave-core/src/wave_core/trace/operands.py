"""From what kernel code passes to the operands and attributes of an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from wave_core.constraints import thread_symbol, threads_symbol
from wave_core.constraints.base import MAX_AXES
from wave_core.diagnostics import user_error
from wave_core.ops.base import Field, FieldKind, Op
from wave_core.ops.compare import Cast
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, argument_symbol
from wave_core.symbols import Expr
from wave_core.types import DTYPES, MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Location
    from wave_core.trace.tracer import Tracer
    from wave_core.types import DType

ITER_ARG = "$ITER_ARG"
"""How the symbols of carried values begin, in conditions as users write them."""


def lift_operands(
    tracer: Tracer, cls: type[Op], fields: Mapping[str, Any], location: Location
) -> dict[str, Any]:
    """The fields with every operand turned into an op of the current region."""
    lifted = dict(fields)
    context = _common_dtype(cls, fields)
    if context is None:
        _refuse_memory(cls, fields, location)
    for field in cls.operand_fields:
        if field.name not in fields:
            continue
        if fields[field.name] is None and field.kind is FieldKind.OPTIONAL:
            continue
        given = fields[field.name]
        if field.kind is FieldKind.VARIADIC:
            lifted[field.name] = tuple(
                as_op(tracer, value, context, _role(cls, field), location)
                for value in given
            )
        else:
            role = _role(cls, field)
            lifted[field.name] = as_op(tracer, given, context, role, location)
    return lifted


def _refuse_memory(
    cls: type[Op], fields: Mapping[str, Any], location: Location
) -> None:
    """Numbers take their type from registers; a memory beside one is not read yet.

    Raises:
        UserError: WV0202.
    """
    given = _given_operands(cls, fields)
    for value in given if any(map(is_number, given)) else ():
        found = getattr(getattr(value, "op", None), "type", None)
        if isinstance(found, MemoryType):
            raise user_error(
                "WV0202",
                f"`{cls.op_name}` computes with registers and got a memory",
                at=location,
                label=f"one of the operands is {found}",
                help="read it first: `tkw.read(memory)`",
            )


def _role(cls: type[Op], field: Field) -> str:
    return f"`{field.name}` of `{cls.op_name}`"


def _common_dtype(cls: type[Op], fields: Mapping[str, Any]) -> DType | None:
    """The element type that numbers among the operands adopt."""
    for value in _given_operands(cls, fields):
        found = getattr(getattr(value, "op", None), "type", None)
        # The condition of a select says nothing about its values.
        condition = fields.get("condition") is value
        if isinstance(found, RegisterType) and not condition:
            return found.dtype
    return None


def _given_operands(cls: type[Op], fields: Mapping[str, Any]) -> list[Any]:
    values: list[Any] = []
    for field in cls.operand_fields:
        given = fields.get(field.name)
        if field.kind is FieldKind.VARIADIC:
            values += given or ()
        else:
            values.append(given)
    return values


def as_op(
    tracer: Tracer,
    value: Any,
    dtype: DType | None,
    role: str,
    location: Location,
) -> Op:
    """An op of the current region for a value, a number or an expression.

    Raises:
        UserError: WV0105 for anything else, or a number without an element type.
    """
    op = getattr(value, "op", None)
    if isinstance(op, Op):
        return tracer.use(op, location)
    value = python_number(value)
    if dtype is None or not is_number(value):
        raise not_a_value(value, role, location)
    if tracer.differs_by_thread(value):
        return thread_number(tracer, value, dtype, location)
    return tracer.emit(Scalar(as_number(tracer, value, location), dtype), location)


def names_thread(value: object) -> bool:
    """Whether an expression has the number of a thread, `THREAD_0` and so on."""
    if isinstance(value, Expr):
        return any(str(each) in _THREADS for each in value.free_symbols)
    if not hasattr(type(value), "free_symbols"):
        return False
    # Sympy asks each part as often as it is used; shared ones are looked at once here.
    left: list[Any] = [value]
    seen: set[int] = set()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if part.is_Symbol and part.name in _THREADS:
            return True
        left += part.args
    return False


def thread_number(
    tracer: Tracer, value: Any, dtype: DType | None, location: Location
) -> Op:
    """An expression of numbers of threads: a register, of truth values for a relation.

    Raises:
        UserError: WV0150, WV0155 where there are no threads, WV0308.
    """
    expr = tracer.expression(value, location)
    axes = [i for i, name in enumerate(_THREADS) if name in map(str, expr.free_symbols)]
    tracer.require_threads(f"THREAD_{axes[0]}", location)
    dims, i32 = tracer.threads_of(f"THREAD_{axes[0]}", location), DTYPES["i32"]
    numbers = tuple(
        tracer.emit(
            SelfIndex(threads_symbol(axis), i32, 1)
            if threads_symbol(axis) in dims
            else Scalar(0, i32),
            location,
        )
        for axis in axes
    )
    own = {thread_symbol(axis): argument_symbol(i) for i, axis in enumerate(axes)}
    op = tracer.emit(ApplyExpr(numbers, expr.subs(own)), location)
    if dtype is None or op.register_type.dtype == dtype:
        return op
    return tracer.emit(Cast(op, dtype), location)


_THREADS = tuple(str(thread_symbol(axis)) for axis in range(MAX_AXES))
"""The symbols of numbers of threads."""


def as_number(tracer: Tracer, value: Any, location: Location) -> float | Expr:
    """A number of Python or an expression; sympy's fractions and reals are floats.

    Raises:
        UserError: WV0308 for what is neither.
    """
    if isinstance(value, (bool, int, float)):
        return value
    return float(value) if _is_fraction(value) else tracer.number(value, location)


def _is_fraction(value: Any) -> bool:
    """Whether sympy knows a real number that is not whole."""
    if isinstance(value, Expr) or not is_number(value):
        return False
    try:
        return bool(value.is_number and value.is_real and not value.is_integer)
    except RecursionError:
        return False  # the reader of expressions says what is too deep


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The items of a list or tuple; anything else is a tuple of one."""
    if isinstance(value, (list, tuple)):
        return tuple(cast("list[Any]", value))
    return (value,)


def python_number(value: Any) -> Any:
    """A number of numpy or torch as Python's; anything else as it is."""
    own = hasattr(value, "item") and getattr(value, "shape", None) == ()
    return value.item() if own else value


def is_number(value: object) -> bool:
    """Whether ``value`` is a Python number or an expression of symbols."""
    if isinstance(value, (bool, int, float, Expr)):
        return True
    # sympy's own protocol, so that sympy need not be loaded to ask; of the type, as
    # a value of many levels would be walked to the end.
    return all(hasattr(type(value), name) for name in ("free_symbols", "is_number"))


def not_a_value(value: object, role: str, location: Location) -> Exception:
    """The error where a register or memory is needed."""
    return user_error(
        "WV0105",
        f"{role} needs a value of the kernel and got `{value!r}`",
        at=location,
        label=f"`{type(value).__name__}` is no register or memory",
        help=_hint_for(value),
    )


def _hint_for(value: object) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return ("take one of several results with `[i]`, or unpack them",)
    if value is None:
        return ("a loop without initial values has no result", "did a call give None?")
    if is_number(value):
        return ("write `scalar(value, dtype)` or `Register[dims, dtype](value)`",)
    return ("pass a register, a kernel argument, or a Python number",)
