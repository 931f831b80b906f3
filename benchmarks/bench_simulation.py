"""Simulation on lanes with all checks, and on whole tiles; warm, without compiling."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace

import numpy as np
from measure import Figure, cpu_times, median, report

from wave_core.compile import wave_compile
from wave_kernels.cases.attention import attention_case
from wave_kernels.cases.gemm import gemm_case, staged_gemm_case

TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}
PEAK_LIMIT_MIB = 2048
"""Of the whole process, torch and the compiler included."""


def cube(size):
    return {"M": size, "N": size, "K": size}


CASES = (
    ("f16 gemm 512^3, lanes", gemm_case, cube(512), TILE, "sim", 5, 0.9),
    ("f16 gemm 1024^3, lanes", gemm_case, cube(1024), TILE, "sim", 3, 7.0),
    ("staged gemm 512^3, lanes", staged_gemm_case, cube(512), TILE, "sim", 3, None),
    ("attention H4 S256 D64, lanes", attention_case, {}, {}, "sim", 5, 0.6),
    ("f16 gemm 512^3, whole tiles", gemm_case, cube(512), TILE, "sim-logical", 5, 0.1),
)
"""Name, case, shape, settings, device, repeats, and the limit in s of CPU time."""


def simulate(case_of, shape, settings, device, repeats):
    """CPU seconds of each launch; the last result is checked."""
    case = case_of(shape, settings, "generic")
    options = replace(case.options, device=device)
    kernel = wave_compile(options, case.kernel)
    arguments = case.make_arguments(np.random.default_rng(0))
    times = cpu_times(lambda: kernel(*arguments), repeats)
    for position, expected in zip(case.outputs, case.reference(arguments), strict=True):
        scale = case.scale(arguments)
        error = np.abs(arguments[position] - expected).max()
        assert error <= case.tolerance * scale, error
    return times


def peak_mib():
    """The most memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def peak_of_large():
    """The same for a process that only simulates the large product."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak"], capture_output=True, text=True, check=True
    )
    name = "f16 gemm 1024^3, lanes: peak memory"
    return Figure(name, float(done.stdout), "MiB", PEAK_LIMIT_MIB, "whole process")


def figures():
    for name, case_of, shape, settings, device, repeats, limit in CASES:
        times = simulate(case_of, shape, settings, device, repeats)
        yield median(name, times, "s", limit)
    yield peak_of_large()


if __name__ == "__main__":
    if "--peak" in sys.argv[1:]:
        simulate(gemm_case, cube(1024), TILE, "sim", 1)
        print(peak_mib())
    else:
        report("simulation, CPU time", figures())
