"""Finds out what a user passed, without importing the library it comes from."""

from __future__ import annotations

import sys
from typing import Any

from wave_core.compile import codes
from wave_core.compile.launch.buffer import Given, Refusal
from wave_core.compile.launch.numpy_arrays import from_dlpack, from_numpy


def look_at(value: Any) -> Given:
    """The buffer of an array, or why there is none."""
    if is_a(value, "torch", "Tensor"):
        # torch is loaded already, by whoever made the tensor.
        from wave_core.compile.launch.torch_tensors import from_torch  # noqa: PLC0415

        return from_torch(value)
    if is_a(value, "numpy", "ndarray"):
        return from_numpy(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return from_dlpack(value, _kind(value))
    return Refusal(
        codes.ARGUMENT_KIND,
        "None" if value is None else f"of type `{_kind(value)}`",
        "pass a torch tensor, a numpy array or another array that speaks DLPack",
    )


def is_a(value: object, module: str, name: str) -> bool:
    """Whether ``value`` is an instance of ``module.name``, or of a subclass."""
    loaded = sys.modules.get(module)
    cls = None if loaded is None else getattr(loaded, name, None)
    return isinstance(cls, type) and isinstance(value, cls)


def _kind(value: object) -> str:
    cls = type(value)
    return (
        cls.__name__
        if cls.__module__ == "builtins"
        else (f"{cls.__module__}.{cls.__qualname__}")
    )
