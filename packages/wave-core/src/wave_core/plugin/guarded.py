"""Rules of plugins for ops, called so that what they do wrong is their author's error.

A rule may fail when it is called, when what it yields is asked for, and, in a
simulator, when the step that it returns runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial, wraps
from math import prod
from typing import TYPE_CHECKING, Any, cast

from wave_core.backends.lowering import ChecksRules
from wave_core.diagnostics import blamed_on_plugin
from wave_core.ops.base import Op
from wave_core.passes.tile_rules import DEMAND, SUPPLY

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from wave_core.backends.lowering import AnyLowering
    from wave_core.plugin.discover import PluginInfo
    from wave_core.plugin.tiles import Placement, Solver


def guarded(rule: AnyLowering, provider: PluginInfo) -> AnyLowering:
    """The rule, which reports what goes wrong in it as the error of ``provider``.

    Calling it, or asking whether it fits an op, raises PluginError, WV0819 at the op,
    where the function raises anything uncoded or gives what its role does not allow.
    """

    def blamed(op: Op) -> AbstractContextManager[None]:
        return _blamed(rule, op, provider)

    @wraps(rule.function)
    def call(*args: Any) -> object:
        op = next(each for each in args if isinstance(each, Op))

        def run(work: Callable[..., object], *args: object) -> object:
            with blamed(op):
                return _checked(rule.role, op, work(*args), args)

        found = run(rule.function, *args)
        return partial(run, found) if callable(found) else found

    def fits(op: Op) -> bool:
        with blamed(op):
            return rule.fits(op)

    return replace(rule, function=call, when=fits, blamed=blamed)


def _blamed(
    rule: AnyLowering, op: Op, provider: PluginInfo
) -> AbstractContextManager[None]:
    """Whose fault it is when a rule fails for an op."""
    return blamed_on_plugin(
        f"the {rule.role} of `{op.op_name}` by plugin {provider}",
        at=op.location,
        notes=f"in `{rule.name}`",
        help=provider.way_out,
    )


def _checked(role: str, op: Op, found: object, args: tuple[object, ...]) -> object:
    """The result of a rule, if its role allows it; what it yields, yielded."""
    if isinstance(found, Generator):
        found = tuple(cast("Generator[object]", found))
    if role == SUPPLY and found is not None:
        _check_placement(op, found, cast("Solver", args[1]))
    if role == DEMAND:
        for each in cast("tuple[tuple[int, object], ...]", found or ()):
            position, placement = each
            _check_placement(op.operands[position], placement, cast("Solver", args[1]))
    for each in args:
        if isinstance(each, ChecksRules) and (fault := each.fault_of(op, found)):
            raise TypeError(fault)
    return found


def _check_placement(value: Op, found: object, solver: Solver) -> None:
    """See that every element of a wave's tile is held by some lane.

    Raises:
        TypeError: For something else than a placement of the value's dimensions.
        ValueError: For a placement with gaps, which would lose elements.
    """
    from wave_core.plugin.tiles import (  # noqa: PLC0415 - loads the builtin passes
        Placement,
        static_tile,
    )

    dims = value.type.dims if value.type is not None else ()
    if not isinstance(found, Placement):
        raise TypeError(f"{found!r} is no Placement")
    if strange := set(found.layout.dims) - set(dims):
        raise TypeError(f"the layout has digits for {', '.join(sorted(strange))}")
    tile = static_tile(value, dims, solver.geometry)
    held, wanted = _held(found, tile), prod(tile.values())
    if held != wanted:
        raise ValueError(f"{found} holds {held} of the {wanted} elements of a tile")


def _held(placement: Placement, tile: dict[str, int]) -> int:
    """Elements of the tile that some lane has in some register."""
    import numpy as np  # noqa: PLC0415 - loaded when a kernel is compiled

    from wave_core.builtin.distribute.placements import (  # noqa: PLC0415 - as above
        flatten,
    )

    layout = flatten(placement)
    number = np.zeros((layout.lanes, layout.registers), dtype=np.int64)
    inside = np.ones(number.shape, dtype=bool)
    for dim in layout.dims:
        offsets = layout.offsets(dim)
        inside &= offsets < tile[dim]
        number = number * tile[dim] + offsets
    return len(np.unique(number[inside]))
