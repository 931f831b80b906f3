"""Finds the first pass after which a kernel no longer computes its reference."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.compile.check_case import (
    case_arguments,
    compare,
    launch_case,
    poisoned_outputs,
)
from wave_core.compile.choosing import settlements
from wave_core.compile.compiler import wave_compile
from wave_core.compile.devices import LANES, find_device
from wave_core.compile.front import front_of
from wave_core.compile.launch.logs import LaunchLogs
from wave_core.compile.launch.prepare import prepare
from wave_core.diagnostics import InternalError, Severity, SimulationError
from wave_core.executors import LaunchRequest, LaunchSettings
from wave_core.passes.fact import Fact
from wave_core.passes.observe import PassObserver, Verify
from wave_core.trace.usage import unwritten_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wave_core.compile.compiled import Traced
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.ir.graph import Graph
    from wave_core.passes.base import Pass
    from wave_core.passes.context import PassContext
    from wave_core.passes.resolved import ResolvedPass

TILES = "sim-logical"
"""The simulator of graphs that are not cut into instructions yet."""

MACHINE_CODE = "machine code"
"""The stage after the last pass, where the case's device runs code of a backend."""

_VALUE_CHECKS = frozenset({"bounds", "poison", "alignment"})
"""What is looked for before barriers stand: all but races."""


@dataclass(frozen=True)
class Element:
    """One element of an output that is not what the reference says."""

    output: str
    index: tuple[int, ...]
    got: object
    expected: object

    def __str__(self) -> str:
        return f"{self.output}{list(self.index)} is {self.got}, not {self.expected}"


@dataclass(frozen=True)
class Stage:
    """The kernel after one pass that changed it, or as machine code.

    Attributes:
        name: The pass; for the first stage, the one after which values have types.
        phase: Its phase; empty for machine code.
        provider: The plugin that it comes from.
        device: What ran the kernel; empty where nothing could.
        max_rel_error: Largest error in units of the case's scale.
        wrong: Elements beyond the case's tolerance.
        problem: What else went wrong: reports of the simulator, or a pass that failed.
        element: The first wrong element.
    """

    name: str
    phase: str
    provider: str
    device: str = ""
    max_rel_error: float = 0.0
    wrong: int = 0
    problem: str = ""
    element: Element | None = None

    @property
    def is_right(self) -> bool:
        """Whether every element is within the tolerance, and nothing was reported."""
        return not self.wrong and not self.problem

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values; an infinite error is null."""
        finite = np.isfinite(self.max_rel_error)
        return {
            "pass": self.name,
            "phase": self.phase,
            "plugin": self.provider,
            "device": self.device,
            "max_rel_error": float(self.max_rel_error) if finite else None,
            "wrong_elements": self.wrong,
            "element": None if self.element is None else str(self.element),
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Bisection:
    """The stages of one kernel up to the first wrong one.

    Attributes:
        kernel: Its name.
        seed: Of the random inputs.
        stages: In order; none follows a wrong one.
    """

    kernel: str
    seed: int
    stages: tuple[Stage, ...]

    @property
    def first_wrong(self) -> Stage | None:
        """The stage to look at."""
        last = self.stages[-1]
        return None if last.is_right else last

    @property
    def blames_kernel(self) -> bool:
        """Whether the kernel is wrong on whole tiles already, before it is lowered."""
        return len(self.stages) == 1 and self.first_wrong is not None

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values."""
        wrong = self.first_wrong
        return {
            "kernel": self.kernel,
            "seed": self.seed,
            "stages": [stage.to_json() for stage in self.stages],
            "first_wrong": None if wrong is None else wrong.to_json(),
            "kernel_is_wrong": self.blames_kernel,
        }


def bisect_case(
    case: KernelCase,
    *,
    session: Session,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Bisection:
    """Simulate a kernel after each pass that changes it, until a result is wrong.

    Each stage runs on the same random inputs and is compared with the case's
    reference. A device of the case that runs machine code is the last stage.

    Args:
        case: The kernel.
        session: Whose plugins to use.
        seed: Of the inputs; a fresh one by default, which the result names.
        progress: Told what begins.

    Raises:
        UserError: for mistakes of the user, and WV0719 where no simulator is installed.
    """
    seed = secrets.randbelow(2**31) if seed is None else seed
    settled = replace(case, options=_settled(case, session))
    trial = _Trial(settled, session, seed, progress)
    stages = trial.run_passes()
    device = find_device(session, case.options.device, case.options.target_name)
    if stages[-1].is_right and device.spec.backend is not None:
        progress(MACHINE_CODE)
        stages.append(trial.machine_code(device.name, device.spec.backend))
    return Bisection(case.kernel.name, seed, tuple(stages))


def _settled(case: KernelCase, session: Session) -> WaveCompileOptions:
    """The options of the case with what a compilation takes for all that is open."""
    lanes = replace(case.options, device=LANES)
    try:
        found = wave_compile(lanes, case.kernel, session=session).options
    except InternalError:  # the stages show which pass it is
        found = settlements(lanes, case.kernel, session)[0]
    return replace(found, device=case.options.device)


class _FoundError(Exception):
    """A stage is wrong: there is nothing more to run."""


class _Trial(PassObserver):
    """Runs the pipeline on a case and the kernel after each of its passes."""

    def __init__(
        self,
        case: KernelCase,
        session: Session,
        seed: int,
        progress: Callable[[str], None],
    ) -> None:
        self.case = case
        self.session = session
        self.seed = seed
        self.progress = progress
        given = self.arguments()
        self.expected = [np.asarray(each) for each in case.reference(given)]
        self.scale = None if case.scale is None else case.scale(given)
        self.front: Traced = front_of(case.options, case.kernel, session)
        passes = self.front.plan.pipeline.passes
        self.entries: dict[str, ResolvedPass] = {row.name: row for row in passes}
        self.stages: list[Stage] = []

    def arguments(self) -> list[Any]:
        """The inputs, the same each time, and fresh outputs."""
        return case_arguments(self.case, self.seed)

    def run_passes(self) -> list[Stage]:
        """Stages up to the first wrong one."""
        front = self.front
        runner = front.plan.runner((self,), Verify.EACH)
        plugins = self.session.plugins
        context = plugins.pass_context(front.machine, self.case.kernel, front.schedule)
        try:
            runner.run(front.traced.clone(), context)
        except _FoundError:
            pass
        except InternalError as error:
            if error.pass_name not in self.entries:
                raise
            problem = error.diagnostics[0].render()
            self.stages.append(replace(self._stage(error.pass_name), problem=problem))
        return self.stages

    def _stage(self, name: str) -> Stage:
        entry = self.entries[name]
        return Stage(name, str(entry.phase), entry.provider)

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Run the graph, if it is another one and something can run it."""
        del context
        typed = Fact.TYPED in graph.facts_present
        if not typed or (self.stages and not changed):
            return
        device = LANES if Fact.EXPANDED in graph.facts_present else TILES
        target = self.front.target.name
        spec = find_device(self.session, device, target).spec
        if not spec.requires <= graph.facts_present:
            return
        self.progress(f"after {step.pass_name()}")
        stage = self._stage(step.pass_name())
        self.stages.append(self._simulated(replace(stage, device=device), graph))
        if not self.stages[-1].is_right:
            raise _FoundError

    def _simulated(self, stage: Stage, graph: Graph) -> Stage:
        arguments = self.arguments()
        shape = self.front.shape
        prepared = prepare(shape, arguments)
        outputs = self._outputs(arguments)
        if prepared.is_empty:
            return self._compared(stage, outputs)
        executor = self.session.plugins.load_executor(stage.device)
        logs = LaunchLogs.of(shape, prepared.sizes, arguments, executor)
        request = LaunchRequest.of(
            graph.clone(),
            self.front.target,
            (*arguments, *logs.arguments),
            {**prepared.sizes, **logs.sizes},
            self._settings(stage.device, graph),
        )
        try:
            result = executor.launch(request)
        except (SimulationError, InternalError) as error:
            return replace(stage, problem=error.diagnostics[0].render())
        for row in getattr(result, "reports", ()):
            if row.severity is Severity.ERROR:
                return replace(stage, problem=row.render())
        return self._compared(stage, outputs)

    def _settings(self, device: str, graph: Graph) -> LaunchSettings:
        options, plugins = self.case.options, self.session.plugins
        whole = Fact.SYNCHRONIZED in graph.facts_present
        return LaunchSettings(
            checks=whole or _VALUE_CHECKS,
            poison_outputs=options.poison_outputs and unwritten_outputs(graph),
            lowerings=plugins.lowering_table(device, options.disable_passes),
            compile_options=options,
        )

    def _outputs(self, arguments: Sequence[Any]) -> list[Any]:
        parameters = self.front.shape.signature.parameters
        return poisoned_outputs(self.case, arguments, parameters)

    def _compared(self, stage: Stage, outputs: list[Any]) -> Stage:
        found = compare(outputs, self.expected, self.scale, self.case.tolerance)
        element = None
        if found.first_wrong is not None:
            output, index = found.first_wrong
            name = self.front.shape.signature.parameters[self.case.outputs[output]].name
            want = np.broadcast_to(self.expected[output], outputs[output].shape)
            element = Element(name, index, outputs[output][index], want[index])
        return replace(
            stage, max_rel_error=found.relative, wrong=found.wrong, element=element
        )

    def machine_code(self, device: str, backend: str) -> Stage:
        """The stage of a device that runs the code of a backend."""
        stage = Stage(MACHINE_CODE, "", backend, device)
        arguments = self.arguments()
        outputs = self._outputs(arguments)
        case = self.case
        try:
            kernel = wave_compile(case.options, case.kernel, session=self.session)
            launch_case(kernel, arguments)
        except (SimulationError, InternalError) as error:
            return replace(stage, problem=error.diagnostics[0].render())
        return self._compared(stage, outputs)
