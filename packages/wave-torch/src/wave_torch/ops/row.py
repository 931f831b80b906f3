"""What one operator is, beside the function that it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

RESULT = "result"
"""The name under which a gradient asks for what the operator returned."""


def result_name(place: int) -> str:
    """The same for one of several results; the first is `RESULT`."""
    return f"{RESULT} {place}" if place else RESULT


@dataclass(frozen=True)
class Call:
    """One call of an operator, as its gradient sees it.

    Attributes:
        values: What the row's `saved` names, by name.
        wanted: The arguments whose gradients somebody asks for.
    """

    values: Mapping[str, Any]
    wanted: frozenset[str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class WaveOp:
    """A function of `wave_kernels.functions` as an operator of torch.

    Attributes:
        name: Of the function, and of the operator in the namespace ``wave``.
        schema: Arguments and returns as torch writes them. The arguments are those of
            the function, with its defaults and without ``out``.
        result: Takes the arguments, returns empty tensors like those that the function
            would: shapes, types and strides without a launch.
        gradient: Takes the call and the gradient of each result; returns gradients of
            arguments by name. It consists of operators of torch and of this table, so
            it has a gradient itself. None where the function has none.
        saved: What the gradient reads: arguments, and results by `result_name`.
        without: Arguments and results that have no gradient, by such names.
        trained: Takes the arguments, and calls the operator of which this one returns a
            part, where somebody asks for gradients; that one has them.
        narrowed: Arguments to which autocast gives its type, as torch does for
            products; without any, all get float32, as for what sums rows up.
    """

    name: str
    schema: str
    result: Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]
    gradient: Callable[..., Mapping[str, torch.Tensor]] | None = None
    saved: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    trained: Callable[..., torch.Tensor] | None = None
    narrowed: tuple[str, ...] = ()
