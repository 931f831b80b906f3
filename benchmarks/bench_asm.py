"""The assembly path beside the MLIR path, kernel by kernel of the library.

``python benchmarks/bench_asm.py [--target gfx942] [--json] [KERNEL ...]``; all kernels
on gfx942 and gfx950 without arguments, in some five minutes. A row has both paths,
MLIR's first: CPU time from the trace to the code object, that of the compilers'
processes included, in one session and by turns; instructions of the hot loop, which may
be another loop where one path wrote a loop out; instructions that a wave of the first
case issues, the mean of all; VGPRs and AGPRs together, and SGPRs; waves of a SIMD that
the vector registers leave room for; cycles of the first case by the emulator's model.
Shapes and presets are those of a kernel with nothing set; the last rows fill a chip
(`FULL`).
With ``--json``, the rows are one line, and what they say together is another.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import Figure, report
from peers.again import spent

from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_core.plugin import ViewRequest
from wave_emulator_amdgcn.views import cycles
from wave_isa_amdgcn.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wave_core.compile.kernels import KernelCase

TARGETS = ("gfx942", "gfx950")
REPEATS = 3
"""Compilations of which the median counts; one more warms up."""

SQUARE = dict.fromkeys("MNK", 4096)
FULL: dict[str, tuple[str, dict[str, int]]] = {
    "gemm 4096": ("gemm", SQUARE),
    "gemm-mxfp 4096": ("gemm-mxfp", SQUARE),
    **{
        f"attention 64 x 4096 d{depth}": (
            "attention",
            {"B": 64, "M": 4096, "K2": 4096, "K1": depth, "N": depth},
        )
        for depth in (64, 128)
    },
}
"""Kernels whose first case leaves most of a chip idle, with other sizes."""

TITLES = (
    "kernel", "target", "CPU s", "loop", "run", "VGPR", "SGPR", "waves", "cycles",
)  # fmt: skip

COMPARED = {
    "no more instructions": "instructions",
    "no more executed instructions": "executed",
    "no more vectors": "vectors",
    "no more scalars": "scalars",
    "no fewer waves": "waves",
    "no more cycles": "cycles",
}
"""What the summary counts: rows where the assembly path is no worse."""

SESSION = Session(config=Config(cache=False), announce=lambda _: None)


@dataclass(frozen=True)
class Side:
    """What a path makes of a kernel.

    Attributes:
        cpu_s: of one compilation.
        instructions: of the hottest loop; 0 where there is no loop.
        executed: instructions that the mean wave issues.
        vectors: VGPRs and AGPRs of a lane.
        scalars: SGPRs of a wave.
        waves: of a SIMD, as ``vectors`` let them; LDS and workgroups may leave fewer.
        cycles: of the launch, by the emulator's model.
    """

    cpu_s: float
    instructions: int
    executed: float
    vectors: int
    scalars: int
    waves: int
    cycles: float


@dataclass(frozen=True)
class Row:
    """A kernel on a chip; ``asm`` is a text where the path refuses."""

    kernel: str
    target: str
    mlir: Side
    asm: Side | str

    def better(self, name: str) -> bool:
        """Whether the assembly path needs no more of something, or leaves no less."""
        if isinstance(self.asm, str):
            return False
        own, other = getattr(self.asm, name), getattr(self.mlir, name)
        return own >= other if name == "waves" else own <= other


def code_object(case: KernelCase) -> object:
    """One compilation by the path that the options of a case name."""
    return emit(case.options, case.kernel, "hsaco", SESSION)


def cpu_seconds(works: tuple[Callable[[], object], ...]) -> list[float]:
    """The median of each, by turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS + 1):
        for work, found in zip(works, times, strict=True):
            gc.collect()
            SESSION.forget()
            start = spent(os.getpid())
            work()
            found.append(spent(os.getpid()) - start)
    return [statistics.median(found[1:]) for found in times]


def side(case: KernelCase, cpu_s: float) -> Side:
    """What the code of a case has."""
    files = {form: _files(case, form) for form in ("asm", "hsaco")}
    (text,) = files["asm"].values()
    name, target = case.kernel.name, case.options.target_name
    chip = SESSION.target(target)
    found = measure(text.decode(), name, chip)
    vectors = found.resources.vgprs
    make = partial(case.make_arguments, np.random.default_rng(0))
    request = ViewRequest(name, target, files["hsaco"], case.shape, make, None)
    modelled: Any = cycles(request).document
    return Side(
        cpu_s,
        found.hot.counts["total"] if found.hot else 0,
        issued(modelled["counters"]) / modelled["waves"],
        vectors,
        found.resources.sgprs,
        chip.occupancy(vectors, lds_bytes=0, threads=1)[0] or 0,
        modelled["cycles"]["total"],
    )


def issued(counters: dict[str, float]) -> float:
    """Instructions of all kinds, of all waves."""
    kinds = (name for name in counters if name.endswith("_instructions"))
    return sum(counters[kind] for kind in kinds)


def _files(case: KernelCase, form: str) -> dict[str, bytes]:
    return dict(emit(case.options, case.kernel, form, SESSION).files)


def row_of(kernel: str, target: str) -> Row:
    """Both paths of a kernel, or of one of `FULL`."""
    name, shape = FULL.get(kernel, (kernel, {}))
    case = make_case(SESSION.plugins.load_kernel(name), name, shape, {}, target)
    own = replace(case, options=replace(case.options, backend="asm"))
    try:
        code_object(own)
    except UserError as error:
        (taken,) = cpu_seconds((partial(code_object, case),))
        return Row(kernel, target, side(case, taken), error.code)
    taken = cpu_seconds((partial(code_object, case), partial(code_object, own)))
    return Row(kernel, target, *map(side, (case, own), taken))


def shown(row: Row) -> list[str]:
    """A row of the table."""
    if isinstance(row.asm, str):
        return [row.kernel, row.target, row.asm]
    pairs = zip(asdict(row.mlir).values(), asdict(row.asm).values(), strict=True)
    (slow, fast), *others = pairs
    counts = [f"{one:.0f} {two:.0f}" for one, two in others]
    return [row.kernel, row.target, f"{slow:.2f} {fast:.2f} {fast / slow:.2f}", *counts]


def table(rows: list[Row]) -> None:
    """Print the rows."""
    from rich.console import Console  # noqa: PLC0415 - not while measuring
    from rich.table import Table  # noqa: PLC0415 - as above

    found = Table(box=None, header_style="bold")
    for title in TITLES:
        found.add_column(title, justify="left" if title == "kernel" else "right")
    for row in rows:
        found.add_row(*shown(row))
    Console(highlight=False, width=120).print(found)


def summary(rows: list[Row]) -> Iterator[Figure]:
    """What all rows say together."""
    both = [row for row in rows if not isinstance(row.asm, str)]
    refused = len(rows) - len(both)
    yield Figure("refused by the assembly path", refused, "rows")
    ratios = [row.asm.cpu_s / row.mlir.cpu_s for row in both]
    yield Figure("compile time, median", statistics.median(ratios), "of MLIR's")
    for title, name in COMPARED.items():
        share = 100 * sum(row.better(name) for row in both) / len(both)
        yield Figure(title, share, "% of rows")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--target", choices=("gfx90a", *TARGETS))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    targets = (asked.target,) if asked.target else TARGETS
    kernels = asked.kernels or [*sorted(SESSION.plugins.kernels), *FULL]
    rows = [row_of(kernel, target) for kernel in kernels for target in targets]
    if asked.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        table(rows)
    report("assembly path", summary(rows))


if __name__ == "__main__":
    main()
