"""Checks the arrays that a kernel takes, each by itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from wave_core.compile.launch.overlap import overlaps_itself
from wave_core.types import DTYPES
from wave_runtime.arrays import ArrayView, view
from wave_runtime.errors import Misfit, UnfitArgument

if TYPE_CHECKING:
    from wave_core.compile.launch.report import LaunchReport
    from wave_core.compile.launch.signature import LaunchShape, Parameter

#: Offsets are 32-bit integers in generated code; simulators keep to the same limit.
MAX_ELEMENTS = 2**31 - 1


CODES = {
    Misfit.KIND: "WV0704",
    Misfit.DTYPE: "WV0705",
    Misfit.DEVICE: "WV0708",
    Misfit.LAYOUT: "WV0709",
    Misfit.ALIGNMENT: "WV0710",
    Misfit.OVERLAP: "WV0712",
    Misfit.EXTENT: "WV0713",
}
"""The codes of what the runtime says of arguments."""


def check_tensor(
    report: LaunchReport, parameter: Parameter, value: Any, shape: LaunchShape
) -> ArrayView | None:
    """The memory that ``value`` is; ``None`` where it is reported as unfit."""
    try:
        given = view(value)
    except UnfitArgument as unfit:
        notes = [unfit.note] if unfit.note else []
        report.argument(CODES[unfit.why], parameter, unfit.what, unfit.help, notes)
        return None
    _check_place(report, parameter, given, shape)
    checks = (_check_dtype, _check_rank, _check_memory, _check_extent, _check_grad)
    for check in (*checks, *((_check_output,) if parameter.is_output else ())):
        if not report.is_bad(parameter):
            check(report, parameter, given)
    if not (report.is_bad(parameter) or shape.device.strided or given.contiguous):
        _report_strides(report, parameter, given, shape)
    return None if report.is_bad(parameter) else given


def describe(given: ArrayView) -> str:
    """A description of the argument, for messages."""
    dims = ", ".join(map(str, given.shape))
    return f"{given.kind} of {given.dtype}[{dims}]"


def _check_place(
    report: LaunchReport, parameter: Parameter, given: ArrayView, shape: LaunchShape
) -> None:
    if given.is_in(shape.device.reads):
        return
    on_cpu = shape.device.reads == ("cpu",)
    report.argument(
        "WV0708",
        parameter,
        f"a {given.kind} on device `{given.place}`",
        (
            "pass `argument.cpu()`, and copy outputs back afterwards"
            if on_cpu
            else "copy it to the GPU first: `argument.cuda()`; or compile with "
            "device='sim'"
        ),
        [f"device `{shape.device.name}` reads and writes memory of {_memories(shape)}"],
    )


def _memories(shape: LaunchShape) -> str:
    return " or ".join(
        "the CPU" if each == "cpu" else each for each in shape.device.reads
    )


def _report_strides(
    report: LaunchReport, parameter: Parameter, given: ArrayView, shape: LaunchShape
) -> None:
    report.argument(
        "WV0709",
        parameter,
        f"strided by {given.strides} bytes, and device `{shape.device.name}` takes "
        "row-major arrays only",
        "pass `argument.contiguous()`, or a copy by `numpy.ascontiguousarray`",
        ["machine code knows the shape of an argument, not its strides"],
    )


def _check_dtype(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    wanted = parameter.dtype.name
    if given.dtype == wanted or {given.dtype, wanted} == {"i64", "index"}:
        return
    convert = ".to(...)" if given.kind == "torch.Tensor" else ".astype(...)"
    advice = f"convert it with `{parameter.name}{convert}` to {wanted}"
    if parameter.is_output:
        advice = f"allocate it as {wanted}"
    report.argument(
        "WV0705",
        parameter,
        f"a {describe(given)}; the kernel wants {wanted}",
        f"{advice}, or declare the parameter with {_declared(given.dtype)}",
        ["nothing is converted silently"],
    )


def _declared(dtype: str) -> str:
    return f"dtype {dtype}" if dtype in DTYPES else "the type of the data"


def _check_rank(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    wanted = len(parameter.extents)
    if len(given.shape) == wanted:
        return
    report.argument(
        "WV0706",
        parameter,
        f"a {describe(given)}; the kernel wants {wanted} dimensions",
        "reshape the argument, or declare the parameter with its dimensions",
    )


def _check_memory(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    """Elements lie on multiples of their size."""
    width = given.item_bytes
    if any(stride % width for stride in given.strides):
        report.argument(
            "WV0709",
            parameter,
            f"strided by {given.strides} bytes, not by whole elements of {width} bytes",
            "pass a copy with `numpy.ascontiguousarray(argument)`",
        )
    elif all(given.shape) and given.pointer % width:
        report.argument(
            "WV0710",
            parameter,
            f"at address {given.pointer:#x}, not a multiple of {width} bytes",
            "allocate it aligned; slices at odd byte offsets are not",
        )


def _check_extent(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    if not all(given.shape):
        return
    count, reach = 1, 1
    for size, stride in zip(given.shape, given.strides, strict=True):
        count *= size
        reach += (size - 1) * abs(stride) // given.item_bytes
    if max(count, reach) > MAX_ELEMENTS:
        report.argument(
            "WV0713",
            parameter,
            f"{max(count, reach)} elements from end to end, more than {MAX_ELEMENTS}",
            "launch the kernel on parts of the tensor",
            ["offsets are 32-bit integers"],
        )


def _check_grad(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    if given.requires_grad and (parameter.is_output or tracks_gradients()):
        done = "written" if parameter.is_output else "read"
        report.argument(
            "WV0714",
            parameter,
            f"{done} by the kernel and requires grad",
            "pass `argument.detach()`; under `torch.no_grad()` inputs pass as they are",
            ["the launch is invisible to autograd: no gradient would flow through it"],
        )
    elif has_tangent(given.owner):
        report.argument(
            "WV0714",
            parameter,
            "a dual tensor of forward-mode autograd",
            "pass `torch.autograd.forward_ad.unpack_dual(argument).primal`",
            ["the launch is invisible to autograd: the tangent would be lost"],
        )


def tracks_gradients() -> bool:
    """Whether torch records what is computed; only torch has such tensors."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled()


def tracks_tangents() -> bool:
    """Whether torch takes derivatives forwards: tensors may have tangents."""
    forward = sys.modules.get("torch.autograd.forward_ad")
    level: int = getattr(forward, "_current_level", -1)
    return level >= 0


def has_tangent(owner: Any) -> bool:
    """Whether an array is a tensor of torch with a derivative taken forwards."""
    if not tracks_tangents():
        return False
    torch = sys.modules["torch"]
    if not isinstance(owner, torch.Tensor):
        return False
    dual = torch.autograd.forward_ad.unpack_dual(owner)
    return dual.tangent is not None


def _check_output(report: LaunchReport, parameter: Parameter, given: ArrayView) -> None:
    if not given.writable:
        report.argument(
            "WV0711",
            parameter,
            f"a read-only {given.kind}, and the kernel writes it",
            "pass an array that can be written",
            ["outputs are written in place, never copied"],
        )
    elif overlaps_itself(given):
        report.argument(
            "WV0712",
            parameter,
            f"written by the kernel, and elements share memory (shape {given.shape}, "
            f"strides {given.strides} bytes)",
            "pass an array with a place for every element, not an expanded one",
        )
