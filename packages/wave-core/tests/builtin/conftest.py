"""Kernels to lower, and the passes that lower them."""

from __future__ import annotations

from importlib import import_module

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.builtin.pipeline import CORE_PASSES
from wave_core.passes import PassContext
from wave_core.targets import generic_target

M, N, K, B = tkl.sym.M, tkl.sym.N, tkl.sym.K, tkl.sym.B
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@pytest.fixture(name="lowered")
def _lowered():
    """Trace a kernel and run core's passes, up to and including one of them."""

    def lower(kernel, upto="check-lds-budget", **bindings):
        graph = kernel.trace(bindings)
        for spec in CORE_PASSES:
            module, name = spec.target.split(":")
            one = getattr(import_module(module), name)()
            one.apply(graph, PassContext(generic_target()))
            graph.facts_present |= set(spec.provides)
            if spec.name == upto:
                return graph
        raise AssertionError(upto)

    return lower


@pytest.fixture(name="gemm")
def _gemm():
    """A matrix product with one wave on a 32 x 32 tile and 32 K elements a step."""
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 32),
        tkw.WaveConstraint(N, 32),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, GLOBAL, tkl.f16],
        b: tkl.Memory[N, K, GLOBAL, tkl.f16],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


@pytest.fixture(name="row_sum")
def _row_sum():
    """The sum of each row, four waves a row."""
    constraints = [
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WorkgroupConstraint(N, 512, 1),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, 128),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    @tkw.wave(constraints)
    def row_sum(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.sum(tkw.read(a), dim=N), b)

    return row_sum
