"""Compiles a lowered kernel: the front of this package."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.interface import StreamInterface
from wave_backend_amdgpu.codegen.module import Generated, generate
from wave_backend_amdgpu.codegen.options import CodeOptions, Denormals
from wave_backend_amdgpu.codegen.probes import has_probe
from wave_backend_amdgpu.codegen.table import own_table
from wave_backend_amdgpu.codegen.wrap import executable, program
from wave_backend_amdgpu.compile.ask import ask
from wave_backend_amdgpu.compile.flags import code_flags, program_flags
from wave_backend_amdgpu.compile.limits import check_limits
from wave_backend_amdgpu.compile.request import Answer, Form, Request, Step
from wave_backend_amdgpu.compile.spills import (
    ORDERS,
    check_spills,
    with_fewest_spills,
)
from wave_backend_amdgpu.compile.worker import Worker, default_worker
from wave_core.analysis.capacity import rounded_lds_bytes
from wave_core.backends.emission.manifest import MachineCode, artifact_of
from wave_core.backends.options import (
    DEBUG_LINES,
    IN_PROCESS,
    LIMITS,
    MEMORY_LIMIT,
    TIME_LIMIT,
)
from wave_core.compile.dump import Dumps
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target
    from wave_runtime.artifact import Artifact


@dataclass(frozen=True)
class Output:
    """The result of a compilation.

    Attributes:
        artifact: Code object and manifest.
        mlir: The MLIR that it was made from.
        assembly: Text, where it was asked for.
        llvm: Text, where it was asked for.
    """

    artifact: Artifact
    mlir: str
    assembly: str = ""
    llvm: str = ""


@dataclass(frozen=True)
class Probed:
    """Code with probes, and what each of them looks at, in order of addresses."""

    artifact: Artifact
    probes: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """How to compile.

    Attributes:
        code: The knobs of code generation.
        override: MLIR to use instead of what is generated.
        worker: Where to compile; ``None`` is in this process, which ends where the
            compiler crashes.
        intermediates: Whether assembly and LLVM IR are wanted.
        time_limit_s: Seconds that the worker may take.
        memory_limit_mib: Memory that the worker may hold, in MiB.
        dumps: Where the stages are written.
    """

    code: CodeOptions = field(default_factory=CodeOptions)
    override: str | None = None
    worker: Worker | None = field(default_factory=default_worker)
    intermediates: bool = False
    time_limit_s: int = LIMITS[TIME_LIMIT]
    memory_limit_mib: int = LIMITS[MEMORY_LIMIT]
    dumps: Dumps = field(default_factory=Dumps)


def settings_of(options: WaveCompileOptions, worker: Worker | None = None) -> Settings:
    """The settings that compile options ask for.

    Args:
        options: The options.
        worker: The compiler's process, unless ``in_process`` asks for none.
    """
    others = options.plugin_options
    limits = [_limit(options, name) for name in (TIME_LIMIT, MEMORY_LIMIT)]
    flush = options.denorm_fp_math_f32 == Denormals.FLUSH.value
    return Settings(
        CodeOptions(
            buffers=options.use_buffer_ops,
            fast_math=options.use_fast_math,
            waves_per_eu=options.waves_per_eu,
            denormals=Denormals.FLUSH if flush else Denormals.PRESERVE,
            debug=bool(others.get(DEBUG_LINES)),
        ),
        override=options.override_mlir,
        worker=None if others.get(IN_PROCESS) else worker or default_worker(),
        time_limit_s=limits[0],
        memory_limit_mib=limits[1],
        dumps=Dumps(
            options.dump_intermediates, options.dump_binaries, options.location
        ),
    )


def _limit(options: WaveCompileOptions, name: str) -> int:
    """A limit of the worker: what is asked for, or what is the rule."""
    found = options.plugin_options.get(name, LIMITS[name])
    assert isinstance(found, int), "checked with the options"
    return found


def mlir_of(
    graph: Graph, target: Target, settings: Settings, table: LoweringTable | None = None
) -> tuple[Generated, str]:
    """The interface of a kernel, and its MLIR."""
    geometry = check_limits(graph, target)
    table = table or own_table()
    code = generate(graph, target, settings.code, table, geometry=geometry)
    return code, settings.override or executable(code)


def compile_graph(
    graph: Graph,
    target: Target,
    settings: Settings | None = None,
    table: LoweringTable | None = None,
) -> Output:
    """The artifact of a lowered graph.

    Raises:
        UserError: WV0601 for an op without a lowering, WV0604 where the compiler
            refuses, WV0605 where the kernel needs more than the chip has, WV0606
            where the compiler crashes or reaches a limit.
        PluginError: WV0607 where a plugin's pass on the MLIR fails.
    """
    settings = settings or Settings()
    code, text = mlir_of(graph, target, settings, table)
    texts = [text] if settings.override else _texts(code, executable)
    compiled = partial(_answer, graph, target, Form.CODE, settings, table)
    text, answer = with_fewest_spills(texts, compiled)
    check_spills(answer.output, graph, target)
    artifact = _artifact(code, graph, target, answer)
    output = Output(artifact, answer.text or text, answer.assembly, answer.llvm)
    texts = {".mlir": output.mlir, ".ll": output.llvm, ".s": output.assembly}
    binaries = {".hsaco": artifact.code, ".json": artifact.manifest.to_json()}
    settings.dumps.write(_stem(graph, target), graph, texts, binaries)
    return output


def _texts(code: Generated, wrap: Callable[[Generated], str]) -> Iterator[str]:
    """The MLIR of a kernel for each order of instructions."""
    return (wrap(replace(code, order=order)) for order in ORDERS)


def _artifact(
    code: Generated,
    graph: Graph,
    target: Target,
    answer: Answer,
    form: Form = Form.CODE,
) -> Artifact:
    lds = rounded_lds_bytes(graph)
    made = MachineCode(code.name, form.value, answer.output, lds, versions())
    return artifact_of(code, made, graph, target)


def compile_probed(
    graph: Graph, target: Target, settings: Settings, table: LoweringTable | None = None
) -> Probed | None:
    """The artifact with probes; ``None`` where every access is proved to stay inside.

    MLIR by hand has none. Raises as `compile_graph`.
    """
    if settings.override is not None or not any(map(has_probe, graph.walk())):
        return None
    how = replace(settings.code, probes=True)
    settings = replace(settings, code=how, dumps=Dumps(), intermediates=False)
    code, text = mlir_of(graph, target, settings, table)
    if not code.probes:
        return None
    answer = _answer(graph, target, Form.CODE, settings, table, text)
    return Probed(_artifact(code, graph, target, answer), code.probes)


def _stem(graph: Graph, target: Target) -> str:
    return f"{graph.name}-{target.name}"


def final_mlir(
    graph: Graph,
    target: Target,
    settings: Settings,
    table: LoweringTable,
) -> str:
    """The MLIR that would be compiled; raises as `compile_graph`."""
    _, text = mlir_of(graph, target, settings, table)
    if table.module_passes and settings.override is None:
        text = _answer(graph, target, Form.TEXT, settings, table, text).text
    settings.dumps.write(_stem(graph, target), graph, {".mlir": text}, {})
    return text


def compile_vmfb(
    graph: Graph,
    target: Target,
    settings: Settings | None = None,
    table: LoweringTable | None = None,
) -> Artifact:
    """A module for IREE's runtime, with a function of the kernel's name.

    Raises:
        UserError: as `compile_graph`; WV0823 for MLIR that is given.
        PluginError: WV0607 where a plugin's pass on the MLIR fails.
    """
    settings = settings or Settings()
    if settings.override is not None:
        raise user_error(
            "WV0823",
            "`override_mlir` is given for a module for IREE, which has its own MLIR",
            at=graph.location,
            help="emit hsaco, asm or llvm of edited MLIR",
        )
    geometry = check_limits(graph, target)
    interface, rules = StreamInterface(), table or own_table()
    code = generate(graph, target, settings.code, rules, interface, geometry)
    compiled = partial(_answer, graph, target, Form.PROGRAM, settings, table)
    text, answer = with_fewest_spills(_texts(code, program), compiled)
    check_spills(answer.output, graph, target)
    texts = {".mlir": answer.text or text}
    output = answer.output
    settings.dumps.write(_stem(graph, target), graph, texts, {".vmfb": output})
    return _artifact(code, graph, target, answer, Form.PROGRAM)


def _answer(
    graph: Graph,
    target: Target,
    form: Form,
    settings: Settings,
    table: LoweringTable | None,
    text: str,
) -> Answer:
    """The compiler's answer to ``text``, after the passes of plugins."""
    flags = program_flags if form is Form.PROGRAM else code_flags
    by_hand = settings.override is not None
    passes = () if table is None or by_hand else table.module_passes
    request = Request(
        text,
        form,
        flags(target, settings.code),
        settings.intermediates or settings.dumps.intermediates is not None,
        settings.memory_limit_mib,
        tuple(Step(each.name, each.target, dict(each.options)) for each in passes),
        graph.name,
        target.name,
        by_hand,
        tuple(sys.path) if passes else (),
    )
    return ask(request, settings.worker, settings.time_limit_s, graph, passes)


@cache
def versions() -> Mapping[str, str]:
    """Everything besides the kernel that decides the code, with its version."""
    found: dict[str, str] = {}
    for name in (
        *("wave-core", "wave-backend-amdgpu", "wave-isa-amdgcn", "iree-base-compiler"),
    ):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
