"""Random kernels by the assembly path: what numpy gives, and the simulator's bits.

Numbers, presets and passes are those of `test_scheduled_programs`. The same kernel runs
on lanes and as machine code that no other compiler has seen, and neither may report
anything. Functions such as `exp`, and quotients, are within steps of the last bit, so
programs that have them are compared with numpy alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from launches import any_program, session, some_options, some_variant, tallied
from test_scheduled_programs import REFUSALS

from wave_testing.programs import launch_program
from wave_testing.programs.kinds import ROUNDED

CHIPS = ("gfx942", "gfx950")
UNSELECTED = {
    "WV0610": "an op, an element type or a size of memory without instructions",
    "WV0611": "values that registers do not hold",
}
"""Why the assembly path refuses a program that another path may take, by code."""

LAST_BITS = {*ROUNDED, "exp2"}
"""Kinds whose last bits differ: the emulator rounds `exp2` of f32 once, numpy's is one
step off for a fifth of all numbers.
"""


def other_bits(seed, older=""):
    """Which outputs of machine code have other bits than those of lanes.

    Args:
        seed: of the program, of the chip and of the options.
        older: another chip.
    """
    rng = np.random.default_rng([seed, 1])
    program = some_variant(any_program(np.random.default_rng(seed), seed), rng)
    chip, options = str(rng.choice(CHIPS)), some_options(rng)
    how = {"target": older or chip, "session": session(), "backend": "asm", **options}
    found = launch_program(program, device="emulator", **how)
    if any(step.kind in LAST_BITS for step in program.walk()):
        return []
    return differing(found, launch_program(program, device="sim", **how))


def differing(found, expected):
    """Which arguments differ in a bit, other than of what is no number."""
    wrong = []
    for number, pair in enumerate(zip(found, expected, strict=True)):
        a, b = map(np.ascontiguousarray, pair)
        same = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
        if a.dtype.kind in "fV":  # narrow ones of ml_dtypes are V
            same |= np.isnan(a) & np.isnan(b)
        wrong += [] if same.all() else [f"argument {number}: {(~same).sum()} elements"]
    return wrong


@pytest.mark.parametrize("first", [0, 3, 8])
def test_some_programs_have_the_bits_of_the_simulator(first):
    tally, failures = tallied(range(first, first + 2), other_bits)
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS, *UNSELECTED}


def on_gfx90a(seed):
    """The same on CDNA2, which lacks instructions and calls others differently."""
    return other_bits(seed, "gfx90a")


@pytest.mark.parametrize("first", [1, 5])
def test_some_programs_have_the_bits_of_the_simulator_on_cdna2(first):
    tally, failures = tallied(range(first, first + 2), on_gfx90a)
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS, *UNSELECTED}


@pytest.mark.parametrize("seed", [1160, 1781, 1267, 72007])
def test_programs_that_were_wrong(seed):
    """A pair of numbers as an operand of half a register; a constant of f64 in two
    pairs of registers, as both operands; a bound that was no number; products that
    simulator and emulator added up in another order.
    """
    assert tallied([seed], other_bits) == ({"right": 1}, [])


def test_a_program_whose_accesses_have_several_bits_of_caches():
    """CDNA2 has the same bit for volatile and for not temporal."""
    assert tallied([182024], on_gfx90a) == ({"right": 1}, [])


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("differ", [other_bits, on_gfx90a])
def test_any_number_of_programs_has_the_bits_of_the_simulator(
    seeds, differ, record_property
):
    """`nox -s fuzz -- tests/fuzz/test_assembly_programs.py --programs 5000`.

    Every fourth program is executed on gfx90a as well.
    """
    seeds = seeds[::4] if differ is on_gfx90a else seeds
    tally, failures = tallied(seeds, differ)
    record_property("programs", dict(tally))
    assert failures == []
    assert tally.keys() <= {"right", *REFUSALS, *UNSELECTED}
    assert tally["right"] >= 0.3 * len(seeds)
