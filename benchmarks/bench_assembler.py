"""What NVIDIA's assembler makes of the library for sm_90a: products kept, spills.

    python benchmarks/bench_assembler.py [COUNT [SEED [KERNEL [PRESET]]]]

compiles a random COUNT of all combinations of kernels, element types, tiles of four
warps, presets, ways to copy, and sizes at and beside the edges of tiles, nothing set
among them; or of those of kernels whose name begins so, "" for all, under this preset.
It names each in which the assembler does products one after the other (C75xx) or keeps
registers in memory (LDL, STL). Nothing is set where the preset is `auto`. No GPU is
needed.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from measure import Figure, report

from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = "sm_90a"
OPEN = "auto"
PRESETS = (
    *("naive", "default", "prefetch", "fetch-ahead", "four-stage", "modulo"),
    *("pingpong", "prefetch-attention"),
)
DTYPES = ("bf16", "f16", "f8e4m3fn")
SIZES = (
    *((1, 1, 1), (131, 67, 1001), (257, 129, 201), (255, 256, 264), (128, 256, 64)),
    *((129, 257, 136), (4096, 4096, 4096), (1000, 3000, 520)),
)
NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N", "MMA_ROWS")
TILES = (
    (128, 256, 64, 2, 1, 64),
    (256, 128, 64, 2, 1, 64),
    (128, 128, 64, 2, 1, 64),
    (192, 192, 64, 3, 1, 64),
    (64, 64, 64, 1, 1, 64),
)
HEADS = ((1, 1, 1), (2, 65, 97), (1, 129, 131), (2, 256, 256), (128, 4096, 4096))
ROWS = ((1, 1), (7, 65), (9, 1000), (8192, 8192))
OTHERS = {
    **dict.fromkeys(
        ("conv2d", "conv2d-input", "conv2d-weight"),
        ({}, {"N": 4, "H": 30, "W": 30, "C": 64, "HF": 3, "WF": 3, "NF": 96}),
    ),
    "conv-depthwise": ({}, {"N": 4, "H": 30, "W": 30, "C": 65}),
    "gemm-mxfp": ({"M": 130, "N": 70, "K": 96},),
    "gemm-batched": ({"B": 3, "M": 131, "N": 67, "K": 201},),
    **{
        name: tuple(dict(zip("MNK", sizes, strict=True)) for sizes in SIZES[1:4])
        for name in ("gemm-staged", "gemm-stream-k", "gemm-split-k")
    },
    **{
        name: tuple(dict(zip("MN", sizes, strict=True)) for sizes in ROWS)
        for name in ("copy", "softmax", "rms-norm", "layer-norm")
    },
}


@dataclass(frozen=True)
class Combination:
    """A kernel at one size, compiled in one way.

    Attributes:
        kernel: Its name.
        shape: Its sizes.
        settings: What is set beside them.
        preset: The passes.
        direct: Whether tiles are asked to go to LDS directly.
    """

    kernel: str
    shape: dict[str, int]
    settings: dict[str, int | str] = field(default_factory=dict)
    preset: str = OPEN
    direct: bool = False

    @property
    def title(self) -> str:
        """All of it in one line."""
        given = {**self.shape, **self.settings}
        values = ",".join(f"{name}={value}" for name, value in given.items())
        return f"{self.kernel} {values} {self.preset}{' direct' * self.direct}"


def combinations() -> Iterator[Combination]:
    """All of them."""
    yield from _products()
    yield from _attention()
    yield from _few_queries()
    for name, shapes in OTHERS.items():
        for shape, preset in product(shapes, (OPEN, *PRESETS)):
            yield Combination(name, shape, {}, preset)


def _products() -> Iterator[Combination]:
    names = ("gemm", "gemm-nn", "gemm-tn", "gemm-tt")
    for name, dtype, sizes in product(names, DTYPES, SIZES):
        shape = dict(zip("MNK", sizes, strict=True))
        types: dict[str, int | str] = {"DTYPE": dtype, "RESULT": "f32"}
        for preset in (OPEN, *PRESETS):
            yield Combination(name, shape, types, preset)
        for tile, preset, direct in product(TILES, PRESETS, (False, True)):
            given = dict(zip(NAMES, tile, strict=True))
            given["BLOCK_K"] *= 2 if dtype.startswith("f8") else 1
            settings = {**types, "STAGED": 1, **given}
            yield Combination(name, shape, settings, preset, direct)


def _attention() -> Iterator[Combination]:
    names = ("attention", "attention-causal", "attention-heads")
    for name, width, (batch, queries, keys) in product(names, (64, 128), HEADS):
        sizes = (batch, queries, width, width, keys)
        shape = dict(zip(("B", "M", "N", "K1", "K2"), sizes, strict=True))
        for preset in (OPEN, *PRESETS):
            yield Combination(name, shape, {}, preset)
        for tile, preset, direct in product((64, 128), PRESETS, (False, True)):
            given = {"BLOCK_M": 128, "BLOCK_N": width, "BLOCK_K2": tile}
            settings: dict[str, int | str] = {**given, "WAVES_M": 2, "MMA_ROWS": 64}
            if name != "attention-heads":
                settings["STAGED"] = 1
            yield Combination(name, shape, settings, preset, direct)


def _few_queries() -> Iterator[Combination]:
    """Of one query, and of several, that heads share keys for; in parts, in pages."""
    for width, keys, split, preset in product(
        (64, 128), (200, 4096), (1, 2), (OPEN, *PRESETS)
    ):
        shape = {"B": 2, "M": 1, "H": 2, "N": width, "K1": width, "K2": keys}
        for rows, paged in product((1, 8), (0, 1)):
            settings: dict[str, int | str] = {"SPLIT": split, "PAGED": paged}
            yield Combination("attention-decode", shape | {"M": rows}, settings, preset)
        for heads, queries, dtype in ((2, 1, "bf16"), (16, 1, "f16"), (16, 5, "bf16")):
            sizes = shape | {"H": heads, "M": queries}
            settings = {"SPLIT": split, "GROUP": heads // 2, "DTYPE": dtype}
            yield Combination("attention-split", sizes, settings, preset)


def assembled(session: Session, asked: Combination) -> str:
    """``kept``, ``refused``, or what was given up, with numbers."""
    factory = session.plugins.load_kernel(asked.kernel)
    case = make_case(factory, asked.kernel, asked.shape, asked.settings, TARGET)
    options = replace(case.options, preset=asked.preset)
    if asked.direct:
        options = replace(options, use_global_to_shared=True)
    try:
        (found,) = emit(options, case.kernel, "metrics", session).files.values()
    except UserError as error:
        (row, *_) = error.diagnostics
        return str(row.data.get("lost", "refused"))
    used = json.loads(found)["resources"]
    spilled = used["spill_store_bytes"] + used["spill_load_bytes"]
    return f"{spilled} bytes spilled, {used['registers']} used" if spilled else "kept"


def figures(
    count: int, seed: int, kernel: str = "", preset: str = ""
) -> Iterator[Figure]:
    """How many of them are compiled as they are meant."""
    session = Session(config=Config(cache=False), announce=lambda _: None)
    every = [
        each
        for each in combinations()
        if each.kernel.startswith(kernel) and preset in {"", each.preset}
    ]
    order = np.random.default_rng(seed).permutation(len(every))
    chosen = [every[place] for place in order[:count]]
    kinds: Counter[str] = Counter()
    for each in chosen:
        said = assembled(session, each)
        kind = "C75xx" if "(C75" in said else "spilled" if "spilled" in said else said
        kinds[kind] += 1
        if kind in {"C75xx", "spilled"}:
            print(f"{each.title}: {said}")
    note = f"of {len(every)}, seed {seed}"
    yield Figure("combinations", len(chosen), "kernels", note=note)
    yield Figure("  C75xx: products one by one", kinds["C75xx"], "kernels", 0)
    yield Figure("  registers in memory", kinds["spilled"], "kernels")
    yield Figure("  refused", kinds["refused"], "kernels")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a loop that stays as it is says so
    logging.getLogger("wave_core").setLevel(logging.CRITICAL)
    usual = "40", "7", "", ""
    how_many, first, *which = (*sys.argv[1:], *usual[len(sys.argv) - 1 :])
    rows = figures(int(how_many), int(first), *which)
    report("what the assembler gives up, sm_90a", rows)
