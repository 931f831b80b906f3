"""Options of the compiler for a target and the knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.options import CodeOptions, Denormals

if TYPE_CHECKING:
    from wave_core.targets import Target


DEBUG_INFO = "--iree-rocm-emit-debug-info"
"""Keeps the places of the kernel's lines in the code object."""


def code_flags(target: Target, options: CodeOptions) -> tuple[str, ...]:
    """For one code object."""
    return (*program_flags(target, options), "--iree-rocm-container-type=hsaco")


def program_flags(target: Target, options: CodeOptions) -> tuple[str, ...]:
    """For a module with a host program."""
    rows = ["--iree-hal-target-device=hip", f"--iree-rocm-target={target.name}"]
    # Otherwise f64 becomes f32 outside of the kernel, which then does not fit.
    rows.append("--iree-input-demote-f64-to-f32=false")
    if options.waves_per_eu is not None:
        rows.append(f"--iree-rocm-waves-per-eu={options.waves_per_eu}")
    if options.denormals is not Denormals.PRESERVE:
        rows.append(f"--iree-rocm-denormal-fp-math-f32={options.denormals.value}")
    if options.debug:
        rows.append(DEBUG_INFO)
    return tuple(rows)
