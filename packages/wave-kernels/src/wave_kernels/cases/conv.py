"""The cases of the convolutions."""

# torch's functions of arrays and gradients are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    one_of,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.conv import (
    conv_input_kernel,
    conv_kernel,
    conv_weight_kernel,
)
from wave_kernels.definitions.conv_dims import FILTERS, IMAGES, RESULTS
from wave_kernels.definitions.conv_maps import Order
from wave_kernels.definitions.conv_sizes import ConvSizes, Move, Steps
from wave_kernels.definitions.depthwise import depthwise_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from wave_core.types import DType

_TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N", "STAGED")

_PRODUCT = ("GROUPS", *_TILES)
"""Settings of matrix products, of which a depthwise convolution has none."""

_SIZES = {"N": 2, "H": 16, "W": 20, "C": 16, "HF": 3, "WF": 2, "NF": 32}

_STEPS = {"STRIDE": 1, "PADDING": 0, "DILATION": 1, "GROUPS": 1}

FLOATS = {str(dtype): dtype for dtype in (tkl.f16, tkl.bf16, tkl.f32)}
"""Types of operands and results."""

ROUNDED = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Half a unit in the last place of results."""

PRODUCTS, SUMS = 1e-3, 1e-5
"""Of the convolution of absolute values, before rounding: of matrix products, and of
sums one by one."""


@dataclass(frozen=True)
class Convolution:
    """Which convolution, on which operands.

    Attributes:
        sizes: Of images and filters, and how filters move.
        order: How the operands lie.
        dtype: Of the operands.
        result: Of the result.
        bias: Whether a number is added for each filter.
    """

    sizes: ConvSizes
    order: Order
    dtype: DType
    result: DType
    bias: bool = False

    @classmethod
    def asked(
        cls, kernel: str, shape: Mapping[str, int], settings: Mapping[str, int | str]
    ) -> Convolution:
        """What sizes and settings say.

        Raises:
            UserError: WV0823 for an unknown word, or sizes that do not fit.
        """
        steps = with_defaults(settings, _STEPS)
        pad = steps["PADDING"]
        move = Move(steps["STRIDE"], steps["DILATION"], pad, pad)
        sizes = {k.lower(): v for k, v in with_defaults(shape, _SIZES).items()}

        def word(name: str, table: Mapping[str, Any], usual: str) -> str:
            return one_of(table, kernel, name, settings.get(name), usual)

        images = word("IMAGES", IMAGES, "nhwc")
        return cls(
            ConvSizes(**sizes, steps=Steps(move, move, steps["GROUPS"])),
            Order(images, images, word("FILTERS", FILTERS, "hwcf")),
            FLOATS[word("DTYPE", FLOATS, "f16")],
            FLOATS[word("RESULT", FLOATS, "f32")],
            bool(int(settings.get("BIAS", 0))),
        )

    @property
    def settings(self) -> dict[str, int | str]:
        """The settings that ask for it, but for the bias."""
        steps = self.sizes.steps
        return {
            "STRIDE": steps.rows.stride,
            "PADDING": steps.rows.before,
            "DILATION": steps.rows.dilation,
            "GROUPS": steps.groups,
            "IMAGES": self.order.images,
            "FILTERS": self.order.filters,
            "DTYPE": str(self.dtype),
            "RESULT": str(self.result),
        }

    @property
    def extents(self) -> tuple[tuple[int, ...], ...]:
        """Of image, filters and result as they lie in memory."""
        names = {str(dim): size for dim, size in self.sizes.extents.items()}
        names_within = {**names, "C": names["C"] // self.sizes.steps.groups}
        orders = (
            (IMAGES[self.order.images], names),
            (FILTERS[self.order.filters], names_within),
            (RESULTS[self.order.results], names),
        )
        return tuple(tuple(table[str(d)] for d in dims) for dims, table in orders)

    @property
    def moves(self) -> dict[str, Any]:
        """As torch's functions take them."""
        steps = self.sizes.steps
        return {
            "stride": (steps.rows.stride, steps.columns.stride),
            "padding": (steps.rows.before, steps.columns.before),
            "dilation": (steps.rows.dilation, steps.columns.dilation),
            "groups": steps.groups,
        }

    def forward(self, x: Any, we: Any, *bias: Any) -> Any:
        """The convolution in f64, of arrays as they lie in memory."""
        import torch  # noqa: PLC0415 - torch is loaded only when running

        tensors = turned(x, self.order.images), turned(we, self.order.filters)
        added = torch.from_numpy(bias[0].astype("float64")) if bias else None
        found = torch.nn.functional.conv2d(*tensors, added, **self.moves)
        return turned_back(found, self.order.results)

    def of_input(self, dy: Any, we: Any) -> Any:
        """The gradient of the image in f64."""
        from torch.nn.grad import conv2d_input  # noqa: PLC0415 - as above

        sizes = self.sizes
        shape = (sizes.n, sizes.c, sizes.h, sizes.w)
        tensors = turned(we, self.order.filters), turned(dy, self.order.results)
        return turned_back(
            conv2d_input(shape, *tensors, **self.moves), self.order.images
        )

    def of_weight(self, x: Any, dy: Any) -> Any:
        """The gradient of the filters in f64."""
        from torch.nn.grad import conv2d_weight  # noqa: PLC0415 - as above

        sizes = self.sizes
        shape = (sizes.nf, sizes.c // sizes.steps.groups, sizes.hf, sizes.wf)
        first, last = turned(x, self.order.images), turned(dy, self.order.results)
        found = conv2d_weight(first, shape, last, **self.moves)
        return turned_back(found, self.order.filters)


def conv_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``N`` images of ``H`` x ``W`` x ``C`` with ``NF`` filters of ``HF`` x ``WF``.

    ``STRIDE``, ``PADDING`` and ``DILATION`` are those of both axes; ``GROUPS`` of
    channels have filters of their own. ``IMAGES`` is the order of images and results,
    ``FILTERS`` that of filters. ``DTYPE`` is the type of the operands, ``RESULT`` that
    of the result; ``BIAS=1`` adds a number for each filter. ``STAGED=1`` stages both
    operands in LDS.
    """
    conv = Convolution.asked("conv2d", shape, settings)
    image, filters, result = conv.extents
    bias = [(conv.sizes.nf,)] if conv.bias else []
    made = conv_kernel(
        conv.sizes.steps, conv.order, conv.dtype, conv.result, bias=conv.bias
    )
    plan = _Plan(made, conv.sizes.forward, (image, filters, *bias), result)
    more = {"BIAS": int(conv.bias)}
    return _case(conv, plan, conv.forward, settings, target, more)


def conv_input_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradient of the images. Sizes and settings as in `conv_case`."""
    conv = Convolution.asked("conv2d-input", shape, settings)
    image, filters, result = conv.extents
    made = conv_input_kernel(conv.sizes.steps, conv.order, conv.dtype, conv.result)
    plan = _Plan(made, conv.sizes.of_input, (result, filters), image)
    return _case(conv, plan, conv.of_input, settings, target, {})


def conv_weight_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradient of the filters. Sizes and settings as in `conv_case`."""
    conv = Convolution.asked("conv2d-weight", shape, settings)
    image, filters, result = conv.extents
    made = conv_weight_kernel(conv.sizes.steps, conv.order, conv.dtype, conv.result)
    plan = _Plan(made, conv.sizes.of_weight, (image, result), filters)
    return _case(conv, plan, conv.of_weight, settings, target, {})


def depthwise_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``N`` images of ``H`` x ``W`` x ``C``, each channel with ``HF`` x ``WF`` numbers.

    Settings as in `conv_case`, without groups, tiles and staging.
    """
    channels = with_defaults(shape, {"C": _SIZES["C"]})["C"]
    conv = Convolution.asked(
        "conv-depthwise",
        {**shape, "NF": channels},
        {**settings, "GROUPS": channels},
    )
    image, filters, result = conv.extents
    bias = [(channels,)] if conv.bias else []
    steps, order = conv.sizes.steps, conv.order
    made = depthwise_kernel(steps, order, conv.dtype, conv.result, bias=conv.bias)
    plan = _Plan(made, conv.sizes.forward, (image, filters, *bias), result)
    more = {"BIAS": int(conv.bias)}
    case = _case(conv, plan, conv.forward, settings, target, more)
    return replace(
        case,
        shape={name: size for name, size in case.shape.items() if name != "NF"},
        settings={k: v for k, v in case.settings.items() if k not in _PRODUCT},
        tolerance=SUMS + ROUNDED[str(conv.result)],
    )


@dataclass(frozen=True)
class _Plan:
    """A kernel, its symbols, and the extents of its operands and its result."""

    kernel: Any
    symbols: Mapping[Any, int]
    operands: Sequence[tuple[int, ...]]
    result: tuple[int, ...]


def _case(
    conv: Convolution,
    plan: _Plan,
    reference: Callable[..., Any],
    settings: Mapping[str, int | str],
    target: str,
    more: Mapping[str, int | str],
) -> KernelCase:
    tiles = left_open(settings, _TILES)
    subs, _ = symbols({}, tiles)

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        operands = [normal(rng, extents, conv.dtype) for extents in plan.operands]
        return [*operands, poisoned(plan.result, conv.result)]

    def magnitude(args: Sequence[Any]) -> float:
        return float(reference(*map(abs, args[:-1])).max(initial=0.0)) or 1.0

    sizes = {name: getattr(conv.sizes, name.lower()) for name in _SIZES}
    return KernelCase(
        kernel=plan.kernel,
        options=tkl.WaveCompileOptions(subs={**subs, **plan.symbols}, target=target),
        shape=sizes,
        settings={**conv.settings, **more, **tiles},
        make_arguments=make_arguments,
        reference=lambda args: [reference(*args[:-1])],
        outputs=(len(plan.operands),),
        tolerance=PRODUCTS + ROUNDED[str(conv.result)],
        scale=magnitude,
    )


def turned(array: Any, order: str) -> Any:
    """An image, a result or filters from their order to that of torch, in f64."""
    import torch  # noqa: PLC0415 - torch is loaded only when running

    axes = [order.index(letter) for letter in _torch_order(order)]
    return torch.from_numpy(array.astype("float64")).permute(axes)


def turned_back(tensor: Any, order: str) -> Any:
    """The same from torch's order to theirs, as an array."""
    axes = [_torch_order(order).index(letter) for letter in order]
    return tensor.permute(axes).contiguous().numpy()


def _torch_order(order: str) -> str:
    return "fchw" if "f" in order else "nchw"
