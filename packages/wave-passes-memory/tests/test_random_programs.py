"""Random programs, with each pass alone and with all: right before and after."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import crowded
import numpy as np
import pytest

from wave_core.compile import Session
from wave_core.passes import Amendment, PassObserver, Pipeline, Verify
from wave_passes_memory.plugin import wave_register_passes
from wave_testing import staging
from wave_testing.programs import (
    Discarded,
    check_program,
    random_matrix_program,
    random_program,
)
from wave_testing.programs.execute import Execution
from wave_testing.programs.store import for_target, from_json

PASSES = tuple(spec.name for spec in wave_register_passes())
STAGING = ("ask-for-staging", "promote-shared")
OPTIONS = {
    "copy-direct-to-lds": "{demanded=true}",
    "pack-shared-memory": "{within-loops=true}",
}
FED_BY = {
    "merge-contiguous-reads": ("pack-matrix-operands",),
    "count-copy-waits": ("copy-direct-to-lds",),
}
"""Passes without which another one finds next to nothing to do."""

TARGETS = {
    "copy-direct-to-lds": "gfx950",
    "count-copy-waits": "gfx950",
    "use-transposed-reads": "gfx950",
    "delay-reads": "crowded",
}
"""Where a pass has work to do; gfx942 for all others."""

REFUSALS = {
    "WV0309": "a relayout inside a conditional, where no barrier may stand",
    "WV0321": "a condition with several elements in a lane",
    "WV0342": "a sort along a dim whose elements no network meets",
    "WV0406": "more LDS than there is",
    "WV0412": "a barrier inside a conditional that waves may skip",
    "WV0415": "a direct copy to a buffer that is laid out by hand",
    "WV0702": "a product that the target has no instruction for",
}
"""Why the compiler may refuse a random program, by code."""

MAKERS = {"any": random_program, "matrix": random_matrix_program}
MAKER = pytest.mark.parametrize("maker", MAKERS)


@pytest.fixture(scope="module")
def session():
    return Session({"staging": staging, "crowded": crowded})


def made(maker, seed):
    return MAKERS[maker](np.random.default_rng(seed), seed)


def passes(*names, seed=1):
    """The passes with their options; one program in eight is not staged."""
    staging = STAGING if seed % 8 else ()
    fed = [each for name in names for each in (*FED_BY.get(name, ()), name)]
    texts = dict.fromkeys((*staging, *fed))
    return ",".join(name + OPTIONS.get(name, "") for name in texts)


def check(session, maker, seeds, names, target):
    """Every phase of each program is right, or it is refused for a known reason."""
    for seed in seeds:
        text = passes(*names, seed=seed)
        code = None
        try:
            check_program(
                made(maker, seed), session=session, passes=text, target=target
            )
        except Discarded as refused:
            code = refused.code
        assert code is None or code in REFUSALS, seed


class Watch(PassObserver):
    """Notes which passes change something."""

    def __init__(self):
        self.changed = set()

    def after_pass(self, step, graph, context, *, changed):
        del graph, context
        if changed:
            self.changed.add(step.pass_name())


def changed(session, name, program):
    """Whether a pass changes a program."""
    target, watch = TARGETS.get(name, "gfx942"), Watch()
    program = for_target(program, session.target(target))
    Execution(program, target=target).lower(
        session,
        (watch,),
        verify=Verify.NEVER,
        amendment=Amendment.of_text(Pipeline.parse(passes(name))),
    )
    return name in watch.changed


RARE = json.loads(Path(__file__).with_name("rare_programs.json").read_text())
"""Programs with work for passes that find some in few: what a seed gives may change."""


def candidates(name):
    """Programs of which two or more give the pass work."""
    if name in RARE:
        return map(from_json, RARE[name])
    return (made("matrix", seed) for seed in range(1, 100))


@pytest.mark.parametrize("name", [name for name in PASSES if name != "fill-sectors"])
def test_each_pass_has_work_to_do(session, name):
    """Sectors to fill are left by products of NVIDIA alone: its tests have those."""
    busy = (each for each in candidates(name) if changed(session, name, each))
    found = list(islice(busy, 2))
    assert len(found) == 2
    target, text = TARGETS.get(name, "gfx942"), passes(name)
    check_program(found[0], session=session, passes=text, target=target)


@MAKER
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("first", range(0, 4, 2))
def test_programs_are_right_with_all_passes(session, maker, target, first):
    check(session, maker, range(first, first + 2), PASSES, target)


@pytest.mark.fuzz
@MAKER
@pytest.mark.parametrize("first", range(0, 500, 50))
@pytest.mark.parametrize("name", PASSES)
def test_a_thousand_programs_are_right_with_one_pass(session, name, maker, first):
    target = TARGETS.get(name, "gfx942")
    check(session, maker, range(first, first + 50), (name,), target)


@pytest.mark.fuzz
@MAKER
@pytest.mark.parametrize("first", range(0, 500, 50))
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_a_thousand_programs_are_right_with_all_passes(session, target, maker, first):
    check(session, maker, range(first, first + 50), PASSES, target)
