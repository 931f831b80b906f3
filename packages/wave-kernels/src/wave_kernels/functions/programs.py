"""Programs of elements, on tensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import torch

from wave_kernels.definitions.elementwise import Program, elementwise_kernel
from wave_kernels.functions.arguments import FLOATS, Arguments
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.rows import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.types import DType

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

TRUTH = DTYPES[torch.int8]
"""The type in which truths are stored: a byte, as torch has them."""

STORED = {**{kept: dtype for dtype, kept in DTYPES.items()}, TRUTH: torch.bool}

LETTERS = "bmn"
"""The dims of a kernel, of which there are as many as axes of a grid."""

OUTERMOST = 65_535
"""Workgroups on the last axis of a grid. Source: CUDA C++ Programming Guide."""


def compute(
    program: Program, *tensors: torch.Tensor, out: torch.Tensor | None = None
) -> tuple[torch.Tensor, ...]:
    """Compute a program of elements in one kernel.

    Args:
        program: What is computed; with folds and turns, of rows of the last dimension.
        tensors: Its operands, which broadcast: float32, float16, bfloat16 or bool.
        out: Takes the result, where there is one; new tensors by default.

    Returns:
        Its results, of the shape to which operands broadcast, with dims in the order in
        which the first operand of that shape has them in memory; values of rows have 1
        for the last dimension. Accuracy: each step is f32, functions to 1e-5, folds to
        1e-5 of the sum of absolute values; results are rounded once.

    Raises:
        LaunchError: WV0704, WV0705, WV0708, WV0714 for operands that do not fit, WV0707
            for shapes that do not broadcast, and rows that are empty or too long; as
            `Arguments.result` for ``out``.

    Example:
        >>> import torch
        >>> from wave_core.lang import f32
        >>> from wave_kernels.definitions.elementwise import Number, Program, Step
        >>> from wave_kernels.functions.programs import compute
        >>> steps = Step("mul", (0, 1)), Step("add", (2, Number("1.0")))
        >>> program = Program(2, steps, ((3, f32),))
        >>> compute(program, torch.ones(2, 1), torch.tensor([1.0, 2.0]))
        (tensor([[2., 3.],
                [2., 3.]]),)
    """
    given = checked(tensors)
    whole = _broadcast(tuple(each.shape for each in tensors))
    _check_whole(given, tensors, whole, folds=program.folds)
    order = order_of(tensors, whole, program) if out is None else None
    operands = [_laid(each, whole, order) for each in tensors]
    sizes = tuple(whole[dim] for dim in order) if order else whole
    rows = program.of_rows
    results = [
        given.result(out, (*sizes[:-1], 1) if value in rows else sizes, STORED[dtype])
        for value, dtype in program.results
    ]
    if prod(whole):
        _launch(program, sizes, operands, results)
    if order is None:
        return tuple(results)
    back = [order.index(dim) for dim in range(len(order))]
    return tuple(each.permute(back) for each in results)


def checked(tensors: Sequence[torch.Tensor]) -> Arguments:
    """The first operand, once all are seen to be fit.

    Raises:
        LaunchError: WV0704, WV0705, WV0708, WV0714 for those that are not.
    """
    types = (*FLOATS, torch.bool)
    first, *others = (
        Arguments.of("elementwise", f"tensors[{i}]", each, types)
        for i, each in enumerate(tensors)
    )
    for i, other in enumerate(others, 1):
        if other.first.device != first.first.device:
            what = f"`tensors[{i}]` is on {other.first.device}"
            first.refuse("WV0708", what, f"`tensors[0]` is on {first.first.device}")
    return first


@lru_cache(maxsize=4096)
def _broadcast(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The shape of what is computed; -1 where shapes do not fit together."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    every = [set(sizes) - {1} for sizes in zip(*padded, strict=True)]
    return tuple(-1 if len(others) > 1 else next(iter(others), 1) for others in every)


def _check_whole(
    given: Arguments,
    tensors: Sequence[torch.Tensor],
    whole: tuple[int, ...],
    *,
    folds: bool,
) -> None:
    """See that shapes broadcast, and that rows that are folded are held whole."""
    if -1 in whole:
        words = ", ".join(str(tuple(each.shape)) for each in tensors)
        given.refuse("WV0707", f"operands are {words}", "give what broadcasts")
    if folds and not (whole and 0 < whole[-1] <= LONGEST):
        what = f"rows have {whole[-1] if whole else 'no'} elements"
        given.refuse("WV0707", what, f"they can have 1 to {LONGEST}")


def order_of(
    tensors: Sequence[torch.Tensor], whole: tuple[int, ...], program: Program
) -> tuple[int, ...] | None:
    """The dims as the first whole operand has them in memory, if not as usual.

    It may be a part of something bigger. Results lie so, too; where rows are folded, or
    turned and not the last dimension, they lie as usual.
    """
    first = next((each for each in tensors if each.shape == whole), None)
    if program.folds or first is None or first.is_contiguous():
        return None
    strides = first.stride()
    if 0 in strides:
        return None
    order = tuple(sorted(range(len(whole)), key=lambda dim: -strides[dim]))
    if program.turns and order[-1] != len(whole) - 1:
        return None
    return order if order != tuple(range(len(whole))) else None


def _laid(
    tensor: torch.Tensor, whole: tuple[int, ...], order: tuple[int, ...] | None
) -> torch.Tensor:
    """An operand with all dims in this order, of size 1 where it is the same."""
    missing = len(whole) - tensor.ndim
    found = tensor[(None,) * missing] if missing else tensor
    found = found.permute(order) if order else found
    for dim, (size, stride) in enumerate(zip(found.shape, found.stride(), strict=True)):
        if size > 1 and stride == 0:
            found = found.narrow(dim, 0, 1)
    return found


def _launch(
    program: Program,
    sizes: tuple[int, ...],
    operands: Sequence[torch.Tensor],
    results: Sequence[torch.Tensor],
) -> None:
    shapes = tuple(tuple(each.shape) for each in operands)
    plan = _plan(sizes, shapes, _lead(program))
    laid = [plan.laid(each, i, sizes) for i, each in enumerate(operands)]
    dtypes = [_stored(each) for each in operands]
    rows, extents = program.of_rows, plan.sizes
    stored = [
        _bytes(each).view(extents[:-1] if value in rows else extents)
        for (value, _), each in zip(program.results, results, strict=True)
    ]
    launch(
        elementwise_kernel,
        {
            "program": program,
            "dims": plan.dims,
            "operands": tuple(zip(plan.letters, dtypes, strict=True)),
        },
        dict(zip(plan.dims.upper(), extents, strict=True)),
        (*map(_bytes, laid), *stored),
    )


def _stored(tensor: torch.Tensor) -> DType:
    return TRUTH if tensor.dtype == torch.bool else DTYPES[tensor.dtype]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.int8) if tensor.dtype == torch.bool else tensor


@dataclass(frozen=True)
class _Run:
    """Neighbouring dims along which each operand varies, or is the same.

    Attributes:
        size: Of all of them.
        varies: For each operand.
    """

    size: int
    varies: tuple[bool, ...]


@dataclass(frozen=True)
class _Plan:
    """The dims of a kernel, and which of them each operand has."""

    dims: str
    sizes: tuple[int, ...]
    letters: tuple[str, ...]

    def laid(
        self, tensor: torch.Tensor, at: int, whole: tuple[int, ...]
    ) -> torch.Tensor:
        """An operand with its dims, contiguous; copied where it has too few."""
        own = dict(zip(self.dims, self.sizes, strict=True))
        shape = [own[letter] for letter in self.letters[at]]
        if tensor.numel() == 1:
            return tensor.reshape(1).expand(prod(shape)).reshape(shape).contiguous()
        if tensor.numel() != prod(shape):
            last = whole[-1] if "n" in self.letters[at] else 1
            tensor = tensor.expand(*whole[:-1], last)
        return tensor.reshape(shape).contiguous()


def _lead(program: Program) -> int:
    """How many dims stand before that of rows, at most; of no rows, all do."""
    if program.folds:
        return 1
    return len(LETTERS) - program.turns


@lru_cache(maxsize=4096)
def _plan(
    whole: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], most: int
) -> _Plan:
    """As few dims as tell operands apart; before that of rows ``most``."""
    apart = most < len(LETTERS)
    lead = _runs(whole[:-1] if apart else whole, shapes)
    last = [_run(whole, shapes, len(whole) - 1)] if apart else []
    outermost = len(lead) + len(last) == len(LETTERS) and lead[0].size > OUTERMOST
    if len(lead) > most or outermost:
        lead = [_joined(lead)]
    nothing = _Run(1, (False,) * len(shapes))
    runs = [*(lead or [nothing]), *last]
    dims = LETTERS[-len(runs) :]
    letters = [
        "".join(d for d, run in zip(dims, runs, strict=True) if run.varies[i])
        for i in range(len(shapes))
    ]
    return _Plan(
        dims, tuple(run.size for run in runs), tuple(each or "n" for each in letters)
    )


def _run(whole: tuple[int, ...], shapes: tuple[tuple[int, ...], ...], dim: int) -> _Run:
    return _Run(whole[dim], tuple(shape[dim] != 1 for shape in shapes))


def _runs(whole: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> list[_Run]:
    found: list[_Run] = []
    for dim, size in enumerate(whole):
        run = _run(whole, shapes, dim)
        if size == 1:
            continue
        if found and found[-1].varies == run.varies:
            run = _Run(found.pop().size * size, run.varies)
        found.append(run)
    return found


def _joined(runs: Sequence[_Run]) -> _Run:
    """All as one; who varies along some of them is copied."""
    varies = zip(*(run.varies for run in runs), strict=True)
    return _Run(prod(run.size for run in runs), tuple(map(any, varies)))
