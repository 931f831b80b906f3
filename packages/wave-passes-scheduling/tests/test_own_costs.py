"""Costs that the author of a kernel gives, as bindings of symbols."""

from __future__ import annotations

import pytest
from tagged_kernels import K, M, N, gemm_error, statistics, tagged_gemm

import wave_core.lang as tkw
from wave_core.compile import SchedulingType, Session
from wave_core.diagnostics import UserError
from wave_passes_scheduling.files.text import read_text

SIZES = {M: 40, N: 33, K: 640}


def scheduled(costs, **options):
    options = tkw.WaveCompileOptions(
        subs=SIZES | costs,
        device="sim",
        target="gfx942",
        schedule=SchedulingType.MODULO,
        **options,
    )
    return tkw.wave_compile(options, tagged_gemm(), session=Session())


def test_units_are_as_many_as_the_author_says(tmp_path):
    intervals = []
    for costs in ({tkw.SHARED_MEMORY_UNITS: 4}, {}):
        file = tmp_path / "schedule.txt"
        assert gemm_error(scheduled(costs, dump_schedule=file), SIZES) < 1e-4
        intervals.append(read_text(file.read_text("utf-8")).interval)
    assert intervals[0] < intervals[1]


def test_a_delay_is_the_one_that_the_author_gives():
    stages = [
        statistics(scheduled({tkw.READ_GLOBAL_DELAY: cycles}))["stages"]
        for cycles in (1, 1000)
    ]
    assert stages[0] < stages[1]
    assert gemm_error(scheduled({tkw.READ_GLOBAL_DELAY: 1000}), SIZES) < 1e-4


def test_files_are_read_with_the_costs_that_they_were_written_with(tmp_path):
    costs = {tkw.SHARED_MEMORY_UNITS: 4, tkw.READ_GLOBAL_DELAY: 300}
    file = tmp_path / "schedule.txt"
    for field in ("dump_schedule", "override_schedule"):
        assert gemm_error(scheduled(costs, **{field: file}), SIZES) < 1e-4


@pytest.mark.parametrize(
    ("symbol", "value", "least"),
    [(tkw.MMA_UNITS, 0, 1), (tkw.VALU_DELAY, 1 << 20, 0)],
)
def test_costs_that_no_machine_has_are_refused(symbol, value, least):
    with pytest.raises(UserError) as caught:
        scheduled({symbol: value})
    text = str(caught.value)
    assert text.startswith(
        f"error[WV0822]: `{str(symbol).lstrip('$')}` is bound to {value}\n"
    )
    assert text.endswith(f"= help: schedulers take costs from {least} to 65536")
