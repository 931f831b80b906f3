"""The plugin: AMD targets, devices, lowerings. Imports nothing expensive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from wave_backend_amdgpu.codes_emulation import EMULATION_CODES
from wave_backend_amdgpu.codes_lowering import LOWERING_CODES
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

if TYPE_CHECKING:
    from wave_core.diagnostics import Code

REQUIRES_API = (1, 9)

_CHIPS = "wave_backend_amdgpu.targets.chips"

FAMILIES = (
    *(
        f"wave_backend_amdgpu.codegen.rules.{name}"
        for name in (
            *("atomic", "control", "direct", "matrix", "memory", "shuffles", "sync"),
        )
    ),
    *(
        f"wave_core.backends.emission.rules.{name}"
        for name in (
            *("arithmetic", "compare", "constants", "control", "random", "shape"),
        )
    ),
)
"""The modules of rules: of this package, and those of core that no vendor owns."""

_NAMED = "only barrier 0, that of the workgroup; named barriers are refused (WV0601)"
PARTLY = {
    "shared_memory_barrier_signal": _NAMED,
    "shared_memory_barrier_wait": _NAMED,
    "scaled_mma": "on gfx950; gfx1250 compiles it, others do not (WV0702)",
    "shared_tile": "no chip of this package multiplies what lies in LDS",
    "breakpoint": "left out of the code; for launches, logs take its place",
}
"""Ops of core that are refused or left out, or in part, with what and why."""


@hookimpl
def wave_register_targets() -> Iterable[TargetSpec]:
    """The chips."""
    return (
        TargetSpec("gfx90a", f"{_CHIPS}:gfx90a", "AMD Instinct MI200"),
        TargetSpec("gfx942", f"{_CHIPS}:gfx942", "AMD Instinct MI300"),
        TargetSpec("gfx950", f"{_CHIPS}:gfx950", "AMD Instinct MI350"),
        TargetSpec("gfx1100", f"{_CHIPS}:gfx1100", "AMD Radeon RX 7900"),
        TargetSpec("gfx1201", f"{_CHIPS}:gfx1201", "AMD Radeon RX 9070"),
        TargetSpec("gfx1250", f"{_CHIPS}:gfx1250", "AMD gfx1250, compiled only"),
    )


def chips() -> tuple[str, ...]:
    """The names of the chips."""
    return tuple(spec.name for spec in wave_register_targets())


@hookimpl
def wave_register_lowerings() -> Iterable[LoweringSpec]:
    """The rules, family by family."""
    first, *others = FAMILIES
    yield LoweringSpec("amdgpu", first, {**LOWERED_BY_CORE, **PARTLY})
    for family in others:
        yield LoweringSpec("amdgpu", family)


NEEDED = frozenset(
    {Fact.TYPED, Fact.INDEXED, Fact.EXPANDED, Fact.BOUNDED, Fact.SYNCHRONIZED}
)


@hookimpl
def wave_register_backends() -> Iterable[BackendSpec]:
    """The code generator."""
    yield BackendSpec(
        "amdgpu",
        "wave_backend_amdgpu.backend:AmdgpuBackend",
        targets=frozenset(chips()),
        forms=("mlir", "llvm", "asm", "hsaco", "vmfb", "metrics"),
        requires=NEEDED,
        summary="AMD GPUs, through MLIR",
        artifact="hsaco",
        overrides=("override_mlir",),
    )


PACKAGE = "wave-backend-amdgpu"


@hookimpl
def wave_register_options() -> Iterable[OptionSpec]:
    """The options of code generation; none changes the pipeline."""
    rows: tuple[tuple[str, Any, object, str], ...] = (
        ("use_buffer_ops", bool, False, "buffer instructions for global memory"),
        ("waves_per_eu", int | None, None, "waves of a SIMD to aim for"),
        (
            "denorm_fp_math_f32",
            Literal["ieee", "preserve-sign"] | None,
            None,
            "f32 denormals: kept (ieee) or flushed to zero (preserve-sign)",
        ),
        ("override_mlir", str | None, None, "MLIR to compile in place of our own"),
    )
    for name, kind, default, help_text in rows:
        # Every number here counts something.
        least = 1 if kind in (int, int | None) else None
        yield OptionSpec(name, kind, default, PACKAGE, help_text, least)


@hookimpl
def wave_register_executors() -> Iterable[ExecutorSpec]:
    """GPUs, through the HIP driver or through IREE's runtime; the emulator."""
    module = "wave_backend_amdgpu.executors"
    yield ExecutorSpec(
        "hip",
        f"{module}:HipExecutor",
        requires=NEEDED,
        summary="an AMD GPU, by HIP",
        backend="amdgpu",
        reads=("rocm",),
        strided=False,
        architectures="wave_runtime.hip:architectures",
    )
    yield ExecutorSpec(
        "iree",
        f"{module}:IreeExecutor",
        requires=NEEDED,
        summary="a GPU, by IREE",
        backend="amdgpu",
        strided=False,
    )
    yield ExecutorSpec(
        "emulator",
        f"{module}:EmulatorExecutor",
        requires=NEEDED,
        summary="the CPU, on AMD machine code, with hazards and cycles",
        backend="amdgpu",
        strided=False,
    )


@hookimpl
def wave_register_checks() -> Iterable[CheckSpec]:
    """The compiler, and the runtime of the device ``iree``."""
    module = "wave_backend_amdgpu.checks"
    yield CheckSpec("iree-base-compiler", f"{module}:compiler", "the code generator")
    yield CheckSpec("iree-base-runtime", f"{module}:runtime", "of device `iree`")


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """What only this package refuses, or finds in machine code."""
    return (*LOWERING_CODES, *EMULATION_CODES)
