"""Runs a kernel case on fresh random inputs and compares with its reference."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from wave_core.compile.compiler import wave_compile
from wave_core.compile.launch.run import dressed
from wave_core.diagnostics import internal_error, user_error
from wave_core.executors import PlacesArrays, host_array
from wave_runtime.arrays import view
from wave_runtime.errors import RuntimeFailure, UnfitArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from wave_core.compile.kernel import WaveKernel
    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.launch.run import LaunchRecord
    from wave_core.compile.launch.signature import Parameter
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.types import DType

#: What bytes of integer outputs hold before a launch: unlikely as a result.
_POISON_BYTE = 0xA5


@dataclass(frozen=True)
class CaseReport:
    """How a kernel did.

    Attributes:
        kernel: The compiled kernel.
        shape: Its sizes.
        max_abs_error: Largest difference from the reference; infinite where an
            element is no number and should be one.
        max_rel_error: The same in units of the case's scale.
        wrong: Elements beyond the tolerance.
        tolerance: Largest relative error allowed.
        compile_s: Seconds to compile.
        record: What the launch did.
    """

    kernel: WaveKernel
    shape: Mapping[str, int]
    max_abs_error: float
    max_rel_error: float
    wrong: int
    tolerance: float
    compile_s: float
    record: LaunchRecord

    @property
    def passed(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.wrong == 0

    def to_json(self) -> dict[str, object]:
        """All of it as JSON values; an infinite error is null."""
        return {
            "kernel": self.kernel.name,
            "shape": dict(self.shape),
            "target": self.kernel.compiled.target.name,
            "device": self.record.device,
            "preset": self.kernel.options.preset,
            "settled": self.kernel.settled,
            "waves": self.kernel.compiled.geometry.waves_per_workgroup,
            "grid": list(self.record.grid),
            "passed": self.passed,
            "max_abs_error": _finite(self.max_abs_error),
            "max_rel_error": _finite(self.max_rel_error),
            "tolerance": self.tolerance,
            "wrong_elements": self.wrong,
            "compile_s": self.compile_s,
            "run_s": self.record.run_s,
            "timings": self.kernel.timings.to_json(),
            "counters": dict(self.record.counters),
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def case_arguments(case: KernelCase, seed: int | None) -> list[Any]:
    """The random inputs and the outputs of a case.

    Raises:
        UserError: WV0823 for sizes whose arguments no memory holds.
    """
    try:
        return list(case.make_arguments(np.random.default_rng(seed)))
    except (MemoryError, OverflowError, ValueError) as error:
        sizes = ", ".join(f"{name}={size}" for name, size in case.shape.items())
        raise user_error(
            "WV0823",
            f"the arguments of `{case.kernel.name}` at {sizes} cannot be made: {error}",
            help="give smaller sizes: `--shape M=512`",
        ) from error


def run_case(
    case: KernelCase,
    *,
    options: WaveCompileOptions | None = None,
    session: Session | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> CaseReport:
    """Compile a case, run it on fresh inputs, compare with the reference.

    Args:
        case: The kernel.
        options: Instead of the case's own.
        session: Whose plugins to use.
        seed: Of the random inputs; fresh ones by default.
        progress: Told what begins.

    Raises:
        WaveError: where the kernel does not compile or run.
    """
    progress("load the compiler")
    import_module("wave_core.trace.kernel")
    progress("compile")
    started = time.perf_counter()
    kernel = wave_compile(options or case.options, case.kernel, session=session)
    compile_s = time.perf_counter() - started
    progress("make inputs")
    arguments = case_arguments(case, seed)
    outputs = poisoned_outputs(case, arguments, kernel.parameters)
    progress("compute the reference")
    expected = [np.asarray(each) for each in case.reference(arguments)]
    scale = case.scale(arguments) if case.scale is not None else None
    progress("run")
    launch_case(kernel, arguments)
    assert kernel.last_run is not None, "it has just run"
    progress("compare")
    found = compare(outputs, expected, scale, case.tolerance)
    return CaseReport(
        kernel,
        case.shape,
        found.absolute,
        found.relative,
        found.wrong,
        case.tolerance,
        compile_s,
        kernel.last_run,
    )


def launch_case(kernel: WaveKernel, arguments: Sequence[Any]) -> None:
    """Launch; on copies, where the device does not read the CPU's memory."""
    compiled = kernel.compiled
    device = compiled.executor
    if "cpu" in compiled.device.spec.reads or not isinstance(device, PlacesArrays):
        kernel(*arguments)
        return
    rows = list(zip(kernel.parameters, arguments, strict=True))
    try:
        placed = [device.place(each) if row.is_tensor else each for row, each in rows]
        kernel(*placed)
        for (row, here), there in zip(rows, placed, strict=True):
            if row.is_output:
                there.fetch(here)
    except RuntimeFailure as failure:
        raise dressed(failure, compiled, None) from None


def poisoned_outputs(
    case: KernelCase, arguments: Sequence[Any], parameters: Sequence[Parameter]
) -> list[npt.NDArray[Any]]:
    """The memory of the case's outputs, filled with what no kernel computes."""
    outputs = [_array(arguments[i], parameters[i].dtype) for i in case.outputs]
    for output in outputs:
        poison(output)
    return outputs


def _array(argument: object, dtype: DType) -> npt.NDArray[Any]:
    """The memory of an output."""
    try:
        return host_array(view(argument), dtype)
    except UnfitArgument as unfit:
        raise internal_error(
            "WV9905", f"a kernel case has an output that is {unfit.what}"
        ) from None


def poison(output: npt.NDArray[Any]) -> None:
    """Fill an output with what no kernel computes: NaN, or an odd pattern."""
    if output.dtype.kind == "b":
        output[...] = True
    elif output.dtype.kind in "iu":
        pattern = np.full(output.itemsize, _POISON_BYTE, dtype=np.uint8)
        output[...] = pattern.view(output.dtype)[0]
    else:
        output[...] = np.nan


@dataclass(frozen=True)
class Comparison:
    """How far outputs are from what they should be.

    Attributes:
        absolute: The largest error.
        relative: The same in units of the scale.
        wrong: Elements beyond the tolerance.
        first_wrong: The first of them: the output's position, and the index.
    """

    absolute: float = 0.0
    relative: float = 0.0
    wrong: int = 0
    first_wrong: tuple[int, tuple[int, ...]] | None = None


def compare(
    outputs: Sequence[npt.NDArray[Any]],
    expected: Sequence[npt.NDArray[Any]],
    scale: float | None,
    tolerance: float,
) -> Comparison:
    """Compare outputs element by element, in units of ``scale``.

    By default that is the largest finite value that is expected.
    """
    found = Comparison()
    for position, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        if not got.size:
            continue
        error = errors(got, want)
        finite = (
            np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.abs(want)
        )
        unit = scale if scale is not None else float(finite.max(initial=0.0))
        unit = unit or 1.0
        # A unit that is no number measures nothing, and then nothing is right.
        limit = tolerance * unit if np.isfinite(unit) else -1.0
        wrong = np.argwhere(error > limit)
        first = (position, tuple(map(int, wrong[0]))) if wrong.size else None
        found = Comparison(
            max(found.absolute, float(error.max())),
            max(found.relative, float(error.max()) / unit),
            found.wrong + len(wrong),
            found.first_wrong or first,
        )
    return found


def errors(got: npt.NDArray[Any], want: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Element by element, how far ``got`` is from ``want``.

    Equal infinities and NaN in both count as no error; NaN in one as infinite.
    """
    one = got.astype(np.float64)
    other = np.broadcast_to(want, got.shape).astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    error[same] = 0.0
    error[np.isnan(error)] = np.inf
    return error
