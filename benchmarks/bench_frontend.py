"""The front end alone, from a Python function to the lowered graph, warm."""

from __future__ import annotations

from dataclasses import replace

from measure import cpu_times, median, report

from wave_core.compile import Config, Session, wave_compile
from wave_kernels.cases.attention import attention_case
from wave_kernels.cases.conv import conv_case
from wave_kernels.cases.gemm import gemm_case, staged_gemm_case
from wave_kernels.cases.head_attention import head_attention_case
from wave_kernels.cases.softmax import softmax_case

REPEATS = 20
"""Compilations of which the median counts."""

SQUARE = {"M": 1024, "N": 1024, "K": 1024}
WIDE_TILE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}
UNALIGNED = {"M": 1000, "N": 1001, "K": 1003}
CASES = (
    ("gemm 1024^3, tile 128x256x64", gemm_case, SQUARE, WIDE_TILE, 150),
    ("gemm, sizes no tile divides", gemm_case, UNALIGNED, WIDE_TILE, 150),
    ("gemm, dynamic sizes", gemm_case, SQUARE, WIDE_TILE | {"DYNAMIC": 1}, 150),
    ("gemm staged by hand", staged_gemm_case, SQUARE, WIDE_TILE, 150),
    ("attention H4 S256 D64", attention_case, {}, {}, 400),
    ("attention over heads", head_attention_case, {}, {}, 400),
    ("conv2d", conv_case, {}, {}, 400),
    ("softmax", softmax_case, {}, {}, None),
)
"""Name, case, shape, settings, and the limit in ms of CPU time."""


def frontend(case_of, shape, settings):
    """CPU seconds of each compilation, from trace to lowered graph."""
    # Without a cache every compilation runs the whole front end.
    session = Session(config=replace(Config(), cache=False))
    case = case_of(shape, settings, "generic")
    options = replace(case.options, device="sim")
    return cpu_times(
        lambda: wave_compile(options, case.kernel, session=session), REPEATS
    )


if __name__ == "__main__":
    report(
        "front end: trace to lowered IR, CPU time",
        (
            median(name, frontend(case_of, shape, settings), "ms", limit)
            for name, case_of, shape, settings, limit in CASES
        ),
    )
