"""Which cache lines miss in L1 and which come from memory.

L1 is the share of one workgroup, with the least recently used line leaving; stores
always go on to L2. Each line comes from memory once in a launch: L2 is taken to be
large enough for what is used again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from wave_emulator_amdgcn.costs.meter import LINE_BYTES, Meter

if TYPE_CHECKING:
    from wave_emulator_amdgcn.program import Program


def count_misses(meter: Meter, size: int, stores: frozenset[int]) -> None:
    """Set the lines that a wave's execution of each instruction misses in L1."""
    held: OrderedDict[int, None] = OrderedDict()
    most = max(1, size // LINE_BYTES)
    missed: dict[int, int] = {}
    times: dict[int, int] = {}
    for pc, lines in meter.trace:
        times[pc] = times.get(pc, 0) + 1
        misses = len(lines) if pc in stores else sum(n not in held for n in lines)
        missed[pc] = missed.get(pc, 0) + misses
        for line in lines:
            held[line] = None
            held.move_to_end(line)
        while len(held) > most:
            held.popitem(last=False)
    for pc, count in missed.items():
        meter.samples[pc].missed = count / times[pc]


def memory_share(meter: Meter, program: Program, part: float) -> float:
    """The part of the lines that L2 is asked for that comes from memory, 0 to 1.

    Where only a ``part`` of the launch was executed, the rest asks for as many lines
    each and for others, until a buffer has no more.
    """
    asked = sum(
        meter.samples[bound.instruction.pc].missed * bound.count
        for bound in program.executed()
        if bound.instruction.pc in meter.samples
    )
    if not asked:
        return 0.0
    lines = 0.0
    for first, last in meter.buffers:
        touched = float(meter.touched[first:last].sum())
        lines += touched if part == 1 else min(touched / part, last - first)
    return min(1.0, lines * part / asked)
