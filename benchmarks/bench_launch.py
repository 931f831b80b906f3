"""Host time of a launch on `cuda`, without a card: all of Python's part.

``python benchmarks/bench_launch.py``. The driver's functions are one of C that does
nothing, and tensors of the CPU stand for those of a GPU; on a card the driver's own
time comes on top, and that of asking torch for its current stream.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import torch
from measure import Figure, cpu_times, report

from wave_runtime import Artifact, BindingInfo, ConstantInfo, LoadedKernel, Manifest
from wave_runtime.cuda import CudaCode
from wave_runtime.manifest import digest

REPEATS = 9
"""Measurements of which the median counts."""

CALLS = 10_000
"""Launches of one measurement."""

CODE = b"\x7fELF"


class Card:
    """What a kernel asks of its device; nothing is launched."""

    name, memory, ordinal = "cuda", "cpu", None
    architecture = "sm_90a"
    context = None
    grid_limits = (2**31 - 1, 65535, 65535)

    def __init__(self):
        nothing = ctypes.CDLL(None)["pthread_equal"]  # of two unlike words: 0, fine
        calls = dict.fromkeys(("cuLaunchKernel", "cuCtxGetCurrent"), nothing)
        self.driver = SimpleNamespace(library=calls)

    def load(self, artifact):
        """The kernel that a launch passes to the driver."""
        return CudaCode(self, 1, 1 << 40, artifact)


def kernel():
    """A softmax of rows: two matrices, and their sizes as numbers."""
    shape = ("M", "N")
    manifest = Manifest(
        name="softmax",
        target="sm_90a",
        parameters=("a", "b"),
        bindings=(
            BindingInfo("a", "f32", shape, written=False),
            BindingInfo("b", "f32", shape, written=True, limit=1 << 31),
        ),
        constants=tuple(ConstantInfo(x, "i32", 1, parameter=False) for x in shape),
        grid=("ceildiv(M, 4)",),
        threads=128,
        wave_size=32,
        lds_bytes=0,
        max_extent=1 << 30,
        code_bytes=len(CODE),
        code_digest=digest(CODE),
        versions={},
    )
    return LoadedKernel(Artifact(manifest, CODE), Card())


def timed(name, calls, limit=None, count=CALLS):
    """Microseconds of one of some calls that come by turns, of so many together."""

    def many():
        for _ in range(count // len(calls)):
            for call in calls:
                call()

    times = sorted(1e6 * spent / count for spent in cpu_times(many, REPEATS))
    note = f"median of {REPEATS}, {times[0]:.3g} to {times[-1]:.3g}"
    return Figure(name, times[REPEATS // 2], "us", limit, note)


def figures():
    run = kernel()
    pairs = [(torch.randn(64, 1000), torch.empty(64, 1000)) for _ in range(2)]
    calls = [lambda pair=pair: run(*pair) for pair in pairs]
    yield timed("launch, the same tensors again", calls[:1], 5)
    yield timed("launch, others each time", calls, 7)
    small, out = torch.randn(5, 65), torch.empty(5, 65)
    yield timed("torch.mul(out=) on the CPU", [lambda: torch.mul(small, 2, out=out)])


if __name__ == "__main__":
    report("launches on cuda: CPU time", figures())
