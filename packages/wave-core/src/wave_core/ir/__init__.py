"""The IR: graphs of ops with regions and facts, and what is done to all of them."""

from __future__ import annotations

from wave_core.ir.clone import clone_into as clone_into, clone_op as clone_op
from wave_core.ir.dead_code import eliminate_dead_code as eliminate_dead_code
from wave_core.ir.equal import first_difference as first_difference
from wave_core.ir.facts import (
    ACCESS as ACCESS,
    BOX as BOX,
    LANDING as LANDING,
    PLACEMENT as PLACEMENT,
    Access as Access,
    Box as Box,
    FactKind as FactKind,
    Placement as Placement,
)
from wave_core.ir.graph import (
    Graph as Graph,
    Region as Region,
    captured_value as captured_value,
    region_of as region_of,
    regions as regions,
    resolve as resolve,
    source_of as source_of,
    walk as walk,
    walk_op as walk_op,
)
from wave_core.ir.parser import parse_graph as parse_graph
from wave_core.ir.printer import (
    graph_lines as graph_lines,
    print_graph as print_graph,
)
from wave_core.ir.rewrite import (
    capture as capture,
    change_expressions as change_expressions,
    erase as erase,
    insert_after as insert_after,
    insert_before as insert_before,
    move_before as move_before,
    replace as replace,
    replace_uses as replace_uses,
    set_attributes as set_attributes,
    set_operands as set_operands,
    set_space as set_space,
)
from wave_core.ir.values import value_key as value_key
from wave_core.ir.verify import problems as problems, verify as verify
