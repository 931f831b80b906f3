"""Kernels with a loop, each for a number of iterations, to run under any schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from machine_code import for_any_machine
from programs import PROGRAMS, distance

import wave_core.lang as language
from wave_core.compile import run_case
from wave_core.compile.kernels import make_case

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from wave_core.compile import Session

STRATEGIES = (
    "prefetch",
    "four-stage",
    "prefetch-attention",
    "fetch-ahead",
    "modulo",
    "pingpong",
)
TRIPS = (0, 1, 2, 3, 4, 5, 9)
"""None, fewer than stages, one less, as many and one more than stages, and many."""

STEP = 16
"""Elements of the loop's dimension in one iteration."""

PRODUCT = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": STEP}
ATTENTION = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K2": STEP}


@dataclass(frozen=True)
class LibraryLoop:
    """A kernel of the library whose loop runs as often as asked.

    Attributes:
        name: The kernel.
        settings: Its tiles, and whether sizes come with the launch.
        shape: Its sizes, from the length of the loop's dimension.
        staged: Whether arguments go through LDS.
        least: The fewest iterations that its sizes can ask for.
    """

    name: str
    settings: dict[str, int]
    shape: Callable[[int], dict[str, int]]
    staged: bool = False
    least: int = 1

    def run(
        self, session: Session, trips: int, target: str, device: str, **options: Any
    ) -> None:
        """Run on inputs whose last tile is cut, and compare with the reference."""
        factory = session.plugins.load_kernel(self.name)
        shape = self.shape(max(STEP * trips - 3, 0))
        case = make_case(factory, self.name, shape, self.settings, target)
        subs = dict(case.options.subs)
        if self.staged:
            subs[language.sym.ADDRESS_SPACE] = language.SHARED_ADDRESS_SPACE
        given = replace(
            case.options, subs=subs, device=device, poison_outputs=True, **options
        )
        report = run_case(case, options=given, session=session, seed=trips)
        assert report.wrong == 0, report
        assert report.kernel.last_run is not None
        assert report.kernel.last_run.reports == ()


def _product(length: int) -> dict[str, int]:
    return {"M": 40, "N": 33, "K": length}


def _attention(length: int) -> dict[str, int]:
    return {"B": 1, "M": 33, "N": 17, "K1": 20, "K2": length}


def _heads(length: int) -> dict[str, int]:
    return _attention(length) | {"H": 2}


def _conv(length: int) -> dict[str, int]:
    return {"N": 1, "C": length, "H": 4, "W": 4, "HF": 1, "WF": 1, "NF": 17}


DIRECT = LibraryLoop(
    "gemm",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64},
    lambda length: {"M": 64, "N": 64, "K": 4 * (length + 3)},
    staged=True,
)
"""Whole tiles, which can be copied to LDS without going through registers."""

OPEN = PRODUCT | {"DYNAMIC": 1}
"""Sizes come with the launch."""

LOOPS = {
    "gemm": LibraryLoop("gemm", PRODUCT, _product, least=0),
    "gemm-open": LibraryLoop("gemm", OPEN, _product, least=0),
    "gemm-shared": LibraryLoop("gemm", PRODUCT, _product, staged=True, least=0),
    "gemm-shared-open": LibraryLoop("gemm", OPEN, _product, staged=True, least=0),
    "gemm-staged": LibraryLoop("gemm-staged", PRODUCT, _product, least=0),
    "gemm-staged-open": LibraryLoop("gemm-staged", OPEN, _product, least=0),
    "attention": LibraryLoop("attention", ATTENTION, _attention),
    "attention-shared": LibraryLoop("attention", ATTENTION, _attention, staged=True),
    "attention-heads": LibraryLoop("attention-heads", ATTENTION, _heads),
    "conv2d": LibraryLoop("conv2d", {"BLOCK_K": STEP}, _conv),
}


def _deeper(given: dict[str, Any], trips: int) -> dict[str, Any]:
    """A convolution over so many tiles of channels and places, the last one cut."""
    channels = (32 * trips - 3) // 6 + 1
    image, filters = given["image"], given["filters"]
    return given | {
        "image": (*image[:3], channels),
        "filters": (*filters[:2], channels, filters[3]),
    }


def _longer(given: dict[str, Any], trips: int) -> dict[str, Any]:
    """Attention over so many tiles of keys, the last one cut."""
    shape = given["shape"]
    return given | {"shape": (*shape[:-1], 32 * trips - 3)}


EXAMPLES: dict[str, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    "gemm": lambda given, trips: given | {"k": 32 * trips - 3},
    "gemm-dynamic": lambda given, trips: given | {"k": 32 * trips - 3},
    "gemm-staged": lambda given, trips: given | {"k": 32 * trips - 3},
    "conv": _deeper,
    "attention": _longer,
    "attention-4d": _longer,
    "attention-heads": _longer,
}
"""Arguments of the examples with a loop, for roughly so many iterations."""

SHORTEST = {"gemm-dynamic": 3}
"""The fewest iterations that an example is launched for: it assumes a long loop."""


def run_example(
    name: str, trips: int, patch: pytest.MonkeyPatch, target: str, **options: Any
) -> None:
    """Run an example for a chip, and compare with what torch says."""
    torch.manual_seed(trips)
    program = PROGRAMS[name]
    module = import_module(program.script)
    arguments = EXAMPLES[name](program.arguments(module), trips)
    if hasattr(module, "mfma_variant"):
        patch.setattr(module, "mfma_variant", (None, None))
    if program.script == "attention":
        arguments["mfma_variant"] = (None, None)
    made = language.wave_compile

    def compiled(given: Any, kernel: Any) -> Any:
        chosen = replace(given, target=target, poison_outputs=True, **options)
        return made(chosen, for_any_machine(kernel))

    patch.setattr(language, "wave_compile", compiled)
    kernel, tensors, expected = module.build(**arguments)
    tensors[-1].fill_(float("nan"))
    kernel(*tensors)
    assert kernel.last_run.reports == ()
    assert distance(np.asarray(tensors[-1]), expected) <= program.tolerance
