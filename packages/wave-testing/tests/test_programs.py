"""Random programs: right on this compiler, and wrong on one that is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import without_matrices

from wave_core.compile import Session
from wave_core.diagnostics import simulation_error
from wave_core.targets import Float8, generic_target
from wave_testing.corpus import corpus
from wave_testing.programs import (
    Discarded,
    ProgramFailure,
    check_program,
    launch_program,
    on_devices,
    random_matrix_program,
    random_program,
)
from wave_testing.programs.__main__ import main
from wave_testing.programs.store import for_target, from_json, to_json

SEEDS = range(200, 220)


def program(seed):
    return random_program(np.random.default_rng(seed), seed)


def matrix_program(seed):
    return random_matrix_program(np.random.default_rng(seed), seed)


def outcome_of(made):
    """The code with which the compiler refuses a program; the phases that are right."""
    try:
        return None, check_program(made).phases
    except Discarded as refused:
        return refused.code, []


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_are_right(seed):
    code, phases = outcome_of(program(seed))
    assert "synchronize" in phases or code in {"WV0309", "WV0321", "WV0406", "WV0412"}


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_random_matrix_programs_are_right(first):
    for seed in range(first, first + 4):
        code, phases = outcome_of(matrix_program(seed))
        assert "synchronize" in phases or code == "WV0702"


def test_a_program_is_checked_for_the_target_that_is_asked_for():
    session = Session({"without-matrices": without_matrices})
    made = corpus()["product"]
    assert "assign-layouts" in check_program(made, session=session).changed
    with pytest.raises(Discarded, match="WV0702"):
        check_program(made, session=session, target="plain")


@pytest.mark.parametrize("name", sorted(corpus()))
def test_the_corpus_is_right_when_launched(name):
    launch_program(corpus()[name])


def test_a_launch_that_writes_nothing_is_wrong(monkeypatch):
    def lazy(*_, **__):
        return lambda *_: None

    monkeypatch.setattr("wave_testing.programs.launch.wave_compile", lazy)
    with pytest.raises(ProgramFailure, match="launch"):
        launch_program(program(200))


@pytest.mark.parametrize("name", sorted(corpus()))
def test_the_corpus_is_right(name):
    assert len(check_program(corpus()[name]).phases) == 5


def test_a_program_reads_back_from_json():
    for seed in range(100):
        text = json.dumps(to_json(program(seed)))
        assert from_json(json.loads(text)) == program(seed)
        text = json.dumps(to_json(matrix_program(seed)))
        assert from_json(json.loads(text)) == matrix_program(seed)


def test_programs_do_not_depend_on_the_hash_seed():
    code = (
        "import numpy as np\n"
        "from wave_testing.programs import random_program\n"
        "for s in range(40):\n"
        "    print(random_program(np.random.default_rng(s), s))\n"
    )
    texts = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        texts.add(
            subprocess.run(command, env=env, capture_output=True, check=True).stdout
        )
    assert len(texts) == 1


def test_most_kinds_of_steps_occur():
    kinds = {step.kind for seed in range(400) for step in program(seed).walk()}
    assert {"mma", "iterate", "conditional", "reduce", "allocate", "apply"} <= kinds
    assert {"extract", "set_symbol", "permute", "broadcast", "select"} <= kinds


def test_axes_of_devices_have_no_gaps():
    split = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        made = on_devices(random_program(rng, seed), rng)
        axes = sorted(dim.axis for dim in made.dims if dim.part)
        assert axes == list(range(len(axes)))
        split += bool(axes)
    assert split > 50


def test_matrix_programs_are_of_all_kinds():
    made = [matrix_program(seed) for seed in range(300)]
    products = Counter(sum(s.kind == "mma" for s in p.walk()) for p in made)
    assert min(products[1], products[2]) > 50
    assert {"f16", "bf16", "f32", "f8e5m2", "i8"} <= {
        memory.dtype for p in made for memory in p.memories
    }
    turned = {m.dims for p in made for m in p.memories if len(m.dims) == 2}
    assert {("M", "K"), ("K", "M"), ("N", "K"), ("K", "N")} <= turned
    assert {p.units for p in made} >= {1, 2, 4}


def test_the_command_prints_what_it_checked(capsys):
    assert main(["--seed", "3", "--count", "2", "--show"]) == 0
    text = capsys.readouterr().out
    assert "program seed 4" in text
    assert "'right'" in text


def test_the_command_makes_matrix_programs(capsys):
    assert main(["--seed", "3", "--kind", "matrix", "--show"]) == 0
    assert " mma " in capsys.readouterr().out


def test_the_command_launches_on_a_device(capsys):
    chosen = ["--device", "sim-logical", "--target", "generic"]
    assert main(["--seed", "3", "--count", "2", *chosen]) == 0
    assert "{'right': 2}" in capsys.readouterr().out


def test_a_launch_hands_the_arguments_back():
    made = corpus()["elementwise"]
    *_, output = launch_program(made)
    assert not np.isnan(output).all()


def test_what_a_device_reports_is_a_failure(monkeypatch):
    def reporting(*_, **__):
        def launch(*_):
            raise simulation_error("WV0901", "two waves race")

        return launch

    monkeypatch.setattr("wave_testing.programs.launch.wave_compile", reporting)
    with pytest.raises(ProgramFailure, match="reports WV0901"):
        launch_program(program(200))


def test_eight_bit_floats_are_those_of_the_target():
    chip = replace(generic_target(), float8=Float8.FNUZ)
    made = next(p for p in map(program, count()) if "f8e4m3fn" in str(p))
    assert for_target(made, generic_target()) is made
    assert "f8e4m3fnuz" in str(for_target(made, chip))
    assert for_target(for_target(made, chip), chip) == for_target(made, chip)


def test_another_seed_gives_other_inputs_and_the_same_verdict():
    one = corpus()["product"]
    assert check_program(one, seed=5).phases == check_program(one, seed=6).phases


def test_failures_say_seed_phase_and_first_difference(monkeypatch):
    from wave_core.ops.arithmetic import Add

    monkeypatch.setattr(Add, "numpy_name", "subtract")
    with pytest.raises(ProgramFailure) as caught:
        check_program(corpus()["elementwise"])
    text = str(caught.value)
    assert "program seed 2" in text
    assert "canonicalize: wrong result: b[" in text
