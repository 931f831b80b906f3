"""From the arguments of a call to what an executor runs on, or one error with all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from wave_core.compile.frozen import FrozenMap
from wave_core.compile.launch.overlap import overlap
from wave_core.compile.launch.report import LaunchReport
from wave_core.compile.launch.scalars import check_scalar
from wave_core.compile.launch.sizes import find_sizes
from wave_core.compile.launch.tensors import check_tensor
from wave_core.constraints import Assumption, DieOrder, ReorderingConstraint
from wave_core.constraints.check import check_sizes
from wave_core.constraints.order import MOST_WORKGROUPS
from wave_core.constraints.reordering import permutes_grid
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.compile.launch.signature import LaunchShape
    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.executors.request import Scalar
    from wave_core.symbols import Expr
    from wave_runtime.arrays import ArrayView


@dataclass(frozen=True)
class Prepared:
    """Checked arguments.

    Attributes:
        arguments: One for each parameter: the user's array, or a number.
        buffers: The memory of each array.
        sizes: The symbols that the launch binds, by name.
        grid: Workgroups on each axis.
    """

    arguments: tuple[Any, ...]
    buffers: tuple[ArrayView, ...]
    sizes: Mapping[str, int]
    grid: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the grid has no workgroup."""
        return not all(self.grid)


def prepare(
    shape: LaunchShape,
    given: Sequence[Any],
    named: Mapping[str, Any] | None = None,
    call: Location | None = None,
) -> Prepared:
    """Check the arguments of a launch. Nothing is written.

    Raises:
        LaunchError: WV07xx, all mistakes of one stage together.
    """
    signature = shape.signature
    report = LaunchReport(signature, call)
    given = _in_order(report, given, named or {})
    report.raise_if_errors()
    buffers, scalars = _look(report, given, shape)
    symbols = {
        row.symbol: int(scalars[row.name])
        for row in signature.parameters
        if row.name in scalars and row.dtype.is_integer
    }
    sizes = find_sizes(report, buffers, symbols)
    report.raise_if_errors()
    _check_one_device(report, buffers)
    _check_aliasing(report, buffers)
    _check_sizes(report, shape, sizes)
    report.raise_if_errors()
    grid = _grid(report, shape, sizes)
    report.raise_if_errors()
    _check_reordering(report, shape, sizes, grid)
    report.raise_if_errors()
    arguments = tuple(
        scalars.get(row.name, value)
        for row, value in zip(signature.parameters, given, strict=True)
    )
    named = {str(key): value for key, value in sizes.items()}
    return Prepared(arguments, tuple(buffers.values()), FrozenMap(named), grid)


def _in_order(
    report: LaunchReport, given: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """The arguments in the order of the parameters."""
    names = [row.name for row in report.signature.parameters]
    placed = dict(zip(names, given, strict=False))
    for name in named:
        if name in placed:
            _report_call(report, f"got argument `{name}` twice", "once by position")
        elif name not in names:
            help_text = did_you_mean(name, names)
            _report_call(report, f"has no parameter `{name}`", *help_text)
    missing = [name for name in names if name not in {*placed, *named}]
    if missing or len(given) > len(names):
        count = len(given) + len(named)
        what = f"takes {len(names)} arguments, {count} were given"
        notes = [f"missing: {', '.join(missing)}"] if missing else []
        _report_call(report, what, *notes)
    placed |= named
    return [placed.get(name) for name in names]


def _report_call(report: LaunchReport, what: str, *notes: str) -> None:
    signature = report.signature
    report.kernel(
        "WV0703",
        f"`{signature.kernel}` {what}",
        signature.location,
        "this kernel",
        f"call {signature}, in order or by name; outputs are allocated by the caller",
        notes,
    )


def _look(
    report: LaunchReport, given: Sequence[Any], shape: LaunchShape
) -> tuple[dict[str, ArrayView], dict[str, Scalar]]:
    buffers: dict[str, ArrayView] = {}
    scalars: dict[str, Scalar] = {}
    for parameter, value in zip(report.signature.parameters, given, strict=True):
        if parameter.is_tensor:
            buffer = check_tensor(report, parameter, value, shape)
            if buffer is not None:
                buffers[parameter.name] = buffer
        else:
            scalar = check_scalar(report, parameter, value)
            if scalar is not None:
                scalars[parameter.name] = scalar
    return buffers, scalars


def _check_one_device(report: LaunchReport, buffers: Mapping[str, ArrayView]) -> None:
    """One GPU reads all arguments."""
    on_gpu = [
        row
        for row in report.signature.tensors
        if row.name in buffers and buffers[row.name].ordinal is not None
    ]
    for row in on_gpu[1:]:
        here, first = buffers[row.name].place, buffers[on_gpu[0].name].place
        if here != first:
            report.argument(
                "WV0708",
                row,
                f"on device `{here}`, and `{on_gpu[0].name}` is on `{first}`",
                f"copy it there: `argument.to({first!r})`",
                ["a launch runs on one device"],
                on_gpu[0],
            )


def _check_aliasing(report: LaunchReport, buffers: Mapping[str, ArrayView]) -> None:
    """An output shares memory with no other argument."""
    for one, other in combinations(report.signature.tensors, 2):
        if not (one.is_output or other.is_output):
            continue
        if overlap(buffers[one.name], buffers[other.name]):
            output, rest = (one, other) if one.is_output else (other, one)
            report.argument(
                "WV0712",
                output,
                f"written by the kernel and shares memory with `{rest.name}`",
                "allocate the output by itself",
                ["workgroups run in any order, so one may read what another wrote"],
                rest,
            )


def _check_sizes(
    report: LaunchReport, shape: LaunchShape, sizes: Mapping[Expr, int]
) -> None:
    """Every symbol has a value, and what the compiler assumed holds."""
    for symbol in shape.dynamic:
        if symbol not in sizes:
            report.kernel(
                "WV0717",
                f"nothing gives `{symbol}` a value",
                report.signature.location,
                "this kernel uses it",
                f"bind `{symbol}` in WaveCompileOptions(subs={{...}})",
            )
    known = {**shape.bindings, **sizes}
    for constraint in shape.constraints:
        own = [constraint.expr] if isinstance(constraint, Assumption) else []
        for condition in (*own, *constraint.obligations):
            _check_condition(report, constraint, condition, known)


def _check_condition(
    report: LaunchReport,
    constraint: Constraint,
    condition: Expr,
    known: Mapping[Expr, int],
) -> None:
    value = condition.subs(known)
    if not value.is_constant or value.constant_value:
        return
    symbols = sorted(condition.free_symbols & known.keys(), key=str)
    report.kernel(
        "WV0718",
        f"`{condition}` does not hold for this launch",
        constraint.location,
        "the kernel was compiled for sizes where it does",
        "launch with sizes that satisfy it, or compile without it",
        [f"{symbol} = {known[symbol]}" for symbol in symbols],
    )


def _grid(
    report: LaunchReport, shape: LaunchShape, sizes: Mapping[Expr, int]
) -> tuple[int, ...]:
    found: list[int] = []
    values = {**shape.bindings, **sizes}
    check_sizes(shape.constraints, lambda size: size.subs(values))
    for axis, count in enumerate(shape.grid):
        value = count.subs(values)
        if value.is_constant:
            found.append(max(0, value.constant_value))
            continue
        names = ", ".join(sorted(f"`{symbol}`" for symbol in value.free_symbols))
        report.kernel(
            "WV0717",
            f"the number of workgroups on axis {axis}, `{value}`, is not known",
            report.signature.location,
            "this kernel",
            f"bind {names} in WaveCompileOptions(subs={{...}})",
        )
    return tuple(found)


def _check_reordering(
    report: LaunchReport,
    shape: LaunchShape,
    sizes: Mapping[Expr, int],
    grid: tuple[int, ...],
) -> None:
    """Reordered workgroups work on every tile once."""
    for order in (row for row in shape.constraints if isinstance(row, DieOrder)):
        if prod(grid) > MOST_WORKGROUPS:
            _too_many(report, order, grid)
    rows = [c for c in shape.constraints if isinstance(c, ReorderingConstraint)]
    values = {**shape.bindings, **sizes}
    if not rows or permutes_grid(rows, grid, values):
        return
    report.kernel(
        "WV0324",
        f"the reordering does not permute the grid {' x '.join(map(str, grid))}",
        rows[0].location,
        "maps two workgroups to one tile, or one outside",
        "map the workgroup coordinates one to one onto the grid",
    )


def _too_many(report: LaunchReport, order: DieOrder, grid: tuple[int, ...]) -> None:
    report.kernel(
        "WV0324",
        f"the grid {' x '.join(map(str, grid))} has more than {MOST_WORKGROUPS} "
        "workgroups",
        order.location,
        "counts no more",
        "use larger tiles, or leave DieOrder out",
    )


def launch_grid(shape: LaunchShape, sizes: Mapping[Expr, int]) -> tuple[int, ...]:
    """Workgroups on each axis for given sizes.

    Raises:
        LaunchError: WV0717 where a symbol has no value.
    """
    report = LaunchReport(shape.signature)
    grid = _grid(report, shape, sizes)
    report.raise_if_errors()
    return grid
