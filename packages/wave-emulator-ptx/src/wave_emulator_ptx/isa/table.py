"""Which function binds which opcode."""

from __future__ import annotations

from collections.abc import Callable

from wave_emulator_ptx.batch import Step
from wave_emulator_ptx.errors import UnknownInstructionError
from wave_emulator_ptx.isa import (
    arithmetic,
    control,
    convert,
    copies,
    forms,
    matrix,
    mbarrier,
    memory,
    roles,
    warp,
    wgmma,
)
from wave_emulator_ptx.scope import Scope
from wave_emulator_ptx.syntax import Instruction

Binder = Callable[[Instruction, Scope], Step]

ARITHMETIC = [
    "add",
    "sub",
    "div",
    "rem",
    "min",
    "max",
    "neg",
    "abs",
    "and",
    "or",
    "xor",
    "not",
    "cnot",
    "sad",
    "popc",
    "clz",
    "brev",
    "fma",
    "sqrt",
    "rcp",
    "rsqrt",
    "ex2",
    "lg2",
    "sin",
    "cos",
    "tanh",
    "copysign",
]

HINTS = [
    "membar",
    "prefetch",
    "prefetchu",
    "nanosleep",
    "griddepcontrol",
    "applypriority",
]

BINDERS: dict[str, Binder] = {
    **dict.fromkeys(ARITHMETIC, arithmetic.bind),
    **dict.fromkeys(HINTS, control.bind_nothing),
    "mul": arithmetic.bind_multiply,
    "mad": arithmetic.bind_multiply,
    "shl": arithmetic.bind_shift,
    "shr": arithmetic.bind_shift,
    "bfind": arithmetic.bind_find,
    "bfe": arithmetic.bind_extract,
    "bfi": arithmetic.bind_insert,
    "shf": arithmetic.bind_funnel,
    "prmt": arithmetic.bind_permute,
    "lop3": arithmetic.bind_table,
    "setp": arithmetic.bind_compare,
    "set": arithmetic.bind_set,
    "selp": arithmetic.bind_select,
    "slct": arithmetic.bind_select_by_sign,
    "mov": arithmetic.bind_move,
    "cvt": convert.bind,
    "cvta": convert.bind_address,
    "ld": memory.bind_load,
    "ldu": memory.bind_load,
    "st": memory.bind_store,
    "atom": memory.bind_atomic,
    "red": memory.bind_atomic,
    "shfl": warp.bind_shuffle,
    "vote": warp.bind_vote,
    "redux": warp.bind_reduce,
    "elect": warp.bind_elect,
    "activemask": warp.bind_active,
    "ldmatrix": matrix.bind_load,
    "stmatrix": matrix.bind_store,
    "mma": matrix.bind_product,
    "cp": copies.bind,
    "wgmma": wgmma.bind,
    "mbarrier": mbarrier.bind,
    "setmaxnreg": roles.bind_registers,
    "mapa": roles.bind_map,
    "getctarank": roles.bind_rank,
    "fence": control.bind_fence,
    "bra": control.bind_branch,
    "ret": control.bind_end,
    "exit": control.bind_end,
    "bar": control.bind_barrier,
    "barrier": control.bind_barrier,
}

FUNCTIONS = "functions are not executed: have them inlined"
TEXTURES = "textures and surfaces are not executed: load from global memory"
REASONS = {
    "call": FUNCTIONS,
    **dict.fromkeys(("tex", "tld4", "suld", "sust"), TEXTURES),
}
"""Why some opcodes have no function."""

LEAVES = frozenset({"bra", "ret", "exit", "bar", "barrier"})
"""After these, threads may be elsewhere than at the next instruction."""


def leaves(instruction: Instruction) -> bool:
    """Whether threads may be elsewhere after an instruction."""
    if mbarrier.sleeps(instruction) or instruction.opcode == "setmaxnreg":
        return True
    return instruction.opcode in LEAVES and instruction.modifiers != ("warp", "sync")


def bind(instruction: Instruction, scope: Scope) -> Step:
    """What an instruction does to the threads that its guard lets through.

    Raises:
        UnknownInstructionError: EP0301.
    """
    binder = BINDERS.get(instruction.opcode)
    if binder is None:
        reason = REASONS.get(instruction.opcode, "")
        raise UnknownInstructionError(str(instruction), instruction.line, reason)
    forms.check(instruction)
    try:
        return binder(instruction, scope)
    except (IndexError, KeyError, ValueError):
        # Binders take operands and words as the ISA gives them; these are not so.
        message = f"{instruction}: not its operands or words"
        raise UnknownInstructionError(message, instruction.line) from None
