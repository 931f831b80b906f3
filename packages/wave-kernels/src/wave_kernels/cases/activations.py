"""What activations are in f64."""

from __future__ import annotations

from math import erf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _relu(x: Any) -> Any:
    return x.clip(0.0)


def _sigmoid(x: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    return 1.0 / (1.0 + np.exp(-x))


def _gelu(x: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    return 0.5 * x * (1.0 + np.vectorize(erf, otypes=["float64"])(x / 2.0**0.5))


def _tanh(x: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    return np.tanh(x)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": _relu,
    "gelu": _gelu,
    "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid,
    "tanh": _tanh,
}
"""By the names that `Epilogue` has for them."""
