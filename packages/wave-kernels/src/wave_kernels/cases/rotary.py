"""The case of rotary embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.rotary import rotary_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def rotary_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Heads of ``M`` f32 tokens, each turned by one of as many positions.

    ``INTERLEAVED=1`` has pairs of neighbours; ``PAIRS`` says how many there are, if not
    half of ``D``; ``DYNAMIC=1`` leaves M and H to the launch.
    """
    sizes = with_defaults(shape, {"M": 64, "H": 8, "D": 128})
    m, h, d = sizes.values()
    chosen = with_defaults(settings, {"INTERLEAVED": 0, "PAIRS": d // 2, "DYNAMIC": 0})
    half = int(chosen["PAIRS"])
    rest = {"REST": d - 2 * half} if d > 2 * half else {}
    interleaved = bool(chosen["INTERLEAVED"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        angles = rng.random((m, half), "float32") * 7
        x = normal(rng, (m, h, d), tkl.f32)
        positions = rng.permutation(m).astype("int32")
        found = poisoned((m, h, d), tkl.f32)
        return [x, *_turns(angles), positions, found]

    def turned(arguments: Sequence[Any]) -> Sequence[Any]:
        return [_turned(arguments, interleaved=interleaved)]

    return case_of_rows(
        rotary_kernel(interleaved=interleaved, partial=bool(rest)),
        (sizes, chosen, target),
        (
            {"CHANNELS": d, "HALF": half, **rest},
            {"TOKENS": m, "HEADS": h, "POSITIONS": m},
        ),
        (make_arguments, turned, (4,)),
    )


def _turns(angles: Any) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    return np.cos(angles), np.sin(angles)


def _turned(arguments: Sequence[Any], *, interleaved: bool) -> Any:
    """Pairs as complex numbers, in f64."""
    x, cos, sin, positions, _ = arguments
    half = cos.shape[1]
    first = slice(0, 2 * half, 2) if interleaved else slice(half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    wide = x.astype("float64")
    turn = (cos + 1j * sin.astype("float64"))[positions][:, None]
    pairs = (wide[..., first] + 1j * wide[..., second]) * turn
    found = wide.copy()
    found[..., first], found[..., second] = pairs.real, pairs.imag
    return found
