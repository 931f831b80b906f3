"""`wave_compile`: from a kernel and options to something that can be called."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from wave_core.compile import codes
from wave_core.compile.bindings import resolve_bindings
from wave_core.compile.compiled import Compiled, Timings, Traced
from wave_core.compile.devices import find_device
from wave_core.compile.fingerprint import fingerprint
from wave_core.compile.inputs import input_files, wants_report
from wave_core.compile.kernel import WaveKernel
from wave_core.compile.kernels import is_kernel
from wave_core.compile.launch.signature import ON_CPU, LaunchShape, Signature
from wave_core.compile.option_values import at_options
from wave_core.compile.options import WaveCompileOptions
from wave_core.compile.pipeline import plan_for
from wave_core.compile.printing import printer, timing_table, to_stderr
from wave_core.compile.read_log import recall
from wave_core.compile.scheduling import check_schedule, schedule_of, with_schedule
from wave_core.compile.session import Session, default_session
from wave_core.compile.symbol_check import alias_bindings, check_symbols
from wave_core.compile.targets_with import NO_INSTRUCTION, with_targets
from wave_core.constraints import Kernel
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import UserError, capture_location, user_error
from wave_core.passes.observe import Verify
from wave_core.plugin.constraints import settled

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import Any

    from wave_core.compile.devices import Device
    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Diagnostic, Location
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.passes.run import RunReport


class KernelLike(Protocol):
    """A kernel before compilation: what the ``wave`` decorator makes."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        ...

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function."""
        ...

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """How dimensions spread over the machine."""
        ...

    @property
    def location(self) -> Location:
        """Where it is defined."""
        ...

    def trace(
        self, bindings: Mapping[Any, Any] | None = None, *, target: str = "generic"
    ) -> Graph:
        """The graph of the kernel."""
        ...


def wave_compile(
    options: WaveCompileOptions,
    kernel: KernelLike,
    schedule: ManualSchedule | None = None,
    *,
    session: Session | None = None,
) -> WaveKernel:
    """Compile a kernel; the result is called with tensors and numbers.

    The same kernel with equal options is compiled once a session: the function, the
    values it reads around it, the constraints, the schedule and the options decide.

    Args:
        options: How to compile; ``SchedulingType.MANUAL`` where there is a schedule.
        kernel: What to compile.
        schedule: What ``wave_schedule`` made of a function.
        session: Where plugins and caches are; one for the process by default.

    Raises:
        UserError: for mistakes in the kernel, its constraints, its schedule or the
            options.
    """
    _check_arguments(options, kernel)
    kernel = with_schedule(kernel, schedule)
    session = default_session() if session is None else session
    key = memo_key(options, kernel, session)
    found = None if key is None else session.remembered(key)
    if found is None:
        found = _compile(options, kernel, session)
        if key is not None:
            session.remember(key, found)
    return WaveKernel(cast("Compiled", found), kernel)


def _check_arguments(options: object, kernel: object) -> None:
    if not isinstance(options, WaveCompileOptions):
        if isinstance(kernel, WaveCompileOptions):
            what, advice = "got its arguments the wrong way round", ""
        else:
            what, advice = f"got {type(options).__name__} for options", ""
        raise user_error(
            codes.NOT_A_KERNEL,
            f"`wave_compile` {what}{advice}",
            at=capture_location(),
            help="write `wave_compile(WaveCompileOptions(subs={...}), kernel)`",
        )
    if not is_kernel(kernel):
        raise user_error(
            codes.NOT_A_KERNEL,
            f"`wave_compile` got a {type(kernel).__name__}, which is no kernel",
            at=capture_location(),
            help="decorate the function with `@wave(constraints)`",
        )


def memo_key(
    options: WaveCompileOptions, kernel: KernelLike, session: Session
) -> Hashable | None:
    """The key under which a session keeps the kernel; ``None`` where there is none."""
    if wants_report(options, session):
        return None
    spaces = getattr(kernel, "namespaces", ())
    function = recall(session.functions, kernel.function, spaces, fingerprint)
    if function is None:
        return None
    rest = schedule_of(kernel), options, input_files(options, session)
    key = (function, kernel.name, kernel.constraints, *rest)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _compile(
    options: WaveCompileOptions, kernel: KernelLike, session: Session
) -> Compiled:
    target = session.target(options.target, options.location).name
    device = find_device(session, options.device, target, options.location)
    _check_stages(options, device)
    front = front_of(options, kernel, session, device)
    lowered = lower_front(front, kernel, device.spec.stop_after)
    total_s = time.perf_counter() - front.started
    return Compiled(
        **vars(front),  # all that is known of it, the device among it
        lowered=lowered.graph,
        report=lowered.report,
        warnings=lowered.warnings,
        timings=Timings(front.trace_s, lowered.report.passes, total_s),
    )


def _check_stages(options: WaveCompileOptions, device: Device) -> None:
    """See that what is asked of machine code can be had where the kernel runs.

    Raises:
        UserError: WV0823 for a device that executes the graph.
    """
    asked = ("override_mlir", "dump_intermediates", "dump_binaries")
    given = [name for name in asked if getattr(options, name) is not None]
    if given and device.spec.backend is None:
        raise user_error(
            codes.OPTION_VALUE,
            f"option `{given[0]}` is given, and device `{device.name}` runs no"
            " machine code",
            at=options.location,
            label="given here",
            help=(
                "device='emulator' runs machine code on the CPU",
                "`wave compile` makes machine code without running it",
            ),
        )


@dataclass(frozen=True)
class Lowered:
    """The result of the pipeline."""

    graph: Graph
    report: RunReport
    warnings: tuple[Diagnostic, ...]


def lower_front(
    front: Traced, kernel: KernelLike, stop_after: str | None = None
) -> Lowered:
    """Run the pipeline on a copy of what was traced: all of it, or to a phase.

    Raises:
        UserError: for what the passes refuse.
    """
    options, session = front.options, front.session
    lowered = front.traced.clone()
    observers = [session.plugins.observer(), printer(options, front.plan.pipeline)]
    verify = Verify.EACH if options.verify_each else Verify.PHASES
    runner = front.plan.runner(observers, verify)
    context = session.plugins.pass_context(front.target, kernel, front.schedule)
    try:
        report = runner.run(lowered, context, stop_after)
    except UserError as error:
        if error.code == NO_INSTRUCTION:
            raise with_targets(error, session) from None
        # What concerns no line of the kernel concerns an option.
        raise at_options(error, options.location) from None
    if options.timing:
        to_stderr(f"timing of {kernel.name}", timing_table(front.trace_s, report))
    for warning in context.collector.warnings:
        session.announce(warning.code, warning.render())
    return Lowered(lowered, report, context.collector.warnings)


def front_of(
    options: WaveCompileOptions,
    kernel: KernelLike,
    session: Session,
    device: Device | None = None,
) -> Traced:
    """Trace the kernel and put its pipeline together; nothing is compiled.

    Args:
        options: How to compile.
        kernel: What to compile.
        session: Where plugins and caches are.
        device: What will run it; nothing where code is emitted.

    Raises:
        UserError: for mistakes in the kernel, its constraints or the options.
    """
    begun = time.perf_counter()
    schedule = schedule_of(kernel)
    check_schedule(options, schedule)
    target = session.target(options.target, options.location)
    plan = plan_for(session, options, target, kernel.name)
    if device is not None:
        needs, stop = frozenset(device.spec.requires), device.spec.stop_after
        plan.check_consumer(f"device `{device.name}`", needs, stop)
    started = time.perf_counter()
    bound = resolve_bindings(options.bindings, options.location)
    written = kernel.constraints
    about = Kernel(written, {s: n for s, n in bound.items() if type(n) is int}, target)
    constraints = settled(about, session.plugins.constraint_classes)
    graph = kernel.trace(alias_bindings(constraints, bound), target=target.name)
    graph.constraints = (*constraints, *graph.constraints[len(written) :])
    graph.dynamic_symbols = tuple(options.dynamic_symbols)
    trace_s = time.perf_counter() - started
    signature = Signature.of(graph)
    check_symbols(graph, signature, options)
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    shape = LaunchShape(
        signature,
        geometry.grid,
        graph.bindings,
        graph.constraints,
        graph.dynamic_symbols,
        ON_CPU if device is None else device.spec,
    )
    return Traced(
        options=options,
        session=session,
        started=begun,
        target=target,
        device=device,
        plan=plan,
        traced=graph,
        shape=shape,
        geometry=geometry,
        trace_s=trace_s,
        schedule=schedule,
    )
