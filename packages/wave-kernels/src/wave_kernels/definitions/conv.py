"""2-D convolution as implicit matrix products: forward, and its two gradients."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportInvalidTypeForm=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.conv_dims import IMAGES, NF, RESULTS, G, K, M
from wave_kernels.definitions.conv_maps import ORDER, Maps, Order
from wave_kernels.definitions.conv_sizes import STEPS, Steps
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

if TYPE_CHECKING:
    from wave_core.types import DType

BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N),
    (
        (64, 32, 32, 2, 2),
        (64, 64, 32, 2, 2),
        (128, 64, 32, 2, 2),
        (128, 128, 32, 2, 2),
    ),
)


def conv_kernel(
    steps: Steps = STEPS,
    order: Order = ORDER,
    dtype: DType = tkl.f16,
    result: DType = tkl.f32,
    *,
    bias: bool = False,
) -> Any:
    """``out[n, y, x, f] = sum over (r, s, c) of x[n, y+r, x+s, c] * we[r, s, c, f]``.

    So without strides; in general the image is read at ``y * stride + r * dilation -
    padding``, and is 0 beside its edges: nothing is copied. A group of filters reads
    the channels of its group. The rows of the product are pixels of the result, its
    contracted dimension walks the filter: ``M = N * H_OUT * W_OUT``,
    ``K = HF * WF * C / groups``.

    Shapes: ``x: [N, H, W, C]``, ``we: [HF, WF, C / groups, NF]``, ``bias: [NF]`` where
    there is one, ``out: [N, H_OUT, W_OUT, NF]``, each in the ``order`` asked for.
    Dtypes: ``dtype`` (f16, bf16, f32), ``out`` ``result``. Symbols to bind:
    `ConvSizes.forward`. Accuracy: of the convolution of absolute values 1e-3, and half
    a unit in the last place of ``result``; sums are f32 and rounded once.

    Raises:
        UserError: WV0823 for another order, or moves that are none; from compilation
            WV0702 where the target has no instruction for ``dtype``.
    """
    maps = Maps(steps, order)
    row, column, filters = maps.row, maps.column, maps.filters
    x_mapping = maps.reads(maps.seen(row, column), M, K)
    w_mapping = maps.reads(maps.weights(column, row), filters, K)
    bias_mapping = maps.vector({NF: maps.filter(row)}, filters)
    out_mapping = maps.writes(maps.result(row, column), M, filters)
    seen = maps.seen_bounds
    dims = (*maps.lead, M, filters)

    image = tkl.Memory[*IMAGES[order.images], ADDRESS_SPACE, dtype]
    weights = tkl.Memory[*maps.filter_dims, ADDRESS_SPACE, dtype]
    each = tkl.Memory[NF, tkl.GLOBAL_ADDRESS_SPACE, dtype]
    stored = tkl.Memory[*RESULTS[order.results], tkl.GLOBAL_ADDRESS_SPACE, result]

    def sums(x: Any, we: Any) -> Any:
        c_reg = tkl.Register[*dims, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[*dims, tkl.f32]) -> tkl.Register[*dims, tkl.f32]:
            a_reg = tkw.read(x, mapping=x_mapping, bounds=seen)
            b_reg = tkw.read(we, mapping=w_mapping)
            return tkw.mma(a_reg, b_reg, acc)

        return repeat

    @tkw.wave(_constraints(maps, M, filters))
    def conv(x: image, we: weights, out: stored) -> None:
        tkw.write(sums(x, we), out, mapping=out_mapping)

    @tkw.wave(_constraints(maps, M, filters))
    def conv_bias(x: image, we: weights, bias: each, out: stored) -> None:
        added = tkw.cast(tkw.read(bias, mapping=bias_mapping), tkl.f32)
        total = sums(x, we) + tkw.broadcast(added, target_shape=[*dims])
        tkw.write(total, out, mapping=out_mapping)

    return conv_bias if bias else conv


def conv_input_kernel(
    steps: Steps = STEPS,
    order: Order = ORDER,
    dtype: DType = tkl.f16,
    result: DType = tkl.f32,
) -> Any:
    """The gradient of a convolution's image, from that of its result.

    ``dx[n, h, w, c] = sum over (r, s, f) of dy[n, y, x, f] * we[r, s, c, f]``, where
    ``y * stride + r * dilation - padding = h`` and columns alike; elements of filters
    that lie on no pixel at any position add nothing. Rows of the product are pixels of
    the image: ``M = N * H * W``, ``K = HF * WF * NF / groups``. With strides all K are
    walked, of which one in ``stride * stride`` counts.

    Shapes: ``dy: [N, H_OUT, W_OUT, NF]``, ``we: [HF, WF, C / groups, NF]``,
    ``dx: [N, H, W, C]``, each in the ``order`` asked for. Dtypes: ``dtype``, ``dx``
    ``result``. Symbols to bind: `ConvSizes.of_input`. Accuracy and errors: as
    `conv_kernel`.
    """
    maps = Maps(steps, order)
    row, column, channels = maps.row, maps.column, maps.channels
    y_mapping = maps.reads(maps.seeing(row, column), M, K)
    w_mapping = maps.reads(maps.turned_weights(column, row), channels, K)
    out_mapping = maps.writes(maps.image(row, column), M, channels)
    dims = (*maps.lead, M, channels)

    gradient = tkl.Memory[*RESULTS[order.results], ADDRESS_SPACE, dtype]
    weights = tkl.Memory[*maps.filter_dims, ADDRESS_SPACE, dtype]
    stored = tkl.Memory[*IMAGES[order.images], tkl.GLOBAL_ADDRESS_SPACE, result]

    @tkw.wave(_constraints(maps, M, channels))
    def conv_input(dy: gradient, we: weights, dx: stored) -> None:
        c_reg = tkl.Register[*dims, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[*dims, tkl.f32]) -> tkl.Register[*dims, tkl.f32]:
            a_reg = tkw.read(dy, mapping=y_mapping, bounds=maps.seeing_bounds)
            b_reg = tkw.read(we, mapping=w_mapping)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, dx, mapping=out_mapping)

    return conv_input


def conv_weight_kernel(
    steps: Steps = STEPS,
    order: Order = ORDER,
    dtype: DType = tkl.f16,
    result: DType = tkl.f32,
) -> Any:
    """The gradient of a convolution's filters, from that of its result.

    ``dw[r, s, c, f] = sum over (n, y, x) of x[n, y+r, x+s, c] * dy[n, y, x, f]``, the
    image read as in `conv_kernel`. Rows of the product are elements of a filter,
    its contracted dimension walks the pixels: ``M = HF * WF * C / groups``,
    ``K = N * H_OUT * W_OUT``.

    Shapes: ``x: [N, H, W, C]``, ``dy: [N, H_OUT, W_OUT, NF]``,
    ``dw: [HF, WF, C / groups, NF]``, each in the ``order`` asked for. Dtypes:
    ``dtype``, ``dw`` ``result``. Symbols to bind: `ConvSizes.of_weight`. Accuracy and
    errors: as `conv_kernel`.
    """
    maps = Maps(steps, order)
    row, column, filters = maps.row, maps.column, maps.filters
    x_mapping = maps.reads(maps.seen(column, row), M, K)
    y_mapping = maps.reads(maps.result(column, row), filters, K)
    out_mapping = maps.writes(maps.weights(row, column), M, filters)
    dims = (*maps.lead, M, filters)

    image = tkl.Memory[*IMAGES[order.images], ADDRESS_SPACE, dtype]
    gradient = tkl.Memory[*RESULTS[order.results], ADDRESS_SPACE, dtype]
    stored = tkl.Memory[*maps.filter_dims, tkl.GLOBAL_ADDRESS_SPACE, result]

    @tkw.wave(_constraints(maps, M, filters))
    def conv_weight(x: image, dy: gradient, dw: stored) -> None:
        c_reg = tkl.Register[*dims, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[*dims, tkl.f32]) -> tkl.Register[*dims, tkl.f32]:
            a_reg = tkw.read(x, mapping=x_mapping, bounds=maps.seen_bounds)
            b_reg = tkw.read(dy, mapping=y_mapping)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, dw, mapping=out_mapping)

    return conv_weight


def _constraints(maps: Maps, rows: Any, columns: Any) -> list[Any]:
    """How a product spreads over workgroups, waves and loop tiles."""
    lead = [tkw.WorkgroupConstraint(G, 1, 2)] if maps.lead else []
    return [
        tkw.WorkgroupConstraint(rows, BLOCK_M, 0),
        tkw.WorkgroupConstraint(columns, BLOCK_N, 1),
        *lead,
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(rows, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(columns, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(),
        tkw.DieOrder(),
        TILES,
        STAGING,
    ]
