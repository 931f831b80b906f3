"""A kernel inside a function that ``torch.compile`` compiles: one opaque operator.

Imported only where torch traces a call of a kernel, and so is at work already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.library import Library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.compile.kernel import WaveKernel

NAMESPACE = "wave"
"""Of the operators among those of torch."""


def call_opaque(
    kernel: WaveKernel, arguments: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Record a launch; what does not fit is reported when it runs."""
    given = [*arguments, *named.values()]
    tensors = [each for each in given if isinstance(each, torch.Tensor)]
    numbers = [each for each in given if not isinstance(each, torch.Tensor)]
    places = [isinstance(each, torch.Tensor) for each in given]
    operator = getattr(torch.ops.wave, operator_name(kernel))
    operator(tensors, numbers, places, list(named))


@torch.compiler.assume_constant_result  # pyright: ignore[reportUnknownMemberType] - torch leaves it untyped
def operator_name(kernel: WaveKernel) -> str:
    """The kernel's operator, declared when it is first traced.

    torch keeps operators, and so the kernel, until the process ends.
    """
    name = f"launch_{id(kernel)}"
    if kernel.operator is None:
        library: Any = Library(NAMESPACE, "FRAGMENT")
        library.define(
            f"{name}(Tensor(a!)[] tensors, Scalar[] numbers, bool[] places, "
            "str[] names) -> ()"
        )

        def run(
            tensors: list[Any], numbers: list[Any], places: list[bool], names: list[str]
        ) -> None:
            rows, scalars = iter(tensors), iter(numbers)
            given = [next(rows if each else scalars) for each in places]
            first = len(given) - len(names)
            words = dict(zip(names, given[first:], strict=True))
            kernel.run_untraced(*given[:first], **words)

        library.impl(name, run, "CompositeExplicitAutograd")
        library.impl(name, _nothing, "Meta")
        kernel.operator = library
    return name


def _nothing(*_: Any) -> None:
    """A launch on tensors without elements: outputs are allocated by the caller."""
