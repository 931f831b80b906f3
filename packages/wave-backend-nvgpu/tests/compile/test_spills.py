"""Machine code that spills: refused where there is another way, told where not."""

from __future__ import annotations

import logging

import pytest

from wave_backend_nvgpu.compile.remarks import Remarks
from wave_backend_nvgpu.compile.spills import check_spills, tell_spills
from wave_core.compile import Session
from wave_core.diagnostics import UserError
from wave_core.ir import Graph

SPILLING = Remarks(registers=255, spill_store_bytes=10, spill_load_bytes=4)


@pytest.fixture
def target():
    return Session().target("sm_90a")


def test_what_spills_says_how_many_registers_it_needs(target):
    with pytest.raises(UserError) as caught:
        check_spills(SPILLING, Graph("gemm", "sm_90a"), target)
    (row,) = caught.value.diagnostics
    found = row.data["needed"], row.data["limit"], row.data["spilled"]
    assert (row.code, found) == ("WV0605", (258, 255, 3))
    check_spills(Remarks(registers=255), Graph("gemm", "sm_90a"), target)
    check_spills(SPILLING, Graph("gemm", "sm_90a", spills_allowed=3), target)


def test_what_spills_in_every_way_is_told(target, caplog):
    with caplog.at_level(logging.WARNING, logger="wave_core"):
        tell_spills(Remarks(registers=255), Graph("gemm", "sm_90a"), target)
        assert not caplog.records
        tell_spills(SPILLING, Graph("gemm", "sm_90a"), target)
    (row,) = caplog.records
    assert "10 bytes are written to local memory and 4 read back" in row.message
