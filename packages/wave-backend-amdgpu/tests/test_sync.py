"""Barriers, waits, priorities and scheduling hints as machine code."""

from __future__ import annotations

import re

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import UserError

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 128, N: 64}
SPLIT = ("gfx1201", "gfx1250")
WHOLE = ("gfx90a", "gfx942", "gfx950", "gfx1100")


def between(middle):
    """A kernel of two waves that does ``middle`` between reading and writing."""
    rows = [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WaveConstraint(M, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        value = tkw.read(a)
        middle()
        tkw.write(tkw.exp2(value), b)

    return kernel


def through_lds(meet):
    """A kernel whose two waves exchange what each lane has in one register vector."""
    rows = [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.WaveConstraint(M, 2),
        tkw.HardwareConstraint(),
    ]
    i, j = (tkw.IndexMapping.iterator(position) for position in range(2))
    other = tkw.IndexMapping(
        num_iterators=2, inputs={M: 3 - i, N: j}, outputs={M: i, N: j}
    )

    @tkw.wave(rows)
    def kernel(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        shared = tkw.allocate((M, N), (4, 64), tkl.f32)
        tkw.write(tkw.read(a), shared)
        meet()
        tkw.write(tkw.read(shared, mapping=other), b)

    return kernel


def split():
    tkw.shared_memory_barrier_signal()
    tkw.shared_memory_barrier_wait()


def lines(assembly, *words):
    """What stands for these mnemonics, in order."""
    found = (line.split(";")[0].strip() for line in assembly.splitlines())
    return [line for line in found if line.partition(" ")[0] in words]


@pytest.mark.parametrize(
    "target", ["gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250"]
)
def test_priority(emitted, target):
    text = emitted(between(lambda: tkw.set_wave_prio(2)), "asm", target, SIZES)
    assert lines(text, "s_setprio") == ["s_setprio 2"]


@pytest.mark.parametrize("target", WHOLE)
def test_whole_barrier(emitted, target):
    text = emitted(between(tkw.workgroup_barrier), "asm", target, SIZES)
    assert lines(text, "s_barrier") == ["s_barrier"]


@pytest.mark.parametrize("target", SPLIT)
@pytest.mark.parametrize("meet", [tkw.workgroup_barrier, split])
def test_split_barrier(emitted, meet, target):
    text = emitted(between(meet), "asm", target, SIZES)
    found = lines(text, "s_barrier_signal", "s_barrier_wait")
    assert found == ["s_barrier_signal -1", "s_barrier_wait -1"]


@pytest.mark.parametrize("target", SPLIT)
def test_split_barrier_keeps_lds_accesses_on_their_sides(emitted, target):
    text = emitted(through_lds(split), "asm", target, SIZES)
    order = re.findall(r"\t(ds_store|s_wait_dscnt|s_barrier_\w+|ds_load)", text)
    signal, wait = order.index("s_barrier_signal"), order.index("s_barrier_wait")
    assert set(order[:signal]) == {"ds_store", "s_wait_dscnt"}
    assert order[signal - 1] == "s_wait_dscnt"
    assert "ds_load" not in order[:wait]
    assert "ds_store" not in order[signal:]


@pytest.mark.parametrize("target", WHOLE)
@pytest.mark.parametrize("meet", [tkw.shared_memory_barrier, split])
def test_lds_is_waited_for_before_the_barrier(emitted, meet, target):
    text = emitted(through_lds(meet), "asm", target, SIZES)
    before, _, after = text.partition("s_barrier")
    stores = max(before.rfind("ds_write"), before.rfind("ds_store"))
    assert "lgkmcnt(0)" in before[stores:]
    assert not re.search(r"ds_(write|store)", after)
    assert not re.search(r"ds_(read|load)", before)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("gfx942", ["s_waitcnt vmcnt(2) lgkmcnt(1)"]),
        ("gfx1100", ["s_waitcnt vmcnt(2) lgkmcnt(1)"]),
        ("gfx1201", ["s_wait_loadcnt_dscnt 0x201"]),
    ],
)
def test_counters(emitted, target, wanted):
    def wait():
        tkw.memory_counter_wait(load=2, ds=1)

    text = emitted(between(wait), "asm", target, SIZES)
    found = lines(text, "s_waitcnt", "s_wait_loadcnt_dscnt")
    assert [line for line in found if line in wanted] == wanted


def test_reads_and_writes_of_one_counter_wait_for_the_smaller_number(emitted):
    text = emitted(
        between(lambda: tkw.memory_counter_wait(load=3, store=40)), "mlir", subs=SIZES
    )
    assert "amdgpu.memory_counter_wait load(3) loc" in text
    split_counters = emitted(
        between(lambda: tkw.memory_counter_wait(load=3, store=40)),
        *("mlir", "gfx1201", SIZES),
    )
    assert "amdgpu.memory_counter_wait load(3) store(40)" in split_counters


def test_counters_are_cut_to_what_they_can_count(emitted):
    text = emitted(between(lambda: tkw.memory_counter_wait(ds=99)), "mlir", subs=SIZES)
    assert "amdgpu.memory_counter_wait ds(15)" in text


KINDS = {
    "ALU": 1,
    "VALU": 2,
    "SALU": 4,
    "MMA": 8,
    "READ_GLOBAL": 32,
    "WRITE_GLOBAL": 64,
    "READ_SHARED": 256,
    "WRITE_SHARED": 512,
}


def hints(emitted, hint):
    text = emitted(between(hint), "llvm", subs=SIZES)
    return re.findall(r"call void @llvm\.amdgcn\.sched\.(.*)\)", text)


@pytest.mark.parametrize(("kind", "mask"), KINDS.items())
def test_scheduling_barrier(emitted, kind, mask):
    operation = tkw.Operation[kind]
    found = hints(emitted, lambda: tkw.scheduling_barrier([operation]))
    assert found == [f"barrier(i32 {mask}"]


def test_scheduling_barrier_of_several_kinds_and_of_none(emitted):
    both = [tkw.Operation.MMA, tkw.Operation.SALU]
    assert hints(emitted, lambda: tkw.scheduling_barrier(both)) == ["barrier(i32 12"]
    assert hints(emitted, tkw.scheduling_barrier) == ["barrier(i32 0"]


def test_scheduling_groups_in_order(emitted):
    groups = {tkw.Operation.WRITE_GLOBAL: 2, tkw.Operation.READ_GLOBAL: 1}
    found = hints(emitted, lambda: tkw.scheduling_group_barrier(groups, 3))
    assert found == [
        "group.barrier(i32 64, i32 2, i32 3",
        "group.barrier(i32 32, i32 1, i32 3",
    ]


def test_a_named_barrier_is_refused(emitted):
    def named():
        tkw.shared_memory_barrier_signal(bar_id=3)

    with pytest.raises(UserError) as caught:
        emitted(between(named), "mlir", "gfx1201", SIZES)
    assert caught.value.code == "WV0601"
    assert "barrier 3 is a named one" in str(caught.value)
