"""The sizes of a convolution: how filters move, how many positions that gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import user_error
from wave_kernels.definitions import conv_dims as dims

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Move:
    """How a filter goes along one axis of an image.

    Attributes:
        stride: Elements from one position of the filter to the next.
        dilation: Elements from one row of the filter to the next.
        before: Zeros in front of the image.
        after: Zeros behind it.
    """

    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no move.

        Raises:
            UserError: WV0823.
        """
        if min(self.stride, self.dilation) < 1 or min(self.before, self.after) < 0:
            raise _refused(f"moves by {self}", "strides and dilations are 1 or more")

    @property
    def padded(self) -> bool:
        """Whether a filter may lie partly beside the image."""
        return bool(self.before or self.after)

    def extent(self, filters: int) -> int:
        """Elements of an image that a filter of so many spans."""
        return self.dilation * (filters - 1) + 1

    def results(self, size: int, filters: int) -> int:
        """Positions of a filter along an axis of ``size``; none where it is longer."""
        room = size + self.before + self.after - self.extent(filters)
        return room // self.stride + 1 if room >= 0 else 0


@dataclass(frozen=True)
class Steps:
    """How filters go over images.

    Attributes:
        rows: Along ``H``.
        columns: Along ``W``.
        groups: Parts of the channels, each with filters of its own.
    """

    rows: Move = Move()
    columns: Move = Move()
    groups: int = 1


STEPS = Steps()
"""Filters that move one element at a time, without padding."""


@dataclass(frozen=True)
class ConvSizes:
    """The sizes of a convolution, in elements.

    ``n`` images of ``h`` x ``w`` x ``c`` and ``nf`` filters of ``hf`` x ``wf`` x
    ``c / groups``.
    """

    n: int
    h: int
    w: int
    c: int
    hf: int
    wf: int
    nf: int
    steps: Steps = STEPS

    def __post_init__(self) -> None:
        """Refuse sizes that make no convolution.

        Raises:
            UserError: WV0823 where a filter is longer than the padded image, or groups
                do not divide channels and filters.
        """
        groups = self.steps.groups
        if groups < 1 or self.c % groups or self.nf % groups:
            what = f"{self.c} channels and {self.nf} filters in {groups} groups"
            raise _refused(what, "GROUPS divides C and NF")
        if min(self.h_out, self.w_out) < 1:
            what = f"a filter of {self.hf} x {self.wf} on {self.h} x {self.w}"
            raise _refused(what, "give a smaller filter, or more PADDING")

    @property
    def h_out(self) -> int:
        """Rows of the result."""
        return self.steps.rows.results(self.h, self.hf)

    @property
    def w_out(self) -> int:
        """Columns of the result."""
        return self.steps.columns.results(self.w, self.wf)

    @property
    def extents(self) -> Mapping[Any, int]:
        """The values of the kernels' dims."""
        groups = self.steps.groups
        return {
            dims.N: self.n,
            dims.H: self.h,
            dims.W: self.w,
            dims.C: self.c,
            dims.HF: self.hf,
            dims.WF: self.wf,
            dims.NF: self.nf,
            dims.H_OUT: self.h_out,
            dims.W_OUT: self.w_out,
            **(
                {dims.CG: self.c // groups, dims.NFG: self.nf // groups, dims.G: groups}
                if groups > 1
                else {}
            ),
        }

    @property
    def forward(self) -> dict[Any, int]:
        """The symbols of `conv_kernel` and `depthwise_kernel`."""
        rows = self.n * self.h_out * self.w_out
        depth = self.hf * self.wf * self.c // self.steps.groups
        return {**self.extents, dims.M: rows, dims.K: depth}

    @property
    def of_input(self) -> dict[Any, int]:
        """The symbols of `conv_input_kernel`."""
        depth = self.hf * self.wf * self.nf // self.steps.groups
        return {**self.extents, dims.M: self.n * self.h * self.w, dims.K: depth}

    @property
    def of_weight(self) -> dict[Any, int]:
        """The symbols of `conv_weight_kernel`."""
        columns = self.hf * self.wf * self.c // self.steps.groups
        depth = self.n * self.h_out * self.w_out
        return {**self.extents, dims.M: columns, dims.K: depth}


def _refused(what: str, advice: str) -> Exception:
    return user_error("WV0823", f"a convolution has {what}", help=advice)
