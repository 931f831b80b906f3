"""Random kernels that log a part of their registers.

Results stay right, and what is logged is the same by whole tiles, by lanes and as
machine code: which elements, and their values.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from launches import session

import wave_core.lang as tkw
from wave_core.ops.control import Conditional, Iterate
from wave_core.trace.tracer import Tracer
from wave_core.trace.value import Value
from wave_core.types import RegisterType
from wave_testing.programs import Discarded, launch_program, random_program

DEVICES = (("sim-logical", "gfx942"), ("sim", "gfx942"), ("emulator", "gfx942"))
REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0341": "a scan inside a conditional that lanes or waves may skip",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
    "WV0702": "a matrix instruction that the chip does not have",
}
"""Why a random program may be refused, by code."""

SHARE = 0.3
"""Of the registers that are logged."""


class Logging:
    """Logs registers while kernels are traced, the same ones in each trace."""

    def __init__(self, monkeypatch, seed):
        self.seed, self.logs = seed, {}
        self.emit = Tracer.emit
        monkeypatch.setattr(Tracer, "emit", self._wrapped())

    def launch(self, program, device, target):
        """The logs of one launch, whose results are right."""
        self.rng, self.logs, self.busy = np.random.default_rng(self.seed), {}, False
        launch_program(program, device=device, target=target, session=session())
        return self.logs

    def _wrapped(self):
        def emit(tracer, op, *rest):
            found = self.emit(tracer, op, *rest)
            around = list(tracer.region.around)
            # The function of a scan combines, and writes nothing.
            here = all(isinstance(each, Iterate | Conditional) for each in around)
            shown = here and isinstance(found.type, RegisterType) and not self.busy
            if shown and self.rng.random() < SHARE:
                self.busy = True
                loops = [each.axis for each in around if isinstance(each, Iterate)]
                tkw.debug_log(
                    Value(found),
                    extra_iteration_dimensions=loops[::-1],
                    printer=None,
                    handler=self._keep,
                )
                self.busy = False
            return found

        return emit

    def _keep(self, logs):
        self.logs = logs


def same(one, other):
    """Whether two logs have the same elements."""
    there = one["logged"]
    if not np.array_equal(there, other["logged"]):
        return False
    pair = (np.asarray(log["value"])[there] for log in (one, other))
    return np.array_equal(*pair, equal_nan=one["value"].dtype.kind == "f")


def check(monkeypatch, seeds):
    """Launch the programs; how many logs there were, and refusals by code."""
    count, tally = 0, Counter()
    for seed in seeds:
        logging = Logging(monkeypatch, seed)
        program = random_program(np.random.default_rng(seed), seed)
        try:
            first, *others = [logging.launch(program, *place) for place in DEVICES]
        except Discarded as refused:
            tally[refused.code] += 1
            continue
        finally:
            monkeypatch.undo()
        count += len(first)
        for place, logs in zip(DEVICES[1:], others, strict=True):
            wrong = [label for label in first if not same(first[label], logs[label])]
            assert (seed, place, wrong) == (seed, place, [])
    return count, tally


def test_a_few_programs(monkeypatch):
    count, tally = check(monkeypatch, range(5))
    assert count > 0
    assert tally.keys() <= REFUSALS.keys()


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(1000, 1400, 20))
def test_many_programs(monkeypatch, first):
    count, tally = check(monkeypatch, range(first, first + 20))
    assert count > 0
    assert tally.keys() <= REFUSALS.keys()
