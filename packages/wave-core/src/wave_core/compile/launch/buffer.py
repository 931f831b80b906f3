"""One uniform view of whatever array a user passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Buffer:
    """An array that shares the user's memory.

    Attributes:
        kind: What the user passed: ``torch.Tensor``, ``numpy.ndarray``, ...
        array: The elements; never a copy.
        dtype: The name of the element type in the IR.
        writable: Whether writing is allowed.
        requires_grad: Whether gradients flow through it.
    """

    kind: str
    array: npt.NDArray[Any]
    dtype: str
    writable: bool = True
    requires_grad: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each dimension."""
        return self.array.strides

    @property
    def address(self) -> int:
        """Address of element 0 of every dimension, in bytes."""
        return self.array.__array_interface__["data"][0]

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return self.array.itemsize

    def describe(self) -> str:
        """What was given, for messages."""
        dims = ", ".join(map(str, self.shape))
        return f"{self.kind} of {self.dtype}[{dims}]"


@dataclass(frozen=True)
class Refusal:
    """Why something cannot serve as a tensor argument, before its type is compared.

    Attributes:
        code: The diagnostic.
        what: What it is: ends the sentence "argument `a` is ...".
        help: What to do instead.
        note: A fact that explains.
    """

    code: str
    what: str
    help: str
    note: str = ""


Given = Buffer | Refusal
"""What looking at an argument finds."""
