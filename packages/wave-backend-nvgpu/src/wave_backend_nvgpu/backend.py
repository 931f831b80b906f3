"""The backend as core sees it: forms of output as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from wave_backend_nvgpu.compile.assemble import Limits, disassemble
from wave_backend_nvgpu.compile.backend import (
    Output,
    compile_graph,
    llvm_of,
    ptx_of,
)
from wave_backend_nvgpu.compile.limits import check_limits
from wave_backend_nvgpu.compile.settings import Settings, settings_of
from wave_backend_nvgpu.compile.tools import (
    ASSEMBLER,
    DISASSEMBLER,
    WHEELS,
    find_disassembler,
)
from wave_backend_nvgpu.compile.versions import versions
from wave_backend_nvgpu.compile.worker import Worker
from wave_backend_nvgpu.metrics import measure
from wave_core.diagnostics import user_error
from wave_runtime.artifact import MANIFEST, code_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target


class NvgpuBackend:
    """Compiles through LLVM IR and PTX, with LLVM in a process of its own."""

    def __init__(self) -> None:
        """The process is started when something is compiled."""
        self.worker = Worker()

    def prepare(self) -> None:
        """Start LLVM's process."""
        self.worker.start()

    def versions(self) -> Mapping[str, str]:
        """This package, LLVM and the assembler."""
        return versions()

    def check(self, lowered: Any, target: Target) -> None:
        """Refuse a kernel that needs more than the GPU has."""
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
        if form == "llvm":
            text = llvm_of(graph, target, settings, table).llvm
            return {f"{graph.name}.ll": text.encode()}
        if form == "ptx":
            text = ptx_of(graph, target, settings, table).ptx
            return {f"{graph.name}.ptx": text.encode()}
        output = compile_graph(graph, target, settings, table)
        if form == "cubin" and output.remarks is None:
            raise _without(ASSEMBLER, graph, "without it there is no machine code")
        if form in {"code", "cubin"}:
            return _files(output)
        if form == "sass":
            return {f"{graph.name}.sass": _sass(output, graph, settings).encode()}
        return {f"{graph.name}.metrics.json": _metrics(output, graph, target)}


def _files(output: Output) -> dict[str, bytes]:
    manifest = output.artifact.manifest
    return {
        code_file(manifest.form): output.artifact.code,
        MANIFEST: manifest.to_json(),
    }


def _metrics(output: Output, graph: Graph, target: Target) -> bytes:
    if output.remarks is None:
        raise _without(ASSEMBLER, graph, "metrics are what the assembler says")
    found = measure(output.remarks, output.artifact.manifest, target)
    return json.dumps(found.to_json()).encode()


def _sass(output: Output, graph: Graph, settings: Settings) -> str:
    """The instructions of the machine code."""
    if output.remarks is None:
        raise _without(ASSEMBLER, graph, "without it there is no machine code")
    tool = find_disassembler()
    if tool is None:
        raise _without(DISASSEMBLER, graph, "it prints machine code as text")
    limits = Limits(settings.time_limit_s, settings.memory_limit_mib)
    text, failure = disassemble(output.artifact.code, tool, limits)
    if failure:
        raise user_error(
            "WV0606",
            f"the disassembler of `{graph.name}` {failure}",
            at=graph.location,
            label="this kernel",
            help=f"pip install --upgrade {WHEELS[DISASSEMBLER]}",
        )
    return text


def _without(tool: str, graph: Graph, why: str) -> Exception:
    """A tool of NVIDIA's that is nowhere."""
    return user_error(
        "WV0604",
        f"`{tool}` is not installed, and {why}",
        at=graph.location,
        label="asked for this kernel",
        help=(
            f"pip install {WHEELS[tool]}",
            "`wave compile --emit ptx` needs no tool of NVIDIA's",
        ),
    )
