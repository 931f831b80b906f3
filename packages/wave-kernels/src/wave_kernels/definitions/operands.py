"""Kernels whose operands depend on what they are asked to compute."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def declared(
    operands: Mapping[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say of a kernel's ``*memories`` what they are: names and types, in order."""

    def decorate(kernel: Callable[..., None]) -> Callable[..., None]:
        kind = Parameter.POSITIONAL_OR_KEYWORD
        every = [Parameter(n, kind, annotation=t) for n, t in operands.items()]
        kernel.__annotations__ = dict(operands)
        vars(kernel)["__signature__"] = Signature(every)
        return kernel

    return decorate
