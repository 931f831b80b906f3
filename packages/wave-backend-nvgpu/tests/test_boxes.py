"""Boxes that are copied to shared memory at once, and waited for by groups."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from emulated_kernels import compiled, session
from product_kernels import check, matrices
from test_warpgroup_library import gemm

from wave_backend_nvgpu.codegen.boxes import Boxes
from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_backend_nvgpu.compile.tools import find_assembler
from wave_core.backends.emission import BoxedMemory
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_emulator_ptx import EmulatorError

BOXES = {
    "passes": ("copy-direct-to-lds{demanded=true, boxes=true}",),
    "use_global_to_shared": False,
}
BOX, OTHER = "cp.async.bulk.tensor", "cp.async.c"
POINTER = ".u64 .ptr .global .align 1"


def boxed(dtype, sizes, columns, preset, **options):
    return gemm(dtype, sizes, columns, preset, **options, **BOXES)


@pytest.mark.parametrize(
    ("dtype", "sizes", "preset"),
    [
        ("bf16", (129, 65, 64), "default"),
        ("bf16", (255, 65, 72), "default"),
        ("bf16", (129, 127, 136), "prefetch"),
        ("f16", (131, 64, 192), "modulo"),
        ("bf16", (128, 64, 512), "fetch-ahead"),
        ("bf16", (129, 65, 328), "four-stage"),
        ("bf16", (127, 64, 64), "default"),
        ("f8e4m3fn", (129, 64, 144), "default"),
        ("i8", (133, 67, 128), "default"),
    ],
    ids=str,
)
def test_sums_are_right(dtype, sizes, preset):
    made = boxed(dtype, sizes, 64, preset)
    assert made.count(BOX)
    assert not made.count(OTHER)
    a, b, c = matrices(sizes, dtype)
    assert made.run(a, b, c) == []
    check(a, b, c)
    simulated = np.full_like(c, 7)
    made.kernel(a, b, simulated)
    check(a, b, simulated)


@pytest.mark.covering(1)
@pytest.mark.parametrize("trips", [1, 2, 3, 4, 5, 9, 17])
@pytest.mark.parametrize("preset", ["default", "four-stage"])
def test_sums_of_any_number_of_groups_are_right(trips, preset):
    """A barrier of the ring is used again after sixteen groups."""
    sizes = (128, 64, 64 * trips)
    made = boxed("bf16", sizes, 64, preset)
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.covering(1)
@pytest.mark.parametrize("tile", [(192, 256, 3), (256, 192, 2)], ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 8), (191, 193, 328), (257, 255, 72)], ids=str)
def test_sums_of_tiles_that_are_no_powers_of_two_are_right(tile, sizes):
    rows, columns, waves = tile
    made = boxed("bf16", sizes, columns, "four-stage", rows=rows, waves=waves)
    assert made.count("wgmma.mma_async")
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.parametrize("layout", ["gemm-nn", "gemm-tn", "gemm"])
def test_one_thread_copies_while_no_group_of_products_is_open(layout):
    """The assembler of CUDA 13.0 divides a group around its branch (C7519)."""
    settings = {"DTYPE": "bf16", "RESULT": "bf16"}
    sizes = {"M": 4096, "N": 4096, "K": 8192}
    case = make_case(
        session().plugins.load_kernel(layout), layout, sizes, settings, "sm_90a"
    )
    made = emit(case.options, case.kernel, "ptx", session())
    (text,) = (data.decode() for data in made.files.values())
    lines = [line.strip() for line in text.splitlines()]
    assert any(line.startswith(BOX) for line in lines)
    is_open = False
    for line in lines:
        if line.startswith("wgmma.mma_async"):
            is_open = True
        elif line.startswith("wgmma.commit_group"):
            is_open = False
        assert not (is_open and " bra " in line), line


def test_what_a_memory_is_described_by():
    made = boxed("bf16", (128, 64, 512), 64, "default")
    rows = [
        BoxedMemory(name, (size, 64), 128) for name, size in (("a", 128), ("b", 64))
    ]
    assert list(made.generated.boxed) == rows
    assert made.ptx.count(".param .align 64 .b8") == len(rows)


@pytest.mark.parametrize(
    ("dynamic", "kinds", "larger", "said"),
    [
        (
            0,
            [POINTER] * 3 + [".align 64 .b8"] * 2,
            ("param_3[128]", "param_3[64]"),
            "3 of 64 bytes",
        ),
        (1, [POINTER] * 3 + [".u32"] * 3, (".u32 gemm", ".u64 gemm"), "3 of 8 bytes"),
    ],
    ids=["maps", "numbers"],
)
def test_text_with_maps_or_numbers_is_taken_back(dynamic, kinds, larger, said):
    settings = {"DTYPE": "bf16", "RESULT": "bf16", "DYNAMIC": dynamic}
    sizes = {"M": 4096, "N": 4096, "K": 8192}
    case = make_case(
        session().plugins.load_kernel("gemm"), "gemm", sizes, settings, "sm_90a"
    )

    def made(form, **given):
        options = replace(case.options, plugin_options=given)
        return emit(options, case.kernel, form, session()).files

    (data,) = made("ptx").values()
    ours = data.decode()
    assert re.findall(r"\.param (.*) gemm_param_", ours[: ours.index("{")]) == kinds
    assert made("cubin", override_ptx=ours)["code.cubin"]
    with pytest.raises(UserError, match=f"has argument {said}; a launch gives"):
        made("cubin", override_ptx=ours.replace(*larger, 1))


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", ["default", "four-stage"])
@pytest.mark.parametrize(
    ("layout", "sizes", "columns"),
    [
        ("NN", (129, 136, 72), 128),
        ("TN", (136, 136, 72), 128),
        ("TT", (128, 129, 328), 64),
    ],
)
def test_each_panel_of_a_tile_is_a_box(layout, sizes, columns, preset):
    made = boxed("bf16", sizes, columns, preset, layout=layout)
    assert made.count(BOX)
    assert not made.count(OTHER)
    across = layout[1] == "N"
    a, b, c = matrices(sizes, "bf16", across=across)
    given = a if layout[0] == "N" else np.ascontiguousarray(a.T)
    assert made.run(given, b, c) == []
    check(a, b, c, across=across)
    simulated = np.full_like(c, 7)
    made.kernel(given, b, simulated)
    check(a, b, simulated, across=across)


def test_what_is_chosen_copies_boxes():
    """Nothing is set but sizes that no tile divides."""
    sizes = dict.fromkeys("MNK", 1032)
    factory = session().plugins.load_kernel("gemm")
    case = make_case(factory, "gemm", sizes, {"DTYPE": "bf16"}, "sm_90a")
    made = compiled(case.kernel, dict(case.options.subs), "sm_90a")
    assert made.count(BOX)
    assert not made.count(OTHER)


@pytest.mark.parametrize(
    ("sizes", "columns", "layout"),
    [((128, 64, 65), 64, "NT"), ((128, 132, 64), 128, "NN")],
    ids=["rows start anywhere", "rows of panels start anywhere"],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_box_is_copied_otherwise(sizes, columns, layout):
    made = boxed("bf16", sizes, columns, "default", layout=layout)
    assert len(made.generated.boxed) < 2
    a, b, c = matrices(sizes, "bf16", across=layout == "NN")
    assert made.run(a, b, c) == []
    check(a, b, c, across=layout == "NN")


def test_a_tile_is_as_few_boxes_as_the_machine_allows():
    """A box has 256 rows at most; 8 columns are less than all lanes copy at once."""
    sizes = (385, 8, 72)
    made = boxed("bf16", sizes, 8, "default", rows=384)
    rows = [BoxedMemory("a", (192, 64), 128), BoxedMemory("b", (8, 64), 128)]
    assert list(made.generated.boxed) == rows
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


def test_nothing_is_shown_that_no_thread_wrote():
    made = boxed("bf16", (128, 64, 512), 64, "four-stage")
    assert "fence.proxy" not in made.ptx
    by_threads = gemm("bf16", (128, 64, 512), 64, "four-stage")
    assert "fence.proxy" in by_threads.ptx


@pytest.mark.parametrize("preset", ["default", "four-stage"])
def test_waits_are_not_unrolled(preset):
    """As many as there are barriers, and the one at the end."""
    made = boxed("bf16", (128, 64, 2048), 64, preset)
    assert made.ptx.count("try_wait") <= made.ptx.count("bar.sync")


@pytest.mark.parametrize("preset", ["default", "four-stage"])
def test_a_wait_that_leaves_one_more_is_reported(preset, monkeypatch):
    close = Boxes.close

    def later(self, left):
        close(self, None if left is None else left + 1)

    monkeypatch.setattr(Boxes, "close", later)
    sizes = (128, 64, 576)
    assert boxed("bf16", sizes, 64, preset).run(*matrices(sizes, "bf16"))


def test_barriers_that_nobody_was_shown_are_reported():
    sizes = (128, 64, 512)
    made = boxed("bf16", sizes, 64, "four-stage")
    text = made.ptx
    for words in ("fence.mbarrier_init", "bar.sync"):
        assert words in text
        text = text.replace(f"\t{words}", "\t//", 1)
    assert made.run(*matrices(sizes, "bf16"), text=text)


@pytest.mark.parametrize("words", ["mbarrier.arrive", "mbarrier.expect_tx"])
def test_groups_that_nobody_counts_are_reported(words):
    """Too few arrivals never end; bytes that nobody expects end too early or never."""
    sizes = (128, 64, 128)
    made = boxed("bf16", sizes, 64, "default")
    lines = made.ptx.splitlines()
    kept = [line for line in lines if not line.strip().startswith(words)]
    assert len(kept) < len(lines)
    try:
        assert made.run(*matrices(sizes, "bf16"), text="\n".join(kept))
    except EmulatorError as error:
        assert error.code in {"EP0304", "EP0305"}  # noqa: PT017 - either is right


def test_another_swizzle_is_wrong():
    sizes = (128, 64, 64)
    made = boxed("bf16", sizes, 64, "default")
    a, b, c = matrices(sizes, "bf16")
    rows = tuple(replace(row, swizzle=0) for row in made.generated.boxed)
    wrong = replace(made, generated=replace(made.generated, boxed=rows))
    wrong.run(a, b, c)
    assert np.abs(c - a.astype("f8") @ b.astype("f8").T).max() > 1


@pytest.mark.parametrize(
    ("tile", "preset"),
    [
        ((256, 128, 2), "default"),
        ((256, 128, 2), "fetch-ahead"),
        ((256, 128, 2), "four-stage"),
        ((256, 192, 2), "four-stage"),
        ((192, 256, 3), "four-stage"),
    ],
    ids=str,
)
def test_accumulators_stay_where_they_are(tile, preset):
    rows, columns, waves = tile
    size = (4104, 4104, 4104)
    made = boxed("bf16", size, columns, preset, rows=rows, waves=waves)
    assert not made.kernel.compiled.warnings
    tool = find_assembler()
    assert tool is not None
    remarks = assemble(made.ptx, "sm_90a", tool, Limits(60, 8192)).remarks
    assert (remarks.errors, remarks.lost, remarks.spilled_bytes) == ((), (), 0)
