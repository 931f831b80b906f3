"""Random programs have values of every op, or there is a reason why not."""

from __future__ import annotations

import numpy as np

from wave_core.ops import builtin_ops
from wave_testing.programs import (
    random_matrix_program,
    random_program,
    with_functions,
)
from wave_testing.programs.kernel import bindings, program_kernel

_LOWERED = "authors do not write it: passes make it of ops that occur"

ABSENT = {
    "argument": "the parameters of a kernel, which are no steps",
    **dict.fromkeys(("lane_expr", "assemble", "relayout", "squeeze"), _LOWERED),
    **dict.fromkeys(("transposed_read", "shared_tile"), _LOWERED),
    "fence": "orders what workgroups hand over: each has elements of its own",
    "wave_fence": "lanes that wait for each other: programs know of tiles alone",
    "shuffle": "moves values between lanes: `test_thread_programs` has it",
    "reshape": "new dims have no place on the machine that a program could state",
    "breakpoint": "a simulation stops there, and nothing is computed",
}
"""Ops that no random program has, by name, with the reason."""


def forms(program):
    """What tells the ops of its steps apart."""
    names = ("combine", "form", "while")
    return {(step.kind, *map(step.get, names)) for step in program.walk()}


def programs():
    """Programs of all kinds."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        program = random_program(rng, seed)
        yield from (program, with_functions(program, rng))
    for seed in range(40):
        yield random_matrix_program(np.random.default_rng(seed), seed)


def test_every_op_occurs_or_is_excused():
    seen, traced = set(), set()
    for program in programs():
        if forms(program) <= traced:
            continue
        traced |= forms(program)
        graph = program_kernel(program).trace(bindings(program))
        seen |= {op.op_name for op in graph.walk()}
    known = {op.op_name for op in builtin_ops()}
    assert known - seen == ABSENT.keys()
