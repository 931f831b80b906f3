"""Types of values: register tiles, memories and scalars."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_core.symbols import Expr
    from wave_core.types.dtype import DType


class AddressSpace(Enum):
    """Where a memory lives.

    ``SHARED`` on a kernel argument asks for staging through LDS; it does not say
    that the argument lives there.
    """

    REGISTER = "register"
    SHARED = "shared"
    GLOBAL = "global"

    def __str__(self) -> str:
        return self.value


class Usage(Enum):
    """How a kernel uses one of its memories; what authors state of it is checked."""

    NONE = "none"
    INPUT = "input"
    """It is not written."""
    OUTPUT = "output"
    """It is written."""
    TEMPORARY = "temporary"
    """Authors say so of a place for what is needed while the kernel runs."""


@lru_cache(maxsize=4096)
def dim_name(dim: Expr) -> str:
    """The key of a dimension in layouts and constraints: its printed form."""
    return str(dim)


@dataclass(frozen=True, slots=True)
class RegisterType:
    """A tile held in registers.

    Shapes: ``shape`` names the logical dimensions of the tile; how many elements
    of each one wave holds is the constraints' business. An empty shape is a
    scalar that every lane holds.
    """

    shape: tuple[Expr, ...]
    dtype: DType

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimension names, outermost first."""
        return tuple(dim_name(dim) for dim in self.shape)

    def __str__(self) -> str:
        return f"reg<{', '.join((*self.dims, str(self.dtype)))}>"


@dataclass(frozen=True, slots=True)
class MemoryType:
    """A memory: a kernel argument or an LDS allocation.

    Shapes: ``shape`` is logical; ``physical`` is the shape in storage where it
    differs (an LDS tile, a padded row), in elements, innermost last.
    """

    shape: tuple[Expr, ...]
    space: AddressSpace | Expr
    dtype: DType
    physical: tuple[Expr, ...] | None = None

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimension names, outermost first."""
        return tuple(dim_name(dim) for dim in self.shape)

    @property
    def storage_shape(self) -> tuple[Expr, ...]:
        """The shape in storage."""
        return self.shape if self.physical is None else self.physical

    def __str__(self) -> str:
        parts = [*self.dims, str(self.space), str(self.dtype)]
        if self.physical is not None:
            parts.append(f"physical[{', '.join(str(p) for p in self.physical)}]")
        return f"mem<{', '.join(parts)}>"


Type = RegisterType | MemoryType
