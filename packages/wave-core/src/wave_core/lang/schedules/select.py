"""Finding ops for a schedule: by tag and type, by memory, by dimension."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import coded_arguments
from wave_core.lang.schedules.pipelines import Place, place_ref
from wave_core.lang.schedules.record import (
    Nodes,
    nodes_ref,
    recorder,
    whole,
    wrong_argument,
)
from wave_core.ops.base import Op
from wave_core.types import AddressSpace

if TYPE_CHECKING:
    from wave_core.passes.manual import Plain


@coded_arguments
def get_node_by_tag(tag: str) -> Nodes:
    """All ops with a tag, those inside of loops too, in program order.

    An op of the kernel that became several has its tag on each of them. A tag that
    no op has is an error when a kernel is compiled.
    """
    return _tagged("get_node_by_tag", tag)


@coded_arguments
def get_node_by_tag_and_type(tag: str, node_type: type[Op]) -> Nodes:
    """The ops with a tag that are of a type, such as ``tkw.Read`` or ``tkw.MMA``.

    A read that is staged through LDS is a read of global memory, a write to LDS and a
    read of LDS, all with the tag of the read.
    """
    what = "get_node_by_tag_and_type"
    return _tagged(what, tag, _type_name(what, node_type))


@coded_arguments
def get_node_by_tag_and_iteration(tag: str, iteration: int) -> Nodes:
    """The ops with a tag in one copy of the body of a loop that was unrolled.

    Args:
        tag: The tag.
        iteration: Which copy, from 0.
    """
    what = "get_node_by_tag_and_iteration"
    return _tagged(what, tag, None, whole(what, "iteration", iteration, 0))


def _tagged(
    what: str, tag: object, kind: str | None = None, iteration: int | None = None
) -> Nodes:
    if not isinstance(tag, str):
        raise wrong_argument(what, tag, "a tag, as a string")
    return Nodes(recorder(what).add("tagged", tag, kind, iteration))


def _type_name(what: str, kind: Any) -> str:
    name = getattr(kind, "op_name", "")
    if inspect.isclass(kind) and issubclass(kind, Op) and name:
        return str(name)
    raise wrong_argument(what, kind, "a class of ops, such as `Read`, `Write` or `MMA`")


@coded_arguments
def partition_by_address_space(nodes: Nodes, address_space: Any) -> tuple[Nodes, Nodes]:
    """The reads and writes of one kind of memory, and the other nodes."""
    what = "partition_by_address_space"
    if not isinstance(address_space, AddressSpace):
        raise wrong_argument(what, address_space, "`GLOBAL_ADDRESS_SPACE` or the like")
    space = str(address_space)
    rows = [
        recorder(what).add("in_space", nodes_ref(what, nodes), space, n) for n in (0, 1)
    ]
    return Nodes(rows[0]), Nodes(rows[1])


@coded_arguments
def partition_by_dim(nodes: Nodes, dim: Any, num_partitions: int) -> tuple[Nodes, ...]:
    """The nodes by their place along a dimension, in parts of about equal size.

    What was unrolled along ``dim`` is counted; earlier parts get one more place where
    the places do not divide.

    Args:
        nodes: Reads, writes or matrix ops.
        dim: A dimension of their tiles; the contracted one too, for matrix ops.
        num_partitions: How many parts.
    """
    what = "partition_by_dim"
    name = dim if isinstance(dim, str) else getattr(dim, "name", None)
    if not isinstance(name, str):
        raise wrong_argument(what, dim, "a dimension, such as `M`")
    count = whole(what, "num_partitions", num_partitions, 1)
    ref = nodes_ref(what, nodes)
    return tuple(
        Nodes(recorder(what).add("along_dim", ref, name, count, part))
        for part in range(count)
    )


@coded_arguments
def filter_nodes(
    nodes: Nodes, subgraph: Place | None = None, node_type: type[Op] | None = None
) -> Nodes:
    """The nodes that stand in a part of a pipeline, or are of a type.

    Args:
        nodes: Which to look at.
        subgraph: ``p.KERNEL``, ``p.PROLOGUE`` or ``p.EPILOGUE`` of a pipeline.
        node_type: A class of ops.
    """
    what = "filter_nodes"
    place: Plain = None if subgraph is None else place_ref(what, subgraph)
    kind = None if node_type is None else _type_name(what, node_type)
    return Nodes(recorder(what).add("filtered", nodes_ref(what, nodes), place, kind))
