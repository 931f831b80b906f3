"""The library's matrix products in every layout and type, against numpy in f64."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from wave_core.compile import Config, Session, run_case, wave_compile
from wave_core.compile.choosing import settlements
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_kernels.cases.gemm import ACTIVATION_WORDS, RESULTS
from wave_kernels.definitions.epilogue import Epilogue
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.functions import matmul_nbits

CDNA = ("gfx90a", "gfx942", "gfx950")
TARGETS = ("gfx942", "gfx950", "sm_80", "sm_90a")
LAYOUTS = {"NT": "gemm", "NN": "gemm-nn", "TN": "gemm-tn", "TT": "gemm-tt"}
TILE = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "WAVES_M": 2, "WAVES_N": 2}
SIZES = (
    *((1, 1, 1), (13, 17, 19), (63, 64, 31), (64, 65, 32)),
    *((65, 63, 33), (64, 64, 64), (128, 72, 104)),
)
PRESETS = (
    *("naive", "default", "prefetch", "four-stage", "fetch-ahead"),
    *("modulo", "pingpong", "prefetch-attention"),
)
TYPES = [
    *((dtype, result) for dtype in ("f16", "bf16") for result in RESULTS["f32"]),
    *(("f8e4m3fn", "f32"), ("f8e5m2", "bf16"), ("i8", "i32")),
]
WITHOUT_OCP = ("gfx942", "sm_80")
"""Targets that multiply no such floats of 8 bits."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def case(session, name, sizes, target, **settings):
    factory = session.plugins.load_kernel(name)
    shape = dict(zip("MNK", sizes, strict=True))
    return make_case(factory, name, shape, settings, target)


def check(session, made, device, **options):
    given = replace(made.options, device=device, poison_outputs=True, **options)
    report = run_case(made, options=given, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


@pytest.mark.covering(1)
@pytest.mark.parametrize("staged", [0, 1])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(session, layout, target, sizes, types, staged):
    dtype, result = types
    words = {"DTYPE": dtype, "RESULT": result}
    made = case(session, LAYOUTS[layout], sizes, target, STAGED=staged, **TILE, **words)
    if dtype.startswith("f8") and target in WITHOUT_OCP:
        with pytest.raises(UserError, match="WV0702"):
            check(session, made, "emulator", preset="default")
        return
    check(session, made, "emulator", preset="default")


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["prefetch", "fetch-ahead"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pipelined_products(session, layout, target, preset):
    made = case(session, LAYOUTS[layout], (128, 72, 200), target, STAGED=1, **TILE)
    check(session, made, "emulator", preset=preset)


@pytest.mark.covering(1)
@pytest.mark.parametrize("tile", [(128, 256), (256, 128), (128, 128)])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3fn", "i8"])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 16), (129, 257, 400), (127, 255, 336), (128, 256, 320)]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_of_four_warps(session, layout, sizes, dtype, tile):
    """As `auto` settles the rest on a card that has them."""
    words = {"DTYPE": dtype, "MMA_ROWS": 64, "BLOCK_M": tile[0], "BLOCK_N": tile[1]}
    made = case(session, LAYOUTS[layout], sizes, "sm_90a", **words)
    check(session, made, "emulator")


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3fn"])
@pytest.mark.parametrize("sizes", [(129, 65, 257), (1, 1, 16), (67, 72, 400)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")  # a loop that stays as it is says so
def test_schedules_of_four_warps(session, layout, sizes, dtype, preset):
    words = {"DTYPE": dtype, "MMA_ROWS": 64, "STAGED": 1, "WAVES_M": 2, "WAVES_N": 1}
    tile = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 128 if dtype[:2] == "f8" else 64}
    made = case(session, LAYOUTS[layout], sizes, "sm_90a", **words, **tile)
    check(session, made, "emulator", preset=preset)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_set_gives_products_of_four_warps(session, layout):
    made = case(session, LAYOUTS[layout], (4096,) * 3, "sm_90a", DTYPE="bf16")
    ptx = emit(made.options, made.kernel, "ptx", session).files["gemm.ptx"].decode()
    assert set(re.findall(r"(?:wgmma\.)?mma[_.]a?sync[\w.]*", ptx)) == {
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
    }
    assert "cp.async.bulk.tensor" in ptx
    assert "cp.async.cg" not in ptx


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["fetch-ahead", "four-stage"])
@pytest.mark.parametrize("gated", [0, 1])
def test_groups_of_four_warps(session, gated, preset):
    """Tiles without a row have no iteration, also of what a schedule puts before."""
    words = {"MMA_ROWS": 64, "STAGED": 1, "GATED": gated, "GATHERED": 1}
    tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "WAVES_M": 1, "WAVES_N": 1}
    factory = session.plugins.load_kernel("gemm-grouped")
    shape = {"E": 3, "M": 65, "N": 65, "K": 200}
    made = make_case(factory, "gemm-grouped", shape, {**words, **tile}, "sm_90a")
    check(session, made, "emulator", preset=preset)


@pytest.mark.covering(1)
@pytest.mark.parametrize("staged", [0, 1])
@pytest.mark.parametrize("activation", ACTIVATION_WORDS[1:])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3fn"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (63, 64, 31), (65, 63, 40)])
@pytest.mark.parametrize("target", ["gfx950", "sm_90a"])
def test_gated_products(session, target, sizes, dtype, layout, activation, staged):
    words = {"LAYOUT": layout, "DTYPE": dtype, "ACTIVATION": activation}
    made = case(session, "gemm-gated", sizes, target, STAGED=staged, **TILE, **words)
    check(session, made, "emulator", preset="default")


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 16), (129, 127, 328)])
def test_gated_products_of_four_warps(session, layout, sizes):
    """As `auto` settles the rest on a card that has them."""
    words = {"LAYOUT": layout, "BLOCK_M": 128, "BLOCK_N": 128, "MMA_ROWS": 64}
    words |= {"DTYPE": "bf16", "RESULT": "bf16"}
    check(session, case(session, "gemm-gated", sizes, "sm_90a", **words), "emulator")


def test_gated_products_are_issued_together(session):
    """Neither a barrier nor a copy parts the products of an iteration.

    They add to several sums in turn. The assembler would end a group at the branch of
    a copy (C7519), and another way of compiling would be taken.
    """
    words = {"DTYPE": "bf16", "BLOCK_M": 128, "BLOCK_N": 128, "MMA_ROWS": 64}
    made = case(session, "gemm-gated", (4096, 11008, 4096), "sm_90a", **words)
    first = settlements(made.options, made.kernel, session)[0]
    ptx = emit(first, made.kernel, "ptx", session).files["gated_gemm.ptx"].decode()
    loop = ptx.split("wgmma.commit_group")[0]
    assert "cp.async.bulk.tensor" in ptx
    products = loop.split("wgmma.fence")[-1]
    assert loop.count("wgmma.mma_async") == products.count("wgmma.mma_async") > 4
    assert "cp.async" not in products
    assert emit(first, made.kernel, "cubin", session).files["code.cubin"]


@pytest.mark.parametrize("groups", [8, 200])
def test_what_is_not_set_gives_groups_of_four_warps_too(session, groups):
    """Of more groups than shuffle at once, too."""
    factory = session.plugins.load_kernel("gemm-grouped")
    shape = {"E": groups, "M": 8192, "N": 4096, "K": 4096}
    words = {"DTYPE": "bf16", "RESULT": "bf16", "DYNAMIC": 1, "GATED": 1}
    made = make_case(factory, "gemm-grouped", shape, words, "sm_90a")
    ptx = emit(made.options, made.kernel, "ptx", session).files["gemm.ptx"].decode()
    assert "wgmma.mma_async" in ptx
    assert "cp.async" in ptx


@pytest.mark.covering(1)
@pytest.mark.parametrize("residual", [0, 1])
@pytest.mark.parametrize("activation", ACTIVATION_WORDS)
@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*LAYOUTS.values(), "gemm-batched"])
def test_finished_products(
    session, name, target, sizes, dtype, bias, activation, residual
):
    words = {"BIAS": bias, "ACTIVATION": activation, "RESIDUAL": residual}
    made = case(session, name, sizes, target, STAGED=1, DTYPE=dtype, **TILE, **words)
    check(session, made, "emulator", preset="default")


@pytest.mark.covering(1)
@pytest.mark.parametrize("staged", [0, 1])
@pytest.mark.parametrize("gated", [0, 1])
@pytest.mark.parametrize("gathered", [0, 1])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (63, 33, 31), (65, 64, 40)])
@pytest.mark.parametrize("groups", [1, 3, 70])
@pytest.mark.parametrize("target", TARGETS)
def test_products_of_groups(
    session, target, groups, sizes, dtype, gathered, gated, staged
):
    shape = dict(zip("EMNK", (groups, *sizes), strict=True))
    words = {"GATHERED": gathered, "GATED": gated, "STAGED": staged, "DTYPE": dtype}
    tile = {**TILE, "BLOCK_M": 32, "BLOCK_N": 32}
    factory = session.plugins.load_kernel("gemm-grouped")
    made = make_case(factory, "gemm-grouped", shape, {**words, **tile}, target)
    check(session, made, "emulator", preset="default")


@pytest.mark.parametrize("activation", ACTIVATION_WORDS)
def test_what_is_not_a_number_stays_so(session, activation):
    made = case(session, "gemm", (3, 5, 7), "gfx942", ACTIVATION=activation)
    kernel = wave_compile(replace(made.options, device="sim"), made.kernel)
    a, b, c = made.make_arguments(np.random.default_rng(1))
    a[1, 2], c[:] = np.nan, 0.0
    kernel(a, b, c)
    assert np.isnan(c[1]).all()
    assert not np.isnan(np.delete(c, 1, axis=0)).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_of_nvidia_come_by_ldmatrix(session, layout):
    made = case(session, LAYOUTS[layout], (256, 256, 256), "sm_90a", STAGED=1, **TILE)
    ptx = emit(made.options, made.kernel, "ptx", session).files["gemm.ptx"].decode()
    forms = {"trans" in found for found in re.findall(r"ldmatrix[\w.]*", ptx)}
    turned = {layout[0] == "T", layout[1] == "N"}
    assert forms == turned
    assert "ld.shared" not in ptx


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("DTYPE", "f64"), ("DTYPE", 8), ("RESULT", "i32"), ("RESULT", "e4m3")),
        ("ACTIVATION", "sine"),
    ],
)
def test_other_types_are_refused(session, setting, value):
    with pytest.raises(UserError, match=f"setting `{setting}`.*is `{value}`"):
        case(session, "gemm-nn", (8, 8, 8), "gfx942", **{setting: value})


@pytest.mark.covering(1)
@pytest.mark.parametrize("staged", [0, 1])
@pytest.mark.parametrize("zeros", [0, 1])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("group", [0, 32, 192])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("sizes", [(1, 1, 2), (1, 65, 200), (33, 64, 192)])
@pytest.mark.parametrize("target", TARGETS)
def test_products_with_weights_of_few_bits(
    session, target, sizes, dtype, bits, group, signed, zeros, staged
):
    words = {"BITS": bits, "GROUP": group, "SIGNED": signed, "ZEROS": zeros}
    tile = {"BLOCK_M": 16, "BLOCK_N": 64, "WAVES_M": 1, "WAVES_N": 4}
    words |= {"STAGED": staged, "DTYPE": dtype}
    made = case(session, "gemm-nbits", sizes, target, **words, **tile)
    check(session, made, "emulator", preset="default")


@pytest.mark.covering(2)
@pytest.mark.parametrize("zeros", [0, 1])
@pytest.mark.parametrize("group", [0, 32, 64])
@pytest.mark.parametrize(
    "sizes",
    [
        *((1, 1, 2), (7, 13, 34), (31, 63, 62), (32, 64, 64), (33, 65, 66)),
        *((0, 5, 8), (5, 0, 8), (65, 40, 200)),
    ],
)
@pytest.mark.parametrize(
    ("target", "backend"),
    [
        *((chip, path) for chip in CDNA for path in ("amdgpu", "asm")),
        *((chip, "nvgpu") for chip in TARGETS[2:]),
    ],
)
def test_products_in_f32_with_weights_of_four_bits(
    session, target, backend, sizes, group, zeros
):
    words = {"DTYPE": "f32", "GROUP": group, "ZEROS": zeros, "SIGNED": 1 - zeros}
    made = case(session, "gemm-nbits", sizes, target, **words)
    for device in ("sim-logical", "sim"):
        check(session, made, device)
    check(session, made, "emulator", backend=backend)


@pytest.mark.parametrize("shape", [(1, 1, 2), (17, 19, 70), (0, 3, 8), (3, 0, 8)])
@pytest.mark.parametrize("target", CDNA)
def test_the_function_in_f32_with_weights_of_four_bits(asked, target, shape):
    asked(target)
    m, n, k = shape
    a, scales = torch.randn(m, k), torch.rand(n, 1) + 0.5
    b = torch.randint(-128, 128, (n, k // 2)).to(torch.int8)
    weights = (torch.stack([b << 4, b], dim=-1) >> 4).reshape(n, k) * scales.double()
    found = matmul_nbits(a, b, scales)
    torch.testing.assert_close(
        found.double(), a.double() @ weights.T, rtol=0, atol=1e-4
    )


def test_weights_of_few_bits_in_tiles_of_many_rows_spill_nothing(session):
    """Tiles for which 4 bits would have to change lanes give way to others."""
    words = {"SIGNED": 0, "ZEROS": 1, "BLOCK_M": 128}
    made = case(session, "gemm-nbits", (4096, 4096, 4096), "sm_90a", **words)
    first, *_ = settlements(made.options, made.kernel, session)
    with pytest.raises(UserError, match="LDS moves whole bytes") as caught:
        emit(made.options, made.kernel, "metrics", session, [first])
    assert caught.value.code == "WV0309"
    (text,) = emit(made.options, made.kernel, "metrics", session).files.values()
    resources = json.loads(text)["resources"]
    assert resources["spill_store_bytes"] == resources["spill_load_bytes"] == 0


@pytest.mark.parametrize("setting", [{"BITS": 3}, {"GROUP": 16}, {"GROUP": -32}])
def test_weights_that_no_kernel_reads_are_refused(session, setting):
    with pytest.raises(UserError, match="WV0823"):
        case(session, "gemm-nbits", (8, 8, 32), "gfx942", **setting)


def test_gates_that_are_integers_are_refused(session):
    factory = session.plugins.load_kernel("gemm-grouped")
    with pytest.raises(UserError, match="gated product has no operands of `i8`"):
        make_case(factory, "gemm-grouped", {}, {"DTYPE": "i8", "GATED": 1}, "gfx942")


def test_an_unknown_layout_is_refused():
    with pytest.raises(UserError, match="no layout `NM`"):
        gemm_kernel(layout="NM")


def test_an_unknown_activation_is_refused():
    with pytest.raises(UserError, match="no activation `sine`"):
        Epilogue(activation="sine")
