"""Products go on into the next iteration, copies come from further ahead."""

from __future__ import annotations

import pytest
from product_kernels import check, matrices
from test_warpgroup_library import gemm

from wave_backend_nvgpu.compile.assemble import Limits, assemble
from wave_backend_nvgpu.compile.tools import find_assembler

AHEAD = {"fetch-ahead": 1, "four-stage": 2, "modulo": 2}
"""Iterations that copies are ahead, by preset."""


def loop_of(made):
    """The instructions of the only loop."""
    text = made.ptx[made.ptx.index("$L__BB0_1:") :]
    lines = [line.strip() for line in text[: text.index("bra")].splitlines()]
    return [line for line in lines if line and line[0] not in ".@/"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", AHEAD)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 9])
def test_sums_of_any_number_of_iterations_are_right(trips, preset):
    sizes = (128, 64, 64 * trips)
    made = gemm("bf16", sizes, 64, preset)
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.covering(1)
@pytest.mark.parametrize("preset", AHEAD)
@pytest.mark.parametrize("sizes", [(129, 65, 257), (127, 63, 449)], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_sums_are_right_at_the_edges_of_tiles(sizes, preset):
    made = gemm("bf16", sizes, 64, preset)
    a, b, c = matrices(sizes, "bf16")
    assert made.run(a, b, c) == []
    check(a, b, c)


@pytest.mark.covering(1)
@pytest.mark.parametrize("rows", [128, 256])
@pytest.mark.parametrize("preset", AHEAD)
def test_a_loop_has_one_barrier_and_leaves_a_group(preset, rows):
    made = gemm("bf16", (rows, 128, 1024), 128, preset, rows=rows)
    inside = loop_of(made)
    assert sum(line.startswith("bar.sync") for line in inside) == 1
    fences = [line for line in inside if line.startswith("wgmma.fence")]
    groups = [line for line in inside if line.startswith("wgmma.commit_group")]
    waits = [line for line in inside if "wait_group" in line]
    assert (len(fences), len(groups)) == (1, 1)
    left = f"cp.async.wait_group \t{AHEAD[preset] - 1};"
    assert waits == ["wgmma.wait_group.sync.aligned 1;", left]


@pytest.mark.parametrize(
    "words", ["wgmma.wait_group.sync.aligned", "cp.async.wait_group"]
)
def test_a_wait_that_leaves_one_more_is_reported(words):
    sizes = (128, 64, 576)
    made = gemm("bf16", sizes, 64, "four-stage")
    (old,) = [line for line in loop_of(made) if line.startswith(words)]
    text = made.ptx.replace(old, old.replace("1;", "2;"))
    assert made.run(*matrices(sizes, "bf16"), text=text)


@pytest.mark.covering(2)
@pytest.mark.parametrize(("rows", "columns"), [(128, 256), (256, 128), (128, 128)])
@pytest.mark.parametrize("preset", AHEAD)
def test_accumulators_stay_where_they_are(preset, rows, columns):
    """The assembler does products one after the other where it has to move them."""
    made = gemm("bf16", (4096, 4096, 4096), columns, preset, rows=rows)
    tool = find_assembler()
    assert tool is not None
    remarks = assemble(made.ptx, "sm_90a", tool, Limits(60, 8192)).remarks
    assert (remarks.errors, remarks.lost, remarks.spilled_bytes) == ((), (), 0)
    assert remarks.registers <= (128 if rows == columns else 232)
