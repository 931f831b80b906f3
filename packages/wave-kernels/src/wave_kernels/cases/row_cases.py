"""A case of a kernel that goes from row to row, as many as the launch has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    Arguments = Callable[[np.random.Generator], Sequence[Any]]
    Reference = Callable[[Sequence[Any]], Sequence[Any]]

TOLERANCE = 1e-5
"""Of numbers about 1; what is counted is exact."""


def case_of_rows(
    kernel: Any,
    asked: tuple[Mapping[str, int], Mapping[str, int | str], str],
    symbols: tuple[Mapping[str, int], Mapping[str, int]],
    launch: tuple[Arguments, Reference, tuple[int, ...]],
) -> KernelCase:
    """Of a kernel whose second ``symbols`` may be dynamic."""
    sizes, settings, target = asked
    fixed, rows = symbols
    dynamic = list(rows) if settings["DYNAMIC"] else []
    bound = fixed if dynamic else {**fixed, **rows}
    make_arguments, reference, outputs = launch
    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(
            subs={getattr(tkl.sym, name): size for name, size in bound.items()},
            dynamic_symbols=[getattr(tkl.sym, name) for name in dynamic],
            target=target,
        ),
        shape=sizes,
        settings=settings,
        make_arguments=make_arguments,
        reference=reference,
        outputs=outputs,
        tolerance=TOLERANCE,
        scale=lambda _: 1.0,
    )
