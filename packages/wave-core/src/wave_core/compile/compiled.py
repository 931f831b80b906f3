"""The outcome of one compilation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.compile.launch.accepted import AcceptedLaunches
from wave_core.executors import LaunchSettings
from wave_core.passes.observe import Verify
from wave_core.trace.usage import unwritten_outputs

if TYPE_CHECKING:
    from wave_core.compile.attempts import Attempt
    from wave_core.compile.devices import Device
    from wave_core.compile.launch.signature import LaunchShape
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.constraints.geometry import Geometry
    from wave_core.diagnostics import Diagnostic
    from wave_core.executors import Executor
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.passes.run import PassRun, RunReport
    from wave_core.plugin.plan import PipelinePlan
    from wave_core.targets import Target


@dataclass(frozen=True)
class Timings:
    """How long compilation took. Units: seconds.

    Attributes:
        trace_s: Running the Python function once.
        passes: What each pass did, in order.
        total_s: From options to a kernel that can be called.
    """

    trace_s: float
    passes: tuple[PassRun, ...]
    total_s: float

    def to_json(self) -> dict[str, object]:
        """The times as JSON values."""
        passes = {run.name: round(run.wall_s, 6) for run in self.passes}
        return {"trace_s": self.trace_s, "passes": passes, "total_s": self.total_s}


@dataclass(frozen=True, eq=False, kw_only=True)
class Traced:
    """A kernel before the first pass, and the pipeline that it is to go through.

    Attributes:
        options: As given.
        session: Whose plugins compile it.
        target: The machine.
        device: The one that runs it; ``None`` where code is emitted.
        plan: The pipeline, with reasons.
        traced: The graph before the first pass.
        shape: Facts that a launch needs.
        geometry: How dimensions spread over the machine.
        schedule: The one that the author wrote.
        started: When work on it began, by `time.perf_counter`.
        trace_s: Seconds of running the Python function once.
    """

    options: WaveCompileOptions
    session: Session
    target: Target
    device: Device | None
    plan: PipelinePlan
    traced: Graph
    shape: LaunchShape
    geometry: Geometry
    schedule: ManualSchedule | None
    started: float
    trace_s: float

    @property
    def machine(self) -> Target:
        """The target, with the registers that are left for waves to be as many."""
        return self.target.shared_by(self.options.waves_per_eu)


@dataclass(frozen=True, eq=False, kw_only=True)
class Compiled(Traced):
    """The outcome of one compilation, shared by all kernels that are equal.

    Attributes:
        device: The one that runs it.
        attempt: What it was to be refused for.
        lowered: The graph after the last pass.
        report: The record of each pass.
        warnings: Those of the passes.
        timings: How long it took.
        copies: The graphs that `after` made.
    """

    device: Device
    attempt: Attempt
    lowered: Graph
    report: RunReport
    warnings: tuple[Diagnostic, ...]
    timings: Timings
    copies: dict[str, Graph] = field(default_factory=dict[str, Any], repr=False)

    @cached_property
    def accepted(self) -> AcceptedLaunches:
        """The launches that were found right."""
        return AcceptedLaunches(self.shape.signature)

    @cached_property
    def executor(self) -> Executor:
        """The device that runs it; imported when it is first asked for."""
        return self.session.plugins.load_executor(self.device.key)

    @cached_property
    def backend_name(self) -> str | None:
        """The backend whose code the device runs: its own, or that of the options."""
        own, asked = self.device.spec.backend, self.options.backend
        return own if own is None or not asked else asked

    @cached_property
    def launch_settings(self) -> LaunchSettings:
        """How its device goes about each launch; loads rules and backend once."""
        plugins, spec = self.session.plugins, self.device.spec
        checks, backend = self.options.checks, self.backend_name
        return LaunchSettings(
            checks=checks if isinstance(checks, bool) else frozenset(checks),
            poison_outputs=self.options.poison_outputs
            and unwritten_outputs(self.traced),
            lowerings=plugins.lowering_table(
                backend or spec.name, self.options.disable_passes
            ),
            compile_options=self.options,
            backend=plugins.load_backend(backend) if backend else None,
        )

    def after(self, phase: str) -> Graph:
        """The graph after a phase or pass, made when it is first asked for.

        Raises:
            UserError: WV0801 for an unknown phase or pass.
        """
        if phase not in self.copies:
            graph = self.traced.clone()
            runner = self.plan.runner(verify=Verify.NEVER)
            plugins = self.session.plugins
            context = plugins.pass_context(self.machine, schedule=self.schedule)
            runner.run(graph, context, stop_after=phase)
            self.copies[phase] = graph
        return self.copies[phase]
