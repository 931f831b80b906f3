"""Does the runtime launch on the NVIDIA GPU that is here?

    python benchmarks/cuda_smoke.py [--ordinal N]

Loads hand-written PTX through `wave_runtime.cuda`, compares results with numpy, times
launches on the side of the CPU, and looks at how mistakes are refused. Needs numpy and
the driver; msgspec for whole artifacts, torch for its streams, and leaves these out
without them. Exits with 1 where something is not as it should be.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SOURCES = Path(__file__).parents[1] / "packages" / "wave-runtime" / "src"

HEAD = ".version 8.0\n.target {target}\n.address_size 64\n"

AXPY = """
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u64 z,
                     .param .u32 n, .param .f32 a)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [y];
    ld.param.u64 %d2, [z];
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 256, %r2;
    setp.ge.u32 %p0, %r3, %r0;
    @%p0 ret;
    mul.wide.u32 %d3, %r3, 4;
    add.s64 %d4, %d0, %d3;
    add.s64 %d5, %d1, %d3;
    add.s64 %d6, %d2, %d3;
    ld.global.f32 %f1, [%d4];
    ld.global.f32 %f2, [%d5];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%d6], %f3;
    ret;
}
"""
"""``z = a x + y``, 256 elements a workgroup."""

REVERSE = """
.extern .shared .align 16 .b8 smem[];
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u64 z,
                     .param .u32 n, .param .f32 a)
{
    .reg .b32 %r<8>;
    .reg .f32 %f<3>;
    .reg .b64 %d<6>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [z];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d0, %d2;
    add.s64 %d4, %d1, %d2;
    ld.global.f32 %f1, [%d3];
    mov.u32 %r2, smem;
    add.u32 %r2, %r2, %r0;
    shl.b32 %r3, %r1, 2;
    sub.u32 %r4, %r2, %r3;
    st.shared.f32 [%r4+-4], %f1;
    bar.sync 0;
    add.u32 %r5, %r2, %r3;
    ld.shared.f32 %f2, [%r5+-1024];
    st.global.f32 [%d4], %f2;
    ret;
}
"""
"""256 elements in reverse, through the last bytes of ``n`` bytes of shared memory."""

SHARED = 200 << 10
THREADS = 256
LAUNCHES = 1000
MOST_US = 9.0
"""Of the CPU for a launch, all of it."""

PAD = 64
"""Elements after an output that nobody may write."""


def modules() -> SimpleNamespace:
    """The runtime of this checkout; without msgspec only what launches."""
    sys.path.insert(0, str(SOURCES))
    if find_spec("msgspec") is None:
        bare = types.ModuleType("wave_runtime")
        bare.__path__ = [str(SOURCES / "wave_runtime")]
        sys.modules["wave_runtime"] = bare
    from wave_runtime import cuda, errors, gpu_array  # noqa: PLC0415 - found just now

    return SimpleNamespace(
        cuda=cuda, DeviceError=errors.DeviceError, GpuArray=gpu_array.GpuArray
    )


def artifact(code: bytes, target: str, name: str = "axpy", **changes: Any) -> Any:
    """What `CudaDevice.load` takes: code, and of a manifest what loading asks for."""
    fields = {"threads": THREADS, "lds_bytes": 0, **changes}
    manifest = SimpleNamespace(
        name=name,
        target=target,
        bindings=(None,) * 3,
        constants=(SimpleNamespace(words=1),) * 2,
        **fields,
    )
    return SimpleNamespace(manifest=manifest, code=code)


def whole_artifact(code: bytes, target: str) -> Any:
    """An artifact as the compiler writes it."""
    from wave_runtime import (  # noqa: PLC0415 - needs msgspec
        Artifact,
        BindingInfo,
        ConstantInfo,
        Manifest,
    )
    from wave_runtime.manifest import digest  # noqa: PLC0415 - needs msgspec

    manifest = Manifest(
        name="axpy",
        target=target,
        parameters=("x", "y", "z", "a"),
        bindings=tuple(
            BindingInfo(name, "f32", ("N",), written=name == "z") for name in "xyz"
        ),
        constants=(
            ConstantInfo("N", "i32", 1, parameter=False),
            ConstantInfo("a", "f32", 1, parameter=True),
        ),
        grid=(f"ceildiv(N, {THREADS})",),
        threads=THREADS,
        wave_size=32,
        lds_bytes=0,
        max_extent=1 << 30,
        code_bytes=len(code),
        code_digest=digest(code),
        versions={},
    )
    return Artifact(manifest, code)


def words(n: int, a: float) -> bytes:
    """The numbers after the pointers."""
    return np.uint32(n).tobytes() + np.float32(a).tobytes()


class Smoke:
    """The checks, on one GPU.

    Attributes:
        wrong: Names of the checks that failed.
    """

    def __init__(self, ordinal: int) -> None:
        self.runtime = modules()
        self.device = self.runtime.cuda.open_cuda(ordinal)
        self.ordinal = ordinal
        self.target = self.device.architecture
        self.wrong: list[str] = []
        self.axpy = (HEAD.format(target=self.target) + AXPY).encode()
        self.reverse = (HEAD.format(target=self.target) + REVERSE).encode()

    def say(self, what: str, fine: bool, found: object) -> None:  # noqa: FBT001
        """One line of the table."""
        print(f"{'ok   ' if fine else 'WRONG'}  {what:34} {found}", flush=True)
        if not fine:
            self.wrong.append(what)

    def arrays(self, n: int) -> tuple[Any, Any, list[Any]]:
        """Inputs, and all three arrays on the GPU; the output holds NaN."""
        rng = np.random.default_rng(n)
        x, y = rng.standard_normal((2, n)).astype("f4")
        poisoned = np.full(n + PAD, np.nan, "f4")
        placed = [self.runtime.GpuArray(self.device, a) for a in (x, y, poisoned)]
        return x, y, placed

    def launch(self, code: Any, n: int, placed: list[Any], **more: Any) -> None:
        """Queue ``axpy`` on these arrays."""
        buffers = [(each.__cuda_array_interface__["data"][0], 4 * n) for each in placed]
        grid = (-(-n // THREADS), 1, 1)
        code.launch(grid, buffers, words(n, 1.5), more.get("stream", 0))

    def largest_error(self, x: Any, y: Any, placed: list[Any]) -> float:
        """Of the output against float64; infinite where one is missing or stray."""
        out = np.empty(len(x) + PAD, "f4")
        placed[2].fetch(out)
        if not np.isnan(out[len(x) :]).all() or np.isnan(out[: len(x)]).any():
            return np.inf
        return float(np.abs(out[: len(x)] - (1.5 * x.astype("f8") + y)).max())

    def results(self) -> None:
        """Sizes around a workgroup; another thread; a stream; much shared memory."""
        code = self.device.load(artifact(self.axpy, self.target))
        for n in (1, 255, 256, 257, 1_000_003):
            x, y, placed = self.arrays(n)
            self.launch(code, n, placed)
            error = self.largest_error(x, y, placed)
            self.say(f"axpy of {n}", error < 1e-6, f"largest error {error:.2g}")
        self.elsewhere(code)
        x, _, placed = self.arrays(THREADS)
        made = self.device.load(artifact(self.reverse, self.target, lds_bytes=SHARED))
        made.launch(
            (1, 1, 1),
            [(each.__cuda_array_interface__["data"][0], 1024) for each in placed],
            words(SHARED, 0.0),
            0,
        )
        out = np.empty(THREADS + PAD, "f4")
        placed[2].fetch(out)
        fine = bool((out[:THREADS] == x[::-1]).all())
        self.say(f"{SHARED} bytes of shared memory", fine, "reversed")
        made.close()
        code.close()

    def elsewhere(self, code: Any) -> None:
        """From a thread without a context, and on a stream."""
        x, y, placed = self.arrays(5000)
        thread = threading.Thread(target=self.launch, args=(code, 5000, placed))
        thread.start()
        thread.join()
        error = self.largest_error(x, y, placed)
        self.say("from another thread", error < 1e-6, f"largest error {error:.2g}")
        x, y, placed = self.arrays(5000)
        stream = ctypes.c_void_p()
        with self.device.driver.current(self.device.context):
            status = self.device.driver.library.cuStreamCreate(ctypes.byref(stream), 1)
        self.launch(code, 5000, placed, stream=stream.value)
        error = self.largest_error(x, y, placed)
        fine = status == 0 and error < 1e-6
        self.say("on a stream of its own", fine, f"largest error {error:.2g}")

    def times(self) -> None:
        """Microseconds of the CPU for a launch, medians."""
        n = THREADS
        _, _, placed = self.arrays(n)
        code = self.device.load(artifact(self.axpy, self.target))
        pointers = [
            (each.__cuda_array_interface__["data"][0], 4 * n) for each in placed
        ]
        given = words(n, 1.5)
        took = self.median(lambda: code.launch((1, 1, 1), pointers, given, 0))
        self.say("a launch of loaded code", took < MOST_US, f"{took:.2f} us")
        with self.device.driver.current(self.device.context):
            took = self.median(lambda: code.launch((1, 1, 1), pointers, given, 0))
        self.say("... its context current", took < MOST_US, f"{took:.2f} us")
        if find_spec("msgspec") is None:
            print("       without msgspec no LoadedKernel")
            return
        self.whole_launches()

    def whole_launches(self) -> None:
        """Arguments checked, as users launch."""
        from wave_runtime import LoadedKernel  # noqa: PLC0415 - needs msgspec

        kernel = LoadedKernel(whole_artifact(self.axpy, self.target), self.device)
        ones = np.ones(THREADS, "f4")
        x, y, z = (self.runtime.GpuArray(self.device, ones) for _ in range(3))
        with self.device.driver.current(self.device.context):
            took = self.median(lambda: kernel(x, y, z, 1.5, stream=0))
        self.say("a call of LoadedKernel", took < MOST_US, f"{took:.2f} us")
        if find_spec("torch") is not None:
            self.torch_launches(kernel)

    def torch_launches(self, kernel: Any) -> None:
        """Tensors of torch, on its current stream, uncopied."""
        import torch  # noqa: PLC0415 - takes seconds

        with torch.cuda.device(self.ordinal):
            x, y = torch.randn(2, 100_000, device="cuda").unbind()
            z = torch.full_like(x, torch.nan)
            with torch.cuda.stream(torch.cuda.Stream()):
                kernel(x, y, z, 1.5)
                torch.cuda.current_stream().synchronize()
            error = float((z.double() - (1.5 * x.double() + y)).abs().max())
            self.say("tensors of torch, its stream", error < 1e-6, f"{error:.2g}")
            took = self.median(lambda: kernel(x, y, z, 1.5))
        self.say("a call with tensors of torch", took < MOST_US, f"{took:.2f} us")

    def median(self, launch: Callable[[], object]) -> float:
        """Microseconds; the queue is emptied so that it never fills."""
        times: list[int] = []
        for number in range(LAUNCHES):
            start = time.perf_counter_ns()
            launch()
            times.append(time.perf_counter_ns() - start)
            if number % 100 == 99:
                self.device.synchronize()
        return statistics.median(times) / 1000

    def refusals(self) -> None:
        """Mistakes are DeviceErrors that say what to do."""
        for what, says, action in self.mistakes():
            try:
                action()
            except self.runtime.DeviceError as error:
                text = " | ".join(str(error).split("\n"))
                self.say(what, all(word in text for word in says), text)
            else:
                self.say(what, fine=False, found="was not refused")
        x, y, placed = self.arrays(300)
        self.launch(self.device.load(artifact(self.axpy, self.target)), 300, placed)
        error = self.largest_error(x, y, placed)
        self.say("and launches go on", error < 1e-6, f"largest error {error:.2g}")

    def mistakes(self) -> Iterator[tuple[str, tuple[str, ...], Callable[[], object]]]:
        """Each by name, with words that the message has."""
        device, target = self.device, self.target

        def load(code: bytes, name: str = "axpy", **changes: Any) -> object:
            to = changes.pop("target", target)
            return device.load(artifact(code, to, name, **changes))

        broken = self.axpy.replace(b"fma.rn", b"fma.round")
        newer = self.axpy.replace(b".version 8.0", b".version 99.0")
        yield "broken PTX", ("INVALID_PTX", "line"), lambda: load(broken)
        yield "PTX of the future", ("CUDA",), lambda: load(newer)
        yield "no such function", ("`nothing`",), lambda: load(self.axpy, "nothing")
        yield (
            "too much shared memory",
            ("300000", str(device.card.shared_bytes), "smaller tiles"),
            lambda: load(self.axpy, lds_bytes=300_000),
        )
        yield "2048 threads", ("1024",), lambda: load(self.axpy, threads=2048)
        yield (
            "machine code of another GPU",
            ("sm_70", target),
            lambda: load(b"\x7fELF", target="sm_70"),
        )
        yield (
            "a damaged cubin",
            ("cuModuleLoad",),
            lambda: load(b"\x7fELF" + b"\1" * 99),
        )
        yield "a full GPU", ("OUT_OF_MEMORY",), lambda: device.allocate(1 << 50)
        yield (
            "a GPU that is not here",
            ("cuda:99",),
            lambda: self.runtime.cuda.open_cuda(99),
        )

    def stray(self) -> None:
        """A write to nowhere, in this process, which cannot go on afterwards."""
        code = self.device.load(artifact(self.axpy, self.target))
        code.launch((1, 1, 1), [(64, 4)] * 3, words(256, 1.0), 0)
        self.device.synchronize()


def lost(smoke: Smoke) -> None:
    """A stray access loses the process its GPU, and the message says so."""
    command = [sys.executable, __file__, "--stray", "--ordinal", str(smoke.ordinal)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False
    )
    last = (done.stderr.strip().splitlines() or [""])[-1]
    fine = done.returncode == 1 and "start it anew" in last
    smoke.say("an access to nowhere", fine, last)


def main() -> int:
    """Run all checks; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ordinal", type=int, default=0)
    parser.add_argument("--stray", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    smoke = Smoke(asked.ordinal)
    if asked.stray:
        smoke.stray()
        return 0
    cards = ", ".join(smoke.device.cards())
    print(f"driver of CUDA {smoke.device.driver.version}; {cards}")
    smoke.results()
    smoke.times()
    smoke.refusals()
    lost(smoke)
    print(f"wrong: {', '.join(smoke.wrong) or 'nothing'}")
    return bool(smoke.wrong)


if __name__ == "__main__":
    raise SystemExit(main())
