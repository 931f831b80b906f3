"""Addresses of one state space in instructions for another one."""

from __future__ import annotations

import numpy as np
import pytest
from elementwise import HEAD

from wave_emulator_ptx import LaunchOptions, emulate, load

TEXT = (
    HEAD
    + """
.const .align 16 .u32 fixed[4] = {{7, 7, 7, 7}};
.visible .entry kernel(.param .u64 to)
{{
    .shared .align 16 .b8 here[1024];
    .local .align 16 .b8 depot[64];
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [to];
    add.s64 %d2, %d1, 512;
    mov.u64 %d3, here;
    mov.u64 %d4, depot;
    mov.u64 %d5, fixed;
    mov.u64 %d6, to;
    mov.u32 %r1, 7;
    st.local.b32 [%d4], %r1;
    st.shared.v4.b32 [%d3], {{%r1, %r1, %r1, %r1}};
    mov.u32 %r2, 9;
    {body}
    st.global.b32 [%d1], %r2;
    ret;
}}
"""
)
PLACES = {"global": "%d2", "shared": "%d3", "local": "%d4", "const": "%d5"}
SPACES = [*PLACES, "param"]


def launched(body, threads=1):
    """The word that is kept, one that lies beside it, and what is reported."""
    out = np.full(256, 7, np.uint32)
    result = emulate(
        load(TEXT.format(body=body)),
        [out],
        grid=(1, 1, 1),
        block=(threads, 1, 1),
        options=LaunchOptions(order=None),
    )
    return int(out[0]), int(out[128]), result.reports


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("place", PLACES)
def test_loads_are_from_the_space_that_they_name(space, place):
    found, _, reports = launched(f"ld.{space}.b32 %r2, [{PLACES[place]}];")
    if space == place:
        assert (found, reports) == (7, [])
        return
    (report,) = reports
    assert found == 0
    assert report.code == "EP0503"
    assert f"no {space} memory" in report.message


@pytest.mark.parametrize("space", ["global", "shared", "local"])
@pytest.mark.parametrize("place", PLACES)
def test_stores_are_to_the_space_that_they_name(space, place):
    back = f"ld.b32 %r2, [{PLACES[place]}];"
    found, _, reports = launched(f"st.{space}.b32 [{PLACES[place]}], %r2; {back}")
    assert found == (9 if space == place else 7)
    assert [each.code for each in reports] == ["EP0503"] * (space != place)


@pytest.mark.parametrize("place", PLACES)
def test_without_a_name_an_address_is_of_any_space(place):
    found, _, reports = launched(f"ld.b32 %r2, [{PLACES[place]}];")
    assert (found, reports) == (7, [])
    _, _, reports = launched(f"st.b32 [{PLACES[place]}], %r2;")
    assert [each.code for each in reports] == ["EP0503"] * (place == "const")


@pytest.mark.parametrize(
    ("body", "right", "wrong"),
    [
        ("atom.shared.add.u32 %r3, [{}], 1;", "%d3", "%d2"),
        ("atom.global.add.u32 %r3, [{}], 1;", "%d2", "%d3"),
        ("red.shared::cta.add.u32 [{}], 1;", "%d3", "%d4"),
        ("atom.add.u32 %r3, [{}], 1;", "%d3", "%d5"),
        ("cp.async.ca.shared.global [%d3+16], [{}], 4;", "%d2", "%d3"),
        ("cp.async.ca.shared.global [{}], [%d2], 4;", "%d3+16", "%d2"),
        ("mbarrier.init.b64 [{}], 1;", "%d3", "%d2"),
        ("ld.volatile.shared.v2.b32 {{%r3, %r4}}, [{}];", "%d3", "%d2"),
    ],
)
def test_other_accesses_are_of_their_space(body, right, wrong):
    assert launched(body.format(right))[2] == []
    _, beside, (report,) = launched(body.format(wrong))
    assert report.code == "EP0503"
    assert beside == 7


@pytest.mark.parametrize(
    "body",
    [
        "ldmatrix.sync.aligned.m8n8.x1.b16 {{%r3}}, [{}];",
        "stmatrix.sync.aligned.m8n8.x1.b16 [{}], {{%r1}};",
    ],
)
def test_matrices_are_in_shared_memory_though_no_word_says_so(body):
    (report,) = launched(body.format("%d2"), threads=32)[2]
    assert (report.code, report.count) == ("EP0503", 8)
