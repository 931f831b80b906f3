"""The backend as core sees it: forms of output as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_backend_amdgpu.compile.backend import (
    Output,
    compile_graph,
    compile_vmfb,
    final_mlir,
    settings_of,
    versions,
)
from wave_backend_amdgpu.compile.limits import check_limits
from wave_backend_amdgpu.compile.worker import Worker
from wave_isa_amdgcn.metrics import measure
from wave_runtime.artifact import MANIFEST, code_file

if TYPE_CHECKING:
    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target


class AmdgpuBackend:
    """Compiles through MLIR and the AMDGPU code generator, in a process of its own."""

    def __init__(self) -> None:
        """The process is started when something is compiled."""
        self.worker = Worker()

    def prepare(self) -> None:
        """Start the compiler's process."""
        self.worker.start()

    def versions(self) -> Mapping[str, str]:
        """This package and the compiler."""
        return versions()

    def check(self, lowered: Any, target: Target) -> None:
        """Refuse a kernel that needs more LDS or registers than the chip has."""
        check_limits(lowered, target)

    def emit(
        self,
        lowered: Any,
        target: Target,
        options: Any,
        table: LoweringTable,
        form: str,
    ) -> Mapping[str, bytes]:
        """The files of one form."""
        graph: Graph = lowered
        given: WaveCompileOptions = options
        settings = settings_of(given, self.worker)
        name = graph.name
        if form == "mlir":
            text = final_mlir(graph, target, settings, table)
            return {f"{name}.mlir": text.encode()}
        if form == "vmfb":
            module = compile_vmfb(graph, target, settings, table)
            return {f"{name}.vmfb": module.code}
        if form != "hsaco":
            settings = replace(settings, intermediates=True)
        output = compile_graph(graph, target, settings, table)
        return (
            _artifact(output) if form == "hsaco" else _text(name, form, target, output)
        )


def _artifact(output: Output) -> dict[str, bytes]:
    artifact = output.artifact
    manifest = artifact.manifest
    return {code_file(manifest.form): artifact.code, MANIFEST: manifest.to_json()}


def _text(name: str, form: str, target: Target, output: Output) -> dict[str, bytes]:
    if form == "asm":
        return {f"{name}.s": output.assembly.encode()}
    if form == "llvm":
        return {f"{name}.ll": output.llvm.encode()}
    found = measure(output.assembly, name, target)
    return {f"{name}.metrics.json": json.dumps(found.to_json()).encode()}
