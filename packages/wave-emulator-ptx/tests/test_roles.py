"""Registers of warpgroups with roles, and what clusters of one workgroup find."""

from __future__ import annotations

import numpy as np
import pytest
from assembler import complaints
from group_products import HEAD
from test_hazards import EXCHANGE as BARRIERS, ORDERS, exchange

from wave_emulator_ptx import (
    ExecutionError,
    LaunchError,
    LaunchOptions,
    UnknownInstructionError,
    emulate,
    load,
)

ROLES = (
    HEAD
    + """
.visible .entry kernel(.param .u64 out)
.maxntid 384
.minnctapersm 1
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [out];
    setp.lt.u32 %p0, %r0, 128;
    @%p0 bra PRODUCE;
    setmaxnreg.inc.sync.aligned.u32 {consumer};
    mov.b32 %r1, {consumer};
    bra JOINED;
PRODUCE:
    setmaxnreg.dec.sync.aligned.u32 {producer};
    mov.b32 %r1, {producer};
JOINED:
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    st.global.u32 [%d0], %r1;
    ret;
}}
"""
)


def roles(text, order=None):
    out = np.zeros(384, np.uint32)
    result = emulate(
        load(text),
        [out],
        grid=(1, 1, 1),
        block=(384, 1, 1),
        options=LaunchOptions(order=order),
    )
    return out, result.reports


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("producer", "consumer"), [(24, 240), (40, 232), (160, 168)])
def test_registers_that_fit(producer, consumer, order, tmp_path):
    text = ROLES.format(producer=producer, consumer=consumer)
    out, reports = roles(text, order)
    assert reports == []
    assert (out == np.repeat([producer, consumer, consumer], 128)).all()
    assert order or complaints(text, tmp_path) == ""


@pytest.mark.parametrize("order", ORDERS)
def test_registers_that_do_not_fit_wait_for_ever(order):
    """24 x 128 + 248 x 256 is more than 168 x 384."""
    with pytest.raises(ExecutionError, match="EP0304") as found:
        roles(ROLES.format(producer=24, consumer=248), order)
    assert "setmaxnreg.inc" in str(found.value)
    assert "registers" in str(found.value)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "change",
    [
        (".maxntid 384\n", ""),
        ("setmaxnreg.dec.sync.aligned.u32 24", "setmaxnreg.inc.sync.aligned.u32 24"),
        ("setmaxnreg.inc.sync.aligned.u32 240", "setmaxnreg.dec.sync.aligned.u32 240"),
    ],
)
def test_changes_that_cannot_be(change, order):
    text = ROLES.format(producer=24, consumer=240)
    assert change[0] in text
    try:
        codes = {each.code for each in roles(text.replace(*change), order)[1]}
    except ExecutionError as problem:
        codes = {word for word in str(problem).split() if word.startswith("EP0515")}
    assert any(code.startswith("EP0515") for code in codes)


def test_increases_wait_for_a_decrease():
    line = "    setmaxnreg.dec.sync.aligned.u32 24;\n"
    with pytest.raises(ExecutionError, match="EP0304"):
        roles(ROLES.format(producer=24, consumer=240).replace(line, ""))


@pytest.mark.parametrize("number", [16, 36, 264])
def test_numbers_of_registers_that_there_are_not(number):
    with pytest.raises(UnknownInstructionError, match="EP0301"):
        roles(ROLES.format(producer=number, consumer=240))


CLUSTER = """
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
"""


@pytest.mark.parametrize("order", ORDERS)
def test_the_barrier_of_a_cluster_is_one_of_its_workgroup(order):
    text = BARRIERS.format(partner=64).replace("bar.sync 0;", CLUSTER)
    reports, given, out = exchange(text, order=order)
    assert reports == []
    np.testing.assert_array_equal(out, given[np.arange(128) ^ 64])
    without = text.replace("    barrier.cluster.wait.acquire.aligned;\n", "")
    assert exchange(without, order=order)[0]


ADDRESSES = """
    mov.u32 %r2, %cluster_ctarank;
    mapa.shared::cluster.u32 %r3, %r1, {rank};
    getctarank.shared::cluster.u32 %r4, %r3;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    sub.u32 %r5, %r3, %r1;
    add.u32 %r5, %r5, %r2;
    add.u32 %r5, %r5, %r4;
    st.global.b32 [%d1], %r5;
"""


def test_addresses_in_a_cluster_of_one():
    assert not exchange(ADDRESSES.format(rank=0))[2].any()
    with pytest.raises(ExecutionError, match="EP0305"):
        exchange(ADDRESSES.format(rank=1))


def test_larger_clusters_are_refused():
    text = ROLES.format(producer=24, consumer=240)
    wider = text.replace(".minnctapersm 1", ".reqnctapercluster 2, 1, 1")
    with pytest.raises(LaunchError, match="clusters of 2 workgroups"):
        roles(wider)
