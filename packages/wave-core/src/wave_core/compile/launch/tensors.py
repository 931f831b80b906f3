"""Checks the arrays that a kernel takes, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.compile import codes
from wave_core.compile.launch.array_views import look_at
from wave_core.compile.launch.buffer import Refusal
from wave_core.compile.launch.overlap import overlaps_itself
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_core.compile.launch.buffer import Buffer
    from wave_core.compile.launch.report import LaunchReport
    from wave_core.compile.launch.signature import Parameter

#: Offsets are 32-bit integers in generated code; simulators keep to the same limit.
MAX_ELEMENTS = 2**31 - 1


def check_tensor(
    report: LaunchReport, parameter: Parameter, value: Any
) -> Buffer | None:
    """The buffer that ``value`` is; ``None`` where it is reported as unfit."""
    given = look_at(value)
    if isinstance(given, Refusal):
        notes = [given.note] if given.note else []
        report.argument(given.code, parameter, given.what, given.help, notes)
        return None
    for check in (_check_dtype, _check_rank, _check_memory, _check_extent):
        check(report, parameter, given)
        if report.is_bad(parameter):
            return None
    if parameter.is_output:
        _check_output(report, parameter, given)
    return None if report.is_bad(parameter) else given


def _check_dtype(report: LaunchReport, parameter: Parameter, given: Buffer) -> None:
    wanted = parameter.dtype.name
    if given.dtype == wanted or {given.dtype, wanted} == {"i64", "index"}:
        return
    convert = ".to(...)" if given.kind == "torch.Tensor" else ".astype(...)"
    advice = f"convert it with `{parameter.name}{convert}` to {wanted}"
    if parameter.is_output:
        advice = f"allocate it as {wanted}"
    report.argument(
        codes.DTYPE,
        parameter,
        f"{_article(given.describe())}; the kernel wants {wanted}",
        f"{advice}, or declare the parameter with {_declared(given.dtype)}",
        ["nothing is converted silently"],
    )


def _declared(dtype: str) -> str:
    return f"dtype {dtype}" if dtype in DTYPES else "the type of the data"


def _article(text: str) -> str:
    return f"a {text}"


def _check_rank(report: LaunchReport, parameter: Parameter, given: Buffer) -> None:
    wanted = len(parameter.extents)
    if len(given.shape) == wanted:
        return
    report.argument(
        codes.RANK,
        parameter,
        f"{_article(given.describe())}; the kernel wants {wanted} dimensions",
        "reshape the argument, or declare the parameter with its dimensions",
    )


def _check_memory(report: LaunchReport, parameter: Parameter, given: Buffer) -> None:
    """Elements lie on multiples of their size."""
    width = given.item_bytes
    if any(stride % width for stride in given.strides):
        report.argument(
            codes.LAYOUT,
            parameter,
            f"strided by {given.strides} bytes, not by whole elements of {width} bytes",
            "pass a copy with `numpy.ascontiguousarray(argument)`",
        )
    elif given.array.size and given.address % width:
        report.argument(
            codes.ALIGNMENT,
            parameter,
            f"at address {given.address:#x}, not a multiple of {width} bytes",
            "allocate it aligned; slices at odd byte offsets are not",
        )


def _check_extent(report: LaunchReport, parameter: Parameter, given: Buffer) -> None:
    if not all(given.shape):
        return
    count, reach = 1, 1
    for size, stride in zip(given.shape, given.strides, strict=True):
        count *= size
        reach += (size - 1) * abs(stride) // given.item_bytes
    if max(count, reach) > MAX_ELEMENTS:
        report.argument(
            codes.EXTENT,
            parameter,
            f"{max(count, reach)} elements from end to end, more than {MAX_ELEMENTS}",
            "launch the kernel on parts of the tensor",
            ["offsets are 32-bit integers"],
        )


def _check_output(report: LaunchReport, parameter: Parameter, given: Buffer) -> None:
    if given.requires_grad:
        report.argument(
            codes.REQUIRES_GRAD,
            parameter,
            "written by the kernel and requires grad",
            "pass `argument.detach()`; the launch is invisible to autograd",
        )
    elif not given.writable:
        report.argument(
            codes.READ_ONLY,
            parameter,
            f"a read-only {given.kind}, and the kernel writes it",
            "pass an array that can be written",
            ["outputs are written in place, never copied"],
        )
    elif overlaps_itself(given.array):
        report.argument(
            codes.OVERLAP,
            parameter,
            f"written by the kernel, and elements share memory (shape {given.shape}, "
            f"strides {given.strides} bytes)",
            "pass an array with a place for every element, not an expanded one",
        )
