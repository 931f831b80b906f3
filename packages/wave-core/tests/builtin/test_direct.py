"""Copies to LDS in the naive pipeline, and the barriers that wait for them."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.builtin.canonicalize.gathers import LowerGathers
from wave_core.builtin.synchronize.barriers import InsertSafeBarriers
from wave_core.constraints import HardwareConstraint
from wave_core.constraints.machine import LANE
from wave_core.ir import ACCESS, LANDING, Access, Graph
from wave_core.ops.memory import Allocate, GatherToLDS, Read
from wave_core.ops.structure import Yield
from wave_core.ops.sync import MemoryCounterWait, SharedMemoryBarrier, WorkgroupBarrier
from wave_core.passes import PassContext
from wave_core.symbols import as_expr, symbol
from wave_core.targets import generic_target
from wave_core.types import DTYPES, AddressSpace, MemoryType

M = symbol("M")
F32 = DTYPES["f32"]
LANDED = (SharedMemoryBarrier, {"wait_async_ops": True})
BARRIER = (SharedMemoryBarrier, {})
WAIT = (MemoryCounterWait, {"load": 0})
MEET = (WorkgroupBarrier, {})


def copied(*between):
    """A copy, what is ``between``, and a read of it; the barriers inserted."""
    graph = Graph("copies", "generic", {M: 64}, (HardwareConstraint(),))
    declared = MemoryType((M,), AddressSpace.GLOBAL, F32)
    source = graph.body.add_argument("parameter", "a", declared, None)
    buffer = graph.body.append(Allocate((M,), (as_expr(64),), F32))
    copy = graph.body.append(GatherToLDS(source, buffer))
    for kind in (ACCESS, LANDING):
        graph.facts.put(kind, copy, Access((LANE,), 1))
    for cls, fields in between:
        graph.body.append(cls(**fields))
    graph.body.append(Read(buffer))
    graph.body.append(Yield())
    before = list(graph.walk())
    InsertSafeBarriers().apply(graph, PassContext(generic_target()))
    return [op for op in graph.walk() if op not in before]


@pytest.mark.parametrize("between", [(), (BARRIER,), (MEET,), (BARRIER, WAIT)])
def test_safe_barriers_wait_for_copies(between):
    (barrier,) = copied(*between)
    assert barrier.op_name == "shared_memory_barrier"
    assert barrier.wait_async_ops


@pytest.mark.parametrize("between", [(LANDED,), (WAIT, BARRIER), (WAIT, MEET)])
def test_the_authors_waits_for_copies_count(between):
    assert copied(*between) == []


def test_copies_of_whole_tiles_become_reads_and_writes(lowered):
    constraints = [
        tkw.WorkgroupConstraint(tkl.sym.M, 16, 0),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]
    memory = tkl.Memory[tkl.sym.M, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32]

    @tkw.wave(constraints)
    def kernel(a: memory, b: memory):
        shared = tkw.allocate((tkl.sym.M,), (16,), tkl.f32)
        tkw.gather_to_lds(a, shared, tag="tile")
        tkw.write(tkw.read(shared), b)

    names = [op.op_name for op in lowered(kernel, M=16).walk()]
    kept = ("allocate", "read", "write", "shared_memory_barrier")
    barrier = "shared_memory_barrier"
    wanted = ["allocate", "read", "write", barrier, "read", "write"]
    assert [name for name in names if name in kept or "gather" in name] == wanted


def test_copies_in_lowered_form_stay():
    graph = Graph("copies", "generic", {M: 64})
    declared = MemoryType((M,), AddressSpace.GLOBAL, F32)
    source = graph.body.add_argument("parameter", "a", declared, None)
    buffer = graph.body.append(Allocate((M,), (as_expr(64),), F32))
    copy = graph.body.append(GatherToLDS(source, buffer))
    graph.facts.put(LANDING, copy, Access((LANE,), 1))
    assert not LowerGathers().apply(graph, PassContext(generic_target()))
