"""``wave inspect KERNEL --what cycles``, ``--what lines``: what machine code costs.

Like `cli`, one of the few modules that know wave-core.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wave_core.plugin import ViewError, ViewRequest, ViewResult
from wave_emulator_amdgcn.codeobject import load
from wave_emulator_amdgcn.costs.estimate import Estimate, estimate, timeline_of
from wave_emulator_amdgcn.costs.listing import listing_of
from wave_emulator_amdgcn.costs.record import record
from wave_emulator_amdgcn.costs.sample import measured
from wave_emulator_amdgcn.device import EmulatorDevice
from wave_emulator_amdgcn.errors import EmulatorError, StepLimitError
from wave_emulator_amdgcn.line_table import document, tables
from wave_isa_amdgcn.costs import COSTS
from wave_runtime.arrays import view
from wave_runtime.artifact import MANIFEST, code_file
from wave_runtime.errors import LaunchRefused
from wave_runtime.kernarg import scalar_packer
from wave_runtime.manifest import Manifest
from wave_runtime.plan import Planner

if TYPE_CHECKING:
    from wave_emulator_amdgcn.codeobject import CodeObject
    from wave_emulator_amdgcn.launch import LaunchResult

_SMALLER = (
    "choose smaller sizes, as --shape M=256,N=256: the estimate is of one workgroup"
)

_UNITS = ("mfma", "valu", "salu", "lds", "l1", "l2", "hbm")


def cycles(request: ViewRequest) -> ViewResult:
    """Execute the kernel, or one workgroup of a long launch, and estimate its cycles.

    Raises:
        ViewError: the emulator cannot execute it, or not within the step limit.
    """
    try:
        return _cycles(request)
    except EmulatorError as error:
        limited = isinstance(error, StepLimitError)
        raise ViewError(str(error), help=_SMALLER if limited else "") from error


def lines(request: ViewRequest) -> ViewResult:
    """Instructions, registers and cycles of a kernel, by line, by loop and by block.

    Cycles are there where the files say how the kernel is launched, and where it can be
    executed; ``why`` says why not. A code object alone may have one kernel.

    Raises:
        ViewError: it is no code object that the emulator knows.
    """
    try:
        code = load(request.files[code_file("hsaco")])
        kernel = code.kernel(_name(request))
        cost = COSTS.get(code.architecture.name)
        if cost is None:
            name = code.architecture.name
            raise ViewError(f"there is no table of what instructions of {name} cost")
        listing = listing_of(code, kernel, cost)
    except EmulatorError as error:
        raise ViewError(str(error)) from error
    found, why = Estimate({}, {}), "it is not known how the kernel is launched"
    if MANIFEST in request.files:
        try:
            found, why = estimate(code, kernel, _executed(code, request)), ""
        except EmulatorError as error:
            why = str(error)
    told = document(code, kernel, listing, found, why)
    return ViewResult(told, tables(told))


def _name(request: ViewRequest) -> str | None:
    """The kernel of the code object; None for the only one."""
    if MANIFEST in request.files:
        return _manifest(request).name
    return request.kernel or None


def _cycles(request: ViewRequest) -> ViewResult:
    code = load(request.files[code_file("hsaco")])
    kernel = code.kernel(_manifest(request).name)
    result = _executed(code, request)
    found = estimate(code, kernel, result)
    replay = timeline_of(code, kernel, result)
    told = {
        "kernel": request.kernel,
        "target": request.target,
        "waves": result.waves,
        "instructions": result.instructions,
        **vars(found),
        "timeline": record(replay, result.program, code, found.basis["turns"]),
    }
    return ViewResult(told, _tables(found))


def _manifest(request: ViewRequest) -> Manifest:
    return Manifest.from_json(request.files[MANIFEST])


def _executed(code: CodeObject, request: ViewRequest) -> LaunchResult:
    """The launch that the manifest describes, or a part of it.

    Raises:
        ViewError: arguments do not fit, or leave nothing to do.
    """
    manifest = _manifest(request)
    named = _named(manifest, request)
    rows = [row for row in manifest.constants if row.parameter]
    arrays = [view(named[row.name]) for row in manifest.bindings]
    planner = Planner(manifest, EmulatorDevice())
    try:
        plan = planner.plan(arrays, {row.name: named[row.name] for row in rows})
    except LaunchRefused as error:
        raise ViewError(str(error)) from error
    if plan.empty:
        raise ViewError("a launch of these sizes has nothing to do")
    scalars = b"".join(scalar_packer(row.dtype)(named[row.name]) for row in rows)
    words = plan.parts[0] + scalars

    def make_buffers() -> list[Any]:
        fresh = _named(manifest, request)
        return [fresh[row.name] for row in manifest.bindings]

    return measured(
        code,
        make_buffers,
        grid=plan.grid,
        kernel=manifest.name,
        constants=struct.unpack(f"<{len(words) // 4}I", words),
    )


def _named(manifest: Manifest, request: ViewRequest) -> dict[str, Any]:
    """Fresh arguments by parameter."""
    return dict(zip(manifest.parameters, request.make_arguments(), strict=True))


def _tables(
    found: Estimate,
) -> Sequence[tuple[tuple[str, ...], Sequence[tuple[str, ...]]]]:
    numbers = found.cycles
    rows = [
        ("cycles of a workgroup, in steady state", f"{numbers['per_workgroup']:,.0f}"),
        ("cycles of the launch", f"{numbers['total']:,.0f}"),
        (
            f"time at {numbers['clock_ghz']:g} GHz",
            f"{numbers['microseconds']:,.1f} us",
        ),
        ("matrix units", f"{numbers['matrix_tflops']:,.1f} TFLOP/s"),
        *_loaded(numbers),
        ("waves on a SIMD", f"{numbers['waves_per_simd']:g}"),
    ]
    rows += [
        (f"{unit} busy", f"{numbers[f'{unit}_utilisation']:.1%}") for unit in _UNITS
    ]
    rows += _basis(found.basis)
    lines = [
        (str(line["source"]), str(line["reason"]), f"{line['share']:.1%}")
        for line in found.lines
    ]
    stalls = [
        (f"{stall['pc']:#x}", str(stall["text"]), str(stall["reason"]),
         f"{stall['share']:.1%}")
        for stall in found.stalls
    ]  # fmt: skip
    return (
        (("what", "estimate"), rows),
        (("line", "waits for", "share of stalls"), lines),
        (("address", "instruction", "waits for", "share of stalls"), stalls),
    )


def _loaded(numbers: Mapping[str, float]) -> Sequence[tuple[str, str]]:
    """The speed of matrix units at the clocks that power leaves them."""
    if not numbers["matrix_tflops"] or "loaded_low_ghz" not in numbers:
        return []
    low, high = (f"{numbers[f'loaded_{end}_ghz']:g}" for end in ("low", "high"))
    least, most = (f"{numbers[f'loaded_{end}_tflops']:,.1f}" for end in ("low", "high"))
    return [(f"the same at {low} to {high} GHz, as under load",
             f"{least} to {most} TFLOP/s")]  # fmt: skip


def _basis(basis: Mapping[str, int]) -> Sequence[tuple[str, str]]:
    """What stands for the whole, where not all of it was executed or replayed."""
    rows: list[tuple[str, str]] = []
    executed, groups = basis["workgroups_executed"], basis["workgroups"]
    if executed < groups:
        rows.append(("workgroups executed", f"{executed:,} of {groups:,}"))
    if basis["turns"]:
        replayed, turns = basis["turns_replayed"], basis["turns"]
        rows.append(("turns of the loop replayed", f"{replayed:,} of {turns:,}"))
    return rows
