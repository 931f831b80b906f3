"""Builds the graph of a kernel while its function runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import Assumption, surface_expr
from wave_core.diagnostics import user_error
from wave_core.ir.rewrite import capture
from wave_core.ops.attributes import check_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr


class Tracer:
    """Appends ops to the region that is being traced.

    ``namespaces`` are where names in annotations given as strings are looked up.
    """

    def __init__(self, graph: Graph, namespaces: Sequence[Mapping[str, Any]]) -> None:
        self.graph = graph
        self.namespaces = namespaces
        self._regions = [graph.body]
        self._obligations: dict[Expr, Location] = {}
        self._labels: set[str] = set()

    @property
    def region(self) -> Region:
        """The region that ops go to."""
        return self._regions[-1]

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Conditions under which the expressions of the kernel mean integers."""
        return tuple(
            Assumption(expr, location=location)
            for expr, location in self._obligations.items()
        )

    def emit(
        self, op: Op, location: Location, tags: frozenset[str] = frozenset()
    ) -> Op:
        """Infer the op's type and append it to the current region."""
        op.location = location
        op.tags = tags
        check_attributes(op, location)
        # Before the op is in the graph, so that a failing op leaves no trace there.
        op.type = op.infer()
        return self.region.append(op)

    def use(self, op: Op, location: Location) -> Op:
        """The value as seen from the current region, captured where it is outside.

        Raises:
            UserError: WV0103 for a value of a body that has ended.
        """
        if op.owner is self.region:
            return op
        if op.owner not in self._regions:
            raise user_error(
                "WV0103",
                "a value is used outside the loop or kernel that computes it",
                at=location,
                label="not visible here",
                secondary=((op.location, "computed here"),),
                help=(
                    "return it from the body and use the loop's result: "
                    "`@iterate(dim, init_args=[...])`"
                ),
            )
        return capture(self.region, op)

    def fill(self, region: Region, body: Callable[[], Any]) -> Any:
        """Trace ``body`` into ``region``; gives what it returns."""
        self._regions.append(region)
        try:
            return body()
        finally:
            self._regions.pop()

    def terminate(self, region: Region, op: Op, location: Location) -> None:
        """End ``region`` with ``op``."""
        op.location = location
        region.append(op)

    def expression(self, value: Any, location: Location) -> Expr:
        """An expression from what users write; its obligations are kept.

        Raises:
            UserError: WV0308 where it is not an integer expression.
        """
        obligations: list[Expr] = []
        expr = surface_expr(value, obligations, location)
        for obligation in obligations:
            self._obligations.setdefault(obligation, location)
        return expr

    def has_value(self, symbol: Expr) -> bool:
        """Whether the kernel cannot set a symbol: a size, a coordinate, a bound one."""
        graph = self.graph
        dims = [dim for each in graph.parameters for dim in each.declared.shape]
        own = set(graph.bindings).union(*[dim.free_symbols for dim in dims])
        return symbol in own or symbol.name.startswith("$")

    def label(self, name: str) -> str:
        """A name that no other argument of the kernel has."""
        found, number = name, 1
        while found in self._labels:
            found, number = f"{name}_{number}", number + 1
        self._labels.add(found)
        return found
