"""The IR: graphs of ops with regions and facts, and what is done to all of them."""

from __future__ import annotations

from wave_core.ir.clone import clone_graph
from wave_core.ir.clone import clone_into
from wave_core.ir.clone import clone_op
from wave_core.ir.clone import clone_region_into
from wave_core.ir.equal import first_difference
from wave_core.ir.equal import graphs_equal
from wave_core.ir.facts import ACCESS
from wave_core.ir.facts import FACT_KINDS
from wave_core.ir.facts import LANDING
from wave_core.ir.facts import PLACEMENT
from wave_core.ir.facts import Access
from wave_core.ir.facts import FactKind
from wave_core.ir.facts import FactTables
from wave_core.ir.facts import Placement
from wave_core.ir.facts import Policy
from wave_core.ir.graph import Graph
from wave_core.ir.graph import Region
from wave_core.ir.graph import captured_value
from wave_core.ir.graph import region_of
from wave_core.ir.graph import regions
from wave_core.ir.graph import resolve
from wave_core.ir.graph import walk
from wave_core.ir.parser import parse_graph
from wave_core.ir.printer import print_graph
from wave_core.ir.rewrite import capture
from wave_core.ir.rewrite import erase
from wave_core.ir.rewrite import insert_after
from wave_core.ir.rewrite import insert_before
from wave_core.ir.rewrite import move_before
from wave_core.ir.rewrite import replace
from wave_core.ir.rewrite import replace_uses
from wave_core.ir.rewrite import set_attributes
from wave_core.ir.rewrite import set_operands
from wave_core.ir.values import same_value
from wave_core.ir.values import value_key
from wave_core.ir.verify import problems
from wave_core.ir.verify import verify
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
    "clone_graph",
    "clone_into",
    "clone_op",
    "clone_region_into",
    "erase",
    "first_difference",
    "graphs_equal",
    "insert_after",
    "insert_before",
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
