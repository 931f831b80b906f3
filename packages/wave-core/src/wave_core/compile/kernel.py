"""`WaveKernel`: a compiled kernel, called with tensors and numbers."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.compile.explain import explain_kernel
from wave_core.compile.key import content_key
from wave_core.compile.launch.run import LaunchRecord, cost_of, launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.compile.compiled import Compiled, Timings
    from wave_core.compile.compiler import KernelLike
    from wave_core.compile.launch.signature import Parameter, Signature
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.diagnostics import Diagnostic
    from wave_core.ir.graph import Graph
    from wave_core.plugin.plan import PipelineRow


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
