"""Loops to schedule: made from a seed, in the shapes that kernels have."""

from __future__ import annotations

import numpy as np

from wave_passes_scheduling.problem import Dependence, LoopProblem, Resource, Task, Use

MACHINE = (
    Resource("GLOBAL_MEMORY_UNITS", 2),
    Resource("SHARED_MEMORY_UNITS", 2),
    Resource("MMA_UNITS", 1),
    Resource("VALU_UNITS", 2),
)
# Kind, resource, cycles that a unit is taken, latency.
KINDS = (
    ("ReadGlobal", 0, 2, 9),
    ("WriteShared", 1, 1, 3),
    ("ReadShared", 1, 1, 4),
    ("MMA", 2, 4, 5),
    ("VALU", 3, 1, 1),
    ("NoOp", None, 0, 0),
)


def random_task(rng, index):
    """A task of a random kind, and its latency."""
    kind, resource, cycles, latency = KINDS[rng.integers(len(KINDS))]
    uses = () if resource is None else (Use(resource, cycles=cycles),)
    return Task(f"{kind}_{index}", kind, uses, int(rng.integers(0, 5))), latency


def random_problem(seed, size=None, carried=0.15):
    """A loop of ``size`` tasks: a sparse order, and some edges back."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 40)) if size is None else size
    made = [random_task(rng, index) for index in range(size)]
    rows = []
    for target in range(1, size):
        sources = rng.choice(target, min(target, int(rng.integers(1, 3))), False)
        rows += [Dependence(int(s), target, made[s][1]) for s in sources]
    for _ in range(rng.binomial(size, carried)):
        source, target = (int(i) for i in rng.integers(0, size, 2))
        distance = int(rng.integers(1, 4))
        if source < target:
            source, target = target, source
        rows.append(Dependence(source, target, made[source][1], distance, "carried"))
    return LoopProblem(tuple(task for task, _ in made), MACHINE, tuple(rows))
