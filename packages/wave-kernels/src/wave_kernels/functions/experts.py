"""What leads tokens to experts, and brings back what these give."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from wave_kernels.definitions.combine import combine_kernel
from wave_kernels.definitions.routing import (
    SCORES,
    group_tokens_kernel,
    route_kernel,
)
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.options import flag, whole, word
from wave_kernels.functions.repeated import repeated

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

MOST_EXPERTS = 1024
"""A wave holds a number for each."""

MOST_CHOICES = 32
"""Each takes two reductions."""


class Routed(NamedTuple):
    """Which experts each token goes to.

    Attributes:
        weights: ``[T, top_k]``, float32, the greatest first.
        experts: ``[T, top_k]``, int32, all different for a token.
    """

    weights: torch.Tensor
    experts: torch.Tensor


class Groups(NamedTuple):
    """Pairs of a token and one of its experts, those of an expert together.

    Attributes:
        tokens: ``[T * top_k]``, int32: the token of the pair at each place.
        places: ``[T, top_k]``, int32: the place of each pair.
        starts: ``[E + 1]``, int32: the first place of each expert, and the end.
    """

    tokens: torch.Tensor
    places: torch.Tensor
    starts: torch.Tensor


@repeated
def route_tokens(
    logits: torch.Tensor,
    top_k: int,
    *,
    scores: str = "softmax",
    normalised: bool = True,
) -> Routed:
    """The ``top_k`` experts of each token, and their weights.

    Args:
        logits: ``[T, E]``, float32, float16 or bfloat16; E at most 1,024.
        top_k: How many, at most E and 32.
        scores: ``softmax`` over all experts, or ``sigmoid`` of each.
        normalised: Whether weights of a token are divided by their sum.

    Returns:
        `Routed`: weights and experts, ``[T, top_k]``. Of equal logits the expert with
        the lower number comes first; NaN is greater than all. Computed in f32, 1e-5 of
        each weight.

    Raises:
        LaunchError: WV0704 to WV0707, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import route_tokens
        >>> weights, experts = route_tokens(torch.tensor([[1.0, 3.0, 3.0]]), 2)
        >>> weights.tolist(), experts.tolist()
        ([[0.5, 0.5]], [[1, 2]])
    """
    given = Arguments.of("route_tokens", "logits", logits)
    rows, experts = shape_of(given, "logits", logits, "TE")
    top_k = choices_of(given, top_k, experts, scores)
    found = Routed(
        given.result(None, (rows, top_k), torch.float32),
        given.result(None, (rows, top_k), torch.int32),
    )
    if rows:
        what = {
            "dtype": DTYPES[logits.dtype],
            "scores": scores,
            "normalised": flag(given, "normalised", normalised),
        }
        sizes = {"E": experts, "CHOICES": top_k}
        arguments = (logits.contiguous(), *found)
        launch(route_kernel, what, sizes, arguments, ("TOKENS",))
    return found


@repeated
def group_tokens(experts: torch.Tensor, groups: int, *, checked: bool = True) -> Groups:
    """Bring together what goes to the same expert, in the order of the tokens.

    One launch, with the same outcome each time. ``grouped_matmul(x, weights, starts,
    rows=tokens)`` multiplies the rows of ``x`` of each expert, and `combine_tokens`
    brings results back by ``places``.

    Args:
        experts: ``[T, top_k]``, int32, from 0 up to ``groups``.
        groups: How many experts there are, at least 1.
        checked: Whether numbers of experts are looked at, which waits for a GPU;
            without it pairs whose expert is out of range have no place.

    Returns:
        `Groups`: tokens, places and starts.

    Raises:
        LaunchError: WV0704 to WV0707 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import group_tokens
        >>> experts = torch.tensor([[2, 0], [0, 2]], dtype=torch.int32)
        >>> tokens, places, starts = group_tokens(experts, 3)
        >>> tokens.tolist(), places.tolist(), starts.tolist()
        ([0, 1, 0, 1], [[2, 0], [1, 3]], [0, 2, 2, 4])
    """
    given = Arguments.of("group_tokens", "experts", experts, (torch.int32,))
    rows, choices = shape_of(given, "experts", experts, ("T", "top_k"))
    groups = whole(given, "groups", groups, 1)
    if checked:
        given.check_numbers("experts", experts, groups, f"there are {groups} experts")
    tokens, places, starts = (
        given.result(None, shape, torch.int32)
        for shape in ((rows * choices,), (rows, choices), (groups + 1,))
    )
    if not experts.numel():
        return Groups(tokens, places, starts.zero_())
    flat = (experts.reshape(-1), tokens, places.view(-1), starts)
    what, sizes = {"choices": choices}, {"ENDS": groups + 1}
    launch(group_tokens_kernel, what, sizes, flat, ("PAIRS",))
    return Groups(tokens, places, starts)


@repeated
def combine_tokens(
    rows: torch.Tensor,
    places: torch.Tensor,
    weights: torch.Tensor,
    *,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``sum_j weights[t, j] * rows[places[t, j]]`` for each token t.

    Args:
        rows: ``[P, N]``, float32, float16 or bfloat16: what experts give.
        places: ``[T, top_k]``, int32, from 0 up to P; top_k at most 32.
        weights: ``[T, top_k]``, float32.
        checked: Whether places are looked at, which waits for a GPU; without it those
            out of range touch other memory.
        out: Takes the result; a new tensor by default.

    Returns:
        ``[T, N]``, of the type of rows, summed in f32 in the order of j. Accuracy: 1e-6
        of the largest sum(abs(weights) abs(rows)), and half a unit in the last place.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import combine_tokens
        >>> rows = torch.tensor([[1.0], [10.0], [100.0]])
        >>> places = torch.tensor([[2, 0]], dtype=torch.int32)
        >>> combine_tokens(rows, places, torch.tensor([[0.5, 2.0]]))
        tensor([[52.]])
    """
    given = Arguments.of("combine_tokens", "rows", rows)
    pairs, n = shape_of(given, "rows", rows, "PN")
    table, factors = _choices(given, places, weights)
    count, choices = table.shape
    if checked:
        given.check_rows("places", table, "rows", pairs)
    found = given.result(out, (count, n), rows.dtype)
    if not found.numel() or not choices:
        return found.zero_()
    what = {"choices": choices, "dtype": DTYPES[rows.dtype]}
    arguments = (rows.contiguous(), table, factors, found)
    sizes = {"N": n, "CHOICES": choices}
    launch(combine_kernel, what, sizes, arguments, ("PAIRS", "TOKENS"))
    return found


def choices_of(given: Arguments, top_k: object, experts: int, scores: object) -> int:
    """To how many experts a token goes, which it can by such scores.

    Raises:
        LaunchError: WV0704 for what is no number, WV0707 where it cannot.
    """
    word(given, "scores", scores, SCORES)
    if not 1 <= experts <= MOST_EXPERTS:
        advice = f"there can be 1 to {MOST_EXPERTS:,}"
        given.refuse("WV0707", f"there are {experts} experts", advice)
    return whole(given, "top_k", top_k, 1, min(experts, MOST_CHOICES))


def _choices(
    given: Arguments, places: Any, weights: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Places and weights of equally many choices."""
    shape = shape_of(given, "places", places, ("T", "top_k"), torch.int32)
    table = given.tensor("places", places, shape, torch.int32)
    if shape[1] > MOST_CHOICES:
        advice = f"there can be {MOST_CHOICES} at most"
        given.refuse("WV0707", f"`places` has {shape[1]} choices", advice)
    return table, given.tensor("weights", weights, shape, torch.float32)
