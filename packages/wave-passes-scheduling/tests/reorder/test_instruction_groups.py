"""Groups of instructions, and the view of clusters."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from alternating_kernels import Product, counted, loop_of

from wave_core.ops.sync import SchedulingGroupBarrier
from wave_core.plugin import ViewRequest
from wave_passes_scheduling.loops.costs import kind_of
from wave_passes_scheduling.reorder.groups import NAMES
from wave_passes_scheduling.views.view import schedule


def groups(kernel):
    ops = loop_of(kernel.compiled.lowered).body.ops
    return [op for op in ops if isinstance(op, SchedulingGroupBarrier)]


@pytest.mark.parametrize("tile", [(64, 64, 32), (96, 64, 48), (32, 32, 16)])
def test_groups_have_every_op_of_the_loop(tile):
    kernel, error = Product(tile).run(preset="prefetch", use_scheduling_groups=True)
    assert error < 1e-4
    stated = Counter()
    for barrier in groups(kernel):
        for name, count in barrier.instructions:
            stated[name] += count
    ops = loop_of(kernel.compiled.lowered).body.ops
    held = Counter(NAMES[kind_of(op)] for op in ops if kind_of(op) in NAMES)
    # The target's matrix instruction is one, and each access is one of 128 bits.
    assert stated == held


def test_neighbours_in_a_list_differ_in_kind():
    kernel, _ = Product().run(preset="prefetch", use_scheduling_groups=True)
    rows = [[name for name, _ in op.instructions] for op in groups(kernel)]
    assert rows
    assert all(a != b for row in rows for a, b in pairwise(row))
    numbers = [op.sync_id for op in groups(kernel)]
    assert numbers == sorted(set(numbers))
    total = sum(map(len, rows))
    assert counted(kernel, "reorder-loops")["scheduling_groups"] == total


def test_matrix_clusters_have_no_list_of_their_own():
    kernel, error = Product().run(preset="pingpong", use_scheduling_groups=True)
    assert error < 1e-4
    for barrier in groups(kernel):
        assert "mma" not in {name for name, _ in barrier.instructions}


def test_the_view_lists_the_clusters():
    kernel, _ = Product().run(preset="pingpong", multi_buffer_count=1)
    shown = schedule(ViewRequest("gemm", "generic", {}, {}, list, kernel))
    titles, rows = shown.tables[-1]
    assert titles == ("loop", "cluster", "operations", "priority", "waves")
    assert [row[3] for row in rows] == ["0", "1", "0", "1"]
    assert {row[4] for row in rows} == {"halves alternate"}
    products = [row for row in shown.document["clusters"] if row["priority"]]
    assert [dict(row["ops"])["MMA"] for row in products] == [4, 4]


def test_the_view_of_other_kernels_has_no_clusters():
    kernel, _ = Product().run(preset="prefetch")
    shown = schedule(ViewRequest("gemm", "generic", {}, {}, list, kernel))
    assert shown.document["clusters"] == []
