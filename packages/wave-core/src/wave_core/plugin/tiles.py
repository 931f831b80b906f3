"""Names that rules for laying out ops and for cutting them work with.

A module named by `wave_register_tile_rules` imports from here:

* ``@supplies(MyOp)``: a function from the op and the `Solver` to the placement of its
  value; ``None`` while ``solver.known(operand)`` is too little. A rule that needs no
  operand's placement makes the op an anchor, as a matrix product is.
* ``@demands(MyOp)``: yields what the op needs of operands, each as position in
  ``op.operands`` and `Placement`. Wave converts what sits elsewhere.
* ``@expands(MyOp)``: builds the pieces of the op, given the `Expander`, the op and the
  `Scope`. `expand_elementwise` makes one op for each piece, of the same class.

`placed` covers a tile with a layout, and `project` leaves out dimensions.
"""

from __future__ import annotations

from wave_core.analysis.loops import static_tile
from wave_core.builtin.distribute.placements import ids_of, placed, project
from wave_core.builtin.distribute.solve import Solver
from wave_core.builtin.expand.expander import Expander
from wave_core.builtin.expand.scope import Scope
from wave_core.builtin.expand.values import expand_elementwise
from wave_core.ir import Placement
from wave_core.passes.tile_rules import demands, expands, supplies
from wave_core.symbols import Digit, Layout

__all__ = [
    "Digit",
    "Expander",
    "Layout",
    "Placement",
    "Scope",
    "Solver",
    "demands",
    "expand_elementwise",
    "expands",
    "ids_of",
    "placed",
    "project",
    "static_tile",
    "supplies",
]
