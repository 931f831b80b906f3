"""A kernel made ready: its instructions bound to what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_ptx import limits
from wave_emulator_ptx.errors import LaunchError, UnknownInstructionError
from wave_emulator_ptx.isa.access import LOCAL, PARAMETERS, SHARED
from wave_emulator_ptx.isa.arithmetic import values
from wave_emulator_ptx.isa.table import bind, leaves
from wave_emulator_ptx.isa.wgmma import needs_a_group
from wave_emulator_ptx.memory import APART, FIRST
from wave_emulator_ptx.order import ranks
from wave_emulator_ptx.products import WATCHED_BYTES
from wave_emulator_ptx.scope import Scope
from wave_emulator_ptx.types import TYPES, bits_of

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Bools, Bytes, Ints, Selection
    from wave_emulator_ptx.batch import Batch, Step
    from wave_emulator_ptx.syntax import Instruction, Kernel, Module, Variable


@dataclass(frozen=True)
class Bound:
    """An instruction with what it does.

    Attributes:
        instruction: of the text.
        step: its effect, its guard obeyed.
        leaves: whether threads may be elsewhere afterwards.
    """

    instruction: Instruction
    step: Step
    leaves: bool


@dataclass(frozen=True)
class Program:
    """A kernel of a module.

    Attributes:
        kernel: of the text.
        scope: its names.
        steps: its instructions.
        joins: instructions where threads may come together.
        groups: instructions that need all warps of a warpgroup, as a mask by rank.
        ranks: of each instruction and of the end, in the order in which ways lead.
        shared: bytes of shared memory that it declares.
        local: bytes of local memory of a thread.
        globals: variables in constant and then in global memory, as bytes; the
            launch's arrays come after them.
        constants: how many of these are in constant memory.
    """

    kernel: Kernel
    scope: Scope
    steps: tuple[Bound, ...]
    joins: frozenset[int]
    groups: Bools
    ranks: Ints
    shared: int
    local: int
    globals: tuple[Bytes, ...]
    constants: int

    @property
    def offsets(self) -> list[int]:
        """Where each parameter lies."""
        return _offsets(self.kernel.parameters)[0]

    @property
    def state(self) -> int:
        """Bytes of a thread: registers, what is known of them, and local memory."""
        registers = sum(each.words().itemsize for each in self.scope.types)
        return registers + WATCHED_BYTES * len(self.scope.watched) + self.local

    @property
    def parameter_bytes(self) -> int:
        """Of all parameters."""
        return _offsets(self.kernel.parameters)[1]


def program_of(module: Module, name: str | None = None) -> Program:
    """Bind a kernel.

    Args:
        module: its text as data.
        name: of the kernel; None for the only one.

    Raises:
        LaunchError: EP0102, there is no such kernel; EP0203, it asks for clusters.
        DeclarationError: EP0104, there is less memory than it declares.
        UnknownInstructionError: EP0301.
    """
    kernel = _kernel(module, name)
    if kernel.cluster > 1:
        message = f"clusters of {kernel.cluster} workgroups: only single ones are run"
        raise LaunchError("EP0203", message)
    declared = [*module.variables, *kernel.variables]
    limits.check([*kernel.parameters, *declared])
    addresses: dict[str, int] = {}
    offsets, _ = _offsets(kernel.parameters)
    for each, offset in zip(kernel.parameters, offsets, strict=True):
        addresses[each.name] = PARAMETERS + offset
    shared = _lay_out(declared, "shared", SHARED, addresses)
    local = _lay_out(declared, "local", LOCAL, addresses)
    constants = [each for each in declared if each.space == "const"]
    arrays: list[Bytes] = []
    for each in (*constants, *(each for each in declared if each.space == "global")):
        addresses[each.name] = FIRST + len(arrays) * APART
        arrays.append(_initial(each))
    scope = Scope(kernel, addresses)
    steps = tuple(_bound(each, scope) for each in kernel.body)
    joins = frozenset(kernel.labels.values())
    order = ranks(kernel.body, kernel.labels)
    groups = np.zeros(len(order) + 1, np.bool_)
    groups[order[: len(steps)]] = [needs_a_group(each) for each in kernel.body]
    return Program(
        kernel, scope, steps, joins, groups, order, shared, local, tuple(arrays),
        len(constants),
    )  # fmt: skip


def _kernel(module: Module, name: str | None) -> Kernel:
    if name is None and len(module.kernels) == 1:
        return next(iter(module.kernels.values()))
    if name not in module.kernels:
        known = ", ".join(module.kernels) or "none"
        raise LaunchError("EP0102", f"there is no kernel {name}; there are: {known}")
    return module.kernels[name]


def _offsets(parameters: tuple[Variable, ...]) -> tuple[list[int], int]:
    """Where parameters lie, and the bytes of all."""
    found: list[int] = []
    end = 0
    for each in parameters:
        size = TYPES[each.type].bytes
        start = -(-end // max(each.align, size)) * max(each.align, size)
        found.append(start)
        end = start + size * each.count
    return found, end


def _lay_out(
    declared: list[Variable], space: str, first: int, addresses: dict[str, int]
) -> int:
    """Place the variables of a space one after the other; dynamic ones last."""
    here = [each for each in declared if each.space == space]
    end = first
    for each in sorted(here, key=lambda each: each.external or not each.count):
        end = -(-end // each.align) * each.align
        addresses[each.name] = end
        end += TYPES[each.type].bytes * each.count * (not each.external)
    return end - first


def _initial(variable: Variable) -> Bytes:
    kind = TYPES[variable.type]
    data = np.zeros(variable.count, kind.words)
    for number, each in enumerate(variable.values):
        data[number] = bits_of(each, kind)
    return data.view(np.uint8)


def _bound(instruction: Instruction, scope: Scope) -> Bound:
    step = bind(instruction, scope)
    if instruction.guard is not None:
        step = _guarded(step, instruction, scope)
    return Bound(instruction, step, leaves(instruction))


def _guarded(step: Step, instruction: Instruction, scope: Scope) -> Step:
    assert instruction.guard is not None, "whose guard this is"
    name, wanted = instruction.guard
    if name.text not in scope.slots:
        raise UnknownInstructionError(
            f"{instruction}: no `{name.text}`", instruction.line
        )
    read = values(scope, name, TYPES["pred"], instruction)

    def guarded(batch: Batch, chosen: Selection) -> None:
        held: Bools = read(batch, chosen) == wanted
        if held.all():
            step(batch, chosen)
        elif held.any():
            step(batch, batch.ordinals(chosen)[held])

    return guarded
