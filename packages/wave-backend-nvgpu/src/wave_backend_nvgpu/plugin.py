"""The plugin: NVIDIA targets, devices, lowerings. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wave_core.backends.lowered import LOWERED_BY_CORE
from wave_core.plugin import (
    BackendSpec,
    CheckSpec,
    ExecutorSpec,
    Fact,
    LoweringSpec,
    OptionSpec,
    TargetSpec,
    hookimpl,
)

REQUIRES_API = (1, 9)

_CHIPS = "wave_backend_nvgpu.targets.chips"

FAMILIES = (
    *(
        f"wave_core.backends.emission.rules.{name}"
        for name in (
            *("arithmetic", "compare", "constants", "control", "random", "shape"),
        )
    ),
    *(
        f"wave_backend_nvgpu.codegen.rules.{name}"
        for name in ("atomic", "control", "direct", "matrix", "memory")
    ),
    *(
        f"wave_backend_nvgpu.codegen.rules.{name}"
        for name in ("shuffle", "sync", "transposed", "warpgroup")
    ),
)
"""The modules of rules: core's, which every machine has, and our own."""

UNSUPPORTED = LOWERED_BY_CORE | {
    "scaled_mma": "these chips have no matrix instruction with scales",
}
"""Ops of core without a rule, by name, with the reason."""

_NAMED = "only barrier 0, that of the workgroup; named barriers are refused (WV0601)"
_HINT = "left out of the code: the assembler orders instructions"
PARTLY = {
    "shared_memory_barrier_signal": _NAMED,
    "shared_memory_barrier_wait": _NAMED,
    "set_wave_prio": "left out of the code: warps have no priorities",
    "scheduling_barrier": _HINT,
    "scheduling_group_barrier": _HINT,
    "breakpoint": "left out of the code; for launches, logs take its place",
}
"""Ops of core with a rule that refuses or leaves out something, with what."""


@hookimpl
def wave_register_targets() -> Iterable[TargetSpec]:
    """The chips."""
    return (
        TargetSpec("sm_80", f"{_CHIPS}:sm_80", "NVIDIA A100"),
        TargetSpec("sm_86", f"{_CHIPS}:sm_86", "NVIDIA A40, GeForce RTX 30"),
        TargetSpec("sm_89", f"{_CHIPS}:sm_89", "NVIDIA L40, GeForce RTX 40"),
        TargetSpec("sm_90", f"{_CHIPS}:sm_90", "NVIDIA H100, H200"),
        TargetSpec("sm_90a", f"{_CHIPS}:sm_90a", "NVIDIA H100, H200, no later ones"),
    )


def chips() -> tuple[str, ...]:
    """The names of the chips."""
    return tuple(spec.name for spec in wave_register_targets())


@hookimpl
def wave_register_lowerings() -> Iterable[LoweringSpec]:
    """The rules, family by family."""
    first, *others = FAMILIES
    yield LoweringSpec("nvgpu", first, {**UNSUPPORTED, **PARTLY})
    for family in others:
        yield LoweringSpec("nvgpu", family)


NEEDED = frozenset(
    {Fact.TYPED, Fact.INDEXED, Fact.EXPANDED, Fact.BOUNDED, Fact.SYNCHRONIZED}
)


@hookimpl
def wave_register_backends() -> Iterable[BackendSpec]:
    """The code generator."""
    yield BackendSpec(
        "nvgpu",
        "wave_backend_nvgpu.backend:NvgpuBackend",
        targets=frozenset(chips()),
        forms=("llvm", "ptx", "sass", "cubin", "code", "metrics"),
        requires=NEEDED,
        summary="NVIDIA GPUs, through LLVM",
        artifact="code",
        assembly="ptx",
        overrides=(OVERRIDE_LLVM, OVERRIDE_PTX),
    )


PACKAGE = "wave-backend-nvgpu"

REGISTERS = "registers_per_thread"
"""The option that limits registers, so that more warps fit a multiprocessor."""

OVERRIDE_LLVM, OVERRIDE_PTX = "override_llvm", "override_ptx"
"""Options that put text of the user in place of ours."""

ASSEMBLER = "ptxas"
"""The option that names the assembler."""


@hookimpl
def wave_register_options() -> Iterable[OptionSpec]:
    """The options of code generation; none changes the pipeline."""
    rows: tuple[tuple[str, Any, object, str], ...] = (
        (REGISTERS, int | None, None, "registers that a thread may have"),
        (OVERRIDE_LLVM, str | None, None, "LLVM IR to compile in place of our own"),
        (OVERRIDE_PTX, str | None, None, "PTX to assemble in place of our own"),
        (ASSEMBLER, str | None, None, "the path of `ptxas`, or `none` to keep PTX"),
    )
    for name, kind, default, help_text in rows:
        # Every number here counts something.
        least = 1 if kind == int | None else None
        yield OptionSpec(name, kind, default, PACKAGE, help_text, least)


@hookimpl
def wave_register_executors() -> Iterable[ExecutorSpec]:
    """GPUs, through the CUDA driver; the emulator of PTX."""
    module = "wave_backend_nvgpu.executors"
    yield ExecutorSpec(
        "cuda",
        f"{module}:CudaExecutor",
        requires=NEEDED,
        summary="an NVIDIA GPU, by CUDA",
        backend="nvgpu",
        reads=("cuda",),
        strided=False,
        architectures="wave_runtime.cuda:architectures",
    )
    yield ExecutorSpec(
        "emulator",
        f"{module}:EmulatorExecutor",
        requires=NEEDED,
        summary="the CPU, on PTX, with hazards",
        backend="nvgpu",
        strided=False,
    )


@hookimpl
def wave_register_checks() -> Iterable[CheckSpec]:
    """The programs that make code."""
    module = "wave_backend_nvgpu.checks"
    yield CheckSpec("llvmlite", f"{module}:code_generator", "makes PTX")
    yield CheckSpec("ptxas", f"{module}:assembler", "makes machine code of PTX")
    yield CheckSpec("nvdisasm", f"{module}:disassembler", "shows machine code")
