"""Registers that kernels of the library spill, under every preset, in every tile.

``python benchmarks/spills.py [KERNEL ...]``; all of them take an hour, so that it is
not among what `nox -s bench` runs. A kernel is compiled for gfx942 and gfx950 in each
way to settle what its author leaves open. What a chip has no room for is refused with
the numbers, and counted beside.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from measure import Figure, report

from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.choosing import open_values
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_isa_amdgcn.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wave_core.compile import WaveCompileOptions
    from wave_core.compile.kernels import KernelCase

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
TARGETS = ("gfx942", "gfx950")
PRESETS = (
    "auto",
    "naive",
    "default",
    "prefetch",
    "fetch-ahead",
    "four-stage",
    "modulo",
    "pingpong",
    "prefetch-attention",
)
REFUSALS = {"WV0406", "WV0605"}
"""More LDS or more registers than there are, with the numbers."""

SIDE = 4096
ATTENTION = {"B": 64, "M": SIDE, "N": 128, "K1": 128, "K2": SIDE}
SHAPES: dict[str, dict[str, int]] = {
    "attention": ATTENTION,
    "attention-causal": ATTENTION,
    "attention-heads": {"B": 4, "M": SIDE, "H": 32, "N": 64, "K1": 64, "K2": SIDE},
    "conv2d": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-input": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-weight": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
}
"""Sizes that overlap iterations; products are square, and others have their own."""


@dataclass
class Found:
    """What came of a kernel on a chip; ``most`` names the worst compilation."""

    compiled: int = 0
    refused: int = 0
    spills: int = 0
    most: str = ""


def shape_of(kernel: str) -> dict[str, int]:
    """Sizes of a kernel."""
    if kernel.startswith("gemm"):
        return dict.fromkeys("MNK", SIDE)
    return SHAPES.get(kernel, {})


def asked(case: KernelCase, target: str) -> Iterator[WaveCompileOptions]:
    """Every way to compile a case."""
    rows = open_values(case.options, case.kernel, SESSION.target(target))
    for preset, values in product(PRESETS, rows):
        subs = {**case.options.subs, **values}
        yield replace(case.options, subs=subs, preset=preset)


def spilled(case: KernelCase, options: WaveCompileOptions) -> int:
    """Registers that the code object spills."""
    found = wave_compile(options, case.kernel, session=SESSION)
    settings = replace(
        settings_of(found.compiled.options), worker=None, intermediates=True
    )
    output = compile_graph(found.graph, found.compiled.target, settings)
    name = output.artifact.manifest.name
    taken = measure(output.assembly, name, found.compiled.target).resources
    return taken.vgpr_spills + taken.sgpr_spills


def found_for(kernel: str, target: str) -> Found:
    """One kernel on one chip."""
    factory, found = SESSION.plugins.load_kernel(kernel), Found()
    case = make_case(factory, kernel, shape_of(kernel), {}, target)
    for options in asked(case, target):
        try:
            spills = spilled(case, options)
        except UserError as error:
            if error.code not in REFUSALS:
                raise
            found.refused += 1
            continue
        found.compiled += 1
        if spills > found.spills:
            found.spills, found.most = spills, f"{options.preset}, {options.subs}"
    return found


def figures(kernels: Iterable[str]) -> Iterator[Figure]:
    """The most that any compilation of a kernel spills."""
    for kernel, target in product(kernels, TARGETS):
        found = found_for(kernel, target)
        note = f"{found.compiled} compiled, {found.refused} refused {found.most}"
        name = f"{kernel}, {target}, most spills"
        yield Figure(name, found.spills, "registers", 0, note)


if __name__ == "__main__":
    words = [each for each in sys.argv[1:] if not each.startswith("-")]
    report("spills", figures(words or sorted(SESSION.plugins.kernels)))
