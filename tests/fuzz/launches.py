"""How random programs are launched: which numbers, target, preset and passes."""

from __future__ import annotations

import traceback
from collections import Counter
from functools import cache

import numpy as np

from wave_core.compile import Config, Session
from wave_testing import staging
from wave_testing.programs import (
    Discarded,
    ProgramFailure,
    launch_program,
    on_devices,
    random_matrix_program,
    random_program,
    with_functions,
    with_real_numbers,
    with_special_numbers,
    with_tiny_numbers,
)

PRESETS = (
    *("naive", "default", "prefetch", "four-stage", "fetch-ahead", "modulo"),
    *("pingpong", "prefetch-attention", "auto"),
)
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
NVIDIA_CHIPS = ("sm_80", "sm_89", "sm_90a")
NUMBERS = (
    None,
    with_real_numbers,
    with_real_numbers,
    with_special_numbers,
    with_tiny_numbers,
)


@cache
def session():
    """The installed plugins, and one that asks for staging."""
    plugins = {"staging": staging}
    return Session(plugins, config=Config(cache=False), announce=lambda _: None)


def some_options(rng):
    """A preset, and at times what changes the loop or the copies."""
    found = {"preset": str(rng.choice(PRESETS))}
    if rng.random() < 0.3:
        found["unroll_factor"] = int(rng.integers(2, 5))
    if rng.random() < 0.3:
        found["eliminate_epilogue"] = True
    if rng.random() < 0.25:
        found["use_global_to_shared"] = True
    if rng.random() < 0.9:
        found["passes"] = ("ask-for-staging",)
    return found


def some_variant(program, rng):
    """On exact, rounded, special or tiny numbers; at times with functions, or cut."""
    change = NUMBERS[rng.integers(len(NUMBERS))]
    program = program if change is None else change(program)
    if rng.random() < 0.25:
        program = with_functions(program, rng)
    return on_devices(program, rng) if rng.random() < 0.1 else program


def launch(maker, seed, chips, change=None):
    """Launch a program once, on a device and with options that its seed decides."""
    rng = np.random.default_rng([seed, 1])
    program = some_variant(maker(np.random.default_rng(seed), seed), rng)
    program = program if change is None else change(program)
    device = "emulator" if rng.random() < 0.7 else "sim"
    chip, options = str(rng.choice(chips)), some_options(rng)
    launch_program(program, device=device, target=chip, session=session(), **options)


def outcomes(maker, seeds, chips, change=None):
    """Launch the programs; how many are right or refused, by code; and what is not.

    A failure says its seed; programs that are ``wrong`` gave other numbers, or the
    device reported something; what is ``uncoded`` ended in some exception. ``change``
    makes another program of each.
    """
    return tallied(seeds, lambda seed: launch(maker, seed, chips, change))


def tallied(seeds, judge):
    """What ``judge`` finds of each seed, as `outcomes` counts it.

    It raises what a launch raises, and may return what is wrong, a text for each.
    """
    tally, failures = Counter(), []
    for seed in seeds:
        try:
            wrong = judge(seed)
            outcome = "other bits" if wrong else "right"
            failures += [f"{seed}: {', '.join(wrong)}"] if wrong else []
        except Discarded as refused:
            outcome = refused.code
        except ProgramFailure as failure:
            outcome = "wrong"
            failures.append(f"{seed}: {failure}")
        except Exception:  # noqa: BLE001 - an error without a code is what is looked for
            outcome = "uncoded"
            failures.append(f"{seed}: {traceback.format_exc()}")
        tally[outcome] += 1
    return tally, failures


def any_program(rng, seed):
    """A program of any kind, every fourth of one that multiplies matrices."""
    return (random_matrix_program if seed % 4 == 3 else random_program)(rng, seed)
