"""`WaveKernel`: a compiled kernel, called with tensors and numbers."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.compile.backends import backend_of
from wave_core.compile.fitting import cannot_be_used
from wave_core.compile.key import content_key
from wave_core.compile.launch.run import LaunchRecord, cost_of, launch, repeat_of
from wave_core.compile.printing import explained
from wave_core.constraints import Tunable
from wave_core.diagnostics import UserError, capture_location, launch_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Compiled, Timings
    from wave_core.compile.launch.signature import Parameter, Signature
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.diagnostics import Diagnostic
    from wave_core.ir.graph import Graph
    from wave_core.plugin.plan import PipelineRow
    from wave_runtime.kernel import Repeat

DEBUG_LOGS = "debug_logs"
"""The keyword of a launch that takes logs."""


def _is_traced() -> bool:
    """Whether torch traces this call, and not only what another thread does."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.compiler.is_compiling():
        return False
    # Dynamo takes the first for true; other tracers have modes in their own thread.
    compiler, modes = torch.compiler, torch._C._len_torch_dispatch_stack  # noqa: SLF001
    return compiler.is_dynamo_compiling() or modes() > 0


class WaveKernel:
    """A compiled kernel.

    Call it with one argument for each parameter, in order or by name: tensors (torch,
    numpy, or anything with DLPack) where the device reads them, and numbers. Outputs
    are allocated by the caller and written in place. Nothing is copied, and nothing
    is written where an argument is wrong. ``torch.compile`` sees one opaque operator.
    """

    def __init__(
        self, compiled: Compiled, source: LaunchableWave, asked: WaveCompileOptions
    ) -> None:
        """Wrap the outcome of compiling ``source`` as ``asked``."""
        self.compiled = compiled
        self._source = source
        self._asked = asked
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
    def source(self) -> LaunchableWave:
        """What it was compiled from."""
        return self._source

    @property
    def settled(self) -> dict[str, object]:
        """What symbols are that the author leaves open, by name, as JSON values."""
        rows = (row for row in self._source.constraints if isinstance(row, Tunable))
        values = self.options.bindings
        return {
            str(symbol): value
            if isinstance(value := values[symbol], int)
            else str(value)
            for row in rows
            for symbol in row.symbols
            if symbol in values
        }

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

    @cached_property
    def asm(self) -> str:
        """The code for the target: assembly, or MLIR under ``compile_to_mlir``.

        Raises:
            UserError: WV0719 where no backend makes code for the target.
        """
        # What emits compiles, and what compiles imports this module.
        from wave_core.compile.emission import emit  # noqa: PLC0415

        session, options = self.compiled.session, self.options
        spec = backend_of(session, options.target_name, options.backend)
        form = "mlir" if options.compile_to_mlir else spec.assembly
        emitted = emit(options, self._source, form, session)
        return "".join(file.decode() for file in emitted.files.values())

    def snapshots(self, phase: str) -> Graph:
        """The graph as it is after a phase or a pass.

        Raises:
            UserError: WV0801 for an unknown phase or pass.
        """
        return self.compiled.after(phase)

    def explain(self) -> str:
        """How the kernel runs, in words: grid, waves, parameters, passes."""
        return "\n".join(explained(self.compiled))

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run the kernel.

        ``debug_logs=`` is no argument of the kernel: a dictionary that takes what
        its `debug_log` calls keep, by label.

        Raises:
            LaunchError: WV07xx where an argument does not fit.
            SimulationError: WV09xx where a simulator found a defect of the kernel.
        """
        if _is_traced():
            # Loaded where torch is at work already.
            from wave_core.compile.opaque import call_opaque  # noqa: PLC0415

            call_opaque(self, arguments, named)
            return
        self.run_untraced(*arguments, **named)

    def run_untraced(self, *arguments: Any, **named: Any) -> None:
        """Run the kernel as a call does where torch traces nothing."""
        self.last_run = None
        into = None
        if named and self._keeps_logs:
            into = self._logs_into(named.pop(DEBUG_LOGS, None))
        while self.last_run is None:
            try:
                self.last_run = launch(self.compiled, arguments, named, into)
            except UserError as error:
                self._give_way(error)

    def repeat(self, *arguments: Any) -> Repeat | None:
        """How to run the kernel again on arrays that differ in their addresses alone.

        Returns:
            What takes the addresses of arrays, in the order of parameters, and the
            device's queue; nothing where the device cannot, and for kernels with logs.

        Raises:
            LaunchError: WV07xx where an argument does not fit.
        """
        return repeat_of(self.compiled, arguments)

    def _give_way(self, error: UserError) -> None:
        """Take another choice where the machine code of this one cannot be used.

        Raises:
            UserError: ``error``, where it is about something else, or none is left.
        """
        # What compiles imports this module.
        from wave_core.compile.compiler import compile_instead  # noqa: PLC0415

        if not cannot_be_used(error):
            raise error
        other = compile_instead(self.compiled, self._asked, self._source, error)
        if other is None:
            raise error
        self.compiled = other
        self.__dict__.pop("key", None)

    @cached_property
    def _keeps_logs(self) -> bool:
        """Whether no parameter has the name of the dictionary of logs."""
        return all(row.name != DEBUG_LOGS for row in self.parameters)

    def _logs_into(self, given: Any) -> dict[str, Any] | None:
        """The dictionary that a caller gives for logs.

        Raises:
            LaunchError: WV0722 where it is none.
        """
        into: dict[str, Any] | None = given
        if isinstance(given, dict | None):
            return into
        raise launch_error(
            "WV0722",
            f"`{DEBUG_LOGS}` of `{self.name}` is a {type(given).__name__}",
            at=capture_location(),
            label="launched here",
            help=f"give a dictionary: `logs = {{}}`, `{DEBUG_LOGS}=logs`",
        )

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

    def _repr_html_(self) -> str:
        """What a notebook shows: how the kernel is launched, and what plugins add."""
        # Notebooks alone need it.
        from wave_core.compile.display import html_of  # noqa: PLC0415

        return html_of(self)

    def __repr__(self) -> str:
        """Name, types and device."""
        return f"<WaveKernel {self.signature} on {self.compiled.device.name}>"
