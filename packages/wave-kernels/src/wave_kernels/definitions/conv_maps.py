"""Where the elements of a convolution's matrix products lie in memory."""

# Kernels are written in Wave: symbols as sizes.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkw
from wave_kernels.definitions.conv_dims import (
    CG,
    FILTERS,
    H_OUT,
    HF,
    IMAGES,
    NF,
    NFG,
    RESULTS,
    SZ_OUT,
    W_OUT,
    WF,
    C,
    G,
    H,
    N,
    W,
    check_order,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_kernels.definitions.conv_sizes import Move, Steps


@dataclass(frozen=True)
class Order:
    """How the operands of a convolution lie in memory.

    Attributes:
        images: ``nhwc`` or ``nchw``.
        results: The same of results.
        filters: ``hwcf``, ``fhwc`` or ``fchw``, filters being ``f``.
    """

    images: str = "nhwc"
    results: str = "nhwc"
    filters: str = "hwcf"

    def __post_init__(self) -> None:
        """Refuse orders that no kernel reads.

        Raises:
            UserError: WV0823.
        """
        check_order("images", self.images, IMAGES)
        check_order("results", self.results, RESULTS)
        check_order("filters", self.filters, FILTERS)


ORDER = Order()
"""Channels last."""


@dataclass(frozen=True)
class Maps:
    """The mappings of one convolution, for products of each group.

    Iterators stand for the group, where there are several, then the row and the column
    of the register.
    """

    steps: Steps
    order: Order

    @property
    def lead(self) -> tuple[Any, ...]:
        """The dims of a register in front of its rows and columns."""
        return (G,) if self.steps.groups > 1 else ()

    @property
    def channels(self) -> Any:
        """The channels of one group."""
        return CG if self.lead else C

    @property
    def filters(self) -> Any:
        """The filters of one group."""
        return NFG if self.lead else NF

    @property
    def row(self) -> Any:
        """The iterator of the register's first dim after the group."""
        return tkw.IndexMapping.iterator(len(self.lead))

    @property
    def column(self) -> Any:
        """The iterator of the register's last dim."""
        return tkw.IndexMapping.iterator(len(self.lead) + 1)

    @property
    def filter_dims(self) -> tuple[Any, ...]:
        """The dims of the filters in memory."""
        return tuple(
            self.channels if dim is C else dim for dim in FILTERS[self.order.filters]
        )

    def reads(self, places: Mapping[Any, Any], row: Any, column: Any) -> Any:
        """A mapping from a memory to a register of these rows and columns."""
        return tkw.IndexMapping(
            num_iterators=len(self.lead) + 2,
            inputs=dict(places),
            outputs=self._register(row, column),
        )

    def writes(self, places: Mapping[Any, Any], row: Any, column: Any) -> Any:
        """A mapping from such a register to a memory."""
        return tkw.IndexMapping(
            num_iterators=len(self.lead) + 2,
            inputs=self._register(row, column),
            outputs=dict(places),
        )

    def vector(self, places: Mapping[Any, Any], row: Any) -> Any:
        """A mapping from a memory to a register of one number for each row."""
        lead = {dim: self._first() for dim in self.lead}
        return tkw.IndexMapping(
            num_iterators=len(self.lead) + 1,
            inputs=dict(places),
            outputs={**lead, row: self.row},
        )

    def channel(self, within: Any) -> Any:
        """A channel of the image by its number within the group."""
        return self._first() * CG + within if self.lead else within

    def filter(self, within: Any) -> Any:
        """A filter by its number within the group."""
        return self._first() * NFG + within if self.lead else within

    def weights(self, element: Any, within: Any) -> dict[Any, Any]:
        """Where an element ``(r, s, c)`` of a filter is."""
        r, s, c = self._element(element)
        return {HF: r, WF: s, self.channels: c, NF: self.filter(within)}

    def turned_weights(self, element: Any, channel: Any) -> dict[Any, Any]:
        """Where an element ``(r, s, f)`` of all filters is that read a channel."""
        place = element // self.filters
        return {
            HF: place // WF,
            WF: place % WF,
            self.channels: channel,
            NF: self.filter(element % self.filters),
        }

    def seen(self, pixel: Any, element: Any) -> dict[Any, Any]:
        """Where the image is that an element of the filter meets, for a result."""
        r, s, c = self._element(element)
        rows, columns = self.steps.rows, self.steps.columns
        within = pixel % SZ_OUT
        return {
            N: pixel // SZ_OUT,
            H: within // W_OUT * rows.stride + r * rows.dilation - rows.before,
            W: within % W_OUT * columns.stride + s * columns.dilation - columns.before,
            C: self.channel(c),
        }

    @property
    def seen_bounds(self) -> dict[Any, Any] | None:
        """What of the image exists, where filters may lie beside it."""
        ends = {H: self.steps.rows, W: self.steps.columns}
        return {dim: dim for dim, move in ends.items() if move.padded} or None

    def result(self, pixel: Any, within: Any) -> dict[Any, Any]:
        """Where a pixel of the result is."""
        return {
            N: pixel // SZ_OUT,
            H_OUT: (pixel % SZ_OUT) // W_OUT,
            W_OUT: (pixel % SZ_OUT) % W_OUT,
            NF: self.filter(within),
        }

    def image(self, pixel: Any, within: Any) -> dict[Any, Any]:
        """Where a pixel of the image is."""
        return {
            N: pixel // (H * W),
            H: (pixel % (H * W)) // W,
            W: (pixel % (H * W)) % W,
            C: self.channel(within),
        }

    def seeing(self, pixel: Any, element: Any) -> dict[Any, Any]:
        """Where the result is that an element ``(r, s, f)`` of filters gave to a pixel.

        Beside the result where there is none: `seeing_bounds` masks that.
        """
        place = element // self.filters
        y, x = (pixel % (H * W)) // W, (pixel % (H * W)) % W
        return {
            N: pixel // (H * W),
            H_OUT: _back(y, place // WF, self.steps.rows, (H, H_OUT)),
            W_OUT: _back(x, place % WF, self.steps.columns, (W, W_OUT)),
            NF: self.filter(element % self.filters),
        }

    @property
    def seeing_bounds(self) -> dict[Any, Any]:
        """What of the result exists."""
        return {H_OUT: H_OUT, W_OUT: W_OUT}

    def _element(self, depth: Any) -> tuple[Any, Any, Any]:
        """Row, column and channel of a filter by the number of its element.

        Elements are counted in the order in which filters lie, so that what a lane
        reads lies side by side.
        """
        if self.order.filters == "fchw":
            return (depth % (HF * WF)) // WF, depth % WF, depth // (HF * WF)
        place = depth // self.channels
        return place // WF, place % WF, depth % self.channels

    def _first(self) -> Any:
        return tkw.IndexMapping.iterator(0)

    def _register(self, row: Any, column: Any) -> dict[Any, Any]:
        lead = {dim: self._first() for dim in self.lead}
        return {**lead, row: self.row, column: self.column}


def _back(at: Any, element: Any, move: Move, sizes: tuple[Any, Any]) -> Any:
    """The position at which an element of the filter lies on ``at``.

    Between two positions of the filter there is none: the sum is then moved beyond the
    last position. ``sizes`` are those of the image and of the result.
    """
    distance = at + move.before - element * move.dilation
    if move.stride == 1:
        return distance
    far = sizes[0] + move.after + sizes[1]
    return distance // move.stride + distance % move.stride * far
