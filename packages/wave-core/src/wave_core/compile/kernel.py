"""`WaveKernel`: a compiled kernel, called with tensors and numbers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.compile.explain import explain_kernel
from wave_core.compile.key import content_key
from wave_core.compile.launch.accepted import AcceptedLaunches
from wave_core.compile.launch.run import LaunchRecord, cost_of, launch
from wave_core.executors import LaunchSettings
from wave_core.passes.observe import Verify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiler import KernelLike
    from wave_core.compile.devices import Device
    from wave_core.compile.launch.prepare import LaunchShape
    from wave_core.compile.launch.signature import Parameter, Signature
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.constraints.geometry import Geometry
    from wave_core.diagnostics import Diagnostic
    from wave_core.executors import Executor
    from wave_core.ir.graph import Graph
    from wave_core.passes.manual import ManualSchedule
    from wave_core.passes.run import PassRun, RunReport
    from wave_core.plugin.plan import PipelinePlan, PipelineRow
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


@dataclass(frozen=True, eq=False)
class Compiled:
    """The outcome of one compilation, shared by all kernels that are equal.

    Attributes:
        options: As given.
        session: Whose plugins compiled it.
        target: The machine.
        device: What runs it.
        plan: The pipeline, with reasons.
        traced: The graph before the first pass.
        lowered: The graph after the last one.
        shape: What a launch needs to know.
        geometry: How dimensions spread over the machine.
        report: What each pass did.
        warnings: What the passes warned about.
        timings: How long it took.
        copies: The graphs that `after` made.
        schedule: The one that the author wrote.
    """

    options: WaveCompileOptions
    session: Session
    target: Target
    device: Device
    plan: PipelinePlan
    traced: Graph
    lowered: Graph
    shape: LaunchShape
    geometry: Geometry
    report: RunReport
    warnings: tuple[Diagnostic, ...]
    timings: Timings
    copies: dict[str, Graph] = field(default_factory=dict[str, Any], repr=False)
    schedule: ManualSchedule | None = None

    @cached_property
    def accepted(self) -> AcceptedLaunches:
        """The launches that were found right."""
        return AcceptedLaunches(self.shape.signature)

    @cached_property
    def executor(self) -> Executor:
        """What runs it; imported when it is first asked for."""
        return self.session.plugins.load_executor(self.device.name)

    @cached_property
    def launch_settings(self) -> LaunchSettings:
        """How its device goes about each launch; loads rules and backend once."""
        plugins, spec = self.session.plugins, self.device.spec
        checks = self.options.checks
        return LaunchSettings(
            checks=checks if isinstance(checks, bool) else frozenset(checks),
            poison_outputs=self.options.poison_outputs,
            lowerings=plugins.lowering_table(
                spec.backend or spec.name, self.options.disable_passes
            ),
            compile_options=self.options,
            backend=plugins.load_backend(spec.backend) if spec.backend else None,
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
            context = plugins.pass_context(self.target, schedule=self.schedule)
            runner.run(graph, context, stop_after=phase)
            self.copies[phase] = graph
        return self.copies[phase]


class WaveKernel:
    """A compiled kernel.

    Call it with one argument for each parameter, in order or by name: tensors (torch,
    numpy, or anything with DLPack) where the device reads them, and numbers. Outputs
    are allocated by the caller and written in place. Nothing is copied, and nothing
    is written where an argument is wrong. ``torch.compile`` sees one opaque operator.
    """

    def __init__(self, compiled: Compiled, source: KernelLike) -> None:
        """Wrap the outcome of compiling ``source``."""
        self.compiled = compiled
        self._source = source
        self.last_run: LaunchRecord | None = None
        """The record of the last launch."""
        self.operator: object | None = None
        """The handle of the kernel's operator among those of torch, once it has one."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.kernel

    @property
    def signature(self) -> Signature:
        """The parameters with the kernel's name."""
        return self.compiled.shape.signature

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in order: name, type, usage."""
        return self.signature.parameters

    @property
    def options(self) -> WaveCompileOptions:
        """The options it was compiled with."""
        return self.compiled.options

    @property
    def graph(self) -> Graph:
        """The lowered graph."""
        return self.compiled.lowered

    @property
    def trace_graph(self) -> Graph:
        """The graph before the first pass."""
        return self.compiled.traced

    @property
    def pipeline(self) -> tuple[PipelineRow, ...]:
        """The passes in order, each with provider and reason."""
        return self.compiled.plan.rows()

    @property
    def timings(self) -> Timings:
        """How long compilation took."""
        return self.compiled.timings

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings of the passes."""
        return self.compiled.warnings

    @cached_property
    def key(self) -> str:
        """A digest of all that decides the result; equal in every process."""
        return content_key(self.compiled)

    def snapshots(self, phase: str) -> Graph:
        """The graph as it is after a phase or a pass.

        Raises:
            UserError: WV0801 for an unknown phase or pass.
        """
        return self.compiled.after(phase)

    def explain(self) -> str:
        """How the kernel runs, in words: grid, waves, parameters, passes."""
        return explain_kernel(self.compiled)

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run the kernel.

        Raises:
            LaunchError: WV07xx where an argument does not fit.
            SimulationError: WV09xx where a simulator found a defect of the kernel.
        """
        torch = sys.modules.get("torch")
        if torch is not None and torch.compiler.is_compiling():
            # Loaded where torch is at work already.
            from wave_core.compile.opaque import call_opaque  # noqa: PLC0415

            call_opaque(self, arguments, named)
            return
        self.last_run = None
        self.last_run = launch(self.compiled, arguments, named)

    def cost(self, sizes: Mapping[str, int] | None = None) -> int:
        """Lane-steps of a simulation, for these values of dynamic symbols."""
        return cost_of(self.compiled, sizes or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Options and kernel, compiled anew where they are read (default session).

        Raises:
            UserError: WV0117 for a kernel that no module has under its name.
        """
        # What compiles imports this module.
        from wave_core.compile.compiler import wave_compile  # noqa: PLC0415

        return wave_compile, (self.options, self._source)

    def __repr__(self) -> str:
        """Name, types and device."""
        return f"<WaveKernel {self.signature} on {self.compiled.device.name}>"
