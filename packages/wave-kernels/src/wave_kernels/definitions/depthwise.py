"""Depthwise convolution: each channel has a filter of its own."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.conv_dims import (
    CG,
    FILTERS,
    H_OUT,
    HF,
    IMAGES,
    NF,
    RESULTS,
    SZ_OUT,
    W_OUT,
    WF,
    C,
    H,
    K,
    M,
    N,
    W,
)
from wave_kernels.definitions.conv_maps import ORDER, Order
from wave_kernels.definitions.conv_sizes import STEPS, Steps

if TYPE_CHECKING:
    from wave_core.types import DType

FIRST, LAST, ELEMENT = map(tkw.IndexMapping.iterator, range(3))

GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

LANES = 64
"""Elements side by side in memory that a wave has: of channels, or of pixels."""

LINES = 4
"""Lines of such elements, a wave each."""


def depthwise_kernel(
    steps: Steps = STEPS,
    order: Order = ORDER,
    dtype: DType = tkl.f16,
    result: DType = tkl.f32,
    *,
    bias: bool = False,
) -> Any:
    """``out[n, y, x, c] = sum over (r, s) of x[n, y+r, x+s, c] * we[r, s, 0, c]``.

    It takes what `conv_kernel` takes where there are as many groups as channels, and as
    many filters. The image is read as there. There is no matrix product in it: a lane
    has one pixel of one channel, neighbours in memory are neighbours of a wave, and a
    loop walks the filter.

    Shapes: ``x: [N, H, W, C]``, ``we: [HF, WF, 1, C]``, ``bias: [C]`` where there is
    one, ``out: [N, H_OUT, W_OUT, C]``, each in the ``order`` asked for. Dtypes:
    ``dtype`` (f16, bf16, f32), ``out`` ``result``. Symbols to bind:
    `ConvSizes.forward`. Accuracy: of the convolution of absolute values 1e-5, and half
    a unit in the last place of ``result``; sums are f32 and rounded once.

    Raises:
        UserError: WV0823 for another order, or moves that are none.
    """
    maps = _Maps(steps, order.results)
    tile = maps.tile
    x_mapping, w_mapping, out_mapping = maps.image, maps.filter, maps.result
    bounds = {d: d for d, move in ((H, steps.rows), (W, steps.columns)) if move.padded}
    added_mapping = tkw.IndexMapping(1, inputs={NF: FIRST}, outputs={C: FIRST})

    image = tkl.Memory[*IMAGES[order.images], GLOBAL, dtype]
    filters = (CG if dim is C else dim for dim in FILTERS[order.filters])
    weights = tkl.Memory[*filters, GLOBAL, dtype]
    each = tkl.Memory[NF, GLOBAL, dtype]
    stored = tkl.Memory[*RESULTS[order.results], GLOBAL, result]

    def sums(x: Any, we: Any) -> Any:
        @tkw.iterate(K, init_args=[tkl.Register[*tile, tkl.f32](0.0)])
        def repeat(acc: tkl.Register[*tile, tkl.f32]) -> tkl.Register[*tile, tkl.f32]:
            seen = tkw.read(x, mapping=x_mapping, bounds=bounds or None)
            weight = tkw.cast(tkw.read(we, mapping=w_mapping), tkl.f32)
            whole = tkw.broadcast(weight, target_shape=[*tile, K])
            return tkw.sum(tkw.cast(seen, tkl.f32) * whole, acc, dim=K)

        return repeat

    @tkw.wave(_constraints(tile))
    def depthwise(x: image, we: weights, out: stored) -> None:
        tkw.write(sums(x, we), out, mapping=out_mapping)

    @tkw.wave(_constraints(tile))
    def depthwise_bias(x: image, we: weights, bias: each, out: stored) -> None:
        added = tkw.cast(tkw.read(bias, mapping=added_mapping), tkl.f32)
        total = sums(x, we) + tkw.broadcast(added, target_shape=[*tile])
        tkw.write(total, out, mapping=out_mapping)

    return depthwise_bias if bias else depthwise


@dataclass(frozen=True)
class _Maps:
    """The mappings; iterators stand for the two dims of a tile, then the filter's."""

    steps: Steps
    results: str

    @property
    def tile(self) -> tuple[Any, Any]:
        """Pixels and channels, what lies side by side in memory last."""
        return (M, C) if self.results == "nhwc" else (C, M)

    @property
    def image(self) -> Any:
        """Where the image is that an element of the filter meets."""
        pixel, channel = self._place()
        y, x = (pixel % SZ_OUT) // W_OUT, (pixel % SZ_OUT) % W_OUT
        r, s = ELEMENT // WF, ELEMENT % WF
        rows, columns = self.steps.rows, self.steps.columns
        places = {
            N: pixel // SZ_OUT,
            H: y * rows.stride + r * rows.dilation - rows.before,
            W: x * columns.stride + s * columns.dilation - columns.before,
            C: channel,
        }
        return tkw.IndexMapping(
            3, inputs=places, outputs={**self._register(), K: ELEMENT}
        )

    @property
    def filter(self) -> Any:
        """Where an element of the filter is."""
        places = {HF: LAST // WF, WF: LAST % WF, CG: 0, NF: FIRST}
        return tkw.IndexMapping(2, inputs=places, outputs={C: FIRST, K: LAST})

    @property
    def result(self) -> Any:
        """Where a pixel of the result is."""
        pixel, channel = self._place()
        places = {
            N: pixel // SZ_OUT,
            H_OUT: (pixel % SZ_OUT) // W_OUT,
            W_OUT: (pixel % SZ_OUT) % W_OUT,
            NF: channel,
        }
        return tkw.IndexMapping(2, inputs=self._register(), outputs=places)

    def _place(self) -> tuple[Any, Any]:
        return (FIRST, LAST) if self.results == "nhwc" else (LAST, FIRST)

    def _register(self) -> dict[Any, Any]:
        return dict(zip(self.tile, (FIRST, LAST), strict=True))


def _constraints(tile: tuple[Any, Any]) -> list[Any]:
    """A workgroup for `LINES` lines of `LANES` elements, each line for a wave.

    Pixels go along the first axis of the grid, which has room for most workgroups.
    """
    return [
        tkw.WorkgroupConstraint(tile[1], LANES, int(tile[1] is C)),
        tkw.WorkgroupConstraint(tile[0], LINES, int(tile[0] is C)),
        tkw.TilingConstraint(K, 1),
        tkw.WaveConstraint(tile[0], 1),
        tkw.HardwareConstraint(vector_shapes={tile[0]: 1, tile[1]: LANES}),
    ]
