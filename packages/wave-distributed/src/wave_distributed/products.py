"""Matrix products over the processes of a group (tensor parallelism)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_distributed.ring import Ring
from wave_kernels.functions import matmul
from wave_kernels.functions.arguments import Arguments, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch.distributed import ProcessGroup

    from wave_distributed.ring import Passing

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


def all_gather_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    activation: str = "",
    group: ProcessGroup | None = None,
) -> torch.Tensor:
    """``activation(gather(a) b + bias)``: the rows of a are spread over the ranks.

    The first product of a layer whose weights are split by columns. Each rank
    multiplies the rows that it has while the next ones arrive from its neighbour.

    Args:
        a: ``[M / ranks, K]``, float32, float16 or bfloat16: this rank's rows.
        b: ``[K, N]``, of a's type: this rank's columns of the weights.
        bias: ``[N]``, of a's type: this rank's.
        activation: As of `matmul`.
        group: The processes; all of them by default.

    Returns:
        ``[M, N]``, of a's type: all rows, this rank's columns. Each row is what
        `matmul` of a rank's rows gives, to the bit.

    Raises:
        LaunchError: WV0730 where ranks disagree, WV0731 where one does not answer, and
            as `matmul`.
    """
    given = Arguments.of("all_gather_matmul", "a", a)
    shape_of(given, "a", a, "mk")
    shape_of(given, "b", b, "kn")
    ring = Ring.of("all_gather_matmul", group)
    ring.agree(a, activation=activation, bias=bias is not None)
    found = a.new_empty(ring.size * a.shape[0], b.shape[1])
    for owner, rows in _rows_of_all(ring, a.contiguous()):
        part = found[owner * a.shape[0] : (owner + 1) * a.shape[0]]
        matmul(rows, b, bias=bias, activation=activation, out=part)
    return found


def _rows_of_all(ring: Ring, held: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    """Each rank and its rows, this one's first; the next are under way meanwhile."""
    for step in range(ring.size):
        passing = ring.hand_on(held) if step + 1 < ring.size else None
        yield (ring.rank - step) % ring.size, held
        if passing is not None:
            held = passing.received()


def matmul_reduce_scatter(
    a: torch.Tensor, b: torch.Tensor, *, group: ProcessGroup | None = None
) -> torch.Tensor:
    """``scatter(sum(a b))``: the sum over the ranks, of which each keeps its rows.

    The second product of a layer whose weights are split by rows. Sums travel around
    the ring, and each rank adds its own product while it stores it: where GPUs reach
    each other's memory in that of the next rank, else half of a block is under way
    while the other half is multiplied.

    Args:
        a: ``[M, K / ranks]``, float32, float16 or bfloat16: this rank's columns; the
            ranks divide M.
        b: ``[K / ranks, N]``, of a's type: this rank's rows of the weights.
        group: The processes; all of them by default.

    Returns:
        ``[M / ranks, N]``, of a's type: this rank's rows of the sum. Each rank rounds
        once, in the order of the ring, so that every call gives the same bits.

    Raises:
        LaunchError: WV0707 where the ranks do not divide M, WV0730 where they disagree,
            WV0731 where one does not answer, and as `matmul`.
    """
    return _reduced(Ring.of("matmul_reduce_scatter", group), a, b)


def matmul_all_reduce(
    a: torch.Tensor, b: torch.Tensor, *, group: ProcessGroup | None = None
) -> torch.Tensor:
    """``sum(a b)`` over the ranks, on every rank.

    Args:
        a: ``[M, K / ranks]``, as of `matmul_reduce_scatter`.
        b: ``[K / ranks, N]``, likewise.
        group: The processes; all of them by default.

    Returns:
        ``[M, N]``, of a's type, the same bits on every rank.

    Raises:
        LaunchError: as `matmul_reduce_scatter`.
    """
    ring = Ring.of("matmul_all_reduce", group)
    mine = _reduced(ring, a, b)
    found = a.new_empty(a.shape[0], b.shape[1])
    if found.numel():
        ring.gather(mine, found)
    return found


def _reduced(ring: Ring, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the sum.

    Kernels store what the next rank adds to in its memory, where they reach it.
    """
    given = Arguments.of(ring.function, "a", a)
    shape_of(given, "a", a, "mk")
    shape_of(given, "b", b, "kn")
    rows, rest = divmod(a.shape[0], ring.size)
    if rest:
        what = f"`a` has {a.shape[0]} rows, for {ring.size} ranks"
        given.refuse("WV0707", what, "pad it to a multiple")
    ring.agree(a, b)
    if not rows:
        return matmul(a, b)
    found = a.new_empty(rows, b.shape[1])
    results = found.tensor_split(min(ring.lanes(found), rows))
    passing: dict[int, Passing] = {}
    for step in range(ring.size):
        block = (ring.rank - step - 1) % ring.size
        operand = a[block * rows : (block + 1) * rows]
        parts = operand.tensor_split(len(results))
        for lane, (part, result) in enumerate(zip(parts, results, strict=True)):
            added = passing[lane].received() if step else None
            if step + 1 == ring.size:
                matmul(part, b, residual=added, out=result)
                continue
            place = ring.place(result)
            matmul(part, b, residual=added, out=place.tensor)
            passing[lane] = place.passed()
    return found
