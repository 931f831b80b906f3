"""Makes and checks random programs: ``python -m wave_testing.programs --seed 7``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np

from wave_testing.programs.check import Discarded
from wave_testing.programs.check import ProgramFailure
from wave_testing.programs.check import check_program
from wave_testing.programs.generate import random_program
from wave_testing.programs.shrink import shrink


def main(arguments: list[str] | None = None) -> int:
    """Check ``--count`` programs from ``--seed`` on; 1 where one fails."""
    parser = argparse.ArgumentParser(prog="wave_testing.programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print every program")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--shrink", action="store_true", help="shrink what fails")
    options = parser.parse_args(arguments)
    tally: Counter[str] = Counter()
    started = time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        program = random_program(np.random.default_rng(seed), seed)
        if options.show:
            _say(str(program))
        try:
            check_program(program)
            tally["right"] += 1
        except Discarded as discarded:
            tally[discarded.code] += 1
            if options.show:
                _say(str(discarded))
        except ProgramFailure as failure:
            tally["wrong"] += 1
            _say(f"{seed}: {failure}")
            if options.shrink:
                _say(f"smaller: {shrink(failure)}")
            if not options.keep_going:
                break
    seconds = time.perf_counter() - started
    _say(f"{dict(tally)} in {seconds:.1f} s")
    return 1 if tally["wrong"] else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
