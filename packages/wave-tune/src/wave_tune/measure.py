"""How long one way to compile a kernel takes: on a GPU that is here, or emulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from wave_core.compile.check_case import case_arguments
from wave_core.compile.compiler import wave_compile
from wave_core.compile.devices import AUTO, find_device
from wave_core.compile.emission import emit
from wave_core.diagnostics import UserError, user_error
from wave_core.executors import PlacesArrays
from wave_core.plugin import ViewError, ViewRequest
from wave_runtime import open_device
from wave_runtime.devices import cards_of
from wave_tune.clocks import by_bursts, by_graph, waiting
from wave_tune.exclusive import alone
from wave_tune.tensors import has_gpu, tensor_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.kernels import KernelCase
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.compile.session import Session
    from wave_core.plugin import ViewSpec

VIEW = "cycles"
"""The view by which emulators count cycles."""

SEED = 0


@dataclass(frozen=True)
class Measured:
    """How long a launch takes.

    Attributes:
        value: In ``unit``.
        unit: ``us``, or ``cycles`` where an emulator counts.
        us: The same in microseconds: of an emulator, at the clock of its target.
    """

    value: float
    unit: str
    us: float


class Meter(Protocol):
    """A device that measures."""

    @property
    def on(self) -> str:
        """What measures, in words that tell devices apart."""
        ...

    def measure(self, case: KernelCase, options: WaveCompileOptions) -> Measured:
        """Compile and run; raises what goes wrong.

        Args:
            case: The kernel, with arguments.
            options: How to compile it, nothing left open.
        """
        ...


def meter_for(session: Session, target: str) -> Meter:
    """A GPU of the target that is here, else an emulator that counts cycles.

    Raises:
        UserError: WV0831 where there is neither.
    """
    try:
        device = find_device(session, AUTO, target)
    except UserError as error:
        # Without a simulator there is no device at all, and none is needed.
        why = error.diagnostics[0].message
    else:
        if device.spec.architectures is not None:
            return GpuMeter(session, device.name)
        why = device.reason
    spec = session.plugins.views[VIEW].value if VIEW in session.plugins.views else None
    forms = [
        form
        for each in session.plugins.backends.values()
        if target in each.value.targets
        for form in each.value.forms
    ]
    if spec is None or spec.form not in forms:
        raise _unmeasured(target, why, counts=spec is not None)
    return EmulatorMeter(session, spec)


class GpuMeter:
    """Launches on a GPU: by torch's tensors and clocks where torch has that GPU."""

    def __init__(self, session: Session, device: str) -> None:
        """Look which card it is; the kernels of all targets run on the first."""
        self._session, self._device = session, device
        cards = cards_of(open_device(device))
        self.on = f"{device}: {cards[0]}" if cards else device

    def measure(self, case: KernelCase, options: WaveCompileOptions) -> Measured:
        """The median time of a launch, arguments on the card."""
        kernel = wave_compile(options, case.kernel, session=self._session)
        given = case_arguments(case, SEED)
        if has_gpu():
            launch = partial(kernel, *map(tensor_of, given))
            clock = by_graph
        else:
            device: Any = kernel.compiled.executor
            assert isinstance(device, PlacesArrays), "GPUs have memory of their own"
            rows = zip(kernel.parameters, given, strict=True)
            placed = [device.place(x) if row.is_tensor else x for row, x in rows]
            launch = partial(kernel, *placed)
            clock = partial(by_bursts, wait=waiting(device))
        with alone(self.on):
            us = clock(launch)
        return Measured(us, "us", us)


class EmulatorMeter:
    """Executes machine code on the CPU and counts cycles by a model."""

    def __init__(self, session: Session, spec: ViewSpec) -> None:
        """Remember the view."""
        self._session, self._spec = session, spec
        self.on = "emulator, by its model of cycles"

    def measure(self, case: KernelCase, options: WaveCompileOptions) -> Measured:
        """The cycles of the launch, from one workgroup where it is long.

        Raises:
            UserError: WV0829 where the emulator gives up, and what compiling raises.
        """
        spec = self._spec
        emitted = emit(options, case.kernel, spec.form, self._session)
        request = ViewRequest(
            case.kernel.name,
            options.target_name,
            emitted.files,
            case.shape,
            lambda: _fresh(case),
        )
        try:
            view = self._session.plugins.load_view(spec.name)(request)
        except ViewError as error:
            told = f"cycles of `{case.kernel.name}` cannot be counted: {error}"
            raise user_error("WV0829", told, help=error.help or ()) from error
        found: Any = view.document["cycles"]
        return Measured(found["total"], "cycles", found["microseconds"])


def _fresh(case: KernelCase) -> Sequence[Any]:
    return case_arguments(case, SEED)


def _unmeasured(target: str, why: str, *, counts: bool) -> UserError:
    missing = f"the installed emulators count no cycles of `{target}`"
    if not counts:
        missing = "no installed emulator counts cycles"
    return user_error(
        "WV0831",
        f"nothing here measures code of target `{target}`",
        notes=(why, missing),
        help=(
            "tune where there is such a GPU, into a store that both reach: `--store`",
            "`pip install wave-emulator-amdgcn` counts cycles of AMD GPUs: `--target`",
        ),
    )
