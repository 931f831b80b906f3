"""Running a graph as it is after any pass, and comparing outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import numpy as np
import pytest

from wave_core.compile.check_case import errors
from wave_core.diagnostics import Severity
from wave_core.passes import Fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile import Session
    from wave_core.compile.kernels import KernelCase
    from wave_core.ir import Graph

    Array = np.ndarray[Any, np.dtype[Any]]

TILES = "sim-logical"
"""The executor of typed graphs, on whole tiles."""

LANES = "sim"
"""The executor of expanded graphs, lane by lane."""

UNSYNCHRONIZED = ("bounds", "poison", "alignment")
"""Checks of graphs that do not have their barriers yet: all but races."""

SEED = 20240517
"""Of the inputs; the same in every run, so that failures repeat."""


def arguments_of(case: KernelCase) -> list[Any]:
    """Fresh arguments, the same ones each time."""
    return list(case.make_arguments(np.random.default_rng(SEED)))


def outputs_of(case: KernelCase, arguments: Sequence[Any]) -> list[Array]:
    """The outputs among arguments."""
    return [arguments[position] for position in case.outputs]


def simulate(session: Session, graph: Graph, arguments: Sequence[Any]) -> None:
    """Run ``graph`` at the level that it has reached; outputs are written in place.

    Raises:
        AssertionError: where the simulator reports an error.
    """
    expanded = Fact.EXPANDED in graph.facts_present
    whole = not expanded or Fact.SYNCHRONIZED in graph.facts_present
    device = LANES if expanded else TILES
    need_executor(session, device)
    options = {
        "target": session.target(graph.target),
        "checks": True if whole else UNSYNCHRONIZED,
        "poison_outputs": expanded,
        "lowerings": session.plugins.lowering_table(device),
    }
    result = session.plugins.load_executor(device).run(graph, arguments, {}, options)
    check_reports(result)


def need_executor(session: Session, name: str) -> None:
    """Skip the running test where the simulator is not installed."""
    if name not in session.plugins.executors:
        pytest.skip(f"needs the executor `{name}`: install wave-sim-cpu")


def check_reports(result: object) -> None:
    """See that an executor reports no error.

    Raises:
        AssertionError: with the reports.
    """
    found = cast("Sequence[Any]", getattr(result, "reports", ()))
    wrong = [f"{r.code}: {r.message}" for r in found if r.severity is Severity.ERROR]
    assert not wrong, "\n".join(wrong)


def check_outputs(
    case: KernelCase, got: Sequence[Array], want: Sequence[Array], what: str
) -> None:
    """See that outputs agree within the tolerance of the case.

    Raises:
        AssertionError: with the first element that differs.
    """
    for have, wanted in zip(got, want, strict=True):
        if not have.size:
            continue
        error = errors(have, wanted)
        finite = np.abs(np.asarray(wanted, np.float64))
        scale = float(finite[np.isfinite(finite)].max(initial=0.0)) or 1.0
        bad = np.argwhere(error > case.tolerance * scale)
        if bad.size:
            at = tuple(int(i) for i in bad[0])
            text = f"{what}: element {list(at)} is {have[at]}, not {wanted[at]}"
            raise AssertionError(f"{text}; {len(bad)} of {have.size} are wrong")
