"""Builds the graph of a kernel while its function runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wave_core.constraints import (
    Assumption,
    DeviceConstraint,
    GridConstraint,
    HardwareConstraint,
    PlacedWorkgroups,
    TilingConstraint,
    WorkgroupConstraint,
    device_symbol,
    of_waves,
    surface_expr,
    thread_dims,
    workgroup_symbol,
)
from wave_core.constraints.base import MAX_AXES
from wave_core.constraints.coordinates import Coordinates
from wave_core.constraints.distribution import placed_symbol
from wave_core.constraints.machine import induction_symbol
from wave_core.constraints.symbolic import with_aliases
from wave_core.diagnostics import user_error
from wave_core.ir.rewrite import capture
from wave_core.ops.attributes import check_attributes
from wave_core.ops.control import Iterate
from wave_core.ops.memory import Allocate
from wave_core.ops.reduce import Shuffle
from wave_core.ops.sync import MEETINGS
from wave_core.symbols import Expr, constant, symbol
from wave_core.trace.operands import ITER_ARG, names_thread
from wave_core.types import DTYPES, RegisterType, is_of_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.trace.value import Value
    from wave_core.types import AddressSpace, DType, Log


class Tracer:
    """Appends ops to the region that is being traced.

    Attributes:
        graph: That of the kernel.
        predicate: Of the elements of a tile that a function of threads is called on,
            those that take part.
        namespaces: Where names in annotations given as strings are looked up.
        spaces: The symbols that are bound to address spaces.
    """

    def __init__(
        self,
        graph: Graph,
        namespaces: Sequence[Mapping[str, Any]],
        spaces: Mapping[Expr, AddressSpace] | None = None,
        places: Mapping[Expr, Expr] | None = None,
    ) -> None:
        """Start at the top of ``graph``; ``places`` are expressions of places."""
        self.graph = graph
        self.namespaces = namespaces
        self.spaces = spaces or {}
        self._places = {**_absent(graph.constraints), **(places or {})}
        self._regions = [graph.body]
        self._obligations: dict[Expr, Location] = {}
        self._labels: set[str] = set()
        self._named: dict[Expr, Expr | int] = {}
        self._owners: dict[Expr, tuple[Region, Location]] = {}
        self._placed: dict[int, Location] = {}
        self._whiles = 0
        self._threads = thread_dims(graph.constraints)
        self._called: Location | None = None
        self.predicate: Value | None = None
        self.steady: list[tuple[Op | Expr, Op, Location]] = []
        """Memories and symbols that must not change after an op, and who relies on
        that."""
        self.logs: list[Log] = []
        """The logs of the kernel so far."""

    @property
    def region(self) -> Region:
        """The region that ops go to."""
        return self._regions[-1]

    @property
    def coordinates(self) -> Coordinates:
        """The dims of which one element is held at a time, where ops go now."""
        parents = (region.parent for region in self._regions)
        loops = frozenset(op.axis for op in parents if isinstance(op, Iterate))
        return replace(self._coordinates, loops=loops)

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates.of(self.graph.constraints, self.graph.bindings)

    @property
    def findings(self) -> tuple[Constraint, ...]:
        """Conditions under which expressions mean integers, and axes that are set."""
        return (
            *(Assumption(expr, location=at) for expr, at in self._obligations.items()),
            *(PlacedWorkgroups(axis, location=at) for axis, at in self._placed.items()),
        )

    @property
    def threads(self) -> tuple[Expr, ...]:
        """The dims over which code of single threads runs; none in code on tiles."""
        return self._threads

    @property
    def on_elements(self) -> bool:
        """Whether a function of threads is called on tiles."""
        return self._called is not None

    @contextmanager
    def each_of(self, dims: tuple[Expr, ...], location: Location) -> Generator[None]:
        """Trace code of single threads for each element of tiles over ``dims``."""
        self._threads, self._called = dims, location
        try:
            yield
        finally:
            self._threads, self._called = (), None

    @contextmanager
    def under(self, condition: Value) -> Generator[None]:
        """Trace what only the elements do for which a condition holds."""
        before = self.predicate
        self.predicate = condition if before is None else condition & before
        try:
            yield
        finally:
            self.predicate = before

    def require_threads(self, what: str, location: Location | None) -> None:
        """Refuse what only threads of the machine have, or can do.

        Raises:
            UserError: WV0155 for the elements of a tile.
        """
        if self._called is not None:
            raise user_error(
                "WV0155",
                f"`{what}` is for threads, and this function is called on a tile",
                at=location,
                label="an element of a tile is no thread",
                secondary=((self._called, "called here, for each element"),),
                help="pass in what the element needs: `self_index(M, i32)`",
            )

    def threads_of(
        self, what: str, location: Location, *hints: str
    ) -> tuple[Expr, ...]:
        """The dims over which code of single threads runs.

        Raises:
            UserError: WV0150 in code on tiles; ``what`` is the function called.
        """
        if self._threads or self._called is not None:
            return self._threads
        raise user_error(
            "WV0150",
            f"`{what}` is for single threads, and this kernel works on tiles",
            at=location,
            label="here a value is a whole tile",
            secondary=((self.graph.location, "the kernel"),),
            help=(
                "decorate the kernel with `thread(constraints)`",
                "or work on tiles: `read(memory)`, `write(register, memory)`",
                *hints,
            ),
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
        if self._threads or self._called is not None:
            self._check_thread_op(op)
        return self.region.append(op)

    def _check_thread_op(self, op: Op) -> None:
        """Refuse a tile along other dims, and what elements cannot do.

        Raises:
            UserError: WV0153, WV0155.
        """
        if isinstance(op, (Allocate, Shuffle, *MEETINGS)):
            self.require_threads(op.op_name, op.location)
        extra = [dim for dim in _dims(op) if dim not in self.threads]
        if extra:
            raise user_error(
                "WV0153",
                f"`{op.op_name}` makes a tile along `{extra[0]}` in code of threads",
                at=op.location,
                label="a thread has one element",
                secondary=((self.graph.location, "says what one thread does"),),
                help=(
                    "`load(memory, i)` and `store(x, memory, i)` access elements",
                    "`wave(constraints)` makes a kernel on tiles",
                ),
            )

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
        named = self._named
        try:
            return body()
        finally:
            self._regions.pop()
            self._named = named

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
            self.assume(obligation, location)
        return expr.subs(self._places)

    def assume(self, condition: Expr, location: Location) -> None:
        """Compile for sizes where ``condition`` holds; other launches are refused."""
        self._obligations.setdefault(condition, location)

    def number(self, value: Any, location: Location, *, mapped: bool = False) -> Expr:
        """As `expression`, of a number: the axis of a while loop is where it stands.

        ``mapped`` says that it is one for each element of a mapping.

        Raises:
            UserError: WV0308; WV0150 or WV0156 for a number of a thread, WV0141 for
                a carried value outside of a condition, WV0143 for a symbol that only
                a body which has ended sets, WV0147 for an iterator outside of a
                mapping.
        """
        expr = self.expression(value, location).subs(self._named)
        if names_thread(expr):
            expr = self._of_wave(expr, location)
        for used in expr.free_symbols:
            if not (mapped and is_of_mapping(used.name)):
                self._check_use(used, location)
        return expr

    def differs_by_thread(self, value: object) -> bool:
        """Whether an expression is a value of each thread: the code is for threads."""
        return (bool(self._threads) or self.on_elements) and names_thread(value)

    def _of_wave(self, expr: Expr, location: Location) -> Expr:
        """The number of a thread as far as all lanes of a wave agree in it.

        Raises:
            UserError: WV0150 in code on tiles where they do not, WV0156 in code of
                threads.
        """
        if self._threads or self.on_elements:
            raise user_error(
                "WV0156",
                "an expression here has one value for all threads",
                at=location,
                label="the number of a thread differs",
                help="compute with `thread_id(0)`, a value of each thread",
            )
        rows = self.graph.constraints
        hardware = next((c for c in rows if isinstance(c, HardwareConstraint)), None)
        lanes = None if hardware is None else hardware.threads_per_wave
        groups = (c for c in rows if isinstance(c, WorkgroupConstraint))
        given = None if hardware is None else hardware.waves_per_block
        axes = max((len(given or (1,)), *(row.workgroup_dim + 1 for row in groups)))
        found = None if lanes is None else of_waves(expr, lanes, axes)
        if found is None:
            self.threads_of("THREAD_0", location, _wave_number(lanes))
        assert found is not None, "refused above"
        return found

    def _check_use(self, used: Expr, location: Location) -> None:
        if used.name.startswith(ITER_ARG):
            raise user_error(
                "WV0141",
                "`GET_ITER_ARG` is used outside the condition of a loop",
                at=location,
                label="no condition",
                help="in the body, use the parameter that carries the value",
            )
        if is_of_mapping(used.name):
            raise user_error(
                "WV0147",
                f"`{used.name}` is used outside of a mapping",
                at=location,
                label="one number for a whole tile",
                help=(
                    "the index of each element is a register: `self_index(M, i32)`",
                    "what a read or write adds to an index goes into its mapping",
                ),
            )
        region, where = self._owners.get(used, (None, None))
        given = any(each.label == used.name for each in self.graph.parameters)
        if region is not None and region not in self._regions and not given:
            raise user_error(
                "WV0143",
                f"symbol `{used}` is used outside the body that sets it",
                at=location,
                label="has no value here",
                secondary=((where, "set for the rest of this body"),),
                help="return the number from the body, and set the symbol here",
            )

    def symbol_to_set(self, named: Expr, location: Location) -> Expr:
        """The symbol that `set_symbol` of ``named`` gives a value, from here on.

        For the axis of a while loop around it is one for where that loop will stand:
        the tile of the present iteration stays.

        Raises:
            UserError: WV0118 where it has a value, WV0142 in a body within the loop's.
        """
        if self._is_placed(named):
            return self._place(named, location)
        where = self._named.get(named)
        counted = isinstance(where, Expr) and where.name.startswith("$IV")
        if isinstance(where, Expr) and not counted:
            region, loop = self._owners[where]
            if region is not self.region:
                raise _set_too_deep(named, location, loop)
            name = where.name.removesuffix(".next")
            return self._name(named, f"{name}.next", loop)
        if counted or self.has_value(named):
            raise user_error(
                "WV0118",
                f"`set_symbol` of `{named}`, which has a value already",
                at=location,
                label="sizes, tiles and masks follow from that one",
                help="set a symbol of your own: `set_symbol(sym.OFFSET, value)`",
            )
        region, _ = self._owners.get(named, (None, None))
        if region not in self._regions:
            self._owners[named] = self.region, location
        return named

    def _name(self, named: Expr, name: str, location: Location) -> Expr:
        """Let a symbol called ``name`` stand for ``named`` to the end of the region."""
        own = symbol(name, nonnegative=named.nonnegative)
        self._named = {**self._named, named: own}
        self._owners[own] = self.region, location
        return own

    def _place(self, coordinate: Expr, location: Location) -> Expr:
        """Let the kernel set a coordinate of its workgroups."""
        axis = int(coordinate.name.removeprefix("$WG"))
        self._placed.setdefault(axis, location)
        return self._name(coordinate, placed_symbol(axis).name, location)

    def place_of(self, dim: str) -> Expr | None:
        """The coordinate that the kernel set for the tiles of ``dim``, if it did."""
        for row in self.graph.constraints:
            if isinstance(row, WorkgroupConstraint) and str(row.dim) == dim:
                axis = row.workgroup_dim
                return placed_symbol(axis) if axis in self._placed else None
        return None

    def _is_placed(self, symbol: Expr) -> bool:
        """Whether it is a workgroup's coordinate, and the kernel places its work."""
        launch = any(isinstance(c, GridConstraint) for c in self.graph.constraints)
        return launch and symbol.name.startswith("$WG")

    def dtype_of_set(self, named: Expr) -> DType:
        """The element type of a number that a symbol is set to."""
        where = self._named.get(named)
        if not isinstance(where, Expr) or self._is_placed(named):
            return DTYPES["index"]
        region, _ = self._owners[where]
        return region.arguments[0].register_type.dtype

    def loop_symbols(self, axis: Expr | None) -> tuple[Expr, Callable[[int], Expr]]:
        """Names of a while loop's own: of where it stands, and of carried values."""
        self._whiles += 1
        name = f"$WHILE{self._whiles}"
        falls = axis is None or not axis.nonnegative
        where = symbol(f"{name}:{axis}", nonnegative=not falls)
        return where, lambda i: symbol(f"{name}.{i}", nonnegative=False)

    @contextmanager
    def along(
        self, axis: Expr | None, where: Expr, region: Region, location: Location
    ) -> Generator[None]:
        """Trace ``region``, in which a loop over ``axis`` stands at ``where``."""
        before = self._named
        self._owners[where] = region, location
        if axis is not None:
            self._named = {**before, axis: where}
        yield
        self._named = before

    @contextmanager
    def counting(
        self, axis: Expr, region: Region, location: Location
    ) -> Generator[None]:
        """Trace ``region``, the body of a loop whose constraint may name its tile."""
        rows = (c for c in self.graph.constraints if isinstance(c, TilingConstraint))
        name = next((row.induction_var for row in rows if row.dim == axis), None)
        parents = (each.parent for each in self._regions)
        depth = sum(isinstance(op, Iterate) and op.axis == axis for op in parents)
        where = induction_symbol(str(axis), depth)
        with self.along(name, where, region, location):
            yield

    def is_counter(self, axis: Expr) -> bool:
        """Whether a while loop around counts ``axis``, and it is no dimension."""
        return axis in self._named and not self.has_value(axis)

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


def _wave_number(lanes: int | None) -> str:
    """The hint for who asks which wave it is."""
    if lanes is None:
        return "with `threads_per_wave=64`, `THREAD_0 // 64` is the number of the wave"
    return f"`THREAD_0 // {lanes}` is the number of the wave, the same in all lanes"


def _dims(op: Op) -> tuple[Expr, ...]:
    """The dims of a register."""
    return op.type.shape if isinstance(op.type, RegisterType) else ()


def _set_too_deep(axis: Expr, location: Location, loop: Location) -> Exception:
    return user_error(
        "WV0142",
        f"`set_symbol` of `{axis}` in a body within the loop over it",
        at=location,
        label="holds to the end of this body only",
        secondary=((loop, "this loop would go on as before"),),
        help=(
            "return the next value from the inner body, and set it in the loop's own: "
            "`@conditional(..., else_return=...)`"
        ),
    )


def _absent(constraints: Sequence[Constraint]) -> dict[Expr, Expr]:
    """The places on axes that a grid has not: there is one, number 0.

    Nothing of a kernel without constraints, whose grid is not known, or of one that
    places its work itself.
    """
    if not constraints or any(isinstance(c, GridConstraint) for c in constraints):
        return {}
    used: set[Expr] = set()
    for row in with_aliases(constraints):
        if isinstance(row, WorkgroupConstraint):
            used.add(workgroup_symbol(row.workgroup_dim))
        elif isinstance(row, DeviceConstraint):
            used.add(device_symbol(row.device_dim))
    axes = range(MAX_AXES)
    named = {each(a) for each in (workgroup_symbol, device_symbol) for a in axes}
    return dict.fromkeys(named - used, constant(0))
