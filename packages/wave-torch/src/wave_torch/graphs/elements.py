"""Ops of torch that compute on elements or fold rows, as steps of programs."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import TYPE_CHECKING, Any

import torch

from wave_kernels.definitions.elementwise import TURNED, Number
from wave_kernels.functions.arguments import FLOATS
from wave_kernels.functions.rows import LONGEST
from wave_torch.graphs.halves import turned
from wave_torch.graphs.nodes import (
    DEVICES,
    arguments_of,
    bound,
    dtype_of,
    tensor_of,
    word,
)
from wave_torch.graphs.writer import Writer, constant_of

if TYPE_CHECKING:
    from torch import fx

ATEN = torch.ops.aten
TO_COPY = ATEN._to_copy.default  # noqa: SLF001 - its name

Write = Callable[[Writer, "fx.Node"], "int | Number"]
"""Appends the steps of an op; their value."""


def _plain(name: str) -> Write:
    return lambda writer, node: writer.step(name, *writer.reals(node))


def _sum(name: str) -> Write:
    """Of two, of which the second may have a factor."""

    def write(writer: Writer, node: fx.Node) -> int:
        call = bound(node, SUMMANDS)
        first, second = writer.real(call["x"]), writer.real(call["other"])
        return writer.step(name, first, _times(writer, second, call["alpha"]))

    return write


SUMMANDS = {"x": None, "other": None, "alpha": 1}


def _times(writer: Writer, value: int | Number, factor: float) -> int | Number:
    if factor == 1:
        return value
    return writer.step("mul", value, writer.value(factor))


def _truth(name: str) -> Write:
    """Of truths, which stay what they are."""
    return lambda writer, node: writer.step(
        name, *map(writer.value, arguments_of(node))
    )


def _reversed_difference(writer: Writer, node: fx.Node) -> int:
    call = bound(node, SUMMANDS)
    first, second = writer.real(call["other"]), writer.real(call["x"])
    return writer.step("sub", first, _times(writer, second, call["alpha"]))


def _chosen(writer: Writer, node: fx.Node) -> int:
    condition, first, second = arguments_of(node)
    chosen = writer.real(first), writer.real(second)
    return writer.step("where", writer.value(condition), *chosen)


def _filled(writer: Writer, node: fx.Node) -> int:
    x, mask, fill = arguments_of(node)
    return writer.step("where", writer.value(mask), writer.real(fill), writer.real(x))


def _clamp(low: float | None = None, high: float | None = None) -> Write:
    """Between numbers, of which the call may have others."""

    def write(writer: Writer, node: fx.Node) -> int | Number:
        call = bound(node, {"x": None, "min": low, "max": high})
        found = writer.real(call["x"])
        for name, end in (("maximum", call["min"]), ("minimum", call["max"])):
            if end is not None:
                found = writer.step(name, found, writer.value(end))
        return found

    return write


def _relu(writer: Writer, node: fx.Node) -> int:
    return writer.step("maximum", *writer.reals(node), Number("0.0"))


def _square(writer: Writer, node: fx.Node) -> int:
    (x,) = writer.reals(node)
    return writer.step("mul", x, x)


def _power(writer: Writer, node: fx.Node) -> int | Number:
    x, exponent = writer.real(arguments_of(node)[0]), arguments_of(node)[1]
    return POWERS[exponent](writer, x)


POWERS: dict[float, Callable[[Writer, Any], int | Number]] = {
    -1: lambda writer, x: writer.step("reciprocal", x),
    -0.5: lambda writer, x: writer.step("rsqrt", x),
    0.5: lambda writer, x: writer.step("sqrt", x),
    1: lambda _, x: x,
    2: lambda writer, x: writer.step("mul", x, x),
    3: lambda writer, x: writer.step("mul", x, writer.step("mul", x, x)),
}
"""Powers that are right for numbers below zero too."""


def _gelu(writer: Writer, node: fx.Node) -> int:
    (x,) = writer.reals(node)
    if node.kwargs.get("approximate", "none") == "none":
        return writer.step("gelu", x)
    cube = POWERS[3](writer, x)
    inner = writer.step("add", x, writer.step("mul", cube, Number("0.044715")))
    scaled = writer.step("mul", inner, Number(repr((2 / pi) ** 0.5)))
    rising = writer.step("add", writer.step("tanh", scaled), Number("1.0"))
    return writer.step("mul", writer.step("mul", x, Number("0.5")), rising)


def _leaky(writer: Writer, node: fx.Node) -> int:
    call = bound(node, {"x": None, "slope": 0.01})
    x = writer.real(call["x"])
    down = writer.step("mul", x, writer.value(call["slope"]))
    return writer.step("where", writer.step("gt", x, Number("0.0")), x, down)


def _copied(writer: Writer, node: fx.Node) -> int | Number:
    """In another type, to which it is rounded."""
    x, dtype = writer.real(arguments_of(node)[0]), dtype_of(node)
    if dtype == torch.bool:
        return writer.step("ne", x, Number("0.0"))
    return x if dtype == torch.float32 else writer.step(word(dtype), x)


def _fold(name: str) -> Write:
    return lambda writer, node: writer.step(name, writer.real(arguments_of(node)[0]))


TRUTHS: dict[Any, Write] = {
    ATEN.bitwise_and.Tensor: _truth("and"),
    ATEN.bitwise_not.default: _truth("not"),
    ATEN.bitwise_or.Tensor: _truth("or"),
    ATEN.logical_and.default: _truth("and"),
    ATEN.logical_not.default: _truth("not"),
    ATEN.logical_or.default: _truth("or"),
}
"""Ops on truths; of other types they are something else."""

FOLDED: dict[Any, Write] = {
    ATEN.amax.default: _fold("amax"),
    ATEN.amin.default: _fold("amin"),
    ATEN.mean.dim: _fold("mean"),
    ATEN.sum.dim_IntList: _fold("sum"),
}
"""Ops that make one number of each row."""

COMPARED = {
    getattr(getattr(ATEN, name), kind): name
    for name in ("eq", "ge", "gt", "le", "lt", "ne")
    for kind in ("Tensor", "Scalar")
}
"""Op that makes truths of numbers -> its step."""

ELEMENTS: dict[Any, Write] = {
    **{
        getattr(ATEN, name).default: _plain(name)
        for name in (
            *("abs", "ceil", "cos", "erf", "exp", "exp2", "floor", "log", "log2"),
            *("maximum", "minimum", "neg", "reciprocal", "round", "rsqrt", "sigmoid"),
            *("silu", "sin", "sqrt", "tanh"),
        )
    },
    **{
        getattr(getattr(ATEN, name), kind): _plain(name)
        for name in ("mul", "div")
        for kind in ("Tensor", "Scalar")
    },
    **{op: _plain(name) for op, name in COMPARED.items()},
    **{
        getattr(getattr(ATEN, name), kind): _sum(name)
        for name in ("add", "sub")
        for kind in ("Tensor", "Scalar")
    },
    ATEN.rsub.Scalar: _reversed_difference,
    ATEN.rsub.Tensor: _reversed_difference,
    ATEN.where.self: _chosen,
    ATEN.where.ScalarOther: _chosen,
    ATEN.where.ScalarSelf: _chosen,
    ATEN.masked_fill.Scalar: _filled,
    ATEN.clamp.default: _clamp(),
    ATEN.clamp_min.default: _clamp(),
    ATEN.clamp_max.default: lambda writer, node: writer.step(
        "minimum", *writer.reals(node)
    ),
    ATEN.hardtanh.default: _clamp(-1.0, 1.0),
    ATEN.relu.default: _relu,
    ATEN.square.default: _square,
    ATEN.pow.Tensor_Scalar: _power,
    ATEN.gelu.default: _gelu,
    ATEN.leaky_relu.default: _leaky,
    TO_COPY: _copied,
    turned: _plain(TURNED),
    **TRUTHS,
    **FOLDED,
}
"""Op -> what it is in a program."""

DECOMPOSED = (
    ATEN._log_softmax,  # noqa: SLF001 - its name, as the next ones
    ATEN._log_softmax_backward_data,  # noqa: SLF001
    ATEN._native_batch_norm_legit,  # noqa: SLF001
    ATEN._native_batch_norm_legit_functional,  # noqa: SLF001
    ATEN._native_batch_norm_legit_no_training,  # noqa: SLF001
    ATEN._softmax_backward_data,  # noqa: SLF001
    ATEN.addcdiv,
    ATEN.addcmul,
    ATEN.gelu_backward,
    ATEN.hardsigmoid,
    ATEN.hardsigmoid_backward,
    ATEN.hardswish,
    ATEN.hardswish_backward,
    ATEN.hardtanh_backward,
    ATEN.leaky_relu_backward,
    ATEN.lerp,
    ATEN.mse_loss,
    ATEN.mse_loss_backward,
    ATEN.native_batch_norm_backward,
    ATEN.sigmoid_backward,
    ATEN.silu_backward,
    ATEN.tanh_backward,
    ATEN.threshold_backward,
)
"""What is taken apart into such ops."""


def why_no_step(node: fx.Node) -> str | None:
    """What keeps an op out of programs: nothing, or None where no op is in one."""
    if node.target not in ELEMENTS:
        return None
    result = tensor_of(node)
    if result is None or result.device.type not in DEVICES:
        return "no kernel runs there"
    read = [each for each in node.all_input_nodes if constant_of(each) is None]
    reasons = [_why_not_read(each, result) for each in read] or ["nothing is read"]
    return next(filter(None, reasons), "") or _why_not_asked(node, result)


def _why_not_read(node: fx.Node, result: torch.Tensor) -> str:
    value = tensor_of(node)
    if value is None:
        return "a size takes part"
    if value.device != result.device:
        return f"operands are on {value.device} and {result.device}"
    fits = value.dtype in (*FLOATS, torch.bool)
    return "" if fits else f"no kernel is of {word(value.dtype)}"


def _why_not_asked(node: fx.Node, result: torch.Tensor) -> str:
    """What of the arguments no step does."""
    if result.dtype not in (*FLOATS, torch.bool):
        return f"no kernel is of {word(result.dtype)}"
    if node.target in FOLDED:
        return _why_not_folded(node)
    if node.target is ATEN.pow.Tensor_Scalar and arguments_of(node)[1] not in POWERS:
        return f"the power {arguments_of(node)[1]}"
    if result.dtype == torch.bool and node.target not in {*COMPARED, *TRUTHS, TO_COPY}:
        return "it computes with truths as with numbers"
    if node.target in TRUTHS and not _of_truths(node):
        return "operands are no truths"
    return ""


def _of_truths(node: fx.Node) -> bool:
    values = [tensor_of(each) for each in arguments_of(node)]
    return all(each is not None and each.dtype == torch.bool for each in values)


def _why_not_folded(node: fx.Node) -> str:
    call = bound(node, {"x": None, "dim": None, "keepdim": False, "dtype": None})
    x = tensor_of(call["x"])
    if x is None or not x.ndim or x.dtype == torch.bool:
        return "no rows are folded"
    if call["dim"] not in ([-1], [x.ndim - 1]):
        return "not the last dimension is folded"
    length: int | torch.SymInt = x.shape[-1]
    if isinstance(length, torch.SymInt) or not 0 < length <= LONGEST:
        return f"rows have {length} elements"
    return ""
