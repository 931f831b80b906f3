"""From a kernel's definition and sizes to a launch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

import wave_core.lang as tkl
from wave_core.compile import WaveKernel, default_session, wave_compile
from wave_core.compile.alternatives import estimated_cycles
from wave_core.compile.launch.tensors import CODES
from wave_core.diagnostics import capture_location, launch_error
from wave_kernels.functions.recording import recorder
from wave_kernels.functions.requests import Request, is_kept
from wave_kernels.prebuilt import PrebuiltKernel, installed
from wave_runtime.errors import LaunchRefused, Misfit, RuntimeFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from wave_core.compile.session import Session
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


GAIN = 1.1
"""How much faster another kernel has to be by an estimate to be taken."""

ELSEWHERE = 4
"""Compute units that the simulator is taken to have."""

FEWEST, MOST = 16, 128
"""Rows of a tile of a product."""


def tile_rows(rows: int) -> int:
    """``BLOCK_M`` for so many rows: the power of two that holds them, if one does."""
    return min(max(1 << (rows - 1).bit_length() if rows else 0, FEWEST), MOST)


def compute_units(device: torch.device) -> int:
    """How many a GPU has; a few where tensors are of no GPU."""
    if device.type != "cuda":
        return ELSEWHERE
    cuda: Any = torch.cuda
    return int(cuda.get_device_properties(device).multi_processor_count)


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
        arguments: Of the kernel, in order. Tensors may lie anywhere, with any strides:
            the kernel gets copies of those that it could not address, and what it wrote
            is copied back.
        dynamic: Symbols whose values come from the arguments, with each launch.
    """
    request = Request(make, what, sizes, dynamic)
    if not is_kept(request):
        _run(Call(request, arguments))


@dataclass(frozen=True)
class Call:
    """A kernel that is asked for, and what it is called with.

    Attributes:
        request: The kernel.
        arguments: As `launch` takes them.
    """

    request: Request
    arguments: Sequence[Any]

    @cached_property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return next(a.device for a in self.arguments if isinstance(a, torch.Tensor))

    @property
    def where(self) -> tuple[str, str]:
        """Device and target for its tensors."""
        return ON_CPU if self.device.type == "cpu" else ON_GPU

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for calls of one compiled kernel."""
        asked = self.request
        names = (*asked.what.items(), *asked.sizes.items(), *asked.dynamic)
        return (asked.make, *names, self.device.type, *self.where)


def launch_faster(usual: Call, other: Callable[[], Call]) -> None:
    """Launch one of two kernels that give the same, as `launch` does.

    Args:
        usual: What is taken unless ``other`` is faster by the estimate of `auto`, and
            where kernels are prebuilt.
        other: Gives another call of the same results.
    """
    if is_kept(usual.request):
        return
    session = default_session()
    key = ("other", *usual.key)
    gains = session.remembered(key)
    if not isinstance(gains, bool):
        gains = not _may_be_prebuilt(usual) and _gains(usual, other())
        session.remember(key, gains)
    _run(other() if gains else usual)


def launch_special(usual: Call, other: Callable[[], Call]) -> None:
    """Launch a kernel for calls of a kind instead of one for all, as `launch` does.

    Args:
        usual: What is taken where kernels are prebuilt, which are those for all.
        other: Gives another call of the same results.
    """
    if not is_kept(usual.request):
        _run(usual if _may_be_prebuilt(usual) else other())


def _may_be_prebuilt(call: Call) -> bool:
    return call.device.type != "cpu" and bool(installed().libraries)


def _gains(usual: Call, other: Call) -> bool:
    """Whether the other call is estimated to take clearly less time."""
    before, after = map(_cycles, (usual, other))
    return before is not None and after is not None and before > GAIN * after


def _cycles(call: Call) -> float | None:
    """Of the best way to compile it, where the target has figures."""
    kernel = call.request.make(**call.request.what)
    options = call.request.options(*call.where)
    return estimated_cycles(options, kernel, default_session())


def _run(call: Call) -> None:
    """Compile what is not compiled yet, and run it."""
    request, device, session = call.request, call.device, default_session()
    kernel = session.remembered(call.key)
    if not isinstance(kernel, WaveKernel | PrebuiltKernel):
        kernel = _prebuilt(request, device, session) or _compiled(call, session)
        session.remember(call.key, kernel)
    given = [*map(addressable, call.arguments)]
    try:
        kernel(*given)
    except RuntimeFailure as failure:
        # A kernel that was compiled here says so itself.
        raise refused(request.make.__name__, failure) from None
    if recording := recorder():
        recording.launched(kernel, given)
    rows = zip(call.arguments, given, kernel.parameters, strict=True)
    for argument, copy, row in rows:
        if copy is not argument and row.is_output:
            argument.copy_(copy)


def addressable(argument: Any) -> Any:
    """An argument as the kernel has it: rows follow each other, from `ALIGNED`."""
    if not isinstance(argument, torch.Tensor):
        return argument
    dense = argument.contiguous()
    return dense.clone() if dense.data_ptr() % ALIGNED else dense


def refused(name: str, failure: RuntimeFailure) -> Exception:
    """What the runtime says of a kernel or a function, as a diagnostic."""
    why = failure.why if isinstance(failure, LaunchRefused) else Misfit.DEVICE
    return launch_error(
        CODES[why],
        f"`{name}`: {failure}",
        at=capture_location(),
        label="called here",
    )


def _compiled(call: Call, session: Session) -> WaveKernel:
    request = call.request
    options = request.options(*call.where)
    return wave_compile(options, request.make(**request.what), session=session)


def _prebuilt(
    request: Request, device: torch.device, session: Session
) -> PrebuiltKernel | None:
    """The kernel of an installed library, where one fits; else its user is told once.

    Without libraries there is nothing to tell: kernels are compiled.
    """
    if device.type == "cpu":
        return None
    prebuilt = installed()
    for why in prebuilt.refused:
        session.announce(why, f"{why}; kernels are compiled instead")
    if not prebuilt.libraries:
        return None
    name = request.make.__name__
    try:
        found = prebuilt.for_request(request.text, request.sizes, name, device.index)
    except (RuntimeFailure, TypeError) as error:
        session.announce(f"prebuilt {name}", f"{error}; it is compiled instead")
        return None
    return found
