"""Kernels on an NVIDIA card: are they right, and how fast beside the vendor's.

    python benchmarks/bench_cuda.py build FOLDER [--target sm_90a] [--form wgmma]
        compiles every job below with nothing set, or those whose form has that in its
        name (wgmma, tma), on a machine that needs no card
    python benchmarks/bench_cuda.py run FOLDER [--json FILE] [--only checks,speed]
        launches them on a card, which needs `wave-runtime`, numpy and, for speed, torch

What is checked is compared with references in f64 that were computed while building.
Launches run in a process of their own with a time limit, since a fault loses the
context of the process: the job is named, and the next one goes on in a fresh process.

Speed by bursts: 0.12 s idle, a warm call, then calls of about 12 ms between two events,
in shuffled order; medians of five rounds, beside what torch calls for the same work
(cuBLAS, `_scaled_mm`, cuDNN, a copy), in one process on random data.
"""

from __future__ import annotations

import argparse
import json
import select
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 60
"""That one launch may take, the start of its process included."""

ROUNDS, IDLE_S, BURST_MS = 5, 0.12, 12.0
REPEATS = 200


@dataclass(frozen=True)
class Job:
    """A kernel of the library at one size.

    Attributes:
        kernel: Its name.
        shape: Its sizes.
        settings: What is set beside them.
        rival: What torch does in its place; empty where results are checked.
        dtype: Of the inputs, where a rival is named; products say it in ``settings``.
        form: One of `FORMS`, or of `ATTENTION`, in place of what the compiler chooses.
    """

    kernel: str
    shape: dict[str, int]
    settings: dict[str, int | str] = field(default_factory=dict)
    rival: str = ""
    dtype: str = ""
    form: str = ""

    @property
    def title(self) -> str:
        """The kernel with its sizes."""
        given = {**self.shape, **self.settings}
        sizes = ",".join(f"{name}={value}" for name, value in given.items())
        return " ".join(filter(None, (self.kernel, self.dtype, sizes, self.form)))


@dataclass(frozen=True)
class Form:
    """A way to compile a product with waves of four warps.

    Attributes:
        tile: BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N.
        preset: The passes.
        copies: Whether tiles are copied past the registers.
        boxes: Whether they are copied by boxes, where they are proved to be some.
    """

    tile: tuple[int, int, int, int, int]
    preset: str
    copies: bool = True
    boxes: bool = False


WIDE, SQUARE, TALL = (128, 256, 64, 2, 1), (128, 128, 64, 2, 1), (256, 128, 64, 2, 1)
DEEP = (128, 128, 128, 2, 1)
BOXES = "copy-direct-to-lds{demanded=true, boxes=true}"
PRESETS = ("default", "prefetch", "fetch-ahead", "four-stage", "modulo")


def forms() -> Iterator[tuple[str, Form]]:
    """Ways with their names: the tile, 64 of K where it says no other, the preset."""
    for tile in (WIDE, SQUARE, TALL, DEEP):
        depth = "" if tile[2] == 64 else f"x{tile[2]}"
        for preset in PRESETS:
            name = f"wgmma-{tile[0]}x{tile[1]}{depth}-{preset}"
            yield name, Form(tile, preset)
            if not depth:
                boxed = name.replace("wgmma", "tma")
                yield boxed, Form(tile, preset, copies=False, boxes=True)
        yield (
            f"wgmma-{tile[0]}x{tile[1]}{depth}-default-by-registers",
            Form(tile, "default", copies=False),
        )


FORMS = dict(forms())
QUICK = [
    name
    for name in FORMS
    if name.startswith("wgmma") and name.endswith(("fetch-ahead", "four-stage"))
]
"""Forms for operands that lie across."""


ATTENTION = {
    f"wgmma-attention-128x{keys}-{preset}": (128, keys, 2, preset)
    for keys in (64, 128)
    for preset in PRESETS
}
"""Of attention: queries, keys and waves of a tile, and the preset."""


def typed(dtype: str, result: str = "") -> dict[str, int | str]:
    """Settings of products; results are of the operands' type."""
    return {"DTYPE": dtype, "RESULT": result or dtype}


def products(*shapes: tuple[int, int, int]) -> list[dict[str, int]]:
    """Sizes of matrix products."""
    return [dict(zip("MNK", shape, strict=True)) for shape in shapes]


EDGES = products(
    (0, 5, 7), (1, 1, 1), (13, 17, 19), (64, 64, 32), (127, 129, 31), (128, 128, 32),
    (129, 257, 65), (1000, 300, 520), (512, 512, 512),
)  # fmt: skip
ROWS = [{"M": m, "N": n} for m, n in ((1, 1), (3, 31), (7, 64), (5, 65), (9, 1000))]
HEADS = [
    dict(zip(("B", "M", "N", "K1", "K2"), sizes, strict=True))
    for sizes in ((1, 1, 16, 16, 1), (2, 65, 64, 64, 97), (4, 256, 64, 64, 256),
                  (1, 129, 128, 128, 131))
]  # fmt: skip

CHECKS = [
    *(Job("copy", shape) for shape in ROWS),
    *(Job("gemm", shape) for shape in EDGES),
    *(Job("gemm", shape, {"DYNAMIC": 1}) for shape in EDGES[1:7]),
    *(Job(f"gemm-{way}", shape) for way in ("nn", "tn", "tt") for shape in EDGES),
    *(Job("gemm", shape, typed("i8", "i32")) for shape in EDGES[1:7]),
    *(Job("gemm-staged", shape) for shape in EDGES),
    *(Job("gemm-stream-k", shape) for shape in EDGES[1:]),
    *(
        Job(kernel, shape)
        for kernel in ("softmax", "rms-norm", "layer-norm")
        for shape in ROWS
    ),
    *(Job("attention", shape) for shape in HEADS),
    *(Job("attention-causal", shape) for shape in HEADS),
    *(
        Job(kernel, shape, form=form)
        for kernel in ("attention", "attention-causal")
        for shape in HEADS
        for form in ATTENTION
        if shape["N"] >= 64
    ),
    Job("attention-heads", {}),
    *(
        Job(kernel, {}, settings)
        for kernel in ("conv2d", "conv2d-input", "conv2d-weight", "conv-depthwise")
        for settings in ({}, {"STRIDE": 2}, {"PADDING": 1, "DILATION": 2})
    ),
    Job("conv2d", {"N": 4, "H": 30, "W": 30, "C": 64, "HF": 3, "WF": 3, "NF": 96}),
]

SPEED = [
    *(
        Job("gemm", shape, typed(dtype), "mm")
        for dtype in ("bf16", "f16")
        for shape in products((4096,) * 3, (8192,) * 3)
    ),
    Job("gemm", products((8192,) * 3)[0], typed("bf16", "f32"), "mm"),
    *(
        Job(f"gemm-{way}", shape, typed("bf16"), "mm")
        for way in ("nn", "tn", "tt")
        for shape in products((4096,) * 3, (8192,) * 3)
    ),
    Job("gemm", products((8192,) * 3)[0], typed("f8e4m3fn", "bf16"), "scaled mm"),
    *(
        Job("gemm", shape, typed("bf16"), "mm", form=form)
        for shape in products((4096,) * 3, (8192,) * 3)
        for form in FORMS
    ),
    *(
        Job(f"gemm-{way}", shape, typed("bf16"), "mm", form=form)
        for way in ("nn", "tn", "tt")
        for shape in products((4096,) * 3, (8192,) * 3)
        for form in QUICK
    ),
    Job("gemm", products((4104,) * 3)[0], typed("bf16"), "mm"),
    Job("gemm", products((1000, 3000, 520))[0], typed("bf16"), "mm"),
    *(
        Job(kernel, {"B": 128, "M": 4096, "N": d, "K1": d, "K2": 4096},
            rival="attention", dtype="f16")
        for kernel in ("attention", "attention-causal")
        for d in (128, 64)
    ),
    *(
        Job(kernel, {"B": 128, "M": 4096, "N": d, "K1": d, "K2": 4096},
            rival="attention", dtype="f16", form=form)
        for kernel in ("attention", "attention-causal")
        for d in (128, 64)
        for form in ATTENTION
    ),
    *(
        Job(kernel, {"M": 8192, "N": 8192}, rival="copy", dtype=dtype)
        for kernel in ("softmax", "rms-norm", "layer-norm")
        for dtype in ("f32", "bf16")
    ),
]  # fmt: skip


# ------------------------------------------------------------------ without a card


def build(folder: Path, target: str, form: str = "") -> int:
    """Compile the jobs of no form, or of one; what cannot be compiled is named."""
    missing = 0
    every = (*CHECKS, *others(), *SPEED)
    jobs = [j for j in every if (form in j.form if form else not j.form)]
    for number, job in enumerate(jobs):
        place = folder / f"{number:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "job.json").write_text(json.dumps(asdict(job)))
        try:
            build_job(job, target, place)
        except Exception as problem:  # noqa: BLE001 - the table names what is missing
            missing += 1
            reason = str(problem).strip().splitlines()[:1] or [repr(problem)]
            (place / "problem.txt").write_text(reason[0])
            print(f"{job.title}: {reason[0]}")
    print(f"{len(jobs) - missing} jobs compiled, {missing} not")
    return missing


def others() -> Iterator[Job]:
    """Kernels of the library that no check names, as they are with nothing set."""
    from wave_core.compile import Session  # noqa: PLC0415 - not on the card

    listed = {job.kernel for job in CHECKS}
    for name in sorted(Session(announce=lambda _: None).plugins.kernels):
        if name not in listed:
            yield Job(name, {})


def build_job(job: Job, target: str, place: Path) -> None:
    """Code, and for a check its arguments and what they should become."""
    from wave_core.compile import Config, Session  # noqa: PLC0415 - not on the card
    from wave_core.compile.emission import emit  # noqa: PLC0415 - nor this
    from wave_core.compile.kernels import make_case  # noqa: PLC0415 - nor this

    session = Session(config=Config(cache=False), announce=lambda _: None)
    factory = session.plugins.load_kernel(job.kernel)
    case = make_case(factory, job.kernel, job.shape, settings_of(job), target)
    kernel = case.kernel
    if job.dtype and job.rival == "copy":
        kernel = of_type(job)
    options = case.options
    if job.form in ATTENTION:
        preset = ATTENTION[job.form][-1]
        options = replace(options, preset=preset, use_global_to_shared=True)
    elif job.form:
        kernel, options = formed(job, target)
    for name, data in emit(options, kernel, "cubin", session).files.items():
        (place / name).write_bytes(data)
    if job.rival:
        return
    arguments = list(case.make_arguments(np.random.default_rng(7)))
    arrays = [(i, a) for i, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    given = {f"a{i}": a for i, a in arrays}
    wanted = case.reference(
        [np.copy(a) if hasattr(a, "shape") else a for a in arguments]
    )
    expected = {f"o{i}": w for i, w in zip(case.outputs, wanted, strict=True)}
    largest = max(float(np.abs(w).max(initial=0)) for w in wanted)
    scale = case.scale(arguments) if case.scale else largest or 1.0
    np.savez_compressed(place / "arrays.npz", **given, **expected)
    numbers = [None if isinstance(a, np.ndarray) else a for a in arguments]
    facts = {"numbers": numbers, "limit": case.tolerance * scale}
    (place / "check.json").write_text(json.dumps(facts))


def settings_of(job: Job) -> dict[str, int | str]:
    """What a kernel is set to: the tile of its form, where it is attention."""
    if job.form not in ATTENTION:
        return job.settings
    queries, keys, waves, _ = ATTENTION[job.form]
    tile = {"BLOCK_M": queries, "BLOCK_N": job.shape["N"], "BLOCK_K2": keys}
    return {**job.settings, **tile, "WAVES_M": waves, "MMA_ROWS": 64, "STAGED": 1}


def of_type(job: Job) -> Any:
    """The library's kernel of rows for the job's type."""
    import wave_core.lang as tkl  # noqa: PLC0415 - not on the card
    from wave_kernels.definitions import norms, softmax  # noqa: PLC0415 - nor they

    makers: dict[str, Callable[[Any], Any]] = {
        "softmax": softmax.softmax_kernel,
        "rms-norm": norms.rms_norm_kernel,
        "layer-norm": norms.layer_norm_kernel,
    }
    return makers[job.kernel](getattr(tkl, job.dtype))


def formed(job: Job, target: str) -> tuple[Any, Any]:
    """A product with waves of four warps, and the options of its form."""
    import wave_core.lang as tkl  # noqa: PLC0415 - not on the card
    from wave_core.compile import WaveCompileOptions  # noqa: PLC0415 - nor this
    from wave_kernels.definitions.gemm import gemm_kernel  # noqa: PLC0415 - nor this

    form = FORMS[job.form]
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N")
    given = {**job.shape, **dict(zip(names, form.tile, strict=True))}
    subs: dict[Any, Any] = {getattr(tkl.sym, n): v for n, v in given.items()}
    subs[tkl.sym.ADDRESS_SPACE] = tkl.SHARED_ADDRESS_SPACE
    width = form.tile[1] // form.tile[4]
    options = WaveCompileOptions(
        subs=subs,
        target=target,
        preset=form.preset,
        passes=(BOXES,) if form.boxes else (),
        use_global_to_shared=form.copies,
    )
    dtype, result = (getattr(tkl, str(job.settings[n])) for n in ("DTYPE", "RESULT"))
    layout = (job.kernel.partition("-")[2] or "nt").upper()
    name = f"F32_64x{width}x16_F16"
    return gemm_kernel(dtype, name, layout=layout, result=result), options


# --------------------------------------------------------------------- on the card


def places(folder: Path) -> Iterator[tuple[Path, Job]]:
    """The jobs that were built."""
    for path in sorted(folder.glob("*/job.json")):
        if not (path.parent / "problem.txt").exists():
            yield path.parent, Job(**json.loads(path.read_text()))


def loaded(place: Path) -> tuple[Any, Any]:
    """A job's kernel on the card, and the card."""
    from wave_runtime import LoadedKernel, load_artifact, open_device  # noqa: PLC0415

    card = open_device("cuda")
    return LoadedKernel(load_artifact(place), card), card


def check(place: Path) -> dict[str, Any]:
    """The largest error of a launch, outputs poisoned before."""
    from wave_runtime.gpu_array import GpuArray  # noqa: PLC0415 - on the card

    kernel, card = loaded(place)
    facts = json.loads((place / "check.json").read_text())
    with np.load(place / "arrays.npz") as kept:
        host = [
            kept[f"a{i}"] if number is None else number
            for i, number in enumerate(facts["numbers"])
        ]
        wanted = {int(n[1:]): kept[n] for n in kept.files if n.startswith("o")}
    there = [GpuArray(card, a) if isinstance(a, np.ndarray) else a for a in host]
    kernel(*there)
    error = 0.0
    for position, want in wanted.items():
        got = np.empty_like(host[position])
        there[position].fetch(got)
        error = max(error, worst(got, want))
    return {"error": error, "limit": facts["limit"], "right": error <= facts["limit"]}


def worst(got: Any, want: Any) -> float:
    """The largest difference; infinite where one side alone is NaN."""
    one, other = got.astype("float64"), np.asarray(want, "float64")
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    gaps = np.where(same, 0.0, np.abs(one - other))
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0.0))


def speed(place: Path) -> dict[str, Any]:
    """Rates of ours and of a rival's, once ours is right."""
    import torch  # noqa: PLC0415 - checks need none

    job = Job(**json.loads((place / "job.json").read_text()))
    torch.manual_seed(1)
    kernel, _ = loaded(place)
    arguments, rival, want, work, unit = RIVALS[job.rival](torch, job)
    ours = lambda: kernel(*arguments)  # noqa: E731 - one of two runs
    ours()
    torch.cuda.synchronize()
    out = arguments[-1].float()
    gap = (out - want.float()).abs().max() / want.float().abs().max()
    found = {"card": torch.cuda.get_device_name(0), "differs": float(gap), "unit": unit}
    if not float(gap) < 1e-2:
        return found | {"right": False}
    steady = repeats_alike(torch, ours, arguments[-1])
    times = burst(torch, {"wave": ours, job.rival: rival})
    scale = 1e9 if unit == "TF/s" else 1e6
    rates = {name: work / ms / scale for name, ms in times.items()}
    return found | {
        "right": steady,
        "rates": rates,
        "ratio": rates["wave"] / rates[job.rival],
    }


def repeats_alike(torch: Any, run: Callable[[], Any], out: Any) -> bool:
    """Whether so many launches give the same bits, outputs poisoned before each."""
    first = out.clone()
    for _ in range(REPEATS):
        out.fill_(torch.nan)
        run()
        if not torch.equal(out, first):
            return False
    return True


def burst(torch: Any, runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Milliseconds of a call: medians of bursts in shuffled order."""
    counts = {name: max(1, int(BURST_MS / max(timed(torch, run, 3), 1e-3)))
              for name, run in runs.items()}  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = np.random.default_rng()
    for _ in range(ROUNDS):
        for name in order.permutation(sorted(runs)).tolist():
            time.sleep(IDLE_S)
            runs[name]()
            times[name].append(timed(torch, runs[name], counts[name]))
    return {name: statistics.median(each) for name, each in times.items()}


def timed(torch: Any, run: Callable[[], Any], calls: int) -> float:
    """Milliseconds of a call, by events of the card."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(calls):
        run()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / calls


def _torch_type(torch: Any, dtype: str) -> Any:
    names = {"f32": "float32", "f16": "float16", "f8e4m3fn": "float8_e4m3fn"}
    return getattr(torch, names.get(dtype, "bfloat16"))


def _random(torch: Any, dtype: str, *shape: int) -> Any:
    return torch.randn(*shape, device="cuda").to(_torch_type(torch, dtype))


def _poisoned(torch: Any, *shape: int, dtype: str = "f32") -> Any:
    kind = _torch_type(torch, dtype)
    return torch.full(shape, torch.nan, device="cuda", dtype=kind)


def rival_product(torch: Any, job: Job) -> Any:
    """By cuBLAS, which writes the type of its operands, in the layout of ours."""
    m, n, k = (job.shape[name] for name in "MNK")
    layout = job.kernel.partition("-")[2] or "nt"
    dtype, result = (str(job.settings[name]) for name in ("DTYPE", "RESULT"))
    a = _random(torch, dtype, *((m, k) if layout[0] == "n" else (k, m)))
    b = _random(torch, dtype, *((k, n) if layout[1] == "n" else (n, k)))
    x, y = (a if layout[0] == "n" else a.t()), (b if layout[1] == "n" else b.t())
    if job.rival == "scaled mm":
        one = torch.ones((), device="cuda")
        call = lambda: torch._scaled_mm(  # noqa: E731, SLF001 - torch's only name
            x, y, scale_a=one, scale_b=one, out_dtype=_torch_type(torch, result)
        )
    else:
        out = torch.empty(m, n, device="cuda", dtype=a.dtype)
        call = lambda: torch.mm(x, y, out=out)  # noqa: E731 - called later
    arguments = (a, b, _poisoned(torch, m, n, dtype=result))
    return arguments, call, call().clone(), 2.0 * m * n * k, "TF/s"


def rival_attention(torch: Any, job: Job) -> Any:
    """CuDNN's through torch, the fastest it has; causal, half of the work counts."""
    from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: PLC0415 - as torch

    b, m, n, k1, k2 = (job.shape[name] for name in ("B", "M", "N", "K1", "K2"))
    q, k = _random(torch, job.dtype, b, m, k1), _random(torch, job.dtype, b, k2, k1)
    v = _random(torch, job.dtype, b, k2, n)
    scaled = (q.float() * (1.4426950408889634 / k1**0.5)).to(q.dtype)
    causal = job.kernel == "attention-causal"
    heads = [each.view(b // 32, 32, *each.shape[1:]) for each in (q, k, v)]

    def rival() -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                *heads, is_causal=causal
            )

    want = rival().view(b, m, n)
    return (
        (scaled, k, v, _poisoned(torch, b, m, n)),
        rival,
        want,
        (2.0 if causal else 4.0) * b * m * k2 * n,
        "TF/s",
    )


def rival_copy(torch: Any, job: Job) -> Any:
    """A copy of the rows, which are more than any cache holds."""
    m, n = job.shape["M"], job.shape["N"]
    x = _random(torch, job.dtype, m, n)
    out, other = torch.full_like(x, torch.nan), torch.empty_like(x)
    columns, eps = [_random(torch, job.dtype, n) for _ in range(2)], 1e-5
    exact = x.double()
    if job.kernel == "softmax":
        arguments, want = (x, out), torch.softmax(exact, -1)
    elif job.kernel == "rms-norm":
        scale = (exact.square().mean(1, keepdim=True) + eps).rsqrt()
        arguments = (x, columns[0], eps, out)
        want = exact * scale * columns[0].double()
    else:
        weights = [each.double() for each in columns]
        want = torch.nn.functional.layer_norm(exact, (n,), *weights, eps)
        arguments = (x, *columns, eps, out)
    work = 2.0 * x.numel() * x.element_size()
    return arguments, lambda: other.copy_(x), want, work, "GB/s"


RIVALS = {
    "mm": rival_product,
    "scaled mm": rival_product,
    "attention": rival_attention,
    "copy": rival_copy,
}


def launch(place: Path) -> dict[str, Any]:
    """Host microseconds of a launch: the least mean of five times 300."""
    import torch  # noqa: PLC0415 - checks need none

    kernel, _ = loaded(place)
    x = torch.randn(64, 1000, device="cuda")
    y = torch.empty_like(x)
    rows = {"torch.mul(out=)": lambda: torch.mul(x, 2, out=y)}
    job = Job(**json.loads((place / "job.json").read_text()))
    a, b = (
        torch.randn(job.shape["M"], job.shape["N"], device="cuda") for _ in range(2)
    )
    rows["wave"] = lambda: kernel(a, b)
    return {name: host_time(torch, run) for name, run in rows.items()}


def host_time(torch: Any, run: Callable[[], Any]) -> float:
    """Microseconds."""
    run()
    means: list[float] = []
    for _ in range(5):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(300):
            run()
        means.append((time.perf_counter() - begun) / 300 * 1e6)
    torch.cuda.synchronize()
    return min(means)


SECTIONS = {"checks": check, "speed": speed, "launch": launch}


def serve() -> None:
    """Answer lines ``SECTION PLACE`` of a parent, a line of JSON each."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        section, place = line.split(maxsplit=1)
        try:
            found = SECTIONS[section](Path(place.strip()))
        except Exception as problem:  # noqa: BLE001 - it is reported
            traceback.print_exc()
            found = {"failed": f"{type(problem).__name__}: {problem}"[:500]}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


class Process:
    """A process that launches, and is replaced when it dies, hangs or fails."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, section: str, place: Path) -> dict[str, Any]:
        """What the process finds."""
        if self._process is None:
            command = [sys.executable, __file__, "serve"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{section} {place}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline() if ready else ""
        found: dict[str, Any] = (
            json.loads(line) if line else {"failed": f"died or took {SECONDS} s"}
        )
        if "failed" in found:
            self.close()
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def run(folder: Path, sections: set[str], out: Path | None) -> int:
    """Launch everything; prints what is wrong, and the table of speed."""
    process, rows, bad = Process(), list[dict[str, Any]](), 0
    for place, job in places(folder):
        section = "speed" if job.rival else "checks"
        if section in sections:
            found = process.ask(section, place)
            rows.append({"section": section, "title": job.title, **found})
            bad += not found.get("right", False)
            show(rows[-1])
        if "launch" in sections and job.title == "softmax M=5,N=65":
            process.close()  # modules and arrays of the checks would be in the way
            found = process.ask("launch", place)
            rows.append({"section": "launch", "title": "launch", **found})
            print(f"host time of a launch, us: {found}", flush=True)
    process.close()
    checked = [row for row in rows if row["section"] == "checks"]
    right = sum(bool(row.get("right")) for row in checked)
    print(f"{right} of {len(checked)} checks right")
    if out is not None:
        out.write_text(json.dumps(rows, indent=1))
    return bad


def show(row: dict[str, Any]) -> None:
    """A line for a row that is wrong, or that has a rate."""
    if "rates" in row:
        rates = ", ".join(f"{name} {rate:.1f}" for name, rate in row["rates"].items())
        line = f"{row['title']}: {rates} {row['unit']}, ratio {row['ratio']:.3f}"
        print(f"{line} ({row['card']})", flush=True)
    if not row.get("right"):
        print(f"WRONG {row}", flush=True)


def main() -> int:
    """The program."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("build", "run", "serve"))
    arguments.add_argument("folder", type=Path, nargs="?", default=Path())
    arguments.add_argument("--target", default="sm_90a")
    arguments.add_argument("--form", default="")
    arguments.add_argument("--only", default=",".join(SECTIONS))
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    if given.what == "serve":
        serve()
        return 0
    if given.what == "build":
        return build(given.folder, given.target, given.form)
    return run(given.folder, set(given.only.split(",")), given.json)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
