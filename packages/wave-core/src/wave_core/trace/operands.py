"""From what kernel code passes to the operands and attributes of an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from wave_core.diagnostics import user_error
from wave_core.ops.base import Field, FieldKind, Op
from wave_core.ops.constant import Scalar
from wave_core.symbols import Expr
from wave_core.types import MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import Location
    from wave_core.trace.tracer import Tracer
    from wave_core.types import DType


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
        if isinstance(found, RegisterType) and not _is_condition(fields, value):
            return found.dtype
    return None


def _is_condition(fields: Mapping[str, Any], value: object) -> bool:
    return fields.get("condition") is value


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
    if dtype is None or not is_number(value):
        raise not_a_value(value, role, location)
    if not isinstance(value, (bool, int, float)):
        value = tracer.expression(value, location)
    return tracer.emit(Scalar(value, dtype), location)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The items of a list or tuple; anything else is a tuple of one."""
    if isinstance(value, (list, tuple)):
        return tuple(cast("list[Any]", value))
    return (value,)


def is_number(value: object) -> bool:
    """Whether ``value`` is a Python number or an expression of symbols."""
    if isinstance(value, (bool, int, float, Expr)):
        return True
    # sympy's own protocol, so that sympy need not be loaded to ask.
    return hasattr(value, "free_symbols") and hasattr(value, "is_number")


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
        return ("a loop with several results is unpacked or taken with `[i]`",)
    if value is None:
        return ("a loop without initial values has no result", "did a call give None?")
    if is_number(value):
        return ("write `scalar(value, dtype)` or `Register[dims, dtype](value)`",)
    return ("pass a register, a kernel argument, or a Python number",)
