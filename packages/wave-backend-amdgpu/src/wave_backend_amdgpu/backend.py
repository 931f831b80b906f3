"""The backend as core sees it: forms of output as files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wave_backend_amdgpu.compile.backend import (
    compile_graph,
    compile_vmfb,
    final_mlir,
    settings_of,
    versions,
)
from wave_backend_amdgpu.compile.dump import dump
from wave_backend_amdgpu.compile.worker import Worker
from wave_backend_amdgpu.metrics import measure
from wave_runtime.artifact import CODE, MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_backend_amdgpu.compile.backend import Output, Settings
    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target

FORMS = ("mlir", "llvm", "asm", "hsaco", "vmfb", "metrics")


class AmdgpuBackend:
    """Compiles through MLIR and the AMDGPU code generator, in a process of its own."""

    def __init__(self) -> None:
        """The process is started when something is compiled."""
        self._worker = Worker()

    def prepare(self) -> None:
        """Start the compiler's process."""
        self._worker.start()

    def versions(self) -> Mapping[str, str]:
        """This package and the compiler."""
        return versions()

    def emit(
        self,
        lowered: Any,
        target: Target,
        options: Any,
        table: LoweringTable,
        form: str,
    ) -> Mapping[str, bytes]:
        """The files of one form; see `FORMS`."""
        graph: Graph = lowered
        given: WaveCompileOptions = options
        settings = settings_of(given, target, self._worker)
        if form in {"mlir", "vmfb"}:
            return _uncompiled(graph, target, given, settings, table, form)
        if form != "hsaco":
            settings = replace(settings, intermediates=True)
        output = compile_graph(graph, target, settings, table)
        _dump(given, graph, target, output)
        if form == "hsaco":
            return _artifact(output)
        return _text(graph.name, form, target, output)


def _uncompiled(
    graph: Graph,
    target: Target,
    options: WaveCompileOptions,
    settings: Settings,
    table: LoweringTable,
    form: str,
) -> dict[str, bytes]:
    """The forms without a code object of their own."""
    text = final_mlir(graph, target, settings, table)
    texts, stem = {".mlir": text, ".wave": str(graph)}, _stem(graph, target)
    if form == "mlir":
        dump(options, stem, texts, {})
        return {f"{graph.name}.mlir": text.encode()}
    data = compile_vmfb(graph, target, settings, table)
    dump(options, stem, texts, {".vmfb": data})
    return {f"{graph.name}.vmfb": data}


def _stem(graph: Graph, target: Target) -> str:
    return f"{graph.name}-{target.name}"


def _dump(
    options: WaveCompileOptions, graph: Graph, target: Target, output: Output
) -> None:
    texts = {
        ".wave": str(graph),
        ".mlir": output.mlir,
        ".ll": output.llvm,
        ".s": output.assembly,
    }
    artifact = output.artifact
    binaries = {".hsaco": artifact.code, ".json": artifact.manifest.to_json()}
    dump(options, _stem(graph, target), texts, binaries)


def _artifact(output: Output) -> dict[str, bytes]:
    artifact = output.artifact
    return {CODE: artifact.code, MANIFEST: artifact.manifest.to_json()}


def _text(name: str, form: str, target: Target, output: Output) -> dict[str, bytes]:
    if form == "asm":
        return {f"{name}.s": output.assembly.encode()}
    if form == "llvm":
        return {f"{name}.ll": output.llvm.encode()}
    found = measure(output.assembly, name, target)
    return {f"{name}.metrics.json": json.dumps(found.to_json()).encode()}
