"""`wave_compile`: from a kernel and options to something that can be called."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from wave_core.compile.attempts import LAST, Attempt
from wave_core.compile.backends import backend_of, check_overrides, overrides
from wave_core.compile.choosing import (
    bare,
    first_that_fits,
    settlements,
    tell_preset,
)
from wave_core.compile.compiled import Compiled, Timings, Traced
from wave_core.compile.devices import find_device, settle_target
from wave_core.compile.early_limits import EarlyLimits
from wave_core.compile.fingerprint import Key, fingerprint
from wave_core.compile.front import Traces, front_of
from wave_core.compile.inputs import asked_of, input_files
from wave_core.compile.kernel import WaveKernel
from wave_core.compile.launchable import LaunchableWave
from wave_core.compile.option_values import at_options
from wave_core.compile.options import WaveCompileOptions
from wave_core.compile.printing import printer, timing_table, to_stderr
from wave_core.compile.read_log import recall
from wave_core.compile.roomier import roomier, spilled_in
from wave_core.compile.scheduling import with_schedule
from wave_core.compile.session import Session, default_session
from wave_core.compile.targets_with import NO_INSTRUCTION, with_targets
from wave_core.diagnostics import (
    UserError,
    WaveError,
    capture_location,
    user_error,
)
from wave_core.ir.verify import problems
from wave_core.passes.observe import Verify

if TYPE_CHECKING:
    from collections.abc import Hashable

    from wave_core.compile.devices import Device
    from wave_core.diagnostics import Diagnostic
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.passes.observe import PassObserver
    from wave_core.passes.run import RunReport


def wave_compile(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
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
    options = with_target(options, session)
    key = memo_key(options, kernel, session)
    found = None if key is None else session.remembered(key)
    if found is None:
        try:
            found = _compile(options, kernel, session)
        except UserError as error:
            # The message has the author's lines; what Python shows begins at the call.
            raise error.with_traceback(None) from error.__cause__
        if key is not None and not any(r.keeps_functions for r in found.shape.logs):
            session.remember(key, found)
    return WaveKernel(cast("Compiled", found), kernel, options)


def compile_instead(
    failed: Compiled,
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    error: UserError,
) -> Compiled | None:
    """The kernel by the choice behind one whose machine code cannot be used.

    The last choice has its loops scheduled again, where machine code spills.

    Machine code is made at the first launch, and only then is it known what an
    assembler makes of it. Whoever compiles the same kernel later gets what is found.

    Args:
        failed: The kernel as it was compiled.
        options: Those that it was asked for with, its target settled.
        kernel: What to compile.
        error: Why the machine code cannot be used.

    Returns:
        Nothing where no choice is left, or nothing was chosen.

    Raises:
        UserError: where none of the others can be compiled.
    """
    session = failed.session
    if failed.attempt.chosen:
        found = _compile(options, kernel, session, failed.options)
    elif failed.attempt.spills is not None:
        found = _with_fewer_spilled(failed, options, kernel, error)
    elif (other := roomier(failed.options, error)) is not None:
        traces = Traces(kernel, session)
        found = _compiled_for(failed.device, kernel, session, other, traces, LAST)
    else:
        return None
    key = memo_key(options, kernel, session)
    if key is not None and session.remembered(key) is failed:
        session.remember(key, found)
    return found


def _with_fewer_spilled(
    failed: Compiled,
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    error: UserError,
) -> Compiled:
    """The kernel with the fewest passes behind the last choice, and that one again.

    The fewest are refused where they spill no fewer registers, which a launch tells.

    Raises:
        UserError: as the last choice.
    """
    session, device = failed.session, failed.device
    last, why = settlements(options, kernel, session)[-1], error.diagnostics[0].message

    def compiled(settled: WaveCompileOptions, attempt: Attempt) -> Compiled:
        traces = Traces(kernel, session)
        found = _compiled_for(device, kernel, session, settled, traces, attempt)
        _check_machine(found)
        return found

    if failed.options == last and spilled_in(error):
        with suppress(UserError):
            found = compiled(bare(last), Attempt(spills=spilled_in(error) - 1))
            tell_preset(kernel, session, found.options.preset, why)
            return found
    else:
        tell_preset(kernel, session, last.preset, why)
    return compiled(last, LAST)


def with_target(options: WaveCompileOptions, session: Session) -> WaveCompileOptions:
    """The options with a target in place of ``auto``."""
    given = options.target, options.device, options.location
    target = settle_target(session, *given)
    return options if target is options.target else replace(options, target=target)


def _check_arguments(options: object, kernel: object) -> None:
    if not isinstance(options, WaveCompileOptions):
        what = f"got {type(options).__name__} for options"
        if isinstance(kernel, WaveCompileOptions):
            what = "got its arguments the wrong way round"
        raise user_error(
            "WV0826",
            f"`wave_compile` {what}",
            at=capture_location(),
            help="write `wave_compile(WaveCompileOptions(subs={...}), kernel)`",
        )
    if not isinstance(kernel, LaunchableWave):
        raise user_error(
            "WV0826",
            f"`wave_compile` got a {type(kernel).__name__}, which is no kernel",
            at=capture_location(),
            help="decorate the function with `@wave(constraints)`",
        )


def memo_key(
    options: WaveCompileOptions, kernel: LaunchableWave, session: Session
) -> Hashable | None:
    """The key under which a session keeps the kernel; ``None`` where there is none."""
    asked, schedule = asked_of(options, session), kernel.schedule
    depends_on_kernel = schedule is not None and schedule.replay is not None
    if asked.reports or depends_on_kernel:
        return None
    function = recall(
        session.functions, kernel.function, kernel.namespaces, fingerprint
    )
    if function is None:
        return None
    rest = kernel.constraints, schedule, input_files(asked)
    try:
        return Key((function, kernel.name, asked.key, *rest))
    except TypeError:
        return None


def _compile(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    after: WaveCompileOptions | None = None,
) -> Compiled:
    target = session.target(options.target, options.location).name
    device = find_device(session, options.device, target, options.location)
    _check_stages(options, device, session)
    if options.backend or device.spec.backend is not None:
        found = backend_of(session, target, options.backend)
        check_overrides(session, options, found)

    def compiled(
        settled: WaveCompileOptions, traces: Traces, attempt: Attempt
    ) -> Compiled:
        return _compiled_for(device, kernel, session, settled, traces, attempt)

    return first_that_fits(options, kernel, session, compiled, _check_machine, after)


def _compiled_for(
    device: Device,
    kernel: LaunchableWave,
    session: Session,
    options: WaveCompileOptions,
    traces: Traces,
    attempt: Attempt,
) -> Compiled:
    """The kernel for ``device``, by options that leave nothing open."""
    front = front_of(options, kernel, session, device, traces)
    spec = device.spec
    lowered = lower_front(
        front,
        kernel,
        spec.stop_after,
        machine_code=spec.backend is not None,
        attempt=attempt,
    )
    total_s = time.perf_counter() - front.started
    return Compiled(
        **vars(front),  # all that is known of it, the device among it
        attempt=attempt,
        lowered=lowered.graph,
        report=lowered.report,
        warnings=lowered.warnings,
        timings=Timings(front.trace_s, lowered.report.passes, total_s),
    )


def _check_machine(found: Compiled) -> None:
    """See that what will make machine code at the first launch can.

    Raises:
        UserError: WV06xx where the kernel needs more than the target has.
    """
    name = found.backend_name
    if name is not None:
        found.session.plugins.load_backend(name).check(found.lowered, found.target)


def _check_stages(
    options: WaveCompileOptions, device: Device, session: Session
) -> None:
    """See that what is asked of machine code can be had where the kernel runs.

    Raises:
        UserError: WV0823 for a device that executes the graph.
    """
    if device.spec.backend is not None:
        return
    dumps = ("dump_intermediates", "dump_binaries")
    given = [name for name in dumps if getattr(options, name) is not None]
    given += overrides(session, options)
    if given:
        raise user_error(
            "WV0823",
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


def _check_each_pass(
    front: Traced, kernel: LaunchableWave, stop_after: str | None
) -> None:
    """Run the pipeline again and check after every pass, to find the one at fault.

    A check costs as much as a few passes, so a run that ends well has one, at its end.

    Raises:
        InternalError: WV9902 or WV9903, with the name of the pass.
    """
    context = front.session.plugins.pass_context(front.machine, kernel, front.schedule)
    runner = front.plan.runner((), Verify.EACH)
    runner.run(front.traced.clone(), context, stop_after)


def lower_front(
    front: Traced,
    kernel: LaunchableWave,
    stop_after: str | None = None,
    *,
    machine_code: bool = False,
    attempt: Attempt = LAST,
) -> Lowered:
    """Run the pipeline on a copy of what was traced: all of it, or to a phase.

    Args:
        front: What was traced.
        kernel: The kernel.
        stop_after: The last phase; all of them by default.
        machine_code: Whether a backend follows, for which the kernel has to fit.
        attempt: What is refused: a choice among several where a pass gives up what
            makes it fast, which warns of that otherwise, and code that spills.

    Raises:
        UserError: for what the passes refuse.
    """
    options, session = front.options, front.session
    lowered = front.traced.clone()
    observers: list[PassObserver] = [
        session.plugins.observer(),
        printer(options, front.plan.pipeline),
    ]
    if machine_code:
        waves = front.geometry.groups_in_step
        observers.append(EarlyLimits(front.target, waves))
    verify = Verify.EACH if options.verify_each else Verify.ENDS
    runner = front.plan.runner(observers, verify)
    context = session.plugins.pass_context(front.machine, kernel, front.schedule)
    if front.machine == front.target:
        context.take_geometry(lowered, front.geometry)
    try:
        report = runner.run(lowered, context, stop_after)
    except WaveError as error:
        if problems(lowered):
            _check_each_pass(front, kernel, stop_after)
        if not isinstance(error, UserError):
            raise
        if error.code == NO_INSTRUCTION:
            raise with_targets(error, session) from None
        # What concerns no line of the kernel concerns an option.
        raise at_options(error, options.location) from None
    lost = [row for row in context.collector.warnings if "lost" in row.data]
    if attempt.chosen and lost:
        raise UserError(lost)
    attempt.mark(lowered)
    if options.timing:
        to_stderr(f"timing of {kernel.name}", timing_table(front.trace_s, report))
    for warning in context.collector.warnings:
        session.announce(warning.code, warning.render())
    return Lowered(lowered, report, context.collector.warnings)
