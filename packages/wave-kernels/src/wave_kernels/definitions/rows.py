"""Rows of a matrix, each held whole by the waves of one workgroup."""

# Kernels are written in Wave: symbols as types and sizes.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import sympy

import wave_core.lang as tkl
import wave_core.lang as tkw

M = tkl.sym.M
N = tkl.sym.N
WAVES_N = tkl.sym.WAVES_N

STEP = 256
"""What a wave loads by one instruction: four f32 for each of 64 lanes."""

SHARE = sympy.Max(1, sympy.Min(N, STEP * sympy.ceiling(N / (STEP * WAVES_N))))
"""What a wave has of a row: whole steps, so that a short row has fewer waves."""

ROW = SHARE * sympy.Max(1, sympy.ceiling(N / SHARE))
"""What all waves have together."""


def row_constraints(*, maxima_drop_nan: bool = False) -> list[Any]:
    """A workgroup for each row of ``[M, N]``, ``WAVES_N`` waves of it at most."""
    return [
        tkw.HardwareConstraint(vector_shapes={M: 1, N: SHARE}),
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.WorkgroupConstraint(N, ROW, 1),
        tkw.WaveConstraint(M, 1),
        tkw.WaveConstraint(N, SHARE),
        tkw.Tunable(WAVES_N, (4,), narrow=(16,)),
        tkw.FastMath(maxima_drop_nan=maxima_drop_nan),
    ]
