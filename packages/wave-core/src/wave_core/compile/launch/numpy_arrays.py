"""Looks at numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wave_core.compile import codes
from wave_core.compile.launch.buffer import Buffer, Given, Refusal
from wave_core.types import ALL_DTYPES

KIND = "numpy.ndarray"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The IR's name of a numpy element type, or numpy's own where it has none."""
    for row in ALL_DTYPES:
        if row.numpy_name == dtype.name:
            return row.name
    return dtype.name


def from_numpy(array: np.ndarray[Any, Any], kind: str = KIND) -> Given:
    """The buffer of a numpy array.

    Subclasses of arrays are refused where they carry more than elements.
    """
    if isinstance(array, np.ma.MaskedArray):
        return Refusal(
            codes.ARGUMENT_KIND,
            "a masked array",
            "pass `argument.filled(value)`",
            "the mask would be ignored",
        )
    if array.dtype.names is not None or array.dtype.hasobject:
        return Refusal(
            codes.DTYPE,
            f"an array of {array.dtype}",
            "pass an array of numbers, such as one field of it",
        )
    if not array.dtype.isnative:
        return Refusal(
            codes.LAYOUT,
            f"an array of {array.dtype.name} in foreign byte order",
            "pass `argument.astype(argument.dtype.newbyteorder('='))`",
        )
    plain = array.view(np.ndarray)
    return Buffer(kind, plain, dtype_name(array.dtype), array.flags.writeable)


def from_dlpack(exporter: Any, kind: str) -> Given:
    """The buffer of an array of any library that speaks DLPack, on the CPU."""
    device, _ = exporter.__dlpack_device__()
    if int(device) not in _CPU_DEVICES:
        return Refusal(
            codes.DEVICE,
            f"{kind} on DLPack device {int(device)}",
            "copy it to the CPU first",
            "the simulators read and write memory of the CPU",
        )
    try:
        array = np.from_dlpack(exporter)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        return Refusal(
            codes.ARGUMENT_KIND,
            f"{kind}, which cannot be shared through DLPack",
            "pass a torch tensor or a numpy array",
            f"{type(error).__name__}: {error}",
        )
    return from_numpy(array, kind)


#: DLDeviceType in dlpack.h: kDLCPU, and memory that the CPU reads too
#: (kDLCUDAHost, kDLROCMHost).
_CPU_DEVICES = frozenset({1, 3, 11})
