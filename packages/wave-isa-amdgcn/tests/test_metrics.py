"""Metrics of a small listing with known numbers."""

from __future__ import annotations

import pytest

from wave_isa_amdgcn.metrics import measure


class Chip:
    """Of which a test says what fits."""

    name = "gfx942"

    def occupancy(self, registers, lds_bytes, threads) -> tuple[int | None, str]:
        assert (registers, lds_bytes, threads) == (196, 40000, 256)
        return 1, "lds"


class Unknown(Chip):
    def occupancy(self, registers, lds_bytes, threads) -> tuple[int | None, str]:
        return None, ""


LISTING = """
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
k:                                      ; @k
\ts_load_dwordx2 s[2:3], s[0:1], 0x0 ; v_mfma in a comment
.LBB0_1:                                ; outer
\tv_mov_b32_e32 v0, 0
.LBB0_2:
\tds_read_b128 v[0:3], v4
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tv_mfma_f32_16x16x16_f16 v[4:7], v[44:45], v[36:37], v[4:7]
\ts_cbranch_vccnz .LBB0_4
\tv_mfma_f32_16x16x16_f16 v[4:7], v[44:45], v[36:37], v[4:7]
\tbuffer_load_dword v1, s[0:3], 0 offen lds
\ts_branch .LBB0_5
.LBB0_4:
\tglobal_load_dwordx4 v[0:3], v[4:5], off
\tv_exp_f32_e32 v1, v1
.LBB0_5:
\ts_barrier
\ts_cbranch_scc1 .LBB0_2
\ts_cbranch_scc0 .LBB0_1
\tglobal_store_dword v[0:1], v2, off
\ts_endpgm
.Lfunc_end0:
amdhsa.kernels:
  - .agpr_count:     64
    .group_segment_fixed_size: 40000
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 16
    .sgpr_count:     16
    .vgpr_count:     196
    .vgpr_spill_count: 3
.end_amdgpu_metadata
"""


def test_hot_loop():
    found = measure(LISTING, "k", Unknown())
    hot = found.hot
    assert (hot.label, hot.depth, found.loops) == (".LBB0_2", 2, 2)
    assert hot.counts["total"] == 11
    assert (hot.counts["matrix"], hot.counts["lds_read"]) == (2, 1)
    assert (hot.counts["copy_to_lds"], hot.counts["transcendental"]) == (1, 1)
    assert hot.flops == 2 * 2 * 16 * 16 * 16
    assert hot.density == pytest.approx(2 / 11)


def test_resources():
    found = measure(LISTING, "k", Chip()).resources
    assert (found.vgprs, found.agprs, found.lds_bytes) == (196, 64, 40000)
    assert (found.scratch_bytes, found.vgpr_spills, found.threads) == (16, 3, 256)
    assert (found.waves_per_simd, found.limited_by) == (1, "lds")


def test_no_loop():
    found = measure("k:\n\tv_mov_b32 v0, 0\n\ts_endpgm\n", "k", Unknown())
    assert found.hot is None
    assert found.counts["total"] == 2


def test_code_behind_the_kernel_is_not_counted():
    text = "k:\n\ts_endpgm\n.Lfunc_end_k:\n.amdgpu_metadata\n    .name: k\n"
    assert measure(text, "k", Unknown()).counts["total"] == 1
