"""Copies straight to LDS in the generated code, and what the machine cannot do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_backend_amdgpu.compile.backend import compile_graph
from wave_core.constraints import (
    HardwareConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import UserError
from wave_core.ir import (
    ACCESS,
    LANDING,
    Access,
    Graph,
    insert_before,
    set_attributes,
)
from wave_core.ops.memory import Allocate, GatherToLDS
from wave_core.ops.structure import Yield
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.plugin import PluginHost
from wave_core.symbols import as_expr, lt, symbol
from wave_core.types import DTYPES, AddressSpace, MemoryType

M, WAVE = symbol("M"), symbol("$WV0")
THREAD = 64 * WAVE + LANE


def copying(width=2, source=None, landing=None, size=4096):
    """A kernel of two waves with one copy of ``width`` f16 elements a lane."""
    constraints = (
        HardwareConstraint(threads_per_wave=64),
        WorkgroupConstraint(M, as_expr(128), 0),
        WaveConstraint(M, as_expr(64)),
    )
    graph = Graph("copying", "gfx942", {M: size}, constraints)
    declared = MemoryType((M,), AddressSpace.GLOBAL, DTYPES["f16"])
    memory = graph.body.add_argument("parameter", "a", declared, None)
    buffer = graph.body.append(Allocate((M,), (as_expr(2048),), DTYPES["f16"]))
    op = graph.body.append(GatherToLDS(memory, buffer))
    place = THREAD * width + REGISTER
    facts = graph.facts
    facts.put(ACCESS, op, Access((place if source is None else source,), width))
    facts.put(LANDING, op, Access((place if landing is None else landing,), width))
    graph.body.append(SharedMemoryBarrier(wait_async_ops=True))
    graph.body.append(Yield())
    return graph


def mlir(graph, target="gfx942"):
    chip = PluginHost().load_target(target)
    return compile_graph(graph, chip).mlir


@pytest.mark.parametrize(("target", "width"), [("gfx942", 2), ("gfx950", 8)])
def test_one_instruction_and_a_wait(target, width):
    text = mlir(copying(width), target)
    assert text.count("amdgpu.gather_to_lds") == 1
    assert f": vector<{width}xf16>, " in text
    assert text.count("rocdl.asyncmark") == text.count("rocdl.wait.asyncmark 0") == 1


def barrier_of(graph):
    (found,) = [op for op in graph.walk() if isinstance(op, SharedMemoryBarrier)]
    return found


@pytest.mark.parametrize(("left", "waited"), [(1, 1), (8, 8), (9, 8)])
def test_groups_of_copies_are_marked_and_left(left, waited):
    graph = copying()
    set_attributes(barrier_of(graph), groups_left=left)
    insert_before(barrier_of(graph), SharedMemoryBarrier())
    text = mlir(graph)
    assert text.count("rocdl.asyncmark") == 2
    assert text.count("rocdl.wait.asyncmark") == 1
    assert f"rocdl.wait.asyncmark {waited}\n" in text


def test_matrix_work_stays_before_the_wait():
    lines = mlir(copying()).splitlines()
    assert "rocdl.sched.barrier none" in lines[lines.index("rocdl.asyncmark") - 1]


def test_the_compiler_looks_after_copies_whose_barriers_are_the_authors():
    graph = copying()
    (buffer,) = [op for op in graph.walk() if isinstance(op, Allocate)]
    set_attributes(buffer, guarded=False)
    text = mlir(graph)
    assert "async" not in text
    assert "amdgpu.memory_counter_wait load(0)" in text


def test_lanes_may_read_anywhere():
    turned = ((LANE + 1) % 64 + 64 * WAVE) * 2 + REGISTER
    assert "amdgpu.gather_to_lds" in mlir(copying(source=turned))


@pytest.mark.parametrize(("kind", "word"), [(ACCESS, "select"), (LANDING, "scf.if")])
def test_masks_select_an_address_or_branch(kind, word):
    graph = copying()
    assert word not in mlir(graph)
    (op,) = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    row = graph.facts.get(kind, op)
    mask = lt(THREAD, as_expr(100))
    graph.facts.put(kind, op, Access(row.coordinates, 2, mask))
    assert word in mlir(graph)


def test_copies_of_some_lanes_stay_in_their_branch():
    graph = copying()
    assert "all_vmem" not in mlir(graph)
    (op,) = [op for op in graph.walk() if isinstance(op, GatherToLDS)]
    row = graph.facts.get(LANDING, op)
    graph.facts.put(LANDING, op, replace(row, mask=lt(THREAD, as_expr(100))))
    lines = [line.strip() for line in mlir(graph).splitlines()]
    (at,) = [i for i, line in enumerate(lines) if "gather_to_lds" in line]
    # All kinds of instructions may move across; LLVM merges nothing across it.
    kinds = lines[at + 1].removeprefix("rocdl.sched.barrier ").split("|")
    assert {"all_vmem", "all_ds", "mfma_wmma", "valu", "salu"} < set(kinds)


@pytest.mark.parametrize(
    ("fields", "target", "says"),
    [
        ({"width": 8}, "gfx942", "copies 32 bits a lane, this is 128"),
        ({"width": 6}, "gfx90a", "copies 32 bits a lane, this is 96"),
        ({"landing": THREAD * 4 + REGISTER}, "gfx942", "do not land side by side"),
        ({"source": THREAD * 2}, "gfx942", "do not lie side by side"),
        ({"size": 1 << 31}, "gfx942", "larger than what buffer instructions reach"),
    ],
)
def test_what_the_machine_cannot_do_is_refused(fields, target, says):
    with pytest.raises(UserError, match=says) as error:
        mlir(copying(**fields), target)
    assert error.value.code == "WV0601"
