"""Software pipelining: a schedule becomes prologue, kernel loop and epilogue.

A task in stage ``s`` works, in iteration ``i`` of the kernel loop, on iteration
``i + last - s`` of the original loop, where ``last`` is the last stage. Every value is
asked for by its op and a *lead*: how many iterations of the original loop it is ahead
of the kernel's. What the kernel makes itself has the lead of its stage; what has a
smaller lead was made in an earlier iteration; one rotating register carries it for
each lead between. What only shows registers of other values, such as a part of what
was read, is made again in each stage that uses it: parts that went round the loop would
cost a move each. Prologue and epilogue ask the same question of the first and last
iterations.

Without an epilogue the kernel loop runs to the full count. What its early stages do in
iterations that the loop does not have is masked where it could be noticed, and never
used.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from wave_core.ir import capture, captured_value, clone_into, set_operands
from wave_core.ir.rewrite import carry, end_region, place_like
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import SharedTile
from wave_core.ops.shape import Assemble, Broadcast, Permute
from wave_core.ops.structure import Argument, GetResult
from wave_core.symbols import as_expr, lt
from wave_passes_scheduling.rebuild.ahead import mask_accesses
from wave_passes_scheduling.rebuild.order import kernel_order
from wave_passes_scheduling.rebuild.shift import substitute_symbols

if TYPE_CHECKING:
    from wave_core.ir import Region
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr
    from wave_passes_scheduling.loops.analysis import ScheduledLoop
    from wave_passes_scheduling.modulo.schedule import Schedule
    from wave_passes_scheduling.rebuild.ahead import Beyond

VIEWS = (Assemble, Broadcast, Permute, SharedTile)
"""Ops that cost nothing, and whose operands are registers, or a buffer."""

Key = tuple["Op", int]
"""A value of the original body, and its lead."""


@dataclass(frozen=True)
class PipelinedLoop:
    """The result of rebuilding a loop.

    Attributes:
        prologue: The ops before the kernel loop, in order.
        kernel: The loop that is left.
        epilogue: The ops after it, in order.
        results: The final values of what the original loop carried.
    """

    prologue: tuple[Op, ...]
    kernel: Iterate
    epilogue: tuple[Op, ...]
    results: tuple[Op, ...]


def pipeline_loop(
    analysed: ScheduledLoop,
    schedule: Schedule,
    region: Region,
    anchor: Op,
    beyond: Beyond | None = None,
) -> PipelinedLoop:
    """Build the pipelined form of a loop in ``region``, before ``anchor``.

    The loop itself stays; the caller decides what becomes of it. With an epilogue the
    form is right for at least as many iterations as there are stages before the last;
    without one, for any number.

    Args:
        analysed: The loop and its problem.
        schedule: A right schedule of it.
        region: That of the loop, or one nested in it.
        anchor: An op of ``region``; its terminator will do.
        beyond: How to run iterations beyond the last, for a form without an epilogue.
    """
    return _Builder(analysed, schedule, region, anchor, beyond).build()


class _Builder:
    """Builds one pipelined loop."""

    def __init__(
        self,
        analysed: ScheduledLoop,
        schedule: Schedule,
        region: Region,
        anchor: Op,
        beyond: Beyond | None,
    ) -> None:
        self._loop, self._beyond = analysed.loop, beyond
        self._region, self._anchor = region, anchor
        self._last = schedule.depth - 1
        # How many iterations the epilogue takes over from the kernel.
        self._drained = self._last if beyond is None else 0
        tasks = zip(analysed.ops, schedule.problem.tasks, strict=True)
        self._queued = {op for op, task in tasks if task.queued}
        stages = zip(analysed.ops, schedule.stages, strict=True)
        self._lead = {op: self._last - stage for op, stage in stages}
        self._order = _with_results([analysed.ops[i] for i in kernel_order(schedule)])
        # Only the results of an op with regions are values that can be carried.
        for op in self._order:
            if isinstance(op, GetResult):
                self._lead[op] = self._lead[op.source]
        self._yields = self._loop.body.end.operands
        self._first: dict[Key, Op] = {}
        self._now: dict[Op, Op] = {}
        self._rest: dict[Key, Op] = {}
        self._carried: dict[Key, Argument] = {}
        self._again: dict[Key, Op] = {}

    def build(self) -> PipelinedLoop:
        prologue = self._prologue()
        count = self._count() - self._drained
        kernel = self._empty_kernel(count)
        self._fill_kernel(kernel)
        epilogue = self._epilogue(kernel)
        results = tuple(
            self._final(kernel, argument, self._drained)
            for argument in self._carried_args()
        )
        return PipelinedLoop(tuple(prologue), kernel, tuple(epilogue), results)

    # ------------------------------------------------------------------ prologue

    def _prologue(self) -> list[Op]:
        """Fill the pipeline: in each step, the stages that have an iteration yet."""
        made: list[Op] = []
        for step in range(self._last):
            for op in self._order:
                iteration = step - (self._last - self._lead[op])
                if iteration >= 0:
                    values = {v: self._initial(v, iteration) for v in op.operands}
                    copy = clone_into(op, values, self._region, self._anchor)
                    self._set_iteration(copy, as_expr(self._loop.start), iteration)
                    self._mask(op, copy, lt(as_expr(iteration), self._count()))
                    self._first[op, iteration] = copy
                    made.append(copy)
        return made

    def _initial(self, value: Op, iteration: int) -> Op:
        """A value of one of the first iterations."""
        position = self._position(value)
        if position is None:
            return self._outside(
                value, self._region, self._first.get((value, iteration))
            )
        if iteration == 0:
            return capture(self._region, self._loop.inits[position])
        return self._initial(self._yields[position], iteration - 1)

    # -------------------------------------------------------------------- kernel

    def _empty_kernel(self, count: Expr) -> Iterate:
        graph, loop = self._region.graph, self._loop
        body = graph.region()
        attributes = {**loop.attributes, "count": count}
        kernel = Iterate.build(((), ()), attributes, (body,))
        kernel.location, kernel.tags = loop.location, loop.tags
        self._region.insert_before(self._anchor, kernel)
        return kernel

    def _fill_kernel(self, kernel: Iterate) -> None:
        body = kernel.body
        for place, op in enumerate(self._order):
            self._show(body, place)
            values = {v: self._current(body, v, self._lead[op]) for v in op.operands}
            copy = clone_into(op, values, body)
            self._set_iteration(copy, as_expr(self._induction()), self._lead[op])
            if self._lead[op]:
                self._mask(op, copy, self._has(self._lead[op]))
            self._now[op] = copy
        self._keep_for_epilogue(body)
        following: list[Op] = []
        keys = list(self._carried)
        for key in keys:
            following.append(self._following(body, *key))
            # What that asks for may have to be carried too; it comes last.
            keys += list(islice(self._carried, len(keys), None))
        end_region(body, following, self._loop.body.end)
        inits = tuple(self._initial(*key) for key in keys)
        set_operands(kernel, (inits, kernel.captures))

    def _show(self, body: Region, place: int) -> None:
        """Show what queued tasks take in front of a run of them, not within."""
        for op in takewhile(
            self._queued.__contains__, islice(self._order, place, None)
        ):
            for value in op.operands:
                if self._lead[op] < self._lead.get(value, 0) and self._is_view(value):
                    self._seen_again(body, value, self._lead[op])

    def _following(self, body: Region, value: Op, lead: int) -> Op:
        """The value of a rotating register in the next iteration."""
        position = self._position(value)
        if position is not None:
            return self._current(body, self._yields[position], lead)
        return self._current(body, value, lead + 1)

    def _current(self, body: Region, value: Op, lead: int) -> Op:
        """A value with some lead, in the kernel."""
        position = self._position(value)
        if position is not None and lead > 0:
            return self._current(body, self._yields[position], lead - 1)
        if position is None and value not in self._lead:
            return self._outside(value, body, None)
        if position is None and lead == self._lead[value]:
            return self._now[value]
        if self._is_view(value):
            return self._seen_again(body, value, lead)
        return self._register(body, value, lead)

    def _seen_again(self, body: Region, view: Op, lead: int) -> Op:
        """A copy of a view in a later stage, so that only the whole is carried."""
        if (view, lead) not in self._again:
            values = {v: self._current(body, v, lead) for v in view.operands}
            copy = clone_into(view, values, body)
            self._set_iteration(copy, as_expr(self._induction()), lead)
            self._again[view, lead] = copy
        return self._again[view, lead]

    def _register(self, body: Region, value: Op, lead: int) -> Op:
        key = value, lead
        if key not in self._carried:
            self._carried[key] = carry(body, value)
        return self._carried[key]

    def _keep_for_epilogue(self, body: Region) -> None:
        """Carry what only the epilogue or a result asks for."""
        for step in range(self._drained):
            for op in self._order:
                lead = step + self._lead[op]
                if lead < self._last:
                    for value in op.operands:
                        self._keep(body, value, lead)
        for argument in self._carried_args():
            self._keep(body, argument, self._drained)

    def _keep(self, body: Region, value: Op, lead: int) -> None:
        position = self._position(value)
        if position is not None and lead > 0:
            self._keep(body, self._yields[position], lead - 1)
        elif position is None and lead >= self._lead.get(value, 0):
            return
        elif self._is_view(value):
            for whole in value.operands:
                self._keep(body, whole, lead)
        else:
            self._register(body, value, lead)

    # ------------------------------------------------------------------ epilogue

    def _epilogue(self, kernel: Iterate) -> list[Op]:
        """Drain the pipeline: in each step, the stages that have an iteration left."""
        made: list[Op] = []
        begin = self._begin(kernel)
        for step in range(self._drained):
            for op in self._order:
                lead = step + self._lead[op]
                if lead < self._last:
                    values = {v: self._final(kernel, v, lead) for v in op.operands}
                    copy = clone_into(op, values, self._region, self._anchor)
                    self._set_iteration(copy, begin, lead)
                    self._rest[op, lead] = copy
                    made.append(copy)
        return made

    def _begin(self, kernel: Iterate) -> Expr:
        """The value of the induction symbol after the kernel."""
        assert kernel.count is not None, "loops are numbered"
        return as_expr(self._loop.start) + as_expr(kernel.count) * self._loop.step

    def _final(self, kernel: Iterate, value: Op, lead: int) -> Op:
        """A value of one of the last iterations."""
        position = self._position(value)
        if position is not None and lead > 0:
            return self._final(kernel, self._yields[position], lead - 1)
        if (value, lead) in self._carried:
            return self._result(kernel, value, lead)
        known = self._rest.get((value, lead))
        if known is None and value in self._lead and self._is_view(value):
            values = {v: self._final(kernel, v, lead) for v in value.operands}
            known = clone_into(value, values, self._region, self._anchor)
            self._set_iteration(known, self._begin(kernel), lead)
            self._rest[value, lead] = known
        return self._outside(value, self._region, known)

    def _result(self, kernel: Iterate, value: Op, lead: int) -> Op:
        key = value, lead
        if key not in self._rest:
            position = list(self._carried).index(key)
            result = GetResult(kernel, position)
            result.location = value.location
            self._region.insert_before(self._anchor, result)
            place_like(result, value)
            self._rest[key] = result
        return self._rest[key]

    # -------------------------------------------------------------------- shared

    def _set_iteration(self, op: Op, first: Expr, iteration: int) -> None:
        """Let an op work on iteration number ``iteration``, counted from ``first``."""
        value = first + iteration * self._loop.step
        substitute_symbols(op, {self._induction(): value})

    def _has(self, lead: int) -> Expr:
        """Whether the loop has the iteration ``lead`` after that of the kernel."""
        loop = self._loop
        end = self._count() * loop.step + loop.start
        return lt(self._induction() + lead * loop.step, end)

    def _mask(self, op: Op, copy: Op, exists: Expr) -> None:
        """Let the copy of an access touch nothing in iterations beyond the last."""
        beyond = self._beyond
        if beyond is None or beyond.facts.prove(exists):
            return
        mask_accesses(copy, exists, harmless=op in beyond.harmless)

    def _outside(self, value: Op, region: Region, made: Op | None) -> Op:
        """A value of this form, or one that the original loop captured."""
        if made is not None:
            return made
        assert isinstance(value, Argument), "a value is made before it is used"
        return capture(region, captured_value(self._loop, value))

    def _is_view(self, value: Op) -> bool:
        """Whether a value only shows registers that other ops of the body hold."""
        return isinstance(value, VIEWS) and all(
            self._position(whole) is None for whole in value.operands
        )

    def _position(self, value: Op) -> int | None:
        """Which carried argument of the original body ``value`` is, if one."""
        if isinstance(value, Argument) and value.owner is self._loop.body:
            position = self._loop.body.arguments.index(value)
            if position < len(self._loop.inits):
                return position
        return None

    def _carried_args(self) -> tuple[Op, ...]:
        return self._loop.body.arguments[: len(self._loop.inits)]

    def _induction(self) -> Expr:
        assert self._loop.induction is not None, "loops are numbered"
        return self._loop.induction

    def _count(self) -> Expr:
        assert self._loop.count is not None, "loops are numbered"
        return as_expr(self._loop.count)


def _with_results(ops: list[Op]) -> list[Op]:
    """The same order, with the results of an op right after it."""
    found: list[Op] = []
    for op in ops:
        if not isinstance(op, GetResult):
            found.append(op)
            found += [user for user in op.users if isinstance(user, GetResult)]
    return found
