"""Makes and checks random programs: ``python -m wave_testing.programs --seed 7``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wave_testing.programs.check import Discarded, ProgramFailure, check_program
from wave_testing.programs.execute import TARGET
from wave_testing.programs.generate import random_program
from wave_testing.programs.launch import launch_program
from wave_testing.programs.matrix import random_matrix_program
from wave_testing.programs.shrink import shrink

if TYPE_CHECKING:
    from wave_testing.programs.model import Program

MAKERS = {"any": random_program, "matrix": random_matrix_program}
"""The generators: of all kinds of programs, of those that multiply matrices."""


def main(arguments: list[str] | None = None) -> int:
    """Check ``--count`` programs from ``--seed`` on; 1 where one fails."""
    parser = argparse.ArgumentParser(prog="wave_testing.programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print every program")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--shrink", action="store_true", help="shrink what fails")
    parser.add_argument("--device", help="launch on it, and on the lane simulator")
    parser.add_argument("--kind", choices=MAKERS, default="any")
    parser.add_argument("--target", default=TARGET, help="what they are compiled for")
    parser.add_argument("--passes", default="", help="beside those of core")
    options = parser.parse_args(arguments)
    check = partial(
        _check, device=options.device, target=options.target, passes=options.passes
    )
    tally: Counter[str] = Counter()
    started = time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        program = MAKERS[options.kind](np.random.default_rng(seed), seed)
        if options.show:
            _say(str(program))
        try:
            check(program)
            tally["right"] += 1
        except Discarded as discarded:
            tally[discarded.code] += 1
            if options.show:
                _say(str(discarded))
        except ProgramFailure as failure:
            tally["wrong"] += 1
            _say(f"{seed}: {failure}")
            if options.shrink:
                _say(f"smaller: {shrink(failure, check=check)}")
            if not options.keep_going:
                break
    seconds = time.perf_counter() - started
    _say(f"{dict(tally)} in {seconds:.1f} s")
    return 1 if tally["wrong"] else 0


def _check(program: Program, device: str | None, target: str, passes: str) -> None:
    """Every phase of the compiler; or launches on a device and on the simulator."""
    if device is None:
        check_program(program, passes=passes, target=target)
        return
    launch_program(program, device="sim", target=target)
    launch_program(program, device=device, target=target)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
