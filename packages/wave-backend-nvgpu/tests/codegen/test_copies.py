"""Copies to shared memory past the registers, in groups that barriers wait for."""

from __future__ import annotations

import re

import pytest
from emulated_kernels import compiled
from product_kernels import K, M, N, check, matrices, product

DIRECT = {"use_global_to_shared": True}
PRESETS = ("default", "prefetch", "fetch-ahead", "four-stage", "modulo")


@pytest.mark.covering(1)
@pytest.mark.parametrize("across", [False, True], ids=["nt", "nn"])
@pytest.mark.parametrize("preset", PRESETS)
def test_pipelines_wait_for_what_they_read(preset, across):
    """In an order of warps drawn by lot, and with what a copy brings late."""
    kernel = product("f16", across=across, tile=(64, 64, 32))
    subs = {M: 64, N: 64, K: 256}
    made = compiled(kernel, subs, preset=preset, **DIRECT)
    a, b, c = matrices((64, 64, 256), "f16", across=across)
    assert made.run(a, b, c, order=3) == []
    check(a, b, c, across=across)
    assert made.count("cp.async.cg.shared.global") > 0
    assert made.count("st.shared") == 0


def test_a_wait_that_is_left_out_is_found():
    kernel = product("f16", tile=(64, 64, 32))
    made = compiled(kernel, {M: 64, N: 64, K: 256}, preset="fetch-ahead", **DIRECT)
    broken = re.sub(r"cp\.async\.wait_group\s+\d+;", "", made.ptx)
    assert broken != made.ptx
    reports = made.run(*matrices((64, 64, 256), "f16"), text=broken)
    assert "EP0506" in {report.code for report in reports}


def test_pipelines_leave_the_latest_copies_on_their_way():
    kernel = product("f16", tile=(64, 64, 32))
    made = compiled(kernel, {M: 64, N: 64, K: 512}, preset="four-stage", **DIRECT)
    left = {int(n) for n in re.findall(r"cp\.async\.wait_group\s+(\d+);", made.ptx)}
    assert max(left) > 0


@pytest.mark.parametrize(
    ("columns", "form"), [(64, "cg.shared.global"), (36, "ca.shared.global")]
)
@pytest.mark.parametrize("rows", [64, 50, 1])
def test_rows_that_do_not_exist_become_zeros(rows, columns, form):
    """Rows of 72 bytes start at multiples of 8."""
    kernel = product("f16", tile=(64, 64, 32))
    made = compiled(kernel, {M: rows, N: 64, K: columns}, **DIRECT)
    a, b, c = matrices((rows, 64, columns), "f16")
    assert made.run(a, b, c) == []
    check(a, b, c)
    assert made.count(f"cp.async.{form}") > 0


def test_rows_of_odd_elements_go_through_registers():
    made = compiled(product("f16"), {M: 32, N: 32, K: 33}, **DIRECT)
    a, b, c = matrices((32, 32, 33), "f16")
    assert made.run(a, b, c) == []
    check(a, b, c)
    assert made.count("cp.async") == 0
