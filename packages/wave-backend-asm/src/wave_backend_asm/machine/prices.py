"""What instructions cost, by the tables of the instruction set, in cycles.

How many bytes of a load come from memory, and how lanes meet in LDS, is not known here:
a load takes as long as one from memory, an access of LDS as one without conflicts.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from wave_backend_asm.machine.forms import form_of, plain_name
from wave_backend_asm.machine.instruction import Instruction, passes_of
from wave_backend_asm.machine.operands import SCALARS
from wave_backend_asm.order.nodes import Price
from wave_isa_amdgcn.costs import COSTS, Cost

if TYPE_CHECKING:
    from wave_backend_asm.machine.instruction import Copy

_LANES = 64

_CURVED = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
_SLOW = re.compile(r"v_(mul_(lo|hi)|mad_[ui]64)_")

_STATE = 4
"""Cycles of a wait state. Source: CDNA3 ISA, "Manually inserted wait states"."""

_MASK_STATES, _CURVED_STATES = 2, 1
"""Wait states until others of lanes may read a mask, a result of `_CURVED`.

Source: as above; `wave_isa_amdgcn.waitstates` has all of them.
"""

_WIDTHS = re.compile(r"(?:dword(?:x(\d))?|b(\d+)(?:_tr_b\d+)?)$")


def price_of(operation: Instruction | Copy, chip: str, sharing: int = 1) -> Price:
    """The price of one operation; copies are taken to become nothing.

    Args:
        operation: an instruction, or a copy.
        chip: a key of `CHIPS`.
        sharing: waves that ask LDS and memory for the same at the same time.
    """
    if not isinstance(operation, Instruction):
        return Price()
    scalar = SCALARS in [part.value.files for part in operation.defines]
    return _shared(operation.name, operation.modifiers, chip, sharing, scalar=scalar)


_OF_ALL = ("lds", "vmem")
"""Units that a compute unit has once, for all of its SIMDs."""


@cache
def _shared(
    name: str, modifiers: str, chip: str, sharing: int, *, scalar: bool
) -> Price:
    """The price of what so many waves ask for at the same time."""
    found = _price(name, modifiers, chip, scalar=scalar)
    if found.unit not in _OF_ALL or sharing == 1:
        return found
    return found._replace(busy=found.busy * sharing)


def _price(name: str, modifiers: str, chip: str, *, scalar: bool) -> Price:
    cost, form = COSTS[chip], form_of(name)
    if form.unit == "mfma":
        passes = passes_of(plain_name(name), chip, modifiers)
        return Price("mfma", cost.issue, 4 * passes, 0, cost.matrix_extra, chains=True)
    if form.unit == "valu":
        states = _MASK_STATES if scalar else 0
        states = max(states, _CURVED_STATES if _CURVED.match(name) else 0)
        return Price("valu", cost.issue, _of_lanes(name, cost), settles=_STATE * states)
    if form.unit == "lds":
        busy = max(4, _bytes(name) * _LANES // cost.lds_bytes)
        return Price("lds", cost.issue, busy, cost.backlog, cost.lds_latency)
    if form.unit == "vmem":
        busy = _LANES // cost.lanes_addressed
        busy = max(busy, _bytes(name) * _LANES // cost.l1_bytes)
        latency = cost.l1_latency + cost.l2_latency + cost.hbm_latency
        return Price("vmem", cost.issue, busy, cost.backlog, latency)
    latency = cost.scalar_latency if form.unit == "smem" else 0
    return Price(form.unit, cost.issue, cost.issue, 0, latency)


def _of_lanes(name: str, cost: Cost) -> int:
    """Cycles that an instruction of lanes keeps their unit."""
    if _CURVED.match(name):
        return cost.curved
    return cost.slow if _SLOW.match(name) else cost.valu


def _bytes(name: str) -> int:
    """Bytes of a lane that an access moves, as its name says."""
    found = _WIDTHS.search(name)
    if found is None:
        return 4
    return int(found[2]) // 8 if found[2] else 4 * int(found[1] or 1)
