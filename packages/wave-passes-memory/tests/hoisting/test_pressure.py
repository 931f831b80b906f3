"""What stays in loops, or waits, where a target has few registers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lowering_runs import Lowered, random_array

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.ir import resolve
from wave_core.passes import PassContext
from wave_passes_memory.hoisting.delay import DelayReads
from wave_passes_memory.hoisting.hoist import HoistLoopInvariants
from wave_passes_memory.hoisting.pressure import budget, crowded_loops
from wave_testing.conformance import PassConformance

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = [
    tkw.WorkgroupConstraint(M, 32, 0),
    tkw.TilingConstraint(K, 16),
    tkw.HardwareConstraint(threads_per_wave=32),
]


class TestDelayReads(PassConformance):
    pass_name = "delay-reads"


def exchanging():
    """`a` meets `b`, which is read first, after `a` went through LDS."""

    @tkw.wave(CONSTRAINTS)
    def kernel(
        a: tkl.Memory[M, K, GLOBAL, tkl.f32],
        b: tkl.Memory[M, K, GLOBAL, tkl.f32],
        d: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        zero = tkl.Register[M, tkl.f32](0.0)
        shared = tkw.allocate((M, K), (32, 16), tkl.f32)

        @tkw.iterate(K, init_args=[zero])
        def body(acc):
            late = tkw.read(b)
            tkw.write(tkw.read(a), shared)
            product = tkw.read(shared) * late
            scaled = product * tkw.broadcast(tkw.exp2(tkw.read(d)), [M, K])
            return tkw.sum(scaled, acc, dim=K)

        tkw.write(body, c)

    return kernel


def lowered():
    return Lowered(exchanging(), "", target="gfx1100")


def context(found, per_wave):
    """The target with a smaller register file."""
    file = replace(found.target.registers, per_wave=per_wave)
    return PassContext(replace(found.target, registers=file))


def check(found):
    a, b = random_array((40, 48)), random_array((40, 48), seed=1)
    d, c = random_array(40, seed=2), np.zeros(40, np.float32)
    found.run({"a": a, "b": b, "d": d, "c": c}, M=40, K=48)
    assert np.allclose(c, (a * b).sum(1) * np.exp2(d), rtol=1e-4, atol=1e-3)


def after_the_exchange(found):
    """Whether `b` is read after all writes of LDS."""
    (loop,) = found.loops()
    ops = list(loop.body.ops)
    writes = [i for i, op in enumerate(ops) if op.op_name == "write"]
    reads = [i for i, op in enumerate(ops) if op.op_name == "read"]
    late = [i for i in reads if getattr(resolve(ops[i].memory), "label", "") == "b"]
    return min(late) > max(writes)


@pytest.mark.parametrize("per_wave", [8, 256])
def test_what_is_read_leaves_the_loop_where_registers_suffice(per_wave):
    found = lowered()
    (loop,) = found.loops()
    before = found.count("read", loop.body)
    HoistLoopInvariants().apply(found.graph, context(found, per_wave))
    after = found.count("read", loop.body)
    assert (after < before) == (per_wave == 256)
    check(found)


@pytest.mark.parametrize("per_wave", [8, 256])
def test_reads_wait_for_an_exchange_where_registers_are_few(per_wave):
    found = lowered()
    few = context(found, per_wave)
    crowded = bool(crowded_loops(found.graph, few.target.registers))
    assert crowded == (per_wave == 8)
    assert DelayReads().apply(found.graph, few) == crowded
    check(found)


def test_waiting_is_done_once():
    found = lowered()
    assert not after_the_exchange(found)
    assert DelayReads().apply(found.graph, context(found, 8))
    assert after_the_exchange(found)
    assert not DelayReads().apply(found.graph, context(found, 8))


def test_a_quarter_of_the_file_is_left():
    file = lowered().target.registers
    assert budget(file) == file.per_wave * 3 // 4
    assert crowded_loops(lowered().graph, None) == frozenset()
