"""Speeds that others published, beside the emulator's model of kernels of ours.

``python benchmarks/bench_published.py [--json]``, some minutes. `published.toml` has
the figures with recipe and source. Ours is the library's kernel of the same operation,
size and element type (of attention f16), with nothing else set. It is another kernel
than theirs, so that what is compared is how near a good kernel comes to the limits of
the chip. It counts at the clock that was measured with the figure, or else in the
middle of what is known under load.
"""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
from measure import Figure, report

import wave_core.lang as tkl
from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.plugin import ViewRequest
from wave_emulator_amdgcn.views import cycles
from wave_isa_amdgcn.costs import COSTS
from wave_kernels.definitions.gemm import gemm_kernel

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
TABLE = Path(__file__).parent / "published.toml"

LIMIT = 15.0
"""Percent that the median may deviate."""

LEAST = 8
"""Figures that the median is asked to be of."""

DTYPES = {
    "f16": tkl.f16, "bf16": tkl.bf16,
    "fp8": {"gfx942": tkl.f8e4m3fnuz, "gfx950": tkl.f8e4m3fn},
    "bf8": {"gfx942": tkl.f8e5m2fnuz, "gfx950": tkl.f8e5m2},
}  # fmt: skip

WIDE = {("gfx950", 8): tkl.MMAType.F32_16x16x128_F8F6F4}
"""Instructions that reach the peak where the usual ones do not, by bits."""

DEEP = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "WAVES_M": 2, "WAVES_N": 2}
"""Their tile, since none of the library's is as deep as they are."""


@dataclass(frozen=True)
class Published:
    """A row of the table; units as there."""

    chip: str
    target: str
    by: str
    kernel: str
    dtype: str
    shape: dict[str, int]
    tflops: float
    recipe: str
    source: str
    ghz: float | None = None
    launches: int = 1
    calibrates: bool = False

    @property
    def title(self):
        """What it is, in one line."""
        sizes = "x".join(str(size) for size in self.shape.values())
        if self.kernel == "attention":
            sizes = f"d{self.shape['K1']} {self.shape['K2']}"
        return f"{self.chip} {self.kernel} {self.dtype} {sizes}, {self.by}"

    @property
    def clocks(self):
        """The lowest and the highest clock that the model counts at."""
        return (self.ghz, self.ghz) if self.ghz else COSTS[self.target].loaded_ghz

    @property
    def operations(self):
        """Multiplications and additions of the launch that is modelled."""
        if self.kernel == "gemm":
            return 2 * prod(self.shape.values())
        return 4 * prod(self.shape[name] for name in ("B", "M", "K2", "K1"))


def gemm_arrays(sizes, bits):
    """Zeros, since cycles do not depend on what is multiplied."""
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    kind = {8: np.uint8, 16: np.uint16}[bits]
    return [np.zeros((m, k), kind), np.zeros((n, k), kind), np.zeros((m, n), "f4")]


def attention_arrays(sizes, _bits):
    """Zeros: no score grows, as hardly any of random ones does after few tiles."""
    b, m, k2, k1, n = (sizes[name] for name in ("B", "M", "K2", "K1", "N"))
    shapes = ((b, m, k1), (b, k2, k1), (b, k2, n))
    return [*(np.zeros(s, np.float16) for s in shapes), np.zeros((b, m, n), "f4")]


ARRAYS = {"gemm": gemm_arrays, "attention": attention_arrays}


@cache
def modelled(kernel, dtype, target, shape):
    """The estimate of our kernel: cycles, and what they are of."""
    sizes, kind = dict(shape), DTYPES[dtype]
    kind = kind if isinstance(kind, tkl.DType) else kind[target]
    wide = WIDE.get((target, kind.bits))
    factory = SESSION.plugins.load_kernel(kernel)
    case = make_case(factory, kernel, sizes, DEEP if wide else {}, target)
    if kernel == "gemm":
        case = replace(case, kernel=gemm_kernel(kind, wide))
    files = emit(case.options, case.kernel, "hsaco", SESSION).files
    request = ViewRequest(
        kernel, target, files, sizes, lambda: ARRAYS[kernel](sizes, kind.bits), None
    )
    return cycles(request).document


def tflops_per_ghz(row):
    """The speed of our kernel in such a launch as was measured."""
    shape = tuple(row.shape.items())
    found = modelled(row.kernel, row.dtype, row.target, shape)
    counted, groups = found["cycles"], found["basis"]["workgroups"]
    units = COSTS[row.target].units
    more = -(-groups * row.launches // units) - -(-groups // units)
    total = counted["total"] + more * counted["per_workgroup"]
    return row.operations * row.launches / total / 1e3


def compared(row):
    """How far the model is from a figure, in percent of it."""
    speed, clocks = tflops_per_ghz(row), row.clocks
    low, high = (speed * ghz for ghz in clocks)
    middle = (low + high) / 2
    note = f"{row.tflops:,.0f} published, {middle:,.0f} modelled"
    note += f" ({low:,.0f} to {high:,.0f})" if low < high else ""
    note += ", calibrates" if row.calibrates else ""
    return Figure(row.title, 100 * (middle / row.tflops - 1), "%", note=note)


def main():
    rows = [Published(**row) for row in tomllib.loads(TABLE.read_text())["figure"]]
    figures = [compared(row) for row in rows]
    told = [
        abs(figure.value)
        for figure, row in zip(figures, rows, strict=True)
        if not row.calibrates
    ]
    median = Figure(
        "median of those not calibrated on", statistics.median(told), "%", LIMIT
    )
    count = Figure("figures in it", len(told), "", least=LEAST)
    report("published speeds", [*figures, median, count])


if __name__ == "__main__":
    main()
