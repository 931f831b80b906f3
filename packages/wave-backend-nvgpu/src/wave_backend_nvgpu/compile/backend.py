"""Compiles a lowered kernel: the front of this package."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.module import Generated, generate
from wave_backend_nvgpu.codegen.table import own_table
from wave_backend_nvgpu.compile.ask import ask_assembler, ask_llvm
from wave_backend_nvgpu.compile.assemble import Limits
from wave_backend_nvgpu.compile.entry import check_entry
from wave_backend_nvgpu.compile.limits import check_limits
from wave_backend_nvgpu.compile.lines import without_lines
from wave_backend_nvgpu.compile.request import Request
from wave_backend_nvgpu.compile.settings import Settings
from wave_backend_nvgpu.compile.spills import check_spills, tell_spills
from wave_backend_nvgpu.compile.versions import ptx_version, versions_with
from wave_core.backends.emission.manifest import MachineCode, artifact_of
from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from wave_backend_nvgpu.compile.assemble import Assembled
    from wave_backend_nvgpu.compile.remarks import Remarks
    from wave_backend_nvgpu.compile.tools import Tool
    from wave_core.backends import LoweringTable
    from wave_core.ir import Graph
    from wave_core.targets import Target
    from wave_runtime.artifact import Artifact

MOST_GROUPS = 32
"""Workgroups of a multiprocessor. Source: CUDA C++ Programming Guide, compute
capability 8.0 and 9.0."""


@dataclass(frozen=True)
class Texts:
    """A kernel as text.

    Attributes:
        code: Its interface.
        llvm: The LLVM IR that is compiled; empty where the PTX was given.
        ptx: The PTX; empty where nobody wanted it.
    """

    code: Generated
    llvm: str
    ptx: str = ""


@dataclass(frozen=True)
class Output:
    """The result of a compilation.

    Attributes:
        artifact: Machine code with its manifest; or PTX, where there is no assembler.
        texts: What it was made from.
        remarks: What the assembler said; ``None`` where there is none.
    """

    artifact: Artifact
    texts: Texts
    remarks: Remarks | None


def llvm_of(
    graph: Graph,
    target: Target,
    settings: Settings,
    table: LoweringTable | None = None,
    *,
    lines: bool = True,
) -> Texts:
    """The LLVM IR of a kernel, with the user's lines unless it was given.

    Raises:
        UserError: WV0601 for an op without a lowering, WV0605 where the kernel needs
            more than the GPU has.
    """
    check_limits(graph, target)
    code = generate(graph, target, settings.code, table or own_table())
    if settings.llvm is not None:
        return Texts(code, settings.llvm)
    return Texts(code, code.text if lines else without_lines(code.text))


def ptx_of(
    graph: Graph,
    target: Target,
    settings: Settings,
    table: LoweringTable | None = None,
    *,
    lines: bool = True,
) -> Texts:
    """The PTX of a kernel, with the user's lines unless something was given.

    Raises:
        UserError: as `llvm_of`; WV0604 where LLVM refuses, WV0606 where it crashes or
            reaches a limit.
    """
    texts = llvm_of(graph, target, settings, table, lines=lines)
    if settings.ptx is not None:
        texts = replace(texts, llvm="", ptx=settings.ptx)
    else:
        texts = replace(texts, ptx=_ptx(texts.llvm, graph, target, settings))
    if settings.ptx is not None or settings.llvm is not None:
        form = "ptx" if settings.ptx is not None else "llvm"
        check_entry(texts.ptx, texts.code, graph, form)
    return texts


def _ptx(
    llvm: str,
    graph: Graph,
    target: Target,
    settings: Settings,
    *,
    sinking: bool = False,
) -> str:
    request = Request(
        llvm,
        target.name,
        ptx_version(llvm),
        settings.memory_limit_mib,
        settings.llvm is not None,
        sinking,
    )
    return ask_llvm(request, settings.worker, settings.time_limit_s, graph)


def compile_graph(
    graph: Graph,
    target: Target,
    settings: Settings | None = None,
    table: LoweringTable | None = None,
) -> Output:
    """The artifact of a lowered graph: machine code, or PTX without an assembler.

    Raises:
        UserError: as `ptx_of`; WV0604 where the assembler refuses, WV0605 where its
            code spills and there are other ways, WV0606 where it crashes or reaches a
            limit, WV0823 where the path given for it is wrong.
    """
    settings = settings or Settings()
    tool = settings.find_assembler()
    texts = ptx_of(graph, target, settings, table, lines=settings.lines)
    if tool is None:
        artifact = _artifact(texts, graph, target, texts.ptx.encode(), None)
        return _dumped(Output(artifact, texts, None), graph, target, settings)
    texts, done = _with_fewest_spills(texts, tool, graph, target, settings)
    if graph.gives_way and settings.llvm is None and settings.ptx is None:
        check_spills(done.remarks, graph, target)
    tell_spills(done.remarks, graph, target)
    artifact = _artifact(texts, graph, target, done.cubin, tool)
    return _dumped(Output(artifact, texts, done.remarks), graph, target, settings)


def _with_fewest_spills(
    texts: Texts, tool: Tool, graph: Graph, target: Target, settings: Settings
) -> tuple[Texts, Assembled]:
    """The machine code, or another that spills less: with more room, or more sunk.

    PTX of the user is assembled as it is. Raises as `compile_graph`.
    """
    limits = Limits(settings.time_limit_s, settings.memory_limit_mib)
    assembled = partial(
        ask_assembler,
        target=target.name,
        tool=tool,
        limits=limits,
        graph=graph,
        lines=settings.lines,
    )
    found = [(texts, assembled(texts.ptx))]
    others = [partial(_ptx, texts.llvm, graph, target, settings, sinking=True)]
    if texts.code.lds_bytes:
        others.insert(0, partial(_roomy, texts, target))
    for other in others if texts.llvm else ():
        if not found[-1][1].remarks.spilled_bytes:
            break
        try:
            ptx = other()
            found.append((replace(texts, ptx=ptx), assembled(ptx)))
        except UserError:
            continue
    return min(found, key=lambda each: each[1].remarks.spilled_bytes)


def _roomy(texts: Texts, target: Target) -> str:
    """The PTX, which says how many workgroups shared memory has room for.

    The assembler does not know what a launch asks for, and spills to have registers
    for more workgroups than there can be. Source: PTX ISA, ".minnctapersm".
    """
    groups = min(target.memory.lds_bytes // texts.code.lds_bytes, MOST_GROUPS)
    told = rf"\g<0>\n.minnctapersm {groups}"
    return re.sub(r"^\.maxntid .*$", told, texts.ptx, count=1, flags=re.MULTILINE)


def compile_text(
    graph: Graph,
    target: Target,
    settings: Settings | None = None,
    table: LoweringTable | None = None,
) -> Artifact:
    """The artifact of a lowered graph as PTX; raises as `ptx_of`."""
    texts = ptx_of(graph, target, settings or Settings(), table)
    return _artifact(texts, graph, target, texts.ptx.encode(), None)


def _artifact(
    texts: Texts, graph: Graph, target: Target, data: bytes, tool: Tool | None
) -> Artifact:
    code = texts.code
    form = "ptx" if tool is None else "cubin"
    versions = versions_with(tool)
    made = MachineCode(code.symbol, form, data, code.lds_bytes, versions, code.boxed)
    return artifact_of(code, made, graph, target)


def _dumped(output: Output, graph: Graph, target: Target, settings: Settings) -> Output:
    artifact = output.artifact
    texts = {".ll": output.texts.llvm, ".ptx": output.texts.ptx}
    binaries = {
        f".{artifact.manifest.form}": artifact.code,
        ".json": artifact.manifest.to_json(),
    }
    settings.dumps.write(f"{graph.name}-{target.name}", graph, texts, binaries)
    return output
