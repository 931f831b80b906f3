"""How lanes execute the ops: rules of the simulator `sim`, in its terms.

Wave imports this module when a kernel first runs on that simulator, so numpy and the
simulator's own types are at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wave_core.ir import PLACEMENT
from wave_core.plugin import lowers
from wave_core.symbols import constant
from wave_example_pass.complex import ComplexMul
from wave_example_pass.ops import SwapPairs, cut_in_two
from wave_sim_cpu.lanes import Value, spread

if TYPE_CHECKING:
    import numpy.typing as npt

    from wave_core.ir import Placement
    from wave_sim_cpu.lanes import Machine, Program, Step


@lowers(SwapPairs)
def swap_pairs(op: SwapPairs, program: Program) -> Step:
    """Each lane takes each of its registers from where the partner is.

    Raises:
        UserError: WV0601 where no lane of the wave has it in this piece.
    """
    placement = program.graph.facts.get(PLACEMENT, op)
    assert placement is not None, "a value with dimensions has a placement"
    partner = partners(op, placement)
    registers = placement.layout.registers

    def moved(data: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        shape = (data.shape[0], placement.layout.lanes, registers)
        slots = np.broadcast_to(data, shape).reshape(data.shape[0], -1)
        return slots[:, partner].reshape(shape)

    def step(machine: Machine) -> None:
        machine.values[op.ident] = machine.value(op.value).rearranged(moved)
        machine.counters.instructions["shuffle"] += machine.active_waves * registers

    return step


@lowers(ComplexMul)
def complex_mul(op: ComplexMul, program: Program) -> Step:
    """The op's own meaning on two registers; poison in one part is in both."""
    registers = program.registers(op)

    def step(machine: Machine) -> None:
        factors = [machine.value(value) for value in op.operands]
        swapped = [value.rearranged(lambda data: data[..., ::-1]) for value in factors]
        rows = [np.broadcast_to(v.data, (*v.data.shape[:2], 2)) for v in factors]
        poison = spread([*factors, *swapped])
        machine.values[op.ident] = Value(op.evaluate(*rows), poison)
        machine.counters.instructions["valu"] += machine.active_waves * 3 * registers

    return step


def partners(op: SwapPairs, placement: Placement) -> npt.NDArray[np.int64]:
    """For each slot (lane by lane, its registers in order) the partner's slot.

    Raises:
        UserError: WV0601 where there is none.
    """
    assert op.type is not None, "inferred before it is lowered"
    fastest = op.type.dims[-1]
    layout = placement.layout
    origin = placement.origin_of(fastest)
    even = origin is not None and origin % 2 is constant(0)
    if fastest not in layout.dims or not even:
        raise cut_in_two(op, op.value)
    held = [layout.offsets(dim).reshape(-1).tolist() for dim in layout.dims]
    wanted = [
        [i ^ 1 for i in row] if dim == fastest else row
        for dim, row in zip(layout.dims, held, strict=True)
    ]
    slots = {element: slot for slot, element in enumerate(zip(*held, strict=True))}
    try:
        found = [slots[element] for element in zip(*wanted, strict=True)]
    except KeyError:
        raise cut_in_two(op, op.value) from None
    return np.array(found)
