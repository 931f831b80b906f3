"""The simulators as executors: arguments by position, options by name."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from wave_core.diagnostics import user_error
from wave_core.ir.graph import Graph
from wave_core.symbols import symbol
from wave_core.targets import Target, generic_target
from wave_sim_cpu import codes, lanes, logical
from wave_sim_cpu.options import SimulationOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_sim_cpu.result import SimulationResult

_TARGET = "target"
_LOWERINGS = "lowerings"


class LaneExecutor:
    """Executes lowered graphs lane by lane; its options are `SimulationOptions`.

    The option ``target`` gives the machine; without it only graphs for ``generic``
    can be run. ``lowerings`` has the rules of plugins, see `lanes.run`.
    """

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> SimulationResult:
        """Run a lowered graph once; outputs are written in place.

        Findings of the checks are in the result.
        """
        return _run(lanes.run, lowered, arguments, bindings, options)


class TileExecutor:
    """Executes typed graphs on whole tiles; options as of `LaneExecutor`."""

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> SimulationResult:
        """Run a typed graph once; outputs are written in place."""
        return _run(logical.run, lowered, arguments, bindings, options)


def _run(
    simulate: Callable[..., SimulationResult],
    lowered: object,
    arguments: Sequence[object],
    bindings: Mapping[str, int] | None,
    options: Mapping[str, object] | None,
) -> SimulationResult:
    assert isinstance(lowered, Graph), "what the pipeline leaves is a graph"
    given: dict[str, Any] = dict(options or {})
    target = given.pop(_TARGET, None)
    lowerings = given.pop(_LOWERINGS, None)
    named = dict(zip((p.label for p in lowered.parameters), arguments, strict=True))
    symbols = {symbol(name): value for name, value in (bindings or {}).items()}
    machine = _target(lowered, target)
    return simulate(
        lowered, named, symbols, machine, _simulation_options(given), lowerings
    )


def _target(graph: Graph, target: object) -> Target:
    if isinstance(target, Target):
        return target
    generic = generic_target()
    assert graph.target == generic.name, "the caller names any other target"
    return generic


def _simulation_options(given: dict[str, Any]) -> SimulationOptions:
    known = {field.name for field in fields(SimulationOptions)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise user_error(
            codes.UNKNOWN_OPTION,
            f"the simulator has no option `{unknown[0]}`",
            help=(f"its options are: {', '.join(sorted(known))}",),
        )
    checks = given.get("checks", True)
    if not isinstance(checks, bool):
        given["checks"] = frozenset(cast("Sequence[str]", checks))
    return SimulationOptions(**given)
