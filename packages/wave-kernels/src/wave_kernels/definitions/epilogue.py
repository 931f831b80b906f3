"""How sums of products are finished before they are stored."""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportCallIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.diagnostics import user_error
from wave_kernels.definitions.products import M, N

if TYPE_CHECKING:
    from collections.abc import Callable


def _relu(x: Any) -> Any:
    return tkw.maximum(x, tkl.Register[M, N, tkl.f32](0.0))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": _relu,
    "gelu": tkw.gelu,
    "silu": tkw.silu,
    "sigmoid": tkw.sigmoid,
    "tanh": tkw.tanh,
}
"""What may be applied to each sum, as `torch.nn.functional` has it; gelu by erf."""


def check_activation(name: str) -> None:
    """See that there is such an activation.

    Raises:
        UserError: WV0823 for an unknown one.
    """
    if name not in (*ACTIVATIONS,):
        raise user_error(
            "WV0823",
            f"there is no activation `{name}`",
            help=f"it is one of {', '.join(ACTIVATIONS)}",
        )


@dataclass(frozen=True)
class Epilogue:
    """How ``a b`` is finished: ``c = activation(a b + bias) + residual``.

    Attributes:
        bias: Whether ``bias: [N]`` is added to each row.
        activation: One of `ACTIVATIONS`; empty where there is none.
        residual: Whether ``residual: [M, N]`` is added at the end.
    """

    bias: bool = False
    activation: str = ""
    residual: bool = False

    def __post_init__(self) -> None:
        """Refuse what no kernel computes.

        Raises:
            UserError: WV0823 for an unknown activation.
        """
        if self.activation not in ("", None):
            check_activation(self.activation)

    def activated(self, sums: Any) -> Any:
        """The activation of each sum."""
        return ACTIVATIONS[self.activation](sums) if self.activation else sums


PLAIN = Epilogue()
"""Sums are stored as they are."""
