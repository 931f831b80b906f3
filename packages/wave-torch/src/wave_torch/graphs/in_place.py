"""Arguments that a model changes are changed where they lie.

AOTAutograd makes graphs without side effects: what a model writes into a part of a
tensor, say the next row of a cache, is a copy of the whole with that part replaced, and
at the end a copy back. Where nobody reads the old values any more, the part is written.
"""

# Nodes hold whatever their functions take.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from wave_torch.graphs.nodes import arguments_of, emit, is_view, seen_through_views

ATEN = torch.ops.aten
COPY_BACK = ATEN.copy_.default

PARTS: dict[Any, Any] = {
    ATEN.select_scatter.default: ATEN.select.int,
    ATEN.slice_scatter.default: ATEN.slice.Tensor,
}
"""Op that replaces a part of a tensor -> the view of that part."""

TWINS: dict[Any, Any] = {
    ATEN.copy.default: ATEN.copy_.default,
    ATEN.index_add.default: ATEN.index_add_.default,
    ATEN.index_copy.default: ATEN.index_copy_.default,
    ATEN.index_put.default: ATEN.index_put_.default,
    ATEN.masked_fill.Scalar: ATEN.masked_fill_.Scalar,
    ATEN.scatter.src: ATEN.scatter_.src,
    ATEN.scatter.value: ATEN.scatter_.value,
    ATEN.scatter_add.default: ATEN.scatter_add_.default,
}
"""Op that makes another tensor of its first argument -> the one that changes it."""


def write_in_place(graph: fx.Graph) -> None:
    """Change arguments where nothing of their old values is read afterwards."""
    for copy in [node for node in graph.nodes if node.target is COPY_BACK]:
        argument, changed = arguments_of(copy)
        changes = _changes(argument, changed)
        if argument.op != "placeholder" or not _are_last(changes, argument):
            continue
        for change in changes:
            _write(change, argument, change)
            change.replace_all_uses_with(argument)
        graph.erase_node(copy)
    graph.eliminate_dead_code()


def _changes(argument: fx.Node, changed: fx.Node) -> list[fx.Node]:
    """What makes of an argument what is copied back to it, in order; or nothing."""
    found: list[fx.Node] = []
    while changed is not argument:
        if changed.target not in (*PARTS, *TWINS):
            return []
        found.append(changed)
        changed = arguments_of(changed)[0]
    return found[::-1]


def _are_last(changes: list[fx.Node], argument: fx.Node) -> bool:
    """Whether there are some, and nobody reads what they change, then or later."""
    memories = {argument, *changes}
    own = any(
        seen_through_views(read) in memories
        for change in changes
        for read in _written(change)
    )
    later = any(
        user > change
        for change in changes
        for user in _readers(arguments_of(change)[0])
        if user.target is not COPY_BACK
    )
    return bool(changes) and not own and not later


def _written(value: fx.Node) -> set[fx.Node]:
    """What is read to make a changed tensor of one, but for that one."""
    leaves = tree_leaves((arguments_of(value)[1:], value.kwargs))
    found = {each for each in leaves if isinstance(each, fx.Node)}
    for other in tuple(found):
        if other.target in (*PARTS, *TWINS):
            found = (found - {other}) | _written(other)
    return found


def _readers(node: fx.Node) -> set[fx.Node]:
    """Who reads the memory of a node's result, through views too."""
    found = set(node.users)
    for user in node.users:
        if is_view(user):
            found |= _readers(user)
    return found


def _write(value: fx.Node, place: fx.Node, before: fx.Node) -> None:
    """Let a place hold a value, of which it holds already what the value keeps."""
    base, *others = arguments_of(value) or (None,)
    if value.target in PARTS and _same(base, place):
        part, *where = others
        inner = emit(before, PARTS[value.target], place, *where)
        _write(part, inner, before)
    elif value.target in TWINS and _same(base, place):
        emit(before, TWINS[value.target], place, *others, **value.kwargs)
    else:
        emit(before, COPY_BACK, place, value)


def _same(read: object, place: fx.Node) -> bool:
    """Whether two nodes are the same view of the same memory."""
    if read is place:
        return True
    if not isinstance(read, fx.Node) or read.target is not place.target:
        return False
    if read.target not in PARTS.values():
        return False
    (inner, *where), (other, *there) = arguments_of(read), arguments_of(place)
    return where == there and _same(inner, other)
