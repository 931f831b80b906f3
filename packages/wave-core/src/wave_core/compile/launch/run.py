"""Runs a compiled kernel on checked arguments."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from wave_core.analysis.loops import trips
from wave_core.compile.frozen import FrozenMap
from wave_core.compile.launch.accepted import Accepted
from wave_core.compile.launch.logs import LaunchLogs
from wave_core.compile.launch.prepare import launch_grid, prepare
from wave_core.compile.launch.tensors import CODES
from wave_core.diagnostics import (
    Severity,
    SimulationError,
    capture_location,
    launch_error,
)
from wave_core.executors import LaunchRequest, RepeatsLaunches
from wave_core.ops.control import Iterate
from wave_core.symbols import symbol
from wave_runtime.errors import LaunchRefused, Misfit, RuntimeFailure
from wave_runtime.kernel import stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Compiled
    from wave_core.compile.launch.prepare import Prepared
    from wave_core.diagnostics import Diagnostic, Location
    from wave_core.executors import Snapshot
    from wave_core.ir.graph import Region
    from wave_core.symbols import Expr
    from wave_runtime.kernel import Repeat


@dataclass(frozen=True)
class LaunchRecord:
    """The record of one launch.

    Attributes:
        device: What ran it.
        grid: Workgroups on each axis.
        sizes: Values of the symbols that the launch bound.
        run_s: Seconds from checked arguments to results.
        reports: What the device found.
        result: The device's own report; ``None`` for an empty grid.
        logs: What `debug_log` kept, by label.
        snapshots: What breakpoints showed.
    """

    device: str
    grid: tuple[int, ...]
    sizes: Mapping[str, int]
    run_s: float = 0.0
    reports: tuple[Diagnostic, ...] = ()
    result: object = None
    logs: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, "Mapping[str, Any]"]
    )
    snapshots: tuple[Snapshot, ...] = ()

    @cached_property
    def counters(self) -> Mapping[str, Any]:
        """Counts of the device, as JSON values; some devices work it out now."""
        counters = getattr(self.result, "counters", None)
        to_json = getattr(counters, "to_json", None)
        counted = to_json() if callable(to_json) else counters
        return FrozenMap[str, Any](dict(counted or {}))  # pyright: ignore[reportArgumentType, reportCallIssue] - a mapping


def launch(
    compiled: Compiled,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    into: dict[str, Any] | None = None,
) -> LaunchRecord:
    """Check arguments, given in order and by name, and run the kernel on them.

    Logs go to ``into``, and to their printers and handlers, before a defect that a
    simulator found is raised.

    Raises:
        LaunchError: WV07xx.
        SimulationError: WV09xx.
    """
    arguments = compiled.accepted.in_order(given, named)
    stream = stream_of(arguments or ())
    seen = None if arguments is None else compiled.accepted.see(arguments, stream)
    accepted = None if seen is None else compiled.accepted.find(seen)
    if accepted is None or arguments is None:
        prepared = _checked(compiled, given, named)
        arguments, accepted = prepared.arguments, Accepted.of(prepared)
        if seen is not None:
            compiled.accepted.remember(seen, accepted)
    name, grid, sizes = compiled.device.name, accepted.grid, accepted.sizes
    logs = LaunchLogs.of(compiled.shape, sizes, arguments, compiled.executor)
    if accepted.is_empty:
        return LaunchRecord(name, grid, sizes, logs=_show(logs, into))
    request = LaunchRequest(
        graph=compiled.lowered,
        target=compiled.target,
        arguments=(*arguments, *logs.arguments),
        sizes={**sizes, **logs.sizes} if logs.rows else sizes,
        settings=compiled.launch_settings,
        ordinal=accepted.ordinal,
        stream=stream,
        seen=None if logs.rows else seen,
    )
    started = time.perf_counter()
    try:
        result = compiled.executor.launch(request)
    except RuntimeFailure as failure:
        raise dressed(failure, compiled, capture_location()) from failure
    run_s = time.perf_counter() - started
    shown = _show(logs, into)
    reports = tuple(getattr(result, "reports", ()))
    errors = [row for row in reports if row.severity is Severity.ERROR]
    if errors:
        raise SimulationError(errors)
    own = getattr(result, "snapshots", None)
    stops = logs.snapshots(compiled.shape.bindings, prod(grid)) if own is None else own
    return LaunchRecord(name, grid, sizes, run_s, reports, result, shown, stops)


def repeat_of(compiled: Compiled, arguments: tuple[Any, ...]) -> Repeat | None:
    """How to launch again with arguments that differ in their addresses alone.

    Numbers stay as they are. Whether torch records what is computed is not looked at
    again, addresses are.

    Returns:
        Nothing for kernels with logs, and where the device cannot.

    Raises:
        LaunchError: WV07xx where the arguments do not fit.
    """
    executor = compiled.executor
    if compiled.shape.logs or not isinstance(executor, RepeatsLaunches):
        return None
    prepared = _checked(compiled, arguments, {})
    accepted = Accepted.of(prepared)
    request = LaunchRequest(
        graph=compiled.lowered,
        target=compiled.target,
        arguments=prepared.arguments,
        sizes=accepted.sizes,
        settings=compiled.launch_settings,
        ordinal=accepted.ordinal,
    )
    try:
        return None if accepted.is_empty else executor.repeat(request)
    except RuntimeFailure as failure:
        raise dressed(failure, compiled, capture_location()) from failure


def _show(
    logs: LaunchLogs, into: dict[str, Any] | None
) -> Mapping[str, Mapping[str, Any]]:
    """Give the logs of a launch to all who want them."""
    found = logs.finish()
    if into is not None:
        into.update(found)
    logs.show(found)
    return found


def _checked(
    compiled: Compiled, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Prepared:
    """The arguments of a launch unlike those before.

    Raises:
        LaunchError: WV07xx.
    """
    call = capture_location()
    prepared = prepare(compiled.shape, given, named, call)
    if compiled.device.reason and not prepared.is_empty:
        _check_automatic(compiled, prepared, call)
    return prepared


def dressed(
    failure: RuntimeFailure, compiled: Compiled, call: Location | None
) -> Exception:
    """A refusal of the runtime, or a report of a driver, as a diagnostic."""
    signature, name = compiled.shape.signature, compiled.device.name
    why = failure.why if isinstance(failure, LaunchRefused) else Misfit.DEVICE
    return launch_error(
        CODES[why],
        f"device `{name}` cannot run `{signature.kernel}`: {failure}",
        at=signature.location,
        label="this kernel",
        secondary=[(call, "launched here")],
        help=(
            "device='sim' runs it on the CPU",
            "`wave compile` needs no GPU",
        )
        if why is Misfit.DEVICE
        else (),
    )


def cost_of(compiled: Compiled, sizes: Mapping[str, int]) -> int:
    """Lane-steps of a simulation with these values of dynamic symbols.

    Ops that all lanes execute together: about the work that it takes.
    """
    known = {symbol(name): value for name, value in sizes.items()}
    groups = prod(launch_grid(compiled.shape, known))
    threads = compiled.geometry.waves_per_workgroup * compiled.geometry.lanes
    values = {**compiled.shape.bindings, **known}
    return groups * threads * _ops_of(compiled.lowered.body, values)


def _ops_of(region: Region, sizes: Mapping[Expr, int]) -> int:
    """Ops that a lane executes; loops count as often as they run."""
    count = 0
    for op in region.ops:
        count += 1
        repeat = trips(op, sizes) if isinstance(op, Iterate) else 1
        count += repeat * sum(_ops_of(nested, sizes) for nested in op.regions)
    return count


def _check_automatic(
    compiled: Compiled, prepared: Prepared, call: Location | None
) -> None:
    """Say what runs the kernel, and refuse a simulation that would take too long.

    Raises:
        LaunchError: WV0720.
    """
    name, reason = compiled.device.name, compiled.device.reason
    is_gpu = compiled.device.spec.architectures is not None
    what = "device" if is_gpu else "simulator"
    compiled.session.announce(
        f"auto-device {name} {reason}",
        f"{reason}; kernels run on the {what} `{name}` "
        f"(say device={name!r} to choose it)",
    )
    limit = None if is_gpu else compiled.options.cost_limit
    cost = 0 if limit is None else cost_of(compiled, prepared.sizes)
    if limit is None or cost <= limit:
        return
    signature = compiled.shape.signature
    raise launch_error(
        "WV0720",
        f"simulating `{signature.kernel}` takes about {cost:.2g} lane-steps, more than "
        f"the {limit:.2g} that device `auto` may spend",
        at=signature.location,
        label=f"grid {' x '.join(map(str, prepared.grid))}",
        secondary=[(call, "launched here")],
        help=(
            f"choose the simulator: WaveCompileOptions(device={name!r})",
            "or raise the limit: WaveCompileOptions(cost_limit=None)",
            "or launch a smaller problem",
        ),
        cost=cost,
        limit=limit,
    )
