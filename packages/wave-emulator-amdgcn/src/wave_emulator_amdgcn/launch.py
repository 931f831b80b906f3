"""Launches a kernel of a code object on buffers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wave_emulator_amdgcn.costs.meter import Meter
from wave_emulator_amdgcn.errors import LaunchError, Report
from wave_emulator_amdgcn.hazards.checks import Checks
from wave_emulator_amdgcn.hazards.declared import undeclared
from wave_emulator_amdgcn.hazards.doubts import Doubts
from wave_emulator_amdgcn.hazards.locks import Locks, acquires
from wave_emulator_amdgcn.hazards.nops import missing_states
from wave_emulator_amdgcn.hazards.orders import RandomLoop, scramble
from wave_emulator_amdgcn.machine import Machine, Shape
from wave_emulator_amdgcn.memory import Regions
from wave_emulator_amdgcn.program import Program
from wave_emulator_amdgcn.run import Loop

if TYPE_CHECKING:
    from wave_emulator_amdgcn.arrays import Array, Bytes, Ints
    from wave_emulator_amdgcn.codeobject import CodeObject, Kernel

_MOST_PRIVATE = 1 << 28
"""Bytes of scratch of the waves that are executed together, where one is smaller."""


@dataclass(frozen=True)
class LaunchOptions:
    """How to execute.

    Attributes:
        hazards: follow operations in flight, races and unwritten memory.
        step_limit: most wave-instructions.
        waves_at_once: waves that are executed together; more take more memory.
        poison: ordinals of buffers whose bytes count as unwritten.
        counters: measure accesses, and keep the path of the first workgroup.
        strict: report accesses just past the end of a buffer resource, too, which
            reads as zero; kernels may rely on that, so it is off by default.
        order: the seed of a random order of waves and of operations in flight, in
            which registers and LDS start with junk; hazards are not followed then.
        groups: the workgroups that are executed, by ordinal; all where it is ``None``.
            What others write is missing then.
    """

    hazards: bool = True
    step_limit: int = 200_000_000
    waves_at_once: int = 1024
    poison: frozenset[int] = frozenset()
    counters: bool = False
    strict: bool = False
    order: int | None = None
    groups: range | None = None


@dataclass(frozen=True)
class LaunchResult:
    """Reports and counts of a launch; buffers hold the outputs.

    Attributes:
        reports: hazards, by address and code.
        instructions: wave-instructions executed.
        program: the code, with a count for each instruction.
        waves: waves launched.
        part: how many of them were executed, of 1.
        steps: group steps, each an instruction for waves that are together.
        meter: measurements, where they were asked for.
    """

    reports: tuple[Report, ...]
    instructions: int
    program: Program
    waves: int
    part: float
    steps: int
    meter: Meter | None


def emulate(
    code: CodeObject,
    buffers: Sequence[Array],
    *,
    grid: tuple[int, int, int],
    kernel: str | None = None,
    block: tuple[int, int, int] | None = None,
    constants: Sequence[int] = (),
    options: LaunchOptions = LaunchOptions(),
) -> LaunchResult:
    """Execute a kernel; buffers are changed in place, and only when it ends.

    Args:
        code: what `load` read.
        buffers: contiguous arrays, one for each pointer argument.
        grid: workgroups per axis.
        kernel: which one; may be left out when there is only one.
        block: work-items of a workgroup; from the metadata when left out.
        constants: 32-bit words, one for each by-value argument.
        options: how.

    Raises:
        CodeObjectError: EM0102.
        LaunchError: EM0201, EM0202, EM0203.
        EmulatorError: what execution raises.
    """
    chosen = code.kernel(kernel)
    size = _block(chosen, block)
    if min(grid) < 0 or max(grid) >= 1 << 31:
        raise LaunchError("EM0203", f"grid {grid}")
    _check_buffers(chosen, buffers, constants)
    memory = _memory(chosen, buffers, constants)
    program = _program(code, chosen)
    launch = _Launch(code, chosen, memory, program, grid, size, options)
    result = launch.run()
    if launch.checks is not None and launch.checks.doubts.to_follow:
        doubts = Doubts(launch.checks.doubts)
        memory, program = _memory(chosen, buffers, constants), _program(code, chosen)
        again = _Launch(code, chosen, memory, program, grid, size, options, doubts)
        result = again.run()
    for index, buffer in enumerate(buffers):
        _bytes(buffer)[:] = memory.bytes_of(index)
    return result


def _program(code: CodeObject, kernel: Kernel) -> Program:
    found = code.elf.part(kernel.entry)
    if found is None:
        raise LaunchError("EM0203", "the kernel's code is not in the file")
    return Program(found[1], found[0], code.architecture, code.lines.place)


def _block(kernel: Kernel, block: tuple[int, int, int] | None) -> tuple[int, int, int]:
    fixed = kernel.block
    if block is None:
        return fixed or (kernel.block_limit, 1, 1)
    if fixed is not None and block != fixed:
        raise LaunchError("EM0203", f"block {block}; compiled for {fixed}")
    if min(block) < 1 or block[0] * block[1] * block[2] > kernel.block_limit:
        raise LaunchError("EM0203", f"block {block}; at most {kernel.block_limit}")
    return block


def _check_buffers(
    kernel: Kernel, buffers: Sequence[Array], constants: Sequence[int]
) -> None:
    pointers = sum(a.kind == "global_buffer" for a in kernel.arguments)
    words = sum(a.kind == "by_value" for a in kernel.arguments)
    for what, given, taken in (
        ("buffers", len(buffers), pointers),
        ("constants", len(constants), words),
    ):
        if kernel.arguments and given != taken:
            raise LaunchError("EM0201", f"{given} {what}; {kernel.name} takes {taken}")
    # LLVM drops the arguments of a kernel that has nothing to do: 0 bytes.
    needed = 8 * len(buffers) + 4 * len(constants)
    if kernel.kernarg_bytes and needed > (kernel.kernarg_bytes + 7) // 8 * 8:
        raise LaunchError(
            "EM0201", f"{kernel.name} has {kernel.kernarg_bytes} bytes of arguments"
        )
    for index, buffer in enumerate(buffers):
        if not buffer.flags.c_contiguous or not buffer.flags.writeable:
            raise LaunchError(
                "EM0202", f"buffer {index} is not contiguous and writable"
            )


def _bytes(buffer: Array) -> Bytes:
    return buffer.reshape(-1).view(np.uint8)


def _memory(
    kernel: Kernel, buffers: Sequence[Array], constants: Sequence[int]
) -> Regions:
    given = max(256, kernel.kernarg_bytes, 8 * len(buffers) + 4 * len(constants))
    kernarg = (given + 3) // 4 * 4
    sizes = [(f"buffer {k}", buffer.nbytes) for k, buffer in enumerate(buffers)]
    memory = Regions([*sizes, ("kernel arguments", kernarg)])
    for index, buffer in enumerate(buffers):
        memory.fill(index, _bytes(buffer))
    memory.fill(len(buffers), _arguments(kernel, memory, len(buffers), constants))
    return memory


def _arguments(
    kernel: Kernel, memory: Regions, count: int, constants: Sequence[int]
) -> Bytes:
    """The kernarg block: by the metadata, else pointers then words."""
    data = bytearray(memory.regions[count].size)
    pointers = [8 * k for k in range(count)]
    words = [8 * count + 4 * k for k in range(len(constants))]
    if kernel.arguments:
        pointers = [a.offset for a in kernel.arguments if a.kind == "global_buffer"]
        words = [a.offset for a in kernel.arguments if a.kind == "by_value"]
    for index, at in enumerate(pointers):
        struct.pack_into("<Q", data, at, memory.regions[index].address)
    for value, at in zip(constants, words, strict=True):
        struct.pack_into("<I", data, at, value & 0xFFFFFFFF)
    return np.frombuffer(bytes(data), np.uint8)


class _Launch:
    """One launch, batch by batch of workgroups."""

    def __init__(
        self, code: CodeObject, kernel: Kernel, memory: Regions, program: Program,
        grid: tuple[int, int, int], block: tuple[int, int, int], options: LaunchOptions,
        doubts: Doubts | None = None,
    ) -> None:  # fmt: skip
        self.code = code
        self.kernel = kernel
        self.memory = memory
        self.program = program
        self.grid = grid
        self.block = block
        self.options = options
        self.lanes = 32 if kernel.descriptor.wave32 else 64
        items = block[0] * block[1] * block[2]
        self.per_group = -(-items // self.lanes)
        self.doubts = doubts
        self.checks: Checks | None = None

    def run(self) -> LaunchResult:
        groups = self.grid[0] * self.grid[1] * self.grid[2]
        chosen = self.options.groups or range(groups)
        private = self.lanes * max(1, self.kernel.descriptor.private_bytes)
        waves = min(self.options.waves_at_once, _MOST_PRIVATE // private)
        at_once = max(1, waves // self.per_group)
        executed = steps = 0
        reports: dict[tuple[str, int], Report] = {}
        if self.options.hazards and self.options.order is None:
            self.checks = Checks(
                self.code.architecture, self.memory, self.options.poison,
                strict=self.options.strict, locks=self._locks(groups),
                doubts=self.doubts,
            )  # fmt: skip
        meter = Meter(self.code.architecture, self.per_group, self.memory.regions[:-1])
        for first in chosen[::at_once]:
            count = min(at_once, chosen.stop - first)
            machine = self._machine(first, count)
            machine.reports = reports
            machine.meter = meter if self.options.counters else None
            meter.following = first == chosen.start
            loop = self._loop(machine, first)
            loop.run(self.options.step_limit - executed)
            executed += loop.executed
            steps += loop.steps
        if self.checks is not None:
            static = missing_states(self.program)
            static += undeclared(self.program, self.kernel.descriptor)
            reports |= {(report.code, report.pc): report for report in static}
        found = sorted(reports.values(), key=lambda each: (each.pc, each.code))
        ordered = tuple(map(self._placed, found))
        waves = groups * self.per_group
        kept = meter if self.options.counters else None
        part = len(chosen) / groups if groups else 1.0
        return LaunchResult(ordered, executed, self.program, waves, part, steps, kept)

    def _placed(self, report: Report) -> Report:
        """With the lines of its instructions."""
        place, other = self.code.lines.place, report.other_pc
        there = None if other is None else place(other)
        return replace(report, source=place(report.pc), other_source=there)

    def _locks(self, groups: int) -> Locks | None:
        """What waves of other workgroups may learn, if the code lets them."""
        chip = self.code.architecture
        if not acquires(np.frombuffer(self.program.code, np.uint8), chip):
            return None
        return Locks(chip, groups * self.per_group)

    def _loop(self, machine: Machine, first: int) -> Loop:
        if self.options.order is None:
            return Loop(machine, self.program, self.kernel.start)
        seed = self.options.order + first
        return RandomLoop(machine, self.program, self.kernel.start, seed)

    def _machine(self, first: int, count: int) -> Machine:
        kernel, descriptor = self.kernel, self.kernel.descriptor
        shape = Shape(
            waves=count * self.per_group,
            lanes=self.lanes,
            waves_per_group=self.per_group,
            lds_bytes=kernel.lds_bytes, first_group=first,
            private_bytes=descriptor.private_bytes,
        )  # fmt: skip
        machine = Machine(self.code.architecture, shape, self.memory)
        if self.options.order is not None:
            scramble(machine, self.options.order + first)
        machine.set_mode(descriptor.float_mode & 0xF0)
        if self.code.architecture.ieee_mode:
            machine.ieee = descriptor.ieee
            machine.dx10_clamp = descriptor.dx10_clamp
        groups = first + machine.group
        self._scalars(machine, _axes(groups, self.grid))
        self._items(machine)
        if self.checks is not None:
            self.checks.start(machine)
            machine.checks = self.checks
        return machine

    def _scalars(self, machine: Machine, ids: tuple[Ints, Ints, Ints]) -> None:
        descriptor = self.kernel.descriptor
        region = self.memory.regions[-1]
        at = descriptor.user_sgprs.get("kernarg_segment_ptr")
        if at is not None:
            machine.S[at] = region.address & 0xFFFFFFFF
            machine.S[at + 1] = region.address >> 32
        if descriptor.preload_dwords:
            words = self.memory.bytes_of(len(self.memory.regions) - 1).view(np.uint32)
            first = descriptor.user_sgprs["preload"]
            for k in range(descriptor.preload_dwords):
                machine.S[first + k] = words[descriptor.preload_offset + k]
        if self.code.architecture.ids_in_ttmp:
            machine.S[108 + 9] = ids[0]
            machine.S[108 + 7] = ids[1] | ids[2] << 16
            return
        row = descriptor.user_sgpr_count
        for wanted, values in zip(descriptor.workgroup_ids, ids, strict=True):
            if wanted:
                machine.S[row] = values
                row += 1

    def _items(self, machine: Machine) -> None:
        """v0 holds x, y << 10, z << 20; lanes beyond the block are off."""
        wave = np.arange(machine.shape.waves) % self.per_group
        item = wave[:, None] * self.lanes + np.arange(self.lanes)
        x, y, z = _axes(item, self.block)
        machine.V[0] = x | y << 10 | z << 20
        inside = item < self.block[0] * self.block[1] * self.block[2]
        if not inside.all():
            machine.write_lane_mask(126, slice(None), inside)


def _axes(number: Ints, sizes: tuple[int, int, int]) -> tuple[Ints, Ints, Ints]:
    """Ordinals along x, y and z of the numbers of workgroups or work-items."""
    plane = sizes[0] * sizes[1]
    return number % sizes[0], number // sizes[0] % sizes[1], number // plane
