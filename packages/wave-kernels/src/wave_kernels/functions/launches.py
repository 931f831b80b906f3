"""From a kernel's definition and sizes to a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import wave_core.lang as tkl
from wave_core.compile import WaveKernel, default_session, wave_compile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.compile.launch.signature import Parameter
    from wave_core.types import DType

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

DTYPES: dict[torch.dtype, DType] = {
    torch.float32: tkl.f32,
    torch.float16: tkl.f16,
    torch.bfloat16: tkl.bf16,
    torch.float8_e4m3fn: tkl.f8e4m3fn,
    torch.float8_e5m2: tkl.f8e5m2,
    torch.float8_e4m3fnuz: tkl.f8e4m3fnuz,
    torch.float8_e5m2fnuz: tkl.f8e5m2fnuz,
    torch.int8: tkl.i8,
    torch.int32: tkl.i32,
}
"""The types of elements."""

ALIGNED = 16
"""Bytes that a GPU reads at once: memory starts at a multiple of as many."""

ON_CPU = ("sim-logical", "generic")
"""Device and target for tensors of the CPU: tiles are computed, not lanes."""

ON_GPU = ("auto", "auto")
"""The GPU that is here."""


FEWEST, MOST = 16, 128
"""Rows of a tile of a product."""


def tile_rows(rows: int) -> int:
    """``BLOCK_M`` for so many rows: the power of two that holds them, if one does."""
    return min(max(1 << (rows - 1).bit_length() if rows else 0, FEWEST), MOST)


def launch(
    make: Callable[..., Any],
    what: Mapping[str, Any],
    sizes: Mapping[str, int],
    arguments: Sequence[Any],
    dynamic: Sequence[str] = (),
) -> None:
    """Compile what is not compiled yet, and run it where the tensors are.

    Args:
        make: Gives the kernel's definition.
        what: Its arguments, hashable.
        sizes: The kernel's symbols, by name.
        arguments: Of the kernel, in order. Tensors that are read may start anywhere,
            and are copied where the kernel could not read them.
        dynamic: Symbols whose values come from the arguments, with each launch.
    """
    device = next(a.device for a in arguments if isinstance(a, torch.Tensor))
    key = (make, *what.items(), *sizes.items(), *dynamic, device.type)
    session = default_session()
    kernel = session.remembered(key)
    if not isinstance(kernel, WaveKernel):
        runs, target = ON_CPU if device.type == "cpu" else ON_GPU
        subs = {getattr(tkl.sym, name): value for name, value in sizes.items()}
        options = tkl.WaveCompileOptions(
            subs=subs,
            dynamic_symbols=[getattr(tkl.sym, name) for name in dynamic],
            device=runs,
            target=target,
        )
        kernel = wave_compile(options, make(**what))
        session.remember(key, kernel)
    kernel(*map(readable, arguments, kernel.parameters))


def readable(argument: Any, parameter: Parameter) -> Any:
    """An argument as the kernel reads it: where it starts is `ALIGNED`."""
    if not isinstance(argument, torch.Tensor) or parameter.is_output:
        return argument
    return argument.clone() if argument.data_ptr() % ALIGNED else argument
