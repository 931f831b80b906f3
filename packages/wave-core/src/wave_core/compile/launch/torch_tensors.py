"""Looks at torch tensors; imported only when a user passes one."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from wave_core.compile import codes
from wave_core.compile.launch.buffer import Buffer, Given, Refusal
from wave_core.compile.launch.numpy_arrays import from_numpy
from wave_core.types import DTYPES

#: torch's name of an element type, where it is not numpy's.
_TORCH_NAMES = {
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
}

#: Element types of numpy with the same bytes, for types that numpy lacks.
_CARRIERS = {1: torch.uint8, 2: torch.int16}


@cache
def _names() -> dict[torch.dtype, str]:
    """The IR's name of each torch element type."""
    rows: dict[torch.dtype, str] = {}
    for name, row in DTYPES.items():
        found = getattr(torch, _TORCH_NAMES.get(name, row.numpy_name), None)
        if isinstance(found, torch.dtype):
            rows.setdefault(found, name)
    return rows


def from_torch(tensor: torch.Tensor) -> Given:
    """The buffer of a torch tensor: a view of its memory."""
    refusal = _refusal(tensor)
    if refusal is not None:
        return refusal
    name = _names().get(tensor.dtype)
    plain = tensor.detach()
    if name is None:
        return Refusal(
            codes.DTYPE,
            f"a tensor of {str(tensor.dtype).removeprefix('torch.')}",
            "convert it with `argument.to(...)`",
        )
    dtype = DTYPES[name]
    if dtype.extension:
        carried = plain.view(_CARRIERS[dtype.bytes]).numpy().view(dtype.numpy())
    else:
        carried = plain.numpy()
    found = from_numpy(carried, "torch.Tensor")
    if isinstance(found, Refusal):
        return found
    return Buffer("torch.Tensor", found.array, name, requires_grad=tensor.requires_grad)


def _refusal(tensor: torch.Tensor) -> Refusal | None:
    """What makes a tensor unfit, before its elements are looked at."""
    if tensor.device.type == "meta":
        return Refusal(
            codes.DEVICE, "a meta tensor, which has no elements", "pass a real tensor"
        )
    if _is_wrapper(tensor):
        return Refusal(
            codes.ARGUMENT_KIND,
            f"a {type(tensor).__name__}, a wrapper around other tensors",
            "pass the tensor inside; compile the code around the launch without it",
        )
    if tensor.device.type != "cpu":
        return Refusal(
            codes.DEVICE,
            f"a tensor on device `{tensor.device}`",
            "pass `argument.cpu()`, and copy outputs back afterwards",
            "the simulators read and write memory of the CPU",
        )
    if tensor.is_nested or tensor.layout is not torch.strided:
        layout = "nested" if tensor.is_nested else str(tensor.layout)
        return Refusal(
            codes.LAYOUT,
            f"a tensor of layout {layout.removeprefix('torch.')}",
            "pass a dense tensor: `argument.to_dense()`",
        )
    if tensor.is_neg() or tensor.is_conj():
        return Refusal(
            codes.LAYOUT,
            "a lazily negated view",
            "pass `argument.resolve_neg().resolve_conj()`",
            "its memory holds other values than it shows",
        )
    return None


def _is_wrapper(tensor: torch.Tensor) -> bool:
    """Whether torch functions on it do something else than on a plain tensor."""
    own: Any = getattr(type(tensor), "__torch_dispatch__", None)
    plain: Any = getattr(torch.Tensor, "__torch_dispatch__", None)
    # The only test for tensors inside vmap and grad is not public.
    hidden: Any = vars(torch)["_C"]
    wrapped = hidden._functorch.is_functorch_wrapped_tensor(tensor)  # noqa: SLF001 - as above
    return own is not plain or bool(wrapped)
