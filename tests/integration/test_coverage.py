"""The coverage theorem on the kernels that ship, and on the examples."""

from __future__ import annotations

from functools import cache

import pytest
from programs import PROGRAMS

from wave_core.compile import Session, wave_compile
from wave_core.passes import Phase
from wave_testing.coverage import coverage_problems, placed_values

SHAPES = {
    "attention": {"M": 70, "N": 33, "K1": 20, "K2": 50},
    "attention-heads": {},
    "attention-varlen": {},
    "conv-depthwise": {"N": 1, "H": 5, "W": 7, "C": 65},
    "conv2d": {},
    "copy": {"M": 33, "N": 65},
    "gemm": {"M": 70, "N": 65, "K": 40},
    "gemm-staged": {"M": 70, "N": 65, "K": 40},
    "layer-norm": {"M": 3, "N": 100},
    "rms-norm": {"M": 3, "N": 100},
    "softmax": {"M": 3, "N": 100},
}


READ = {
    "attention-decode": {"KEYS": 512, "START": 0, "SPLIT": 2},
    "attention-split": {"KEYS": 512, "SPLIT": 2},
    "attention-varlen": {"KEYS": 128, "QUERIES": 40},
    "attention-varlen-keys": {"KEYS": 128, "QUERIES": 40},
    "attention-varlen-queries": {"KEYS": 128, "QUERIES": 40},
    "gemm-grouped": {"M": 40, "GROUP": 0, "FIRST": 0, "LEFT": 40},
    "gemm-grouped-weights": {"FIRST": 0, "COUNT": 512},
    "scatter-add": {"FIRST": 0, "COUNT": 64},
}
"""What kernels read from memory: the longest sequence, one group of rows."""


@cache
def session():
    return Session(announce=lambda _: None)


def problems(kernel, sizes):
    """What does not cover its tile after layouts are assigned."""
    graph = kernel.snapshots(Phase.DISTRIBUTE)
    assert list(placed_values(graph))
    return coverage_problems(graph, session().target("generic"), sizes)


@pytest.mark.parametrize("name", session().plugins.kernels)
def test_shipped_kernels_cover_every_tile(name):
    make = session().plugins.load_kernel(name)
    usual = make({}, {}, "generic")
    shape = {k: v for k, v in SHAPES.get(name, {}).items() if k in usual.shape}
    for case in (usual, make(shape, {}, "generic")):
        kernel = wave_compile(case.options, case.kernel, session=session())
        assert problems(kernel, {**case.shape, **READ.get(name, {})}) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_cover_every_tile(name):
    kernel, tensors, _ = PROGRAMS[name].build()
    assert problems(kernel, sizes_of(kernel, tensors)) == []


def sizes_of(kernel, tensors):
    """The sizes of a launch, by name."""
    return {
        str(dim): extent
        for parameter, tensor in zip(kernel.graph.parameters, tensors, strict=True)
        for dim, extent in zip(parameter.type.dims, tensor.shape, strict=True)
    }
