"""The IR: graphs of ops with regions and facts, and what is done to all of them."""

from __future__ import annotations

from wave_core.ir.clone import clone_into, clone_op
from wave_core.ir.dead_code import eliminate_dead_code
from wave_core.ir.equal import first_difference
from wave_core.ir.facts import (
    ACCESS,
    FACT_KINDS,
    LANDING,
    PLACEMENT,
    Access,
    FactKind,
    FactTables,
    Placement,
    Policy,
)
from wave_core.ir.graph import (
    Graph,
    Region,
    captured_value,
    region_of,
    regions,
    resolve,
    walk,
)
from wave_core.ir.parser import parse_graph
from wave_core.ir.printer import print_graph
from wave_core.ir.rewrite import (
    capture,
    erase,
    insert_after,
    insert_before,
    make_global,
    move_before,
    replace,
    replace_uses,
    set_attributes,
    set_operands,
)
from wave_core.ir.values import same_value, value_key
from wave_core.ir.verify import problems, verify
from wave_core.ir.vocabulary import Vocabulary

__all__ = [
    "ACCESS",
    "FACT_KINDS",
    "LANDING",
    "PLACEMENT",
    "Access",
    "FactKind",
    "FactTables",
    "Graph",
    "Placement",
    "Policy",
    "Region",
    "Vocabulary",
    "capture",
    "captured_value",
    "clone_into",
    "clone_op",
    "eliminate_dead_code",
    "erase",
    "first_difference",
    "insert_after",
    "insert_before",
    "make_global",
    "move_before",
    "parse_graph",
    "print_graph",
    "problems",
    "region_of",
    "regions",
    "replace",
    "replace_uses",
    "resolve",
    "same_value",
    "set_attributes",
    "set_operands",
    "value_key",
    "verify",
    "walk",
]
