"""What a launch has to know about code: its pointers and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.types import DType


@dataclass(frozen=True)
class Binding:
    """One pointer argument of the code.

    Attributes:
        name: The parameter.
        dtype: The name of its element type.
        shape: Its extents, over the symbols that a launch binds.
        written: Whether the kernel writes it.
        limit: Bytes that it may not reach; ``None`` for any size.
    """

    name: str
    dtype: str
    shape: tuple[Expr, ...]
    written: bool
    limit: int | None


@dataclass(frozen=True)
class Constant:
    """A number that comes with the launch.

    Attributes:
        name: The symbol or the parameter.
        dtype: How its bytes are meant.
        words: 32-bit words that it takes.
        parameter: Whether it is an argument of the kernel, not a size.
    """

    name: str
    dtype: DType
    words: int
    parameter: bool


@dataclass(frozen=True)
class BoxedMemory:
    """A memory of which boxes are copied at once; code takes what describes it.

    Attributes:
        name: The parameter.
        box: Elements of a box along each dimension.
        swizzle: Bytes of a row in LDS whose chunks change places; or 0.
    """

    name: str
    box: tuple[int, ...]
    swizzle: int
