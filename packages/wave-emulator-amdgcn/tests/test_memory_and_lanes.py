"""LDS, buffers, atomics, matrix products and exchanges between lanes."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad.renderer.amd.dsl import DPP, s, v
from tinygrad.runtime.autogen.amd.cdna import ins as cdna
from tinygrad.runtime.autogen.amd.cdna.enum import MUBUFOp, VOP1Op, VOP3POp, VOP3PX2Op

from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.decode import decode

LANE = np.arange(64)


def words(rng, *shape):
    return rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)


@pytest.mark.parametrize(
    ("write", "read", "count"),
    [
        ("ds_write_b32", "ds_read_b32", 1),
        ("ds_write_b64", "ds_read_b64", 2),
        ("ds_write_b96", "ds_read_b96", 3),
        ("ds_write_b128", "ds_read_b128", 4),
    ],
)
def test_lds_keeps_what_is_written(machine, execute, rng, write, read, count):
    m = machine(waves=2, lds=8192)
    data = words(rng, count, 2, 64)
    m.V[2 : 2 + count] = data
    order = rng.permutation(128).reshape(2, 64)
    m.V[1] = order * 16
    source, target = v[2 : 1 + count], v[10 : 9 + count]
    if count == 1:
        source, target = v[2], v[10]
    execute(
        m,
        getattr(cdna, write)(addr=v[1], data0=source, offset0=8),
        getattr(cdna, read)(vdst=target, addr=v[1], offset0=8),
    )
    assert (m.V[10 : 10 + count] == data).all()


def test_two_addresses_and_strides(machine, execute, rng):
    m = machine(waves=1, lds=16384)
    data = words(rng, 4, 1, 64)
    m.V[2:6] = data
    m.V[1] = LANE * 8
    execute(
        m,
        cdna.ds_write2st64_b64(
            addr=v[1], data0=v[2:3], data1=v[4:5], offset0=1, offset1=3
        ),
        cdna.ds_read2st64_b64(vdst=v[10:13], addr=v[1], offset0=3, offset1=1),
    )
    assert (m.V[10:14] == data[[2, 3, 0, 1]]).all()


def test_small_reads_extend(machine, execute, rng):
    m = machine(waves=1)
    m.lds.data[:256] = rng.integers(0, 256, 256)
    m.V[1] = LANE
    m.V[12:14] = 0xAAAABBBB
    execute(
        m,
        cdna.ds_read_i8(vdst=v[10], addr=v[1]),
        cdna.ds_read_u8(vdst=v[11], addr=v[1]),
        cdna.ds_read_u8_d16_hi(vdst=v[12], addr=v[1]),
        cdna.ds_read_u16_d16(vdst=v[13], addr=v[1], offset0=1),
    )
    raw = m.lds.data[:64]
    assert (m.V[10, 0] == raw.view(np.int8).astype(np.int32).view(np.uint32)).all()
    assert (m.V[11, 0] == raw).all()
    assert (m.V[12, 0] == (raw.astype(np.uint32) << 16 | 0xBBBB)).all()
    half = m.lds.data[1:65].astype(np.uint32) | m.lds.data[2:66].astype(np.uint32) << 8
    assert (m.V[13, 0] == (half | 0xAAAA0000)).all()


def test_bpermute_permute_and_swizzle(machine, execute, rng):
    m = machine(waves=1)
    order = rng.permutation(64)
    m.V[1] = order * 4
    m.V[2] = words(rng, 1, 64)
    execute(
        m,
        cdna.ds_bpermute_b32(vdst=v[10], addr=v[1], data0=v[2]),
        cdna.ds_permute_b32(vdst=v[11], addr=v[1], data0=v[2]),
        cdna.ds_swizzle_b32(vdst=v[12], addr=v[2], offset0=31, offset1=0x40),
    )
    data = m.V[2, 0]
    assert (m.V[10, 0] == data[order]).all()
    assert (m.V[11, 0, order] == data).all()
    assert (m.V[12, 0] == data[LANE ^ 16]).all()


@pytest.mark.parametrize(
    ("control", "source"),
    [
        (0xB1, LANE ^ 1),
        (0x4E, LANE ^ 2),
        (0x140, LANE & ~15 | 15 - (LANE & 15)),
        (0x141, LANE & ~7 | 7 - (LANE & 7)),
        (0x121, LANE & ~15 | (LANE - 1 & 15)),
    ],
)
def test_dpp_moves_lanes(machine, execute, rng, control, source):
    m = machine(waves=1)
    m.V[1] = words(rng, 1, 64)
    inst = cdna.VOP1_DPP16(
        VOP1Op.V_MOV_B32_E32,
        vdst=v[10],
        src0=DPP,
        vsrc0=v[1],
        dpp=control,
        row_mask=15,
        bank_mask=15,
    )
    execute(m, inst)
    assert (m.V[10, 0] == m.V[1, 0][source]).all()


def test_dpp_shift_keeps_or_clears_the_edge(machine, execute, rng):
    m = machine(waves=1)
    m.V[1] = words(rng, 1, 64)
    m.V[10:12] = 7
    for k in range(2):
        inst = cdna.VOP1_DPP16(
            VOP1Op.V_MOV_B32_E32,
            vdst=v[10 + k],
            src0=DPP,
            vsrc0=v[1],
            dpp=0x111,
            row_mask=15,
            bank_mask=15,
            bc=k,
        )
        execute(m, inst)
    edge = LANE % 16 == 0
    for k, fill in ((0, 7), (1, 0)):
        assert (m.V[10 + k, 0] == np.where(edge, fill, np.roll(m.V[1, 0], 1))).all()


def test_lane_to_scalar_and_back(machine, execute, rng):
    m = machine(waves=2)
    m.V[1] = words(rng, 2, 64)
    execute(
        m,
        cdna.v_readlane_b32(v[4], v[1], 17),
        cdna.v_readfirstlane_b32_e32(v[5], v[1]),
        cdna.v_writelane_b32(v[2], s[4], 3),
    )
    assert (m.S[4] == m.V[1, :, 17]).all()
    assert (m.S[5] == m.V[1, :, 0]).all()
    assert (m.V[2, :, 3] == m.S[4]).all()
    assert (m.V[2, :, 4] == 0).all()


def test_mbcnt_counts_lanes_below(machine, execute):
    m = machine(waves=1)
    execute(
        m, cdna.v_mbcnt_lo_u32_b32(v[1], -1, 0), cdna.v_mbcnt_hi_u32_b32(v[1], -1, v[1])
    )
    assert (m.V[1, 0] == LANE).all()


def test_packed_halves(machine, execute, rng):
    x, y, z = rng.standard_normal((3, 1, 64, 2)).astype(np.float16)
    m = machine(waves=1)
    for k, value in enumerate((x, y, z)):
        m.V[1 + k] = value.view(np.uint32)[..., 0]
    execute(
        m,
        cdna.v_pk_add_f16(v[10], v[1], v[2]),
        cdna.v_pk_fma_f16(v[11], v[1], v[2], v[3]),
        cdna.v_pk_mul_f16(v[12], v[1], v[2], opsel=1, opsel_hi=2),
    )
    got = [m.V[r, 0].view(np.float16).reshape(64, 2) for r in (10, 11, 12)]
    assert (got[0] == (x + y)[0]).all()
    exact = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    assert (got[1] == exact[0].astype(np.float16)).all()
    assert (got[2][:, 0] == x[0, :, 1] * y[0, :, 0]).all()
    assert (got[2][:, 1] == x[0, :, 0] * y[0, :, 1]).all()


MFMA = [
    ("v_mfma_f32_16x16x16_f16", 16, 16, 1, np.float16),
    ("v_mfma_f32_32x32x8_f16", 32, 8, 1, np.float16),
    ("v_mfma_f32_16x16x4_f32", 16, 4, 1, np.float32),
    ("v_mfma_f32_32x32x2_f32", 32, 2, 1, np.float32),
    ("v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, np.float16),
    ("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, np.float16),
    ("v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, np.float16),
]


@pytest.mark.parametrize(("name", "size", "depth", "blocks", "dtype"), MFMA)
def test_mfma_layouts(machine, execute, rng, name, size, depth, blocks, dtype):
    """The rule of the ISA, element by element: D = A B + C in each block."""
    per_lane = size * depth * blocks // 64
    a, b = rng.integers(-4, 5, (2, blocks, size, depth)).astype(dtype)
    m = machine(waves=1)
    registers = per_lane * np.dtype(dtype).itemsize // 4
    for first, matrix in ((2, a), (2 + registers, b)):
        lanes = np.zeros((64, per_lane), dtype)
        for lane in range(64):
            row, rest = lane % size, lane // size
            block, group = rest % blocks, rest // blocks
            lanes[lane] = matrix[block, row, group * per_lane : (group + 1) * per_lane]
        m.V[first : first + registers, 0] = lanes.view(np.uint32).T
    count = size * size * blocks // 64
    top = v[2] if registers == 1 else v[2 : 1 + registers]
    second = 2 + registers
    other = v[second] if registers == 1 else v[second : second + registers - 1]
    execute(m, getattr(cdna, name)(v[16 : 15 + count], top, other, 0))
    got = m.V[16 : 16 + count, 0].view(np.float32)
    for register in range(count):
        for lane in range(64):
            per_block = size * size // 64 or 4
            block = register // per_block if size > 4 else lane // 4
            r = register % per_block
            high = 64 // size
            row = 4 * high * (r // 4) + 4 * (lane // size) + r % 4 if size > 4 else r
            column = lane % size
            want = a[block, row].astype(float) @ b[block, column].astype(float)
            assert got[register, lane] == want, (register, lane)


def test_mfma_f64(machine, execute, rng):
    a, b = rng.standard_normal((2, 16, 4))
    c = rng.standard_normal((16, 16))
    m = machine(waves=1)
    for first, matrix in ((2, a), (4, b)):
        lanes = matrix[LANE % 16, LANE // 16]
        m.V[first : first + 2, 0] = lanes.view(np.uint32).reshape(64, 2).T
    old = np.stack([c[4 * r + LANE // 16, LANE % 16] for r in range(4)], axis=1)
    m.V[16:24, 0] = old.view(np.uint32).reshape(64, 8).T
    execute(m, cdna.v_mfma_f64_16x16x4_f64(v[16:23], v[2:3], v[4:5], v[16:23]))
    got = np.ascontiguousarray(m.V[16:24, 0].T).view(np.float64)
    want = a @ b.T + c
    for r in range(4):
        assert np.allclose(got[:, r], want[4 * r + LANE // 16, LANE % 16], rtol=1e-14)


@pytest.mark.parametrize(
    ("arch", "table"),
    [
        ("gfx942", {0x38: 0.5, 0x80: np.nan, 0x7F: 240.0, 0x01: 2.0**-10}),
        ("gfx950", {0x38: 1.0, 0x80: -0.0, 0x7F: np.nan, 0x7E: 448.0, 0x01: 2.0**-9}),
    ],
)
def test_fp8_is_fnuz_on_gfx942_and_ocp_on_gfx950(machine, execute, arch, table):
    m = machine(arch, waves=1)
    codes = list(table)
    m.V[1, 0, : len(codes)] = codes
    execute(m, cdna.v_cvt_f32_fp8_e32(v[10], v[1]))
    got = m.V[10, 0].view(np.float32)[: len(codes)]
    assert np.array_equal(
        got, np.array(list(table.values()), np.float32), equal_nan=True
    )


def test_a_product_without_scales_takes_nothing_that_stands_before_it():
    """The form with scales is 8 bytes longer: a word of its own, then this product."""
    product = cdna.VOP3P_MFMA(
        VOP3POp.V_MFMA_F32_16X16X128_F8F6F4,
        vdst=v[16:19],
        src0=v[2:9],
        src1=v[2:9],
        src2=0,
    )
    data = cdna.s_nop(5).to_bytes() * 2 + product.to_bytes()
    names = [decode(data, at, at, ARCHITECTURES["gfx950"]).name for at in (0, 4, 8)]
    assert names == ["S_NOP", "S_NOP", "V_MFMA_F32_16X16X128_F8F6F4"]


def test_scaled_mfma_of_fp4(machine, execute, rng):
    m = machine("gfx950", waves=1)
    m.V[2:6] = words(rng, 4, 1, 64)
    m.V[6:10] = words(rng, 4, 1, 64)
    m.V[10:12] = 127 + rng.integers(-3, 4, (2, 1, 64)).astype(np.uint32)
    inst = cdna.VOP3PX2(
        VOP3PX2Op.V_MFMA_SCALE_F32_16X16X128_F8F6F4,
        vdst=v[16:19],
        src0=v[2:5],
        src1=v[6:9],
        src2=0,
        cbsz=4,
        blgp=4,
        scale_src0=v[10].offset,
        scale_src1=v[11].offset,
        x2encoding=0xD3AC,
    )
    execute(m, inst)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    matrices = []
    for first, scale in ((2, 10), (6, 11)):
        raw = np.ascontiguousarray(m.V[first : first + 4, 0].T).view(np.uint8)
        codes = np.stack([raw & 15, raw >> 4], axis=-1).reshape(64, 32)
        element = np.where(codes & 8, -1, 1) * values[codes & 7]
        element = element * 2.0 ** (m.V[scale, 0].astype(int) - 127)[:, None]
        matrices.append(element.reshape(4, 16, 32).swapaxes(0, 1).reshape(16, 128))
    want = matrices[0] @ matrices[1].T
    got = m.V[16:20, 0].view(np.float32)
    for r in range(4):
        assert np.allclose(got[r], want[4 * (LANE // 16) + r, LANE % 16])


def test_scaled_conversions_of_fp8(machine, execute):
    m = machine("gfx950", waves=1)
    m.V[1] = 0x7E38
    m.V[2] = np.float32(4).view(np.uint32)
    m.V[4] = np.float32(8).view(np.uint32)
    m.V[5] = np.float32(-2).view(np.uint32)
    execute(
        m,
        cdna.v_cvt_scalef32_pk_f32_fp8(v[10:11], v[1], v[2]),
        cdna.v_cvt_scalef32_pk_fp8_f32(v[12], v[4], v[5], v[2]),
    )
    assert (m.V[10:12, 0, 0].view(np.float32) == [4, 448 * 4]).all()
    # 8 / 4 = 2 is 0x40, -2 / 4 = -0.5 is 0xB0.
    assert m.V[12, 0, 0] == 0xB040


def test_transposing_read(machine, execute):
    m = machine("gfx950", waves=1)
    m.lds.data.view(np.uint16)[:256] = np.arange(256)
    m.V[1] = LANE * 8
    execute(m, cdna.ds_read_b64_tr_b16(vdst=v[10:11], addr=v[1]))
    got = np.ascontiguousarray(m.V[10:12, 0].T).view(np.uint16)
    for lane in range(64):
        tile, column = lane // 16, lane % 16
        assert (got[lane] == 64 * tile + 16 * np.arange(4) + column).all()


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("global_atomic_add", lambda a, b: a + b),
        ("global_atomic_umax", np.maximum),
        ("global_atomic_xor", lambda a, b: a ^ b),
        ("global_atomic_swap", lambda a, b: b),
    ],
)
def test_atomics_return_the_old_value_in_lane_order(
    machine, execute, rng, name, reference
):
    m = machine(waves=1)
    cells = m.memory.bytes_of(0).view(np.uint32)
    cells[:8] = words(rng, 8)
    before = cells[:8].copy()
    m.V[1] = (LANE % 8) * 4
    m.V[2] = words(rng, 1, 64)
    address = m.memory.regions[0].address
    m.S[2], m.S[3] = address & 0xFFFFFFFF, address >> 32
    execute(
        m, getattr(cdna, name)(vdst=v[10], addr=v[1], data=v[2], saddr=s[2:3], sc0=1)
    )
    for lane in range(64):
        assert m.V[10, 0, lane] == before[lane % 8]
        with np.errstate(over="ignore"):
            before[lane % 8] = reference(before[lane % 8], m.V[2, 0, lane])
    assert (cells[:8] == before).all()


def test_a_buffer_resource_bounds_its_accesses(machine, execute, rng):
    m = machine(waves=1)
    cells = m.memory.bytes_of(0).view(np.uint32)
    cells[:] = words(rng, 1024)
    address = m.memory.regions[0].address
    m.S[4], m.S[5], m.S[6], m.S[7] = address & 0xFFFFFFFF, address >> 32, 128, 0x27000
    m.V[1] = LANE * 4
    old = cells.copy()
    execute(
        m,
        cdna.MUBUF(
            MUBUFOp.BUFFER_LOAD_DWORD,
            vdata=v[10],
            vaddr=v[1],
            srsrc=s[4:7],
            soffset=_zero(),
            offen=1,
        ),
        cdna.MUBUF(
            MUBUFOp.BUFFER_STORE_DWORD,
            vdata=v[1],
            vaddr=v[1],
            srsrc=s[4:7],
            soffset=_zero(),
            offset=64,
            offen=1,
        ),
    )
    assert (m.V[10, 0] == np.where(LANE < 32, old[:64], 0)).all()
    assert (cells[16:32] == np.arange(16) * 4).all()
    assert (cells[32:] == old[32:]).all()
    assert not m.reports


def _zero():
    from tinygrad.renderer.amd.dsl import src

    return src[128]


def test_dma_to_lds(machine, execute, rng):
    m = machine(waves=1)
    cells = m.memory.bytes_of(0).view(np.uint32)
    cells[:] = words(rng, 1024)
    address = m.memory.regions[0].address
    m.S[2], m.S[3] = address & 0xFFFFFFFF, address >> 32
    m.S[124] = 256
    order = rng.permutation(64)
    m.V[1] = order * 4
    execute(m, cdna.global_load_lds_dword(addr=v[1], saddr=s[2:3]))
    assert (m.lds.data[256:512].view(np.uint32) == cells[order]).all()
