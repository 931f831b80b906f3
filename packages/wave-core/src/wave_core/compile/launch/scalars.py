"""Checks the numbers that a kernel takes: right type, in range, never cast silently."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from wave_core.compile.launch.report import LaunchReport
    from wave_core.compile.launch.signature import Parameter
    from wave_core.executors.request import Scalar
    from wave_core.types import DType


def check_scalar(
    report: LaunchReport, parameter: Parameter, value: Any
) -> Scalar | None:
    """The number that ``value`` is; ``None`` where it is reported as unfit."""
    if isinstance(value, np.generic):
        value = cast("Any", value).item()
    elif hasattr(value, "shape"):
        what = f"an array, not a number of type {parameter.dtype}"
        report.argument("WV0715", parameter, what, "pass `argument.item()`")
        return None
    dtype = parameter.dtype
    if dtype.is_bool:
        return _exact(report, parameter, value, bool, "pass True or False")
    if dtype.is_integer:
        return _integer(report, parameter, value)
    return _float(report, parameter, value)


def _exact(
    report: LaunchReport, parameter: Parameter, value: Any, wanted: type, help_text: str
) -> Any:
    if type(value) is wanted:
        return value
    shown = f"{value!r}, of type {type(value).__name__}"
    report.argument("WV0715", parameter, shown, help_text)
    return None


def _integer(report: LaunchReport, parameter: Parameter, value: Any) -> int | None:
    found = _exact(report, parameter, value, int, "pass an int; nothing is rounded")
    if found is None:
        return None
    held = parameter.dtype.integer_range
    if found in held:
        return found
    what = f"{found}, beyond the range of {parameter.dtype}"
    help_text = f"{parameter.dtype} holds {held[0]} to {held[-1]}"
    report.argument("WV0715", parameter, what, help_text)
    return None


def _float(report: LaunchReport, parameter: Parameter, value: Any) -> float | None:
    if type(value) not in (int, float):
        return _exact(report, parameter, value, float, "pass a float or an int")
    if overflows(parameter.dtype, value):
        what = f"{value}, beyond the range of {parameter.dtype}"
        help_text = "pass a smaller number, or declare a wider type"
        report.argument("WV0715", parameter, what, help_text)
        return None
    return float(value)


@lru_cache(maxsize=256)
def overflows(dtype: DType, value: float) -> bool:
    """Whether a finite number becomes infinite in a type."""
    try:
        with np.errstate(over="ignore"):
            rounded = float(dtype.numpy().type(float(value)))
    except OverflowError:
        return True
    return math.isinf(rounded) and not math.isinf(value)
