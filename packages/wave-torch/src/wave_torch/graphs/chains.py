"""Chains of ops on elements and rows, each as one kernel."""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from wave_kernels.functions.programs import compute
from wave_torch.graphs.elements import ELEMENTS, FOLDED, why_no_step
from wave_torch.graphs.halves import find_turned, spell_turned, turned
from wave_torch.graphs.nodes import (
    KERNEL,
    bound,
    lie,
    note_origin,
    order_in_memory,
    same_shape,
    tensor_of,
    value_of,
)
from wave_torch.graphs.writer import Writer, constant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_kernels.definitions.elementwise import Program

ATEN = torch.ops.aten

ALONE = "one op alone"
"""Why an op that could be in a chain is in none."""


class Chain(torch.nn.Module):
    """One kernel of a graph."""

    def __init__(self, program: Program, kept: Sequence[_Kept]) -> None:
        """Of a program, and what is kept of its results."""
        super().__init__()
        self._program = program
        self._kept = kept

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Its results; values of rows have 1 for the last dimension."""
        found = compute(self._program, *tensors)
        return tuple(map(_Kept.of, self._kept, found))


@dataclass(frozen=True)
class _Kept:
    """What a graph needs of one result.

    Attributes:
        narrowed: Whether it is a value of rows that the kernel has for each element.
        order: Of its dims in memory, which ops behind it were chosen for.
    """

    narrowed: bool
    order: Sequence[int]

    def of(self, result: torch.Tensor) -> torch.Tensor:
        """That, copied only where it lies otherwise."""
        return lie(result[..., :1] if self.narrowed else result, self.order)


@dataclass(frozen=True)
class _Space:
    """Over which elements an op computes.

    Attributes:
        shape: Of these.
        row: Whether its result is one number a row of them.
    """

    shape: Sequence[Any]
    row: bool


class _Grouping:
    """Which ops of a graph go together.

    Each op has a stage, later than that of all it reads, but for what it could be one
    kernel with, of which it may share the stage. Ops that share a stage and read each
    other make a chain: a way out of it and back would lead to a later stage.
    """

    def __init__(self, graph: fx.Graph) -> None:
        self.reasons: dict[fx.Node, str] = {}
        self._spaces: dict[fx.Node, _Space] = {}
        for node in graph.nodes:
            self._find_space(node)
        self._stages: dict[fx.Node, int] = {}
        for node in graph.nodes:
            behind = [self._behind(read, node) for read in node.all_input_nodes]
            self._stages[node] = max(behind, default=0)
        for node in reversed(graph.nodes):
            self._wait(node)

    def of_rows(self, node: fx.Node) -> bool:
        """Whether an op of a chain gives one number a row."""
        return self._spaces[node].row

    def chains(self) -> list[list[fx.Node]]:
        """Of two ops and more, or one that folds rows, in order."""
        chain_of: dict[fx.Node, list[fx.Node]] = {}
        for node in self._spaces:
            chain = [node]
            for read in node.all_input_nodes:
                near = self._joins(read, node)
                if near and self._stages[read] == self._stages[node]:
                    other = chain_of[read]
                    chain = chain if other is chain else [*other, *chain]
                    chain_of |= dict.fromkeys(chain, chain)
            chain_of |= dict.fromkeys(chain, chain)
        every = {id(chain): sorted(set(chain)) for chain in chain_of.values()}
        alone = {
            node
            for node, *others in every.values()
            if not others and node.target not in FOLDED
        }
        self.reasons |= dict.fromkeys(alone, ALONE)
        return [chain for chain in every.values() if alone.isdisjoint(chain)]

    def _find_space(self, node: fx.Node) -> None:
        """That of what it reads where it can be, so that they make one kernel."""
        reason = why_no_step(node)
        if reason:
            self.reasons[node] = reason
        if reason != "":
            return
        shape = value_shape(node)
        found = _Space(shape, row=False)
        if node.target in FOLDED:
            found = _Space(value_shape(node.all_input_nodes[0]), row=True)
        else:
            for read in node.all_input_nodes:
                known = self._spaces.get(read)
                if known is None or not known.row or not _keeps_dims(read):
                    continue
                if same_shape(shape, (*known.shape[:-1], 1)):
                    found = known
        self._spaces[node] = found

    def _joins(self, read: fx.Node, node: fx.Node) -> bool:
        """Whether an op can be one kernel with one that it reads."""
        known, space = self._spaces.get(read), self._spaces.get(node)
        if node.target is turned:
            return False
        if known is None or space is None or not _keeps_dims(read):
            return False
        return same_shape(known.shape, space.shape)

    def _behind(self, read: fx.Node, node: fx.Node) -> int:
        outside = read.op != "placeholder" and not self._joins(read, node)
        return self._stages[read] + outside

    def _wait(self, node: fx.Node) -> None:
        """Move an op to its readers' stage if all can be one kernel with it."""
        if node.users and all(self._joins(node, user) for user in node.users):
            self._stages[node] = min(self._stages[user] for user in node.users)


def value_shape(node: fx.Node) -> Sequence[Any]:
    """The shape of a node's one result."""
    value = tensor_of(node)
    return () if value is None else value.shape


def _keeps_dims(node: fx.Node) -> bool:
    """Whether what reads an op finds rows where they were."""
    folded = node.target in FOLDED
    call = bound(node, {"x": None, "dim": None, "keepdim": False})
    return not folded or bool(call["keepdim"])


def fuse_chains(module: fx.GraphModule) -> dict[fx.Node, str]:
    """Make kernels of chains; the ops that stay, and why."""
    find_turned(module.graph)
    grouping = _Grouping(module.graph)
    for number, chain in enumerate(grouping.chains()):
        _fuse(module, f"chain_{number}", chain, grouping)
    spell_turned(module.graph)
    return grouping.reasons


def _fuse(
    module: fx.GraphModule, name: str, chain: Sequence[fx.Node], grouping: _Grouping
) -> None:
    """One kernel in the place of the last op of a chain."""
    members = set(chain)
    inputs = dict.fromkeys(x for node in chain for x in node.all_input_nodes)
    reads = [x for x in inputs if x not in members and constant_of(x) is None]
    stored = [node for node in chain if not members.issuperset(node.users)]
    program = _written(chain, reads, stored)
    kept = [
        _Kept(_is_wide(program, at, node, grouping), _order_of(node))
        for at, node in enumerate(stored)
    ]
    module.add_submodule(name, Chain(program, kept))
    with module.graph.inserting_before(chain[-1]):
        call = module.graph.call_module(name, tuple(reads))
        found = [_result(call, at, node) for at, node in enumerate(stored)]
    note_origin(call, *chain)
    call.meta[KERNEL] = (
        f"chain of {len(chain)} ops" if len(chain) > 1 else "fold of rows"
    )
    call.meta["val"] = tuple(value_of(node) for node in stored)
    _move_readers(chain, found[-1])
    for node, result in zip(stored, found, strict=True):
        node.replace_all_uses_with(result)
    for node in reversed(chain):
        module.graph.erase_node(node)


def _written(
    chain: Sequence[fx.Node], reads: Sequence[fx.Node], stored: Sequence[fx.Node]
) -> Program:
    writer = Writer.reading(reads)
    for node in chain:
        place = ELEMENTS[node.target](writer, node)
        assert isinstance(place, int), node
        writer.places[node] = place
    return writer.program(stored)


def _is_wide(program: Program, at: int, node: fx.Node, grouping: _Grouping) -> bool:
    """Whether a value of rows is computed for each element, as operands are read so."""
    value, _ = program.results[at]
    return grouping.of_rows(node) and value not in program.of_rows


def _order_of(node: fx.Node) -> tuple[int, ...]:
    """The order of a result's dims in memory, with that of rows if it is gone."""
    value = tensor_of(node)
    assert value is not None, node
    order = order_in_memory(value)
    return order if _keeps_dims(node) else (*order, value.ndim)


def _result(call: fx.Node, at: int, node: fx.Node) -> fx.Node:
    """One result of a kernel, with the dims that a node's has."""
    graph = call.graph
    found = graph.call_function(operator.getitem, (call, at))
    if not _keeps_dims(node):
        found = graph.call_function(ATEN.squeeze.dim, (found, -1))
    found.meta["val"] = value_of(node)
    return found


def _move_readers(chain: Sequence[fx.Node], anchor: fx.Node) -> None:
    """Put what reads a chain's first ops behind the kernel, in order."""
    behind = set(chain)
    node = chain[0]
    while node is not chain[-1]:
        following = node.next
        if node not in behind and not behind.isdisjoint(node.all_input_nodes):
            behind.add(node)
            anchor.append(node)
            anchor = node
        node = following
