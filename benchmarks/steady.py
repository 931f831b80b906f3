"""Cycles of a loop in steady state, by the emulator's model of a compute unit.

Two launches that differ in nothing but their trip counts are executed, with checks for
hazards, and compared with a result in f64. The path of a workgroup is then replayed for
as many workgroups as fit on a compute unit at once; what the longer one takes more, and
how much longer its matrix units are busy, is that of the turns between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_emulator_amdgcn import LaunchOptions, emulate, load
from wave_emulator_amdgcn.costs.unit import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_emulator_amdgcn.costs.unit import Unit
    from wave_runtime.artifact import Artifact

TOLERANCE = 2e-3
"""Of the largest element; results are sums in f32 of products of f16."""


@dataclass(frozen=True)
class Trial:
    """One launch of one workgroup.

    Attributes:
        artifact: The code.
        arguments: Arrays by parameter.
        output: Which of them the kernel writes.
        wanted: What it should write, in f64.
    """

    artifact: Artifact
    arguments: Mapping[str, Any]
    output: str
    wanted: Any


def trial_of(case: KernelCase, artifact: Artifact, seed: int) -> Trial:
    """The launch of a case, on random inputs."""
    given = case.make_arguments(np.random.default_rng(seed))
    (wanted,) = case.reference(given)
    names = artifact.manifest.parameters
    arrays = dict(zip(names, given, strict=True))
    return Trial(artifact, arrays, names[case.outputs[0]], wanted)


@dataclass(frozen=True)
class Steady:
    """One turn of a loop on a full compute unit.

    Attributes:
        cycles: For all workgroups that are resident together.
        busy: Cycles of these in which a matrix unit works.
        resident: How many workgroups that are.
    """

    cycles: float
    busy: float
    resident: int

    @property
    def utilisation(self) -> float:
        """The part of the time that matrix units work."""
        return self.busy / self.cycles

    @property
    def cycles_of_one(self) -> float:
        """Cycles of a workgroup's turn."""
        return self.cycles / self.resident


def steady(
    trial_of: Callable[[int], Trial], turns: tuple[int, int], share: float
) -> Steady:
    """What turns cost that only the longer launch has.

    Args:
        trial_of: From the number of turns to the launch.
        turns: Both numbers.
        share: The part of what L2 is asked for that comes from memory: what other
            workgroups of a large launch do not fetch as well.
    """
    units = [_executed(trial_of(count), share) for count in turns]
    # Sizes are part of the code, and may take a register more or less.
    resident = min(unit.resident for unit in units)
    short, long = (unit.replay(resident, resident) for unit in units)
    between = turns[1] - turns[0]
    return Steady(
        (long.cycles - short.cycles) / between,
        (long.busy["mfma"] - short.busy["mfma"]) / between,
        resident,
    )


def _executed(trial: Trial, share: float) -> Unit:
    """The path of a workgroup, and as many of them as fit on a compute unit."""
    manifest, code = trial.artifact.manifest, load(trial.artifact.code)
    buffers = [trial.arguments[row.name] for row in manifest.bindings]
    options = LaunchOptions(hazards=True, counters=True)
    result = emulate(code, buffers, grid=(1, 1, 1), options=options)
    assert not result.reports, result.reports
    error = np.abs(trial.arguments[trial.output] - trial.wanted).max()
    assert error <= TOLERANCE * np.abs(trial.wanted).max(), error
    return unit_of(code, code.kernel(manifest.name), result, share)
