"""Loops among blocks of code."""

from __future__ import annotations

from wave_isa_amdgcn.flow import find_loops, reached


def test_loops_are_closed_by_edges_to_what_was_passed():
    """Code behind a loop that leads into it, as cold code does, is no loop of its own.

    0 leads to a loop of 1 and 2, or to 4, which jumps into 3 behind the loop.
    """
    edges = [[1, 4], [2], [1, 3], [], [3]]
    assert find_loops(edges) == {1: {1, 2}}
    nested = [[1], [2], [2, 3], [1, 4], []]
    assert find_loops(nested) == {1: {1, 2, 3}, 2: {2}}
    assert reached(edges, 0, without=4) == {0, 1, 2, 3}


def test_code_that_nothing_leads_to_is_no_loop():
    assert find_loops([]) == {}
    assert find_loops([[], [2], [1]]) == {}
