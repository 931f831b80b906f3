"""The cases of the kernels that normalise rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.peers import norm
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.norms import layer_norm_kernel, rms_norm_kernel
from wave_kernels.definitions.rows import HELD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import numpy as np

EPS = 1e-5
TOLERANCE = 1e-5
"""Of the largest result."""


def rms_norm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """RMS norm of each row in f32; ``DYNAMIC=1`` leaves M to the launch.

    ``LONG=1`` goes along the rows, as along those that no wave can hold.
    """
    return _case(rms_norm_kernel, _rms_norm, 1, (shape, settings, target))


def layer_norm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Layer norm of each row in f32; ``DYNAMIC=1`` leaves M to the launch.

    ``LONG=1`` goes along the rows, as along those that no wave can hold.
    """
    return _case(layer_norm_kernel, _layer_norm, 2, (shape, settings, target))


def _case(
    make: Callable[..., Any],
    reference: Callable[[Sequence[Any]], Sequence[Any]],
    vectors: int,
    asked: tuple[Mapping[str, int], Mapping[str, int | str], str],
) -> KernelCase:
    """A kernel that takes rows and so many numbers a column."""
    shape, settings, target = asked
    sizes = with_defaults(shape, {"M": 128, "N": 256})
    waves = left_open(settings, ("WAVES_N",))
    chosen = {
        **waves,
        **with_defaults(settings, {"DYNAMIC": 0, "LONG": int(sizes["N"] > HELD)}),
    }
    row = {"N": sizes["N"]}
    subs, _ = symbols(row if chosen["DYNAMIC"] else sizes, waves)
    m, n = sizes["M"], sizes["N"]

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        x = normal(rng, (m, n), tkl.f32) * 3 + 1
        columns = [normal(rng, (n,), tkl.f32) for _ in range(vectors)]
        return [x, *columns, EPS, poisoned((m, n), tkl.f32)]

    return KernelCase(
        kernel=make(long=bool(chosen["LONG"])),
        options=tkl.WaveCompileOptions(
            subs=subs,
            dynamic_symbols=[tkl.sym.M] if chosen["DYNAMIC"] else [],
            target=target,
        ),
        shape=sizes,
        settings=chosen,
        make_arguments=make_arguments,
        reference=reference,
        outputs=(vectors + 2,),
        peers=norm(vectors),
        tolerance=TOLERANCE,
    )


def _rms_norm(arguments: Sequence[Any]) -> Sequence[Any]:
    x, w = (each.astype("float64") for each in arguments[:2])
    return [_scaled(x) * w]


def _layer_norm(arguments: Sequence[Any]) -> Sequence[Any]:
    x, w, b = (each.astype("float64") for each in arguments[:3])
    mean = x.sum(axis=1, keepdims=True) / max(x.shape[1], 1)
    return [_scaled(x - mean) * w + b]


def _scaled(rows: Any) -> Any:
    """Rows over the roots of their mean squares."""
    squares = (rows * rows).sum(axis=1, keepdims=True) / max(rows.shape[1], 1)
    return rows / (squares + EPS) ** 0.5
