"""The examples at small shapes that no tile divides, ready to run and to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from wave_core.symbols import Kind
from wave_core.targets import generic_target
from wave_core.types import MemoryType
from wave_sim_cpu import lanes, logical
from wave_sim_cpu.options import SimulationOptions

SCRIPTS = (
    "attention",
    "attention_heads",
    "block_cumsum",
    "conv2d",
    "elementwise_copy",
    "gather_gemm_scatter",
    "gemm",
    "gemm_dynamic",
    "gemm_mxfp4",
    "gemm_persistent",
    "gemm_staged",
    "gemm_stream_k",
    "histogram",
    "moe_align",
    "rmsnorm",
    "single_threads",
    "softmax",
    "splitk",
    "topk",
)


@dataclass(frozen=True)
class Program:
    """An example with the arguments of its ``build``.

    ``build`` gives the compiled kernel, torch tensors for it with the output last,
    and what torch says the output should be. ``harsh`` makes inputs of others on which
    elements that do not exist do harm.
    """

    name: str
    script: str
    arguments: Callable[[Any], dict[str, Any]]
    tolerance: float = 1e-3
    harsh: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def build(self, **more: Any) -> tuple[Any, tuple[Any, ...], Any]:
        module = import_module(self.script)
        return module.build(**self.arguments(module), **more)


def far_below_zero(arguments):
    """Rows, or products of queries and keys, that are all far below zero."""
    if "q" not in arguments:
        return arguments | {"a": arguments["a"] - 300}
    six = np.float16(6)
    return arguments | {"q": arguments["q"] + six, "k": arguments["k"] - six}


def with_infinities(arguments):
    """One that a stray operand multiplies with zero shows as no number."""
    first, second, output = arguments
    one, other = arguments[first].copy(), arguments[second].copy()
    if one.ndim == 2:
        one[3, [9, 12, 20]] = other[5, [9, 13, 21]] = np.inf
    else:
        one[0, 3, 1:3] = np.inf
    return {first: one, second: other, output: arguments[output]}


PROGRAMS = {
    each.name: each
    for each in (
        Program(
            "persistent",
            "gemm_persistent",
            lambda _: {"m": 40, "n": 35, "k": 41, "block": 32, "workers": 3},
        ),
        Program("copy", "elementwise_copy", lambda _: {"m": 19, "n": 70}, 0.0),
        Program(
            "gemm",
            "gemm",
            lambda _: {
                "m": 40,
                "n": 35,
                "k": 41,
                "block_m": 32,
                "block_n": 32,
                "block_k": 32,
            },
        ),
        Program("gemm-dynamic", "gemm_dynamic", lambda _: {"m": 70, "n": 65, "k": 77}),
        Program(
            "gemm-staged",
            "gemm_staged",
            lambda _: {
                "m": 40,
                "n": 35,
                "k": 41,
                "block_m": 32,
                "block_n": 32,
                "block_k": 32,
            },
            harsh=with_infinities,
        ),
        # One iteration, which leaves a part of each buffer unwritten.
        Program(
            "gemm-staged-short",
            "gemm_staged",
            lambda _: {
                "m": 40,
                "n": 35,
                "k": 20,
                "block_m": 32,
                "block_n": 32,
                "block_k": 32,
            },
        ),
        Program(
            "conv",
            "conv2d",
            lambda _: {"image": (2, 6, 7, 3), "filters": (3, 2, 3, 20), "stride": 2},
            harsh=with_infinities,
        ),
        Program(
            "conv-square",
            "conv2d",
            lambda _: {"image": (2, 6, 6, 3), "filters": (2, 2, 3, 20), "square": True},
        ),
        Program(
            "softmax", "softmax", lambda _: {"m": 3, "n": 100}, harsh=far_below_zero
        ),
        Program(
            "attention",
            "attention",
            lambda _: {"shape": (2, 70, 40, 20, 50)},
            harsh=far_below_zero,
        ),
        Program(
            "attention-large",
            "attention",
            lambda m: {
                "shape": (1, 130, 40, 20, 50),
                "mfma_variant": (m.LARGE, m.LARGE),
            },
            harsh=far_below_zero,
        ),
        Program(
            "attention-mixed",
            "attention",
            lambda m: {
                "shape": (1, 40, 40, 20, 50),
                "mfma_variant": (m.LARGE, m.SMALL),
            },
            harsh=far_below_zero,
        ),
        Program(
            "attention-4d",
            "attention_heads",
            lambda _: {"shape": (2, 40, 3, 35, 20, 50)},
            harsh=far_below_zero,
        ),
        Program(
            "attention-heads",
            "attention_heads",
            lambda m: {
                "shape": (2, 40, 3, 35, 20, 50),
                "form": m.attention_with_heads_kernel,
            },
            harsh=far_below_zero,
        ),
    )
}


def arrays(kernel, tensors):
    """Arguments by name, as arrays of their own; the output is poisoned."""
    names = [parameter.name for parameter in kernel.parameters]
    given = {n: t.numpy().copy() for n, t in zip(names, tensors, strict=True)}
    given[names[-1]][...] = np.nan
    return given


def sizes(graph, arguments):
    """The symbols that stand for extents of memories, by the shapes of arguments."""
    return {
        extent: size
        for parameter in graph.parameters
        if isinstance(parameter.type, MemoryType)
        for extent, size in zip(
            parameter.type.shape, arguments[parameter.label].shape, strict=True
        )
        if extent.kind is Kind.SYMBOL
    }


def run_lanes(graph, arguments, **options):
    """Run a lowered graph; the output and what the simulator reports."""
    fresh = {name: array.copy() for name, array in arguments.items()}
    given = SimulationOptions(**{"poison_outputs": True, **options})
    result = lanes.run(graph, fresh, sizes(graph, fresh), generic_target(), given)
    return list(fresh.values())[-1], result


def run_tiles(graph, arguments):
    """Run a typed graph on whole tiles."""
    fresh = {name: array.copy() for name, array in arguments.items()}
    found, options = sizes(graph, fresh), SimulationOptions()
    result = logical.run(graph, fresh, found, generic_target(), options)
    return list(fresh.values())[-1], result


def distance(got, want):
    """Largest difference, in units of the largest wanted number.

    Infinite where only one is a number; none where both are none.
    """
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not want.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        error = np.abs(got - want)
    error[(got == want) | (np.isnan(got) & np.isnan(want))] = 0.0
    largest = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    return float(np.nan_to_num(error, nan=np.inf).max() / (largest or 1.0))
