"""Runs a compiled kernel on checked arguments."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.compile import codes
from wave_core.compile.cost import lane_steps
from wave_core.compile.frozen import FrozenMap
from wave_core.compile.launch.accepted import Accepted
from wave_core.compile.launch.prepare import launch_grid, prepare
from wave_core.diagnostics import (
    Severity,
    SimulationError,
    capture_location,
    launch_error,
)
from wave_core.executors import LaunchRequest
from wave_core.symbols import symbol
from wave_runtime.errors import LaunchRefused, Misfit, RuntimeFailure
from wave_runtime.kernel import stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Compiled
    from wave_core.compile.launch.prepare import Prepared
    from wave_core.diagnostics import Diagnostic, Location


@dataclass(frozen=True)
class LaunchRecord:
    """The record of one launch.

    Attributes:
        device: What ran it.
        grid: Workgroups on each axis.
        sizes: Values of the symbols that the launch bound.
        run_s: Seconds from checked arguments to results.
        counters: What the device counted, as JSON values.
        reports: What the device found.
        result: The device's own report; ``None`` for an empty grid.
    """

    device: str
    grid: tuple[int, ...]
    sizes: Mapping[str, int]
    run_s: float = 0.0
    counters: Mapping[str, Any] = FrozenMap[str, Any]()
    reports: tuple[Diagnostic, ...] = ()
    result: object = None


def launch(
    compiled: Compiled, given: tuple[Any, ...], named: Mapping[str, Any]
) -> LaunchRecord:
    """Check arguments, given in order and by name, and run the kernel on them.

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
        # Whether gradients are tracked is no property of an argument.
        if seen is not None and not any(v.requires_grad for v in prepared.buffers):
            compiled.accepted.remember(seen, accepted)
    if accepted.is_empty:
        return LaunchRecord(compiled.device.name, accepted.grid, accepted.sizes)
    request = LaunchRequest(
        graph=compiled.lowered,
        target=compiled.target,
        arguments=arguments,
        sizes=accepted.sizes,
        settings=compiled.launch_settings,
        ordinal=accepted.ordinal,
        stream=stream,
        seen=seen,
    )
    started = time.perf_counter()
    try:
        result = compiled.executor.launch(request)
    except RuntimeFailure as failure:
        raise dressed(failure, compiled, capture_location()) from failure
    record = _record(compiled, accepted, result, time.perf_counter() - started)
    errors = [row for row in record.reports if row.severity is Severity.ERROR]
    if errors:
        raise SimulationError(errors)
    return record


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


_CODES = {
    Misfit.ALIGNMENT: codes.ALIGNMENT,
    Misfit.DTYPE: codes.DTYPE,
    Misfit.EXTENT: codes.EXTENT,
    Misfit.KIND: codes.ARGUMENT_KIND,
    Misfit.LAYOUT: codes.LAYOUT,
    Misfit.OVERLAP: codes.OVERLAP,
}
"""Refusals of devices that fit the kernel's types; all else is the device."""


def dressed(
    failure: RuntimeFailure, compiled: Compiled, call: Location | None
) -> Exception:
    """A refusal of the runtime, or a report of a driver, as a diagnostic."""
    signature, name = compiled.shape.signature, compiled.device.name
    why = failure.why if isinstance(failure, LaunchRefused) else Misfit.DEVICE
    return launch_error(
        _CODES.get(why, codes.DEVICE),
        f"device `{name}` cannot run `{signature.kernel}`: {failure}",
        at=signature.location,
        label="this kernel",
        secondary=[(call, "launched here")],
        help=(
            "device='sim' runs it on the CPU",
            "`wave compile --emit hsaco` needs no GPU",
        )
        if why is Misfit.DEVICE
        else (),
    )


def _record(
    compiled: Compiled, accepted: Accepted, result: Any, run_s: float
) -> LaunchRecord:
    name, grid, sizes = compiled.device.name, accepted.grid, accepted.sizes
    if result is None:
        return LaunchRecord(name, grid, sizes, run_s)
    counters = getattr(result, "counters", None)
    to_json = getattr(counters, "to_json", None)
    counted = to_json() if callable(to_json) else counters
    return LaunchRecord(
        name,
        grid,
        sizes,
        run_s,
        FrozenMap[str, Any](dict(counted or {})),  # pyright: ignore[reportArgumentType, reportCallIssue] - a mapping
        tuple(getattr(result, "reports", ())),
        result,
    )


def cost_of(compiled: Compiled, sizes: Mapping[str, int]) -> int:
    """Lane-steps of a simulation with these values of dynamic symbols."""
    known = {symbol(name): value for name, value in sizes.items()}
    grid = launch_grid(compiled.shape, known)
    geometry = compiled.geometry
    threads = geometry.waves_per_workgroup * geometry.lanes
    return lane_steps(
        compiled.lowered, grid, threads, {**compiled.shape.bindings, **known}
    )


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
        codes.COST,
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
