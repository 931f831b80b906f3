"""Ops of other packages: what goes wrong in their classes is their authors' error."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import blamed_on_plugin
from wave_core.ops.traits import Trait
from wave_core.types import MemoryType, RegisterType

if TYPE_CHECKING:
    from collections.abc import Callable

    from wave_core.ops.base import Op

_CORE = "wave_core"


def guard_rules(cls: type[Op], base: type[Op]) -> None:
    """Let the rules of an op class of another package report as it does.

    They raise PluginError, WV0819 at the op, where they raise anything uncoded or
    give what cannot be. Rules that ``base`` has for all ops stay.
    """
    package = cls.__module__.partition(".")[0]
    if package == _CORE:
        return
    for name, (role, check) in _RULES.items():
        rule: object = getattr(cls, name, None)
        if isinstance(rule, FunctionType) and rule is not getattr(base, name, None):
            what = f"the {role} of `{cls.op_name}` by package `{package}`"
            setattr(cls, name, _guarded(rule, what, check))


def _guarded(
    rule: FunctionType, what: str, check: Callable[[Op, Any, tuple[Any, ...]], None]
) -> Callable[..., object]:
    """The rule, with what it gives checked."""
    where = f"in `{rule.__module__}.{rule.__qualname__}`"

    @wraps(rule)
    def call(op: Op, *args: Any) -> object:
        with blamed_on_plugin(what, at=op.location, notes=where):
            found = rule(op, *args)
            check(op, found, args)
            return found

    return call


def _check_type(op: Op, found: object, _args: tuple[Any, ...]) -> None:
    """See that a type rule gives a type, or nothing."""
    del op
    if not isinstance(found, (RegisterType, MemoryType, type(None))):
        raise TypeError(f"{found!r} is no type")


def _check_array(op: Op, found: Any, args: tuple[Any, ...]) -> None:
    """See that the meaning of an op gives numbers, of the shape that its type says.

    ``args`` are operands, of elementwise ops perhaps after numpy itself.
    """
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when simulating

    array = np.asarray(found)
    if array.dtype == object:
        raise TypeError(f"it gives {found!r}, no array")
    if op.has(Trait.ELEMENTWISE):
        operands = [np.shape(each) for each in args if each is not np]
        wanted = np.broadcast_shapes(*operands)
        if array.shape != wanted:
            raise ValueError(f"it gives the shape {array.shape}, not {wanted}")
    elif isinstance(op.type, RegisterType):
        rank = len(op.type.shape)
        if array.ndim not in (rank, rank + 1):
            raise ValueError(f"it gives {array.ndim} axes, for {rank} dims")


def _check_effects(op: Op, found: object, _args: tuple[Any, ...]) -> None:
    """See that effects are listed."""
    del op
    if not isinstance(found, tuple):
        raise TypeError(f"{found!r} is no tuple of effects")


_RULES = {
    "infer": ("type rule", _check_type),
    "effects": ("rule for effects", _check_effects),
    "evaluate": ("meaning", _check_array),
    "compute": ("meaning", _check_array),
}
"""By name of the method: what it is for, and what it may give."""
