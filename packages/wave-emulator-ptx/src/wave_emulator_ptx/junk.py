"""Whether bytes of shared memory that nobody wrote matter to a launch.

Wide loads fetch what pads a tile, and code that is correct does not use it. So where
such bytes were read, the launch is executed again with other bytes in their place: if
every array ends as before, nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_ptx.errors import ExecutionError, Report
from wave_emulator_ptx.memory import FIRST

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bytes
    from wave_emulator_ptx.options import LaunchOptions, LaunchResult

#: Puts bytes into shared memory before the first instruction.
Fill: TypeAlias = Callable[["Bytes"], None]
#: Runs the launch on arrays, which it writes.
Execute: TypeAlias = Callable[["list[Bytes]", Fill, "LaunchOptions"], "LaunchResult"]


def ones(data: Bytes) -> None:
    """NaN in every type of floats that has one of all ones: it survives products."""
    data[:] = 0xFF


def anything(data: Bytes) -> None:
    """Any bytes, mostly finite numbers: they survive maxima."""
    data[:] = np.random.default_rng(0).integers(0, 256, data.size, np.uint8)


def is_doubtful(report: Report) -> bool:
    """Whether a report is about a read of shared memory that nobody wrote."""
    address = report.address
    return report.code == "EP0505" and address is not None and address < FIRST


def settled(
    result: LaunchResult,
    arrays: list[Bytes],
    before: list[Bytes],
    execute: Execute,
    options: LaunchOptions,
) -> LaunchResult:
    """The result without reads of unwritten bytes, if nothing depends on these.

    Args:
        result: Of the launch.
        arrays: What it made of the arrays.
        before: What these were.
        execute: Runs it again.
        options: How it was executed.
    """
    limit = min(options.limit, 2 * result.instructions + 1000)
    chosen = replace(options, limit=limit)
    known = {(each.line, each.code) for each in result.reports}
    for fill in (ones, anything):
        copies = [each.copy() for each in before]
        try:
            other = execute(copies, fill, chosen)
        except ExecutionError:  # a branch or a loop depends on them
            return result
        new = {(each.line, each.code) for each in other.reports} - known
        pairs = zip(arrays, copies, strict=True)
        if new or not all(np.array_equal(one, two) for one, two in pairs):
            return result
    kept = [each for each in result.reports if not is_doubtful(each)]
    return replace(result, reports=kept)
