"""A case of a kernel for which nobody wrote one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.compile.choosing import settlements
from wave_core.compile.front import traced_graph
from wave_core.compile.kernels import KernelCase
from wave_core.compile.launch.signature import Signature
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wave_core.compile.launch.signature import Parameter
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session


def bare_case(
    kernel: LaunchableWave,
    options: WaveCompileOptions,
    shape: Mapping[str, int],
    session: Session,
) -> KernelCase:
    """A kernel with arguments made up from its signature: there is no reference.

    Floats are random, integers zeros, which are valid wherever they are indices.

    Raises:
        UserError: WV0826 for a kernel that takes numbers, whose values nobody knows;
            and for mistakes in the kernel.
    """
    settled = settlements(replace(options, preset="default"), kernel, session)[0]
    rows = Signature.of(traced_graph(settled, kernel, session)).parameters
    numbers = [row for row in rows if not row.is_tensor]
    unknown = [row for row in rows if not all(e.is_constant for e in row.extents)]
    if numbers or unknown:
        first = (numbers + unknown)[0]
        raise user_error(
            "WV0826",
            f"nobody knows the arguments of `{kernel.name}`: `{first}`",
            at=kernel.location,
            help=(
                "give every size: `--shape M=512,N=512`",
                "or name a function (shape, settings, target) -> KernelCase",
            ),
        )
    return KernelCase(
        kernel=kernel,
        options=options,
        shape=shape,
        make_arguments=partial(_arguments, rows),
        reference=lambda _: [],
        outputs=tuple(row.position for row in rows if row.is_output),
        tolerance=0.0,
    )


def _arguments(rows: Sequence[Parameter], rng: np.random.Generator) -> list[Any]:
    """An array for each parameter."""
    found: list[Any] = []
    for row in rows:
        extents = tuple(each.constant_value for each in row.extents)
        dtype = row.dtype.numpy()
        values = rng.standard_normal(extents) if row.dtype.is_float else 0
        found.append(np.full(extents, values, np.float64).astype(dtype))
    return found
