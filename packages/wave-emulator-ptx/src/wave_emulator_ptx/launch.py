"""Launches: arguments, workgroups in batches, and what was found."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wave_emulator_ptx.batch import Batch, Shape, Size
from wave_emulator_ptx.clocks import Clocks
from wave_emulator_ptx.errors import LaunchError, Report
from wave_emulator_ptx.flights import Flights
from wave_emulator_ptx.junk import Fill, is_doubtful, settled
from wave_emulator_ptx.limits import MOST_SHARED
from wave_emulator_ptx.memory import APART, FIRST, GlobalMemory, Piece
from wave_emulator_ptx.memory_barriers import MemoryBarriers
from wave_emulator_ptx.options import LaunchOptions, LaunchResult
from wave_emulator_ptx.parser import parse
from wave_emulator_ptx.products import Products
from wave_emulator_ptx.program import Program, program_of
from wave_emulator_ptx.run import run
from wave_emulator_ptx.shared import SharedMemory
from wave_emulator_ptx.tensor_maps import MAP_BYTES, MARK, PlacedMap, TensorMap
from wave_emulator_ptx.types import TYPES

if TYPE_CHECKING:
    from wave_emulator_ptx.arrays import Array, Bytes
    from wave_emulator_ptx.syntax import Module, Variable

MOST_THREADS = 1024
MOST_GROUPS = (2**31 - 1, 65_535, 65_535)
"""Of a grid, by axis. Source: the table of compute capabilities of the CUDA guide."""
BATCH_THREADS = 4096
BATCH_BYTES = 1 << 24
"""Of shared memory in a batch, each as often as it is kept track of: the host keeps ten
bytes of it for each warp of a workgroup, and about four times as many besides."""
OTHERS = 4
BATCH_STATE = 1 << 30
"""Bytes of registers and local memory in a batch."""


DEFAULTS = LaunchOptions()

Argument: TypeAlias = "Array | TensorMap | int | float"


def load(text: str) -> Module:
    """Read PTX.

    Raises:
        PtxSyntaxError: EP0101.
        DeclarationError: EP0104, an array has more elements than there are addresses.
    """
    return parse(text)


def emulate(
    module: Module,
    arguments: Sequence[Argument],
    *,
    grid: Size,
    block: Size,
    kernel: str | None = None,
    shared: int = 0,
    options: LaunchOptions = DEFAULTS,
) -> LaunchResult:
    """Execute a kernel; arrays are written in place.

    Args:
        module: what `load` gives.
        arguments: in the order of the parameters: C-contiguous arrays for pointers,
            tensor maps for those of 128 bytes, numbers for the others.
        grid: workgroups.
        block: threads of a workgroup.
        kernel: its name; None for the only one.
        shared: bytes of dynamic shared memory of a workgroup.
        options: how to execute.

    Raises:
        LaunchError: EP0102, EP0201 to EP0204, before anything is written.
        DeclarationError: EP0104, likewise.
        UnknownInstructionError: EP0301, likewise.
        ExecutionError: EP0303 to EP0305; arrays hold what was written so far.
    """
    program = program_of(module, kernel)
    _check_sizes(program, grid, block, shared)
    arrays = _arrays(program, arguments)
    parameters = _parameters(program, arguments)
    maps = _maps(program, arguments)

    def execute(held: list[Bytes], fill: Fill, chosen: LaunchOptions) -> LaunchResult:
        memory = _memory(program, held, chosen.poison)
        result = LaunchResult()
        size = program.shared + shared
        for number, shape in enumerate(_shapes(grid, block, size, program.state)):
            batch = _batch(program, shape, memory, parameters, shared, chosen, maps)
            fill(batch.shared.data)
            order = None if chosen.order is None else [chosen.order, number]
            done, limit = result.instructions, chosen.limit
            done = run(program, batch, done=done, limit=limit, order=order)
            result = LaunchResult(
                _merged(result.reports, list(batch.reports.values())),
                done,
                result.warps + len(shape.workgroups) * shape.warps,
            )
        return result

    # Only shared memory is filled with other bytes in a second execution.
    again = options.hazards and program.shared + shared > 0
    before = [each.copy() for each in arrays] if again else []
    result = execute(arrays, _zeros, options)
    if not again or not any(map(is_doubtful, result.reports)):
        return result
    return settled(result, arrays, before, execute, options)


def _zeros(_: Bytes) -> None:
    """Shared memory is zero from the start."""


def _memory(
    program: Program, arrays: list[Bytes], poison: frozenset[int]
) -> GlobalMemory:
    """Variables of the module, then the arrays of the launch."""
    pieces = [
        Piece(data, _unwritten(data, number in poison))
        for number, data in enumerate(arrays)
    ]
    declared = [Piece(each.copy()) for each in program.globals]
    return GlobalMemory([*declared, *pieces], program.constants)


def _check_sizes(program: Program, grid: Size, block: Size, shared: int) -> None:
    threads = block[0] * block[1] * block[2]
    most = program.kernel.threads or MOST_THREADS
    if not 1 <= threads <= min(most, MOST_THREADS) or min(block) < 1:
        raise LaunchError("EP0203", f"a block {block}: it has 1 to {most} threads")
    if program.kernel.exact and threads != most:
        raise LaunchError("EP0203", f"a block {block}: it has {most} threads")
    if not all(0 <= n <= top for n, top in zip(grid, MOST_GROUPS, strict=True)):
        raise LaunchError("EP0203", f"a grid {grid}: it has up to {MOST_GROUPS}")
    whole = program.shared + shared
    if shared < 0 or whole > MOST_SHARED:
        message = f"{whole} bytes of shared memory, {shared} of them dynamic"
        raise LaunchError("EP0203", f"{message}: there are {MOST_SHARED}")


def _arrays(program: Program, arguments: Sequence[Argument]) -> list[Bytes]:
    """The bytes of the arrays among the arguments, then of those of tensor maps."""
    expected = program.kernel.parameters
    if len(arguments) != len(expected):
        message = f"{len(arguments)} arguments: the kernel takes {len(expected)}"
        raise LaunchError("EP0201", message)
    maps = [each for each in arguments if isinstance(each, TensorMap)]
    for each in maps:
        each.check()
    plain = [each for each in arguments if isinstance(each, np.ndarray)]
    return [_bytes(each) for each in (*plain, *(each.base for each in maps))]


def _maps(program: Program, arguments: Sequence[Argument]) -> list[PlacedMap]:
    """Tensor maps with the addresses of their tensors."""
    plain = sum(isinstance(each, np.ndarray) for each in arguments)
    first = FIRST + (len(program.globals) + plain) * APART
    maps = [each for each in arguments if isinstance(each, TensorMap)]
    return [
        PlacedMap(each, first + number * APART + each.offset)
        for number, each in enumerate(maps)
    ]


def _bytes(array: Array) -> Bytes:
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise LaunchError("EP0202", "an array is not contiguous, or read-only")
    return array.reshape(-1).view(np.uint8)


def _unwritten(data: Bytes, poisoned: bool) -> Array | None:  # noqa: FBT001
    return np.zeros(len(data), np.bool_) if poisoned else None


def _parameters(program: Program, arguments: Sequence[Argument]) -> Bytes:
    """The bytes of the parameters."""
    found = np.zeros(program.parameter_bytes, np.uint8)
    address = FIRST + len(program.globals) * APART
    rows = zip(program.kernel.parameters, program.offsets, arguments, strict=True)
    maps = 0
    for parameter, offset, value in rows:
        if isinstance(value, TensorMap):
            data, maps = _marked(parameter, maps), maps + 1
        elif isinstance(value, np.ndarray):
            data, address = _packed(parameter, address), address + APART
        else:
            data = _packed(parameter, value)
        found[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
    return found


def _marked(parameter: Variable, number: int) -> bytes:
    """What a copy of a tensor finds where its map should be."""
    size = TYPES[parameter.type].bytes * parameter.count
    if size != MAP_BYTES or parameter.align % 64:
        message = f"{parameter.name} is no tensor map: {MAP_BYTES} bytes, aligned to 64"
        raise LaunchError("EP0201", message)
    return struct.pack("<QQ", MARK, number).ljust(MAP_BYTES, b"\0")


def _packed(parameter: Variable, value: float) -> bytes:
    kind = TYPES[parameter.type]
    if parameter.count != 1:
        raise LaunchError("EP0201", f"{parameter.name} is a structure")
    if isinstance(value, float):
        letters = {16: "e", 32: "f", 64: "d"}
        if kind.width not in letters:
            raise LaunchError("EP0201", f"{value} for {parameter.name}: {kind.name}")
        try:
            return struct.pack("<" + letters[kind.width], value)
        except OverflowError:
            message = f"{value} for {parameter.name}: beyond {kind.name}"
            raise LaunchError("EP0201", message) from None
    if not -(1 << kind.width - 1) <= value < 1 << kind.width:
        raise LaunchError("EP0201", f"{value} for {parameter.name}: {kind.name}")
    return (value & ((1 << kind.width) - 1)).to_bytes(kind.bytes, "little")


def _shapes(grid: Size, block: Size, shared: int, state: int) -> Iterator[Shape]:
    """The launch in parts of a few thousand threads that fit the host's memory."""
    total = grid[0] * grid[1] * grid[2]
    warps = -(-block[0] * block[1] * block[2] // 32)
    each = min(BATCH_THREADS, BATCH_STATE // (state + 1)) // (warps * 32)
    if shared:
        each = min(each, BATCH_BYTES // (shared * (warps + OTHERS)))
    each = max(each, 1)
    for first in range(0, total, each):
        yield Shape(grid, block, np.arange(first, min(first + each, total)))


def _batch(
    program: Program,
    shape: Shape,
    memory: GlobalMemory,
    parameters: Bytes,
    shared: int,
    options: LaunchOptions,
    maps: list[PlacedMap],
) -> Batch:
    clocks = Clocks(len(shape.workgroups), shape.warps)
    size = -(-(program.shared + shared) // 16) * 16
    products = Products(len(program.scope.watched), shape.threads)
    return Batch(
        shape,
        program.scope.fresh(shape.threads, products.bank),
        memory,
        SharedMemory(len(shape.workgroups), size, clocks),
        parameters,
        np.zeros((shape.threads, program.local), np.uint8),
        clocks,
        products,
        MemoryBarriers(clocks),
        Flights(maps, _haste(options.order)),
        options.hazards,
    )


def _haste(order: int | None) -> float:
    """How soon copies arrive: as late as they may, or by the seed of the order."""
    return 0 if order is None else (0.0, 0.05, 0.3, 1.0)[order % 4]


def _merged(before: list[Report], new: list[Report]) -> list[Report]:
    """One report for each instruction and code."""
    found = {(each.line, each.code): each for each in before}
    for each in new:
        key = each.line, each.code
        first = found.get(key)
        found[key] = replace(first, count=first.count + each.count) if first else each
    return [found[key] for key in sorted(found)]
