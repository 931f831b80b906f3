"""Schedules written by hand: what a kernel's author says about the order of ops.

The decorated function runs once, when it is defined, and what it asks for is kept as
data; a scheduling package carries it out on the kernels that it is compiled with.
"""

from __future__ import annotations

from wave_core.lang.schedules.change import (
    cluster,
    insert_after,
    insert_at_end,
    insert_at_start,
    insert_before,
    interleave_operations,
    reorder_graph,
    stagger,
    unroll,
)
from wave_core.lang.schedules.decorate import wave_schedule
from wave_core.lang.schedules.pipelines import Pipeline, pipeline
from wave_core.lang.schedules.record import Nodes
from wave_core.lang.schedules.select import (
    filter_nodes,
    get_node_by_tag,
    get_node_by_tag_and_iteration,
    get_node_by_tag_and_type,
    partition_by_address_space,
    partition_by_dim,
)

__all__ = [
    "Nodes",
    "Pipeline",
    "cluster",
    "filter_nodes",
    "get_node_by_tag",
    "get_node_by_tag_and_iteration",
    "get_node_by_tag_and_type",
    "insert_after",
    "insert_at_end",
    "insert_at_start",
    "insert_before",
    "interleave_operations",
    "partition_by_address_space",
    "partition_by_dim",
    "pipeline",
    "reorder_graph",
    "stagger",
    "unroll",
    "wave_schedule",
]
