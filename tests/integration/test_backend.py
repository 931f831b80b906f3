"""Machine code: every example and every kernel, for every target."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from machine_code import (
    NAMES,
    TARGETS,
    asked_for,
    case_of,
    emitted,
    instructions,
    is_elf,
    number,
    open_session,
)

from wave_core.compile import Config, Session
from wave_kernels.plugin import KERNELS

SESSION = open_session()
LIBRARY = tuple(spec.name for spec in KERNELS)
MATRIX = ("v_mfma", "v_wmma", "v_swmmac")
WITH_PRODUCTS = ("attention", "conv2d", "gemm")
"""How the names of kernels with matrix products begin."""
WITHOUT = ("attention-join", "attention-merge")
"""Those of them that have none."""


def assert_registers_suffice(assembly):
    """Nothing is spilled to memory."""
    assert number(assembly, "vgpr_count") > 0
    assert number(assembly, "vgpr_spill_count") == 0
    assert number(assembly, "sgpr_spill_count") == 0
    assert number(assembly, "private_segment_fixed_size") == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_example(name, target, monkeypatch):
    options, kernel = asked_for(name, monkeypatch)
    assembly = emitted(SESSION, replace(options, target=target), kernel, "asm")
    assert_registers_suffice(assembly)


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LIBRARY)
def test_case_of_the_library(name, target):
    options, kernel = case_of(SESSION, name, target)
    assembly = emitted(SESSION, options, kernel, "asm")
    chip = SESSION.target(target)
    assert number(assembly, "wavefront_size") == chip.wave_size
    assert_registers_suffice(assembly)
    products = [op for op in instructions(assembly) if op.startswith(MATRIX)]
    assert bool(products) == (name.startswith(WITH_PRODUCTS) and name not in WITHOUT)


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("name", ["copy", "gemm", "softmax"])
def test_sizes_of_the_launch(name, target):
    options, kernel = case_of(SESSION, name, target, {"DYNAMIC": 1})
    assert is_elf(emitted(SESSION, options, kernel, "hsaco"))


def test_code_is_made_where_nothing_can_run_it():
    config = Config(cache=False, disabled_plugins=("sim_cpu",))
    session = Session(config=config, announce=lambda _: None)
    assert "sim" not in session.plugins.executors
    options, kernel = case_of(session, "copy", "gfx942")
    assert is_elf(emitted(session, options, kernel, "hsaco"))


# ---- the same bytes in every process

DIGESTS = """
import hashlib, logging
logging.disable(logging.CRITICAL)
from wave_core.compile import Config, Session
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
session = Session(config=Config(cache=False), announce=lambda _: None)
for name, target in (("gemm", "gfx942"), ("attention", "gfx1100"), ("copy", "gfx1201")):
    case = make_case(session.plugins.load_kernel(name), name, {}, {}, target)
    code = emit(case.options, case.kernel, "hsaco", session).files["code.hsaco"]
    print(name, target, len(code), hashlib.sha256(code).hexdigest())
"""


def digests(seed):
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outcomes(processes):
    with ThreadPoolExecutor(2) as pool:
        return set(pool.map(digests, range(processes)))


def test_two_processes_give_the_same_bytes():
    found = outcomes(2)
    assert len(found) == 1
    assert len(found.pop().splitlines()) == 3


@pytest.mark.fuzz
def test_ten_processes_give_the_same_bytes():
    assert len(outcomes(10)) == 1
