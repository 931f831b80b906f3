"""What a rank does in the tests; processes import it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist

from wave_distributed import (
    all_gather_matmul,
    matmul_all_reduce,
    matmul_reduce_scatter,
    ring_attention,
    zigzag_part,
)
from wave_kernels.functions import matmul

SHAPES = [(1, 3, 5), (7, 16, 1), (17, 33, 31)]
"""Rows of a rank, columns of a rank, and the sum's length of a rank."""


def parts(shape, size, dtype):
    """Operands of all ranks, by a rank's rows, columns and length."""
    rng = np.random.default_rng(sum(shape))
    rows, columns, length = shape
    sizes = ((rows * size, length * size), (length * size, columns * size))
    return [torch.from_numpy(rng.standard_normal(each)).to(dtype) for each in sizes]


def gathered(rank, size, shape, dtype):
    a, b = parts(shape, size, dtype)
    mine = b.chunk(size, 1)[rank].contiguous()
    bias = torch.arange(mine.shape[1]).to(dtype)
    found = all_gather_matmul(a.chunk(size)[rank], mine, bias=bias, activation="relu")
    alone = [matmul(each, mine, bias=bias, activation="relu") for each in a.chunk(size)]
    return bool(torch.equal(found, torch.cat(alone)))


def scattered(rank, size, shape, dtype):
    a, b = parts(shape, size, dtype)
    operands = a.chunk(size, 1)[rank].contiguous(), b.chunk(size)[rank]
    found = matmul_reduce_scatter(*operands)
    again = matmul_reduce_scatter(*operands)
    whole = matmul_all_reduce(*operands)
    wanted = a.double() @ b.double()
    scale = float((a.double().abs() @ b.double().abs()).max())
    step = size * torch.finfo(dtype).eps / 2 * float(wanted.abs().max())
    error = float((whole.double() - wanted).abs().max())
    same = torch.equal(found, again) and torch.equal(found, whole.chunk(size)[rank])
    return same and error <= 1e-3 * scale + step


def in_a_ring(rank, size, shape, dtype):
    """Attention of one rank's queries, beside that of the whole sequence."""
    if dtype == torch.float32:
        return True
    rows, heads, width = shape
    rng = np.random.default_rng(sum(shape))
    length = 2 * size * rows
    query, key, value = (
        torch.from_numpy(rng.standard_normal((2, each, length, width))).to(dtype)
        for each in (2 * heads, heads, heads)
    )
    return all(
        near(rank, size, (query, key, value), causal=causal) for causal in (False, True)
    )


def near(rank, size, whole, *, causal):
    parts = [zigzag_part(each) for each in whole]
    found = ring_attention(*parts, causal=causal)
    again = ring_attention(*parts, causal=causal)
    query, key, value = (each.double() for each in whole)
    group = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    wanted = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=causal
    )
    gap = (found.double() - zigzag_part(wanted)).abs().max()
    limit = 1e-3 if found.dtype == torch.float16 else 8e-3
    step = torch.finfo(found.dtype).eps / 2
    return torch.equal(found, again) and bool(gap <= (limit + step) * value.abs().max())


def every_shape(rank, size, works, dtypes):
    """The cases that are wrong."""
    return [
        (work.__name__, shape, str(dtype))
        for work in works
        for shape in SHAPES
        for dtype in dtypes
        if not work(rank, size, shape, dtype)
    ]


def every_shape_in_shared_memory(rank, size, works, dtypes, folder):
    """The same where ranks write to each other's memory: here, to files of all."""
    made = []

    def spread(group, count, device):
        made.append(Path(folder) / str(len(made)))
        if rank == 0:
            for each in range(size):
                made[-1].with_suffix(f".{each}").write_bytes(bytes([255]) * count)
        dist.barrier(group)
        files = [str(made[-1].with_suffix(f".{each}")) for each in range(size)]
        how = {"shared": True, "size": count, "dtype": torch.uint8}
        return [torch.from_file(file, **how) for file in files], None

    with (
        mock.patch("wave_distributed.ring.place_of", return_value=f"host {rank}"),
        mock.patch("wave_distributed.symmetric.spread", spread),
    ):
        wrong = every_shape(rank, size, works, dtypes)
    return wrong, len(made) > 1


def disagreeing(rank, size):
    all_gather_matmul(torch.ones(2 + rank, 3), torch.ones(3, 4))


def leaving(rank, size):
    if rank == 1:
        raise SystemExit
    matmul_reduce_scatter(torch.ones(2 * size, 3), torch.ones(3, 4))


def killed(rank, size):
    """Rank 1 is, in the middle of calls; the others call on and on."""
    rows = torch.ones(1, 1, 4, 8, dtype=torch.float16)
    for count in range(1000):
        if (rank, count) == (1, 3):
            os.kill(os.getpid(), signal.SIGKILL)
        ring_attention(rows, rows, rows)
