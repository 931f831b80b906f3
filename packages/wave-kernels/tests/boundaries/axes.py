"""The sizes that a function is called with, and what its results are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch

PRIME = 13
LONG = 1031
HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)
ULP = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""Beside what a function promises: half of it for the result, half for its type."""


@dataclass(frozen=True)
class Axis:
    """A size of a function's arguments.

    Attributes:
        usual: Where another size is at an edge.
        tile: How many of it a workgroup, a wave or an instruction takes.
        long: Much longer than tiles.
        least: What is less is refused.
        most: What is more is refused.
        step: What is no multiple is refused.
    """

    usual: int
    tile: int = 64
    long: int = LONG
    least: int = 0
    most: int | None = None
    step: int = 1

    @property
    def edges(self) -> tuple[int, ...]:
        """Nothing, one, a prime, about a tile, very long, and beyond the most."""
        about = (self.tile - 1, self.tile, self.tile + 1)
        ends = (self.long,) if self.most is None else (self.most, self.most + 1)
        return tuple(dict.fromkeys((0, 1, PRIME, *about, *ends)))

    def takes(self, size: int) -> bool:
        """Whether a function promises to."""
        below = self.most is None or size <= self.most
        return self.least <= size and below and size % self.step == 0


@dataclass(frozen=True)
class Trial:
    """A call, and what is right.

    Attributes:
        arguments: In order.
        wanted: Each result, in f64.
        limits: How far from it a result may be, beside rounding.
        named: Arguments by keyword.
    """

    arguments: tuple[Any, ...]
    wanted: tuple[torch.Tensor, ...]
    limits: tuple[float, ...]
    named: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Boundary:
    """A function at the edges of its sizes.

    Attributes:
        trial: Takes a type and sizes by name.
        axes: The sizes.
        dtypes: Of the operands.
    """

    trial: Callable[..., Trial]
    axes: Mapping[str, Axis]
    dtypes: tuple[torch.dtype, ...] = FLOATS

    @property
    def edges(self) -> list[tuple[str, int]]:
        """An axis, and a size of it."""
        return [(name, n) for name, axis in self.axes.items() for n in axis.edges]

    def sizes(self, name: str, size: int) -> dict[str, int]:
        """With one axis at an edge."""
        return {n: axis.usual for n, axis in self.axes.items()} | {name: size}


SPOILER: ContextVar[Callable[[torch.Tensor], None] | None]
SPOILER = ContextVar("SPOILER", default=None)
"""Puts odd numbers among those that are drawn for an argument."""


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return drawn(torch.randn(shape)).to(dtype)


def drawn(numbers: torch.Tensor) -> torch.Tensor:
    """An argument's, before they are rounded to its type."""
    spoil = SPOILER.get()
    if spoil is not None:
        spoil(numbers)
    return numbers


def greatest(tensor: torch.Tensor) -> float:
    """Of absolute values."""
    return float(tensor.abs().max()) if tensor.numel() else 0.0
