"""In how many parts keys are cut, and launches of as many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.key_parts import STEP
from wave_kernels.definitions.merge import merge_kernel
from wave_kernels.functions.launches import DTYPES, compute_units, launch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""


@dataclass(frozen=True)
class Filling:
    """When keys are cut.

    Attributes:
        held: Workgroups that a compute unit should have.
        least: Keys of a part: with fewer, merging costs as much as it saves.
    """

    held: int
    least: int

    def parts(self, device: torch.device, tiles: int, seen: int) -> int:
        """Of each sequence, of which so many keys are seen; none of them is empty."""
        wanted = self.held * compute_units(device) // max(tiles, 1)
        steps = max(-(-seen // STEP), 1)
        count = max(min(wanted, seen // self.least), 1)
        return -(-steps // -(-steps // count))


@dataclass(frozen=True)
class Asked:
    """Attention that is asked for.

    Attributes:
        make: Gives the kernel's definition.
        what: Its arguments.
        typed: That of them which says the ``result``'s type.
        sizes: The kernel's symbols, by name.
        dynamic: Those that differ by launch, but for ``SPLIT``.
        operands: All but results.
    """

    make: Callable[..., Any]
    what: Mapping[str, Any]
    typed: str
    sizes: Mapping[str, int]
    dynamic: Sequence[str]
    operands: Sequence[torch.Tensor]

    def launch(self, parts: int, found: torch.Tensor) -> None:
        """Put into ``[sequences, .., .., N]`` what so many parts of keys give."""
        if parts == 1:
            self._launch(found.dtype, [found], self.dynamic)
            return
        rows = (found.shape[0], parts, *found.shape[1:])
        each = found.new_empty(rows, dtype=torch.float32)
        sums = found.new_empty(rows[:-1], dtype=torch.float32)
        dynamic = (*self.dynamic, "SPLIT")
        self._launch(torch.float32, [each.flatten(0, 1), sums], dynamic)
        _merge(each.flatten(2, 3), sums.flatten(2, 3), found.flatten(1, 2))

    def _launch(
        self,
        dtype: torch.dtype,
        results: Sequence[torch.Tensor],
        dynamic: Sequence[str],
    ) -> None:
        typed = replace(self.what[self.typed], result=DTYPES[dtype])
        what, given = {**self.what, self.typed: typed}, (*self.operands, *results)
        launch(self.make, what, self.sizes, given, dynamic)


def _merge(parts: torch.Tensor, sums: torch.Tensor, found: torch.Tensor) -> None:
    """Put the mean of ``[sequences, splits, rows, N]`` into ``[sequences, rows, N]``.

    ``sums``, ``[sequences, splits, rows]``, weigh the parts as `merge_kernel` says.
    """
    sizes, what = {"N": parts.shape[-1]}, {"dtype": DTYPES[found.dtype]}
    dynamic = ("SEQUENCES", "SPLIT", "HEADS")
    launch(merge_kernel, what, sizes, [parts, sums, found], dynamic)
