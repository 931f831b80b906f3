"""Rows of a table that others replace, or are added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.scatter import scatter_add_kernel, scatter_kernel
from wave_kernels.functions.arguments import Arguments, shape_of
from wave_kernels.functions.indices import in_32_bits, indices_of
from wave_kernels.functions.launches import DTYPES, launch
from wave_kernels.functions.repeated import repeated

if TYPE_CHECKING:
    from collections.abc import Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@repeated
def scatter_rows(
    table: torch.Tensor,
    indices: torch.Tensor,
    rows: torch.Tensor,
    *,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``table`` with ``rows`` in place of those that indices name.

    As `torch.index_copy` along the first dimension; where indices are equal, the last
    row stays, each time.

    Args:
        table: ``[V, N]``, float32, float16 or bfloat16.
        indices: Of any shape, int64 or int32, from 0 to V - 1.
        rows: ``[*indices.shape, N]``, of table's type.
        checked: Whether indices are looked at first, which waits for a GPU. Otherwise
            one that is no row of the table changes nothing.
        out: Takes the result, ``[V, N]`` of table's type; a new tensor by default.

    Returns:
        A new table, exact.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit;
            WV0707 for indices that are no rows.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import scatter_rows
        >>> scatter_rows(torch.zeros(3, 2), torch.tensor([2, 0]), torch.eye(2))
        tensor([[0., 1.],
                [0., 0.],
                [1., 0.]])
    """
    call = _Call.of("scatter_rows", table, indices, rows, out, checked=checked)
    call.launch(scatter_kernel, call.last, dynamic=())
    return call.result


@repeated
def scatter_add_rows(
    table: torch.Tensor,
    indices: torch.Tensor,
    rows: torch.Tensor,
    *,
    checked: bool = True,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """``table`` with each of ``rows`` added to the one that its index names.

    As `torch.index_add` along the first dimension; rows with equal indices are added
    one after the other, so that a call gives the same bits each time.

    Args:
        table: ``[V, N]``, float32, float16 or bfloat16.
        indices: Of any shape, int64 or int32, from 0 to V - 1.
        rows: ``[*indices.shape, N]``, of table's type.
        checked: Whether indices are looked at first, which waits for a GPU. Otherwise
            one that is no row of the table adds nothing.
        out: Takes the result, ``[V, N]`` of table's type; a new tensor by default.

    Returns:
        A new table, summed in f32 and rounded once. Accuracy: 1e-5 of the largest sum
        of absolute values, and half a unit in the last place of its type.

    Raises:
        LaunchError: WV0704 to WV0709, WV0712, WV0714 for arguments that do not fit;
            WV0707 for indices that are no rows.

    Example:
        >>> import torch
        >>> from wave_kernels.functions import scatter_add_rows
        >>> scatter_add_rows(torch.zeros(3, 2), torch.tensor([2, 2]), torch.eye(2))
        tensor([[0., 0.],
                [0., 0.],
                [1., 1.]])
    """
    call = _Call.of("scatter_add_rows", table, indices, rows, out, checked=checked)
    call.launch(scatter_add_kernel, *call.in_order, dynamic=("M", "ENDS"))
    return call.result


@dataclass(frozen=True)
class _Call:
    """One call, seen to fit.

    Attributes:
        table: Its rows.
        places: Where each new row belongs, in one dimension.
        rows: The new ones, as many.
        result: Where all go.
    """

    table: torch.Tensor
    places: torch.Tensor
    rows: torch.Tensor
    result: torch.Tensor

    @classmethod
    def of(
        cls, name: str, table: Any, indices: Any, rows: Any, out: Any, *, checked: bool
    ) -> _Call:
        """The call of a function with these.

        Raises:
            LaunchError: WV0704 to WV0709, WV0714 for arguments that do not fit.
        """
        given = Arguments.of(name, "table", table)
        count, length = shape_of(given, "table", table, ("V", "N"))
        places = indices_of(given, "indices", indices, getattr(indices, "shape", ()))
        added = given.tensor("rows", rows, (*places.shape, length))
        found = given.result(out, (count, length), table.dtype)
        if checked:
            given.check_rows("indices", places, "table", count)
        return cls(table, in_32_bits(places).view(-1), added, found)

    @property
    def _inside(self) -> torch.Tensor:
        """Places, and behind all of them for what belongs nowhere."""
        count = len(self.table)
        none = (self.places < 0) | (self.places >= count)
        return self.places.masked_fill(none, count)

    @property
    def last(self) -> torch.Tensor:
        """The last new row of each place, -1 where there is none."""
        count, device = len(self.table), self.table.device
        numbers = torch.arange(len(self.places), device=device)
        found = torch.full((count + 1,), -1, device=device)
        found.scatter_reduce_(0, self._inside.long(), numbers, "amax")
        return found[:-1].int()

    @property
    def in_order(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The new rows by place, as they came, and where those of each start."""
        places, order = self._inside.sort(stable=True)
        ends = torch.arange(len(self.table) + 1, device=self.table.device)
        return order.int(), torch.searchsorted(places, ends.int()).int()

    def launch(self, make: Any, *found: torch.Tensor, dynamic: Sequence[str]) -> None:
        """Run a kernel, with what is found of the places."""
        if not self.places.numel() or not self.result.numel():
            self.result.copy_(self.table)
            return
        rows = self.rows.view(len(self.places), -1)
        what = {"dtype": DTYPES[self.table.dtype]}
        arguments = self.table, *found, rows, self.result
        launch(make, what, {}, arguments, ("ROWS", "N", "NEW", *dynamic))
