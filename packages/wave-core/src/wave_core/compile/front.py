"""From a kernel and options to the graph before the first pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from wave_core.compile.bindings import Bound, resolve_bindings
from wave_core.compile.breakpoints import log_breakpoints
from wave_core.compile.compiled import Traced
from wave_core.compile.launch.logs import settle_logs
from wave_core.compile.launch.signature import ON_CPU, LaunchShape, Signature
from wave_core.compile.option_values import check_waves
from wave_core.compile.pipeline import plan_for
from wave_core.compile.scheduling import check_schedule
from wave_core.compile.symbol_check import alias_bindings, check_symbols
from wave_core.constraints import (
    Constraint,
    Kernel,
    Tunable,
    lanes_of,
    thread_counts,
)
from wave_core.constraints.geometry import Geometry
from wave_core.constraints.symbolic import in_terms_of
from wave_core.passes.resolve import check_consumer
from wave_core.plugin.constraints import settled
from wave_core.symbols import Expr

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from wave_core.compile.devices import Device
    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.ir.graph import Graph


def front_of(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    device: Device | None = None,
    traces: Traces | None = None,
) -> Traced:
    """Trace the kernel and put its pipeline together; nothing is compiled.

    Args:
        options: How to compile, with nothing left open.
        kernel: What to compile.
        session: Where plugins and caches are.
        device: What will run it; nothing where code is emitted.
        traces: Where the kernel may have been traced already.

    Raises:
        UserError: for mistakes in the kernel, its constraints or the options.
    """
    begun = time.perf_counter()
    check_schedule(options, kernel.schedule)
    target = session.target(options.target, options.location)
    plan = plan_for(session, options, target, kernel.name)
    if device is not None:
        needs, stop = device.spec.requires, device.spec.stop_after
        who = f"device `{device.name}`"
        check_consumer(who, needs, plan.pipeline, plan.installed, stop)
    check_waves(options, target)
    graph, trace_s = (traces or Traces(kernel, session)).take(options)
    if device is not None and device.spec.backend is not None:
        log_breakpoints(graph)
    signature = Signature.of(graph)
    check_symbols(graph, signature, options)
    geometry = Geometry(graph.constraints, graph.bindings, target, graph.location)
    logs = settle_logs(graph, geometry)
    shape = LaunchShape(
        signature,
        geometry.grid,
        graph.bindings,
        graph.constraints,
        tuple(options.dynamic_symbols),
        ON_CPU if device is None else device.spec,
        logs,
    )
    return Traced(
        options=options,
        session=session,
        started=begun,
        target=target,
        device=device,
        plan=plan,
        traced=graph,
        shape=shape,
        geometry=geometry,
        trace_s=trace_s,
        schedule=kernel.schedule,
    )


@dataclass(frozen=True)
class BoundKernel:
    """What is known about a kernel before it is traced.

    Attributes:
        constraints: The built-in constraints that its author's stand for.
        known: The values of symbols.
    """

    constraints: tuple[Constraint, ...]
    known: Mapping[Expr, Bound]


def bound_kernel(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    session: Session,
    settled_by: Mapping[Expr, Bound] = MappingProxyType({}),
) -> BoundKernel:
    """The constraints of ``kernel`` and the symbols with values.

    Args:
        options: Those of the user.
        kernel: Whose constraints they are.
        session: Where plugins are.
        settled_by: Values of symbols that the options leave open.

    Raises:
        UserError: for bindings and constraints that mean nothing.
    """
    target = session.target(options.target, options.location)
    bindings = {**options.bindings, **settled_by}
    bound = resolve_bindings(bindings, options.location)
    sizes = {s: n for s, n in bound.items() if type(n) is int}
    places = {s: e for s, e in bound.items() if isinstance(e, Expr)}
    written = tuple(row for row in kernel.constraints if not isinstance(row, Tunable))
    found = settled(Kernel(written, sizes, target), session.plugins.constraint_classes)
    constraints = tuple(in_terms_of(places, row) for row in found)
    known = alias_bindings(constraints, bound)
    lanes = lanes_of(constraints, target, sizes)
    return BoundKernel(constraints, known | thread_counts(constraints, lanes))


class Traces:
    """Graphs of a kernel that were traced and are not compiled yet.

    Tracing runs the function of the kernel, which is the author's and may do anything:
    who looks at a graph and then compiles it runs the function once.
    """

    def __init__(self, kernel: LaunchableWave, session: Session) -> None:
        self._kernel = kernel
        self._session = session
        self._kept: dict[Hashable, tuple[Graph, float]] = {}

    def look(self, options: WaveCompileOptions) -> Graph:
        """The graph, which stays here and must not be changed.

        Raises:
            UserError: for mistakes in the kernel, its constraints or the bindings.
        """
        key = _decisive(options)
        if key not in self._kept:
            self._kept[key] = self._traced(options)
        return self._kept[key][0]

    def take(self, options: WaveCompileOptions) -> tuple[Graph, float]:
        """The graph, for its caller alone, and the seconds that tracing it took.

        Raises:
            UserError: as `look`.
        """
        return self._kept.pop(_decisive(options), None) or self._traced(options)

    def _traced(self, options: WaveCompileOptions) -> tuple[Graph, float]:
        started = time.perf_counter()
        graph = traced_graph(options, self._kernel, self._session)
        return graph, time.perf_counter() - started


def _decisive(options: WaveCompileOptions) -> Hashable:
    """What decides the graph of a kernel among its options."""
    return options.target_name, options.subs, tuple(options.dynamic_symbols)


def traced_graph(
    options: WaveCompileOptions, kernel: LaunchableWave, session: Session
) -> Graph:
    """The graph of the kernel, with its constraints.

    Raises:
        UserError: for mistakes in the kernel, its constraints or the bindings.
    """
    bound = bound_kernel(options, kernel, session)
    target = session.target(options.target, options.location)
    graph = kernel.trace(dict(bound.known), target=target.name)
    of_trace = graph.constraints[len(kernel.constraints) :]
    graph.constraints = (*bound.constraints, *of_trace)
    graph.dynamic_symbols = tuple(options.dynamic_symbols)
    return graph
