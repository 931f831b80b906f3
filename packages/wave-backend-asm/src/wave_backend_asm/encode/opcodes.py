"""Numbers of instructions, by their encodings.

Source: CDNA3 ISA and CDNA4 ISA, "Microcode formats". A test asks LLVM for each.
"""

from __future__ import annotations

from collections.abc import Mapping


def _numbers(rows: str) -> Mapping[str, int]:
    words = rows.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


SOP1 = _numbers(
    """
    s_mov_b32 0 s_mov_b64 1 s_and_saveexec_b64 32 s_or_saveexec_b64 33
    s_xor_saveexec_b64 34 s_andn2_saveexec_b64 35 s_orn2_saveexec_b64 36
    """
)

SOP2 = _numbers(
    """
    s_add_u32 0 s_sub_u32 1 s_add_i32 2 s_sub_i32 3 s_addc_u32 4 s_subb_u32 5
    s_min_i32 6 s_min_u32 7 s_max_i32 8 s_max_u32 9 s_cselect_b32 10 s_cselect_b64 11
    s_and_b32 12 s_and_b64 13 s_or_b32 14 s_or_b64 15 s_xor_b32 16 s_xor_b64 17
    s_andn2_b32 18 s_andn2_b64 19 s_orn2_b32 20 s_orn2_b64 21 s_lshl_b32 28
    s_lshl_b64 29 s_lshr_b32 30 s_lshr_b64 31 s_ashr_i32 32 s_ashr_i64 33 s_mul_i32 36
    s_mul_hi_u32 44 s_mul_hi_i32 45 s_lshl1_add_u32 46 s_lshl2_add_u32 47
    s_lshl3_add_u32 48 s_lshl4_add_u32 49 s_pack_ll_b32_b16 50
    """
)

SOPC = _numbers(
    """
    s_cmp_eq_i32 0 s_cmp_lg_i32 1 s_cmp_gt_i32 2 s_cmp_ge_i32 3 s_cmp_lt_i32 4
    s_cmp_le_i32 5 s_cmp_eq_u32 6 s_cmp_lg_u32 7 s_cmp_gt_u32 8 s_cmp_ge_u32 9
    s_cmp_lt_u32 10 s_cmp_le_u32 11 s_cmp_eq_u64 18 s_cmp_lg_u64 19
    """
)

SMEM = _numbers(
    """
    s_load_dword 0 s_load_dwordx2 1 s_load_dwordx4 2 s_load_dwordx8 3 s_load_dwordx16 4
    s_buffer_load_dword 8 s_buffer_load_dwordx2 9 s_buffer_load_dwordx4 10
    s_buffer_load_dwordx8 11 s_buffer_load_dwordx16 12
    """
)

VOP1 = _numbers(
    """
    v_mov_b32 1 v_readfirstlane_b32 2 v_cvt_i32_f64 3 v_cvt_f64_i32 4 v_cvt_f32_i32 5
    v_cvt_f32_u32 6 v_cvt_u32_f32 7 v_cvt_i32_f32 8 v_cvt_f16_f32 10 v_cvt_f32_f16 11
    v_cvt_f32_f64 15 v_cvt_f64_f32 16 v_cvt_f32_ubyte0 17 v_cvt_f32_ubyte1 18
    v_cvt_f32_ubyte2 19 v_cvt_f32_ubyte3 20 v_cvt_u32_f64 21 v_cvt_f64_u32 22
    v_trunc_f64 23 v_ceil_f64 24 v_rndne_f64 25 v_floor_f64 26 v_ceil_f32 29
    v_rndne_f32 30 v_floor_f32 31 v_exp_f32 32 v_log_f32 33 v_rcp_f32 34
    v_rcp_iflag_f32 35 v_rsq_f32 36 v_rcp_f64 37 v_rsq_f64 38 v_sqrt_f32 39
    v_ffbh_u32 45 v_mov_b64 56 v_cvt_f16_u16 57 v_cvt_f16_i16 58 v_cvt_u16_f16 59
    v_cvt_i16_f16 60 v_accvgpr_mov_b32 82 v_cvt_f32_fp8 84 v_cvt_f32_bf8 85
    v_cvt_pk_f32_fp8 86 v_cvt_pk_f32_bf8 87 v_permlane16_swap_b32 89
    v_permlane32_swap_b32 90 v_cvt_f32_bf16 91
    """
)

VOP2 = _numbers(
    """
    v_cndmask_b32 0 v_add_f32 1 v_sub_f32 2 v_mul_f32 5 v_mul_u32_u24 8 v_min_f32 10
    v_max_f32 11 v_min_i32 12 v_max_i32 13 v_min_u32 14 v_max_u32 15 v_lshrrev_b32 16
    v_ashrrev_i32 17 v_lshlrev_b32 18 v_and_b32 19 v_or_b32 20 v_xor_b32 21 v_add_f16 31
    v_sub_f16 32 v_mul_f16 34 v_max_f16 45 v_min_f16 46 v_max_u16 47 v_max_i16 48
    v_min_u16 49 v_min_i16 50 v_add_u32 52 v_sub_u32 53 v_subrev_u32 54
    """
)

WITH_NUMBER = {"v_fmamk_f32": 23, "v_fmaak_f32": 24}
"""Those of VOP2 that have a word behind them in any case."""

VOPC = _numbers(
    """
    v_cmp_class_f32 16 v_cmp_class_f64 18 v_cmp_lt_f32 65 v_cmp_eq_f32 66
    v_cmp_le_f32 67 v_cmp_gt_f32 68 v_cmp_lg_f32 69 v_cmp_ge_f32 70 v_cmp_o_f32 71
    v_cmp_u_f32 72 v_cmp_nge_f32 73 v_cmp_nlg_f32 74 v_cmp_ngt_f32 75 v_cmp_nle_f32 76
    v_cmp_neq_f32 77 v_cmp_nlt_f32 78 v_cmp_lt_f64 97 v_cmp_eq_f64 98 v_cmp_le_f64 99
    v_cmp_gt_f64 100 v_cmp_lg_f64 101 v_cmp_ge_f64 102 v_cmp_o_f64 103 v_cmp_u_f64 104
    v_cmp_nge_f64 105 v_cmp_nlg_f64 106 v_cmp_ngt_f64 107 v_cmp_nle_f64 108
    v_cmp_neq_f64 109 v_cmp_nlt_f64 110 v_cmp_lt_i32 193 v_cmp_eq_i32 194
    v_cmp_le_i32 195 v_cmp_gt_i32 196 v_cmp_ne_i32 197 v_cmp_ge_i32 198 v_cmp_lt_u32 201
    v_cmp_eq_u32 202 v_cmp_le_u32 203 v_cmp_gt_u32 204 v_cmp_ne_u32 205 v_cmp_ge_u32 206
    v_cmp_lt_i64 225 v_cmp_eq_i64 226 v_cmp_le_i64 227 v_cmp_gt_i64 228 v_cmp_ne_i64 229
    v_cmp_ge_i64 230 v_cmp_lt_u64 233 v_cmp_eq_u64 234 v_cmp_le_u64 235 v_cmp_gt_u64 236
    v_cmp_ne_u64 237 v_cmp_ge_u64 238
    """
)

VOP3 = _numbers(
    """
    v_mad_u32_u24 451 v_bfe_u32 456 v_bfe_i32 457 v_bfi_b32 458 v_fma_f32 459
    v_fma_f64 460 v_min3_f32 464 v_min3_i32 465 v_min3_u32 466 v_max3_f32 467
    v_max3_i32 468 v_max3_u32 469 v_med3_f32 470 v_med3_i32 471 v_med3_u32 472
    v_cvt_pk_u8_f32 477 v_div_fixup_f32 478 v_div_fixup_f64 479 v_div_fmas_f32 482
    v_div_fmas_f64 483 v_perm_b32 493 v_xad_u32 499 v_min3_f16 500 v_min3_i16 501
    v_min3_u16 502 v_max3_f16 503 v_max3_i16 504 v_max3_u16 505 v_med3_f16 506
    v_med3_i16 507 v_med3_u16 508 v_lshl_add_u32 509 v_add_lshl_u32 510 v_add3_u32 511
    v_lshl_or_b32 512 v_and_or_b32 513 v_or3_b32 514 v_fma_f16 518
    v_lshl_add_u64 520
    v_cvt_scalef32_pk_fp4_f32 573 v_cvt_scalef32_pk_fp4_f16 588
    v_cvt_scalef32_pk_fp4_bf16 589 v_cvt_pk_f16_f32 615 v_cvt_pk_bf16_f32 616
    v_add_f64 640 v_mul_f64 641 v_min_f64 642 v_max_f64 643 v_ldexp_f64 644
    v_mul_lo_u32 645 v_mul_hi_u32 646 v_ldexp_f32 648 v_lshlrev_b64 655
    v_lshrrev_b64 656 v_ashrrev_i64 657 v_cvt_pkrtz_f16_f32 662 v_cvt_pk_u16_u32 663
    v_cvt_pk_i16_i32 664 v_cvt_pk_fp8_f32 674 v_cvt_pk_bf8_f32 675 v_minimum3_f32 680
    v_maximum3_f32 681
    """
)

OF_A_LANE = {"v_readlane_b32": 649}
"""Those of VOP3 whose result is the wave's."""

WITH_MASK = _numbers(
    """
    v_add_co_u32 281 v_sub_co_u32 282 v_addc_co_u32 284 v_subb_co_u32 285
    v_div_scale_f32 480 v_div_scale_f64 481
    """
)

VOP3P = _numbers(
    """
    v_pk_mul_lo_u16 1 v_pk_add_i16 2 v_pk_sub_i16 3 v_pk_max_i16 7 v_pk_min_i16 8
    v_pk_add_u16 10 v_pk_sub_u16 11 v_pk_max_u16 12 v_pk_min_u16 13 v_pk_fma_f16 14
    v_pk_add_f16 15 v_pk_mul_f16 16 v_pk_min_f16 17 v_pk_max_f16 18 v_pk_minimum3_f16 27
    v_pk_maximum3_f16 28 v_pk_fma_f32 48 v_pk_mul_f32 49 v_pk_add_f32 50
    """
)

MFMA = _numbers(
    """
    v_mfma_f32_16x16x128_f8f6f4 45 v_mfma_f32_32x32x64_f8f6f4 46
    v_mfma_f32_16x16x32_bf16 53 v_mfma_i32_16x16x64_i8 54 v_mfma_f32_32x32x16_bf16 55
    v_mfma_i32_32x32x32_i8 56 v_mfma_f32_32x32x2_f32 68 v_mfma_f32_16x16x4_f32 69
    v_mfma_f32_32x32x8_f16 76 v_mfma_f32_16x16x16_f16 77 v_mfma_f32_16x16x32_f16 84
    v_mfma_f32_32x32x16_f16 85 v_mfma_i32_32x32x16_i8 86 v_mfma_i32_16x16x32_i8 87
    v_mfma_f32_32x32x8_bf16 96 v_mfma_f32_16x16x16_bf16 97 v_mfma_f64_16x16x4_f64 110
    v_mfma_f32_16x16x32_bf8_bf8 112 v_mfma_f32_16x16x32_bf8_fp8 113
    v_mfma_f32_16x16x32_fp8_bf8 114 v_mfma_f32_16x16x32_fp8_fp8 115
    v_mfma_f32_32x32x16_bf8_bf8 116 v_mfma_f32_32x32x16_bf8_fp8 117
    v_mfma_f32_32x32x16_fp8_bf8 118 v_mfma_f32_32x32x16_fp8_fp8 119
    """
)

OLDER_MFMA = _numbers(
    """
    v_mfma_f32_32x32x2f32 68 v_mfma_f32_16x16x4f32 69 v_mfma_f32_32x32x8f16 76
    v_mfma_f32_16x16x16f16 77 v_mfma_i32_32x32x8i8 84 v_mfma_i32_16x16x16i8 85
    v_mfma_f32_32x32x8bf16_1k 102 v_mfma_f32_16x16x16bf16_1k 103
    v_mfma_f64_16x16x4f64 110
    """
)
"""Those of CDNA2, which only it has. Source: CDNA2 ISA, VOP3P-MAI."""

DS = _numbers(
    """
    ds_add_u32 0 ds_min_i32 5 ds_max_i32 6 ds_min_u32 7 ds_max_u32 8 ds_and_b32 9
    ds_or_b32 10 ds_xor_b32 11 ds_write_b32 13 ds_min_f32 18 ds_max_f32 19 ds_add_f32 21
    ds_write_b8 30 ds_write_b16 31 ds_add_rtn_u32 32 ds_min_rtn_i32 37 ds_max_rtn_i32 38
    ds_min_rtn_u32 39 ds_max_rtn_u32 40 ds_and_rtn_b32 41 ds_or_rtn_b32 42
    ds_xor_rtn_b32 43 ds_min_rtn_f32 50 ds_max_rtn_f32 51 ds_add_rtn_f32 53
    ds_read_b32 54 ds_read_i8 57 ds_read_u8 58 ds_read_i16 59 ds_read_u16 60
    ds_swizzle_b32 61 ds_bpermute_b32 63 ds_add_u64 64 ds_min_i64 69 ds_max_i64 70
    ds_min_u64 71 ds_max_u64 72 ds_and_b64 73 ds_or_b64 74 ds_xor_b64 75 ds_write_b64 77
    ds_add_rtn_u64 96 ds_min_rtn_i64 101 ds_max_rtn_i64 102 ds_min_rtn_u64 103
    ds_max_rtn_u64 104 ds_and_rtn_b64 105 ds_or_rtn_b64 106 ds_xor_rtn_b64 107
    ds_read_b64 118 ds_write_b96 222 ds_write_b128 223 ds_read_b64_tr_b8 226
    ds_read_b64_tr_b16 227 ds_read_b96 254 ds_read_b128 255
    """
)

MUBUF = _numbers(
    """
    buffer_load_ubyte 16 buffer_load_sbyte 17 buffer_load_ushort 18
    buffer_load_sshort 19 buffer_load_dword 20 buffer_load_dwordx2 21
    buffer_load_dwordx3 22 buffer_load_dwordx4 23 buffer_store_byte 24
    buffer_store_short 26 buffer_store_dword 28 buffer_store_dwordx2 29
    buffer_store_dwordx3 30 buffer_store_dwordx4 31 buffer_wbl2 40 buffer_inv 41
    buffer_atomic_swap 64 buffer_atomic_cmpswap 65 buffer_atomic_add 66
    buffer_atomic_smin 68 buffer_atomic_umin 69 buffer_atomic_smax 70
    buffer_atomic_umax 71 buffer_atomic_and 72 buffer_atomic_or 73 buffer_atomic_xor 74
    buffer_atomic_add_f32 77 buffer_atomic_add_f64 79 buffer_atomic_min_f64 80
    buffer_atomic_max_f64 81 buffer_atomic_swap_x2 96 buffer_atomic_cmpswap_x2 97
    buffer_atomic_add_x2 98 buffer_atomic_smin_x2 100 buffer_atomic_umin_x2 101
    buffer_atomic_smax_x2 102 buffer_atomic_umax_x2 103 buffer_atomic_and_x2 104
    buffer_atomic_or_x2 105 buffer_atomic_xor_x2 106
    """
)

OLDER_MUBUF = _numbers("buffer_wbl2 40 buffer_invl2 41 buffer_wbinvl1_vol 63")
"""What CDNA2 does to caches. Source: CDNA2 ISA, MUBUF."""

GLOBAL = _numbers(
    """
    global_load_ubyte 16 global_load_sbyte 17 global_load_ushort 18
    global_load_sshort 19 global_load_dword 20 global_load_dwordx2 21
    global_load_dwordx3 22 global_load_dwordx4 23 global_store_byte 24
    global_store_short 26 global_store_dword 28 global_store_dwordx2 29
    global_store_dwordx3 30 global_store_dwordx4 31
    """
)
