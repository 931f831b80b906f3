"""What the functions refuse before anything is compiled or launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from wave_core.compile.launch.tensors import has_tangent
from wave_core.diagnostics import capture_location, launch_error

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__wave_frames__ = "internal"
"""Messages point at the line that calls a function."""

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
"""What every function takes."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call of a function.

    Attributes:
        function: Its name, for messages.
        first: The tensor whose device the others have to share.
    """

    function: str
    first: torch.Tensor

    @classmethod
    def of(
        cls,
        function: str,
        name: str,
        first: object,
        dtypes: Collection[torch.dtype] = FLOATS,
    ) -> Arguments:
        """With the tensor that tells device and element type.

        Raises:
            LaunchError: WV0704 for what is no dense tensor, WV0705 for its type,
                WV0714 where autograd would have to know of the call.
        """
        tensor = _dense(function, name, first)
        if tensor.dtype not in dtypes:
            words = ", ".join(map(_word, dtypes))
            what = f"`{name}` is {_word(tensor.dtype)}"
            raise _refused("WV0705", function, what, f"it takes {words}")
        return cls(function, tensor)

    def tensor(
        self,
        name: str,
        value: object,
        shape: Sequence[int],
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        """A tensor of this shape, contiguous, with the first one's type and device.

        Raises:
            LaunchError: as `fitting`.
        """
        return self.fitting(name, value, shape, dtype).contiguous()

    def fitting(
        self,
        name: str,
        value: object,
        shape: Sequence[int],
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        """The same as it lies in memory.

        Raises:
            LaunchError: WV0704, WV0714 as `of`; WV0705 for its type, WV0707 for its
                shape, WV0708 for its device.
        """
        tensor = _dense(self.function, name, value)
        wanted = self.first.dtype if dtype is None else dtype
        if tensor.dtype != wanted:
            what = f"`{name}` is {_word(tensor.dtype)}"
            self.refuse("WV0705", what, f"it has to be {_word(wanted)}")
        if tuple(tensor.shape) != tuple(shape):
            what = f"`{name}` is {tuple(tensor.shape)}"
            self.refuse("WV0707", what, f"it has to be {tuple(shape)}")
        if tensor.device != self.first.device:
            what = f"`{name}` is on {tensor.device}"
            advice = f"the first argument is on {self.first.device}"
            self.refuse("WV0708", what, advice)
        return tensor

    def result(
        self, out: object | None, shape: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor:
        """Where the result goes: ``out``, or a new tensor.

        Raises:
            LaunchError: as `tensor`, and WV0709 for an ``out`` that is not contiguous.
        """
        if out is None:
            return torch.empty(tuple(shape), dtype=dtype, device=self.first.device)
        tensor = self.tensor("out", out, shape, dtype)
        if tensor is not out:
            advice = "give a contiguous tensor, or none"
            self.refuse("WV0709", "`out` is not contiguous", advice)
        return tensor

    def check_rows(self, name: str, table: torch.Tensor, of: str, rows: int) -> None:
        """See that a table names rows that there are, which waits for a GPU.

        Raises:
            LaunchError: WV0707 for numbers that are not from 0 up to ``rows``.
        """
        self.check_numbers(name, table, rows, f"`{of}` has rows 0 to {rows - 1}")

    def check_numbers(
        self, name: str, numbers: torch.Tensor, end: int, advice: str
    ) -> None:
        """See that numbers are from 0 up to ``end``, which waits for a GPU.

        Raises:
            LaunchError: WV0707 where that is not so, WV0708 where there are none.
        """
        if not numbers.numel():
            return
        if numbers.is_meta:
            what = f"`{name}` is a meta tensor, whose numbers nobody knows"
            self.refuse("WV0708", what, "give one that a device has")
        least, greatest = (int(each) for each in torch.aminmax(numbers))
        if least < 0 or greatest >= end:
            what = f"`{name}` has numbers from {least} to {greatest}"
            self.refuse("WV0707", what, advice)

    def refuse(self, code: str, what: str, advice: str) -> NoReturn:
        """End the call.

        Raises:
            LaunchError: Always.
        """
        raise _refused(code, self.function, what, advice)


def shape_of(
    given: Arguments,
    name: str,
    tensor: Any,
    dims: Sequence[str],
    dtype: torch.dtype | None = None,
) -> tuple[int, ...]:
    """The shape of a tensor that has these dimensions.

    Raises:
        LaunchError: WV0704 for what is no dense tensor, WV0705, WV0708, WV0714 for its
            type, device or gradient; WV0706 for its rank.
    """
    shape: tuple[int, ...] = ()
    if isinstance(tensor, torch.Tensor):
        shape = tuple(tensor.shape)
    given.fitting(name, tensor, shape, dtype)
    if len(shape) != len(dims):
        advice = f"give {len(dims)} dimensions: {', '.join(dims)}"
        given.refuse("WV0706", f"`{name}` is {shape}", advice)
    return shape


def _dense(function: str, name: str, value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        what = f"`{name}` is a {type(value).__name__}"
        raise _refused("WV0704", function, what, "give a torch tensor")
    if value.layout != torch.strided or value.is_quantized:
        what = f"`{name}` is laid out as {value.layout}"
        raise _refused("WV0704", function, what, "give a dense tensor")
    if torch._C._functorch.is_functorch_wrapped_tensor(value):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue] - no other way
        what = f"`{name}` is a tensor inside a transform of torch.func"
        advice = f"`torch.ops.wave.{function}` knows `vmap`; it is the same function"
        raise _refused("WV0704", function, what, advice)
    if has_tangent(value):
        what = f"`{name}` is a dual tensor of forward-mode autograd"
        advice = "give `torch.autograd.forward_ad.unpack_dual(tensor).primal`"
        raise _refused("WV0714", function, what, advice)
    if value.requires_grad and torch.is_grad_enabled():
        what = f"`{name}` takes part in autograd"
        advice = "call it under `torch.no_grad()`, or give `.detach()`"
        raise _refused("WV0714", function, what, advice)
    return value


def _refused(code: str, function: str, what: str, advice: str) -> Exception:
    return launch_error(
        code,
        f"`{function}`: {what}",
        at=capture_location(),
        label="called here",
        help=advice,
    )


def _word(dtype: torch.dtype) -> str:
    """A type as torch writes it, without the module."""
    return str(dtype).removeprefix("torch.")
