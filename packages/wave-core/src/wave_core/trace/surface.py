"""The functions that kernel code calls, derived from the declarations of ops."""

from __future__ import annotations

from inspect import Parameter, Signature, cleandoc
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import capture_location
from wave_core.ops.base import REQUIRED, FieldKind, bind_fields
from wave_core.trace.value import emit_op
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wave_core.ops.base import Op


def surface(cls: type[Op], name: str = "") -> Callable[..., Any]:
    """The function that emits ``cls``: fields by position or keyword, and ``tag``.

    Name, signature and documentation come from the declaration.
    """

    def function(
        *args: Any, tag: str | Iterable[str] | None = None, **kwargs: Any
    ) -> Any:
        location = capture_location()
        fields = bind_fields(cls, args, kwargs, location)
        value = emit_op(cls, fields, tag=tag, location=location)
        return None if value.op.type is None else value

    function.__name__ = function.__qualname__ = name or cls.op_name
    function.__doc__ = document(cls)
    function.__signature__ = signature(cls)
    return function


def signature(cls: type[Op]) -> Signature:
    """The parameters of the surface function of ``cls``."""
    parameters = [
        Parameter(
            field.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if field.default is REQUIRED else field.default,
        )
        for field in cls.fields
        if field.kind is not FieldKind.REGION
    ]
    tag = Parameter("tag", Parameter.KEYWORD_ONLY, default=None)
    return Signature([*parameters, tag])


def document(cls: type[Op]) -> str:
    """The declaration's documentation with its fields."""
    rows = [f"    {field.name}: {field.help}" for field in cls.fields if field.help]
    fields = ("\n\nArgs:\n" + "\n".join(rows)) if rows else ""
    return cleandoc(cls.__doc__ or "") + fields


def value_type(value: Any) -> RegisterType | None:
    """The type of a traced register, ``None`` for anything else."""
    found = getattr(getattr(value, "op", None), "type", None)
    return found if isinstance(found, RegisterType) else None
