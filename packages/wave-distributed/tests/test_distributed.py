"""What is spread over processes is what one process computes."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from processes import run_on
from rank_work import (
    disagreeing,
    every_shape,
    every_shape_in_shared_memory,
    gathered,
    in_a_ring,
    killed,
    leaving,
    scattered,
)

from wave_core.diagnostics import LaunchError
from wave_distributed import (
    all_gather_matmul,
    matmul_reduce_scatter,
    ring_attention,
)
from wave_distributed.symmetric import are_reachable

WORKS = (gathered, scattered, in_a_ring)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@pytest.mark.parametrize(
    ("size", "dtypes"),
    [
        (2, DTYPES[1:2]),
        pytest.param(1, DTYPES, marks=pytest.mark.fuzz),
        pytest.param(2, DTYPES, marks=pytest.mark.fuzz),
        pytest.param(3, DTYPES, marks=pytest.mark.fuzz),
        pytest.param(4, DTYPES, marks=pytest.mark.fuzz),
    ],
)
def test_of_parts_is_that_of_the_whole(size, dtypes):
    found = run_on(size, every_shape, WORKS, dtypes)
    assert found == {rank: [] for rank in range(size)}


@pytest.mark.parametrize(
    "size", [2, *(pytest.param(size, marks=pytest.mark.fuzz) for size in (3, 4))]
)
def test_ranks_that_write_to_each_others_memory_find_the_same(size, tmp_path):
    asked = WORKS, DTYPES[1:2], str(tmp_path)
    found = run_on(size, every_shape_in_shared_memory, *asked)
    assert found == {rank: ([], True) for rank in range(size)}


@pytest.mark.parametrize(
    ("places", "answer"),
    [
        (["host a", "host b"], True),
        (["host a", "other b"], False),
        (["host a", "host a"], False),
        (["host a", ""], False),
        (["host a"], False),
    ],
)
def test_memory_is_shared_by_several_gpus_of_one_host(places, answer):
    assert are_reachable(places) is answer


def test_ranks_that_disagree_all_hear_of_it():
    found = run_on(2, disagreeing)
    assert found.keys() == {0, 1}
    for said in found.values():
        assert "WV0730" in said
        assert "rank 0: (2, 3) of torch.float32" in said
        assert "rank 1: (3, 3) of torch.float32" in said


def test_a_rank_that_leaves_is_missed():
    found = run_on(2, leaving, seconds=10)
    assert found.keys() == {0}
    assert "WV0731" in found[0]


def test_every_other_rank_tells_that_one_was_killed():
    found = run_on(3, killed, seconds=20)
    assert found.keys() == {0, 2}
    assert all("WV0731" in said for said in found.values())


@pytest.mark.parametrize("function", [all_gather_matmul, matmul_reduce_scatter])
def test_without_a_group_nothing_starts(function):
    with pytest.raises(LaunchError, match="WV0731"):
        function(torch.ones(2, 2), torch.ones(2, 2))


@pytest.mark.parametrize(
    ("function", "shapes", "code"),
    [
        (all_gather_matmul, [(2,), (2, 2)], "WV0706"),
        (matmul_reduce_scatter, [(2, 2), (2, 2, 2)], "WV0706"),
        (ring_attention, [(2, 4)] * 3, "WV0706"),
        (ring_attention, [(1, 1, 2, 4), (1, 1, 2, 4), (4,)], "WV0706"),
    ],
)
def test_what_no_function_takes_is_refused_before_anything_is_sent(
    function, shapes, code, alone
):
    tensors = [torch.ones(shape, dtype=torch.float16) for shape in shapes]
    with pytest.raises(LaunchError, match=code):
        function(*tensors)


@pytest.fixture
def alone(tmp_path):
    """A group of this process alone."""
    dist.init_process_group("gloo", f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    dist.destroy_process_group()
