"""Chooses what runs a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean
from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from wave_core.compile.session import Session
    from wave_core.diagnostics import Location
    from wave_core.executors import ExecutorSpec

AUTO = "auto"
LANES = "sim"

#: Packages that bring devices that are not installed, for messages.
_BROUGHT_BY = {
    "sim": "wave-sim-cpu",
    "sim-logical": "wave-sim-cpu",
    "emulator": "wave-emulator-amdgcn",
    "hip": "wave-backend-amdgpu",
    "iree": "wave-backend-amdgpu",
}


@dataclass(frozen=True)
class Device:
    """The device that runs a kernel.

    Attributes:
        spec: Its declaration.
        provider: The plugin that declares it.
        reason: Why it was picked; empty where the user named it.
    """

    spec: ExecutorSpec
    provider: str
    reason: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name


def find_device(
    session: Session, name: str, target: str, at: Location | None = None
) -> Device:
    """The device that ``device=name`` means for a kernel of ``target``.

    ``auto`` is the device of a GPU that runs code of the target, else a simulator.

    Raises:
        UserError: WV0719 where it is not installed.
    """
    table = session.plugins.executors
    wanted, reason = (name, "") if name != AUTO else _pick(session, target)
    found = table.get(wanted)
    if found is None:
        raise _not_installed(wanted, name, tuple(table), at)
    return Device(found.value, found.provider.name, reason)


def _pick(session: Session, target: str) -> tuple[str, str]:
    """The device for a target, and why."""
    why = f"no installed package has a GPU device for target `{target}`"
    for name, row in session.plugins.executors.items():
        if not _may_run(session, row.value, target):
            continue
        found = session.gpus(row.value)
        if any(target in targets for targets in found.targets):
            return name, f"a GPU of target `{target}` is here"
        best = ", ".join(targets[0] for targets in found.targets)
        why = found.problem or f"no GPU here is of target `{target}`: {best}"
    return LANES, why


def _may_run(session: Session, spec: ExecutorSpec, target: str) -> bool:
    """Whether a device could be a GPU of that target."""
    backend = session.plugins.backends.get(spec.backend or "")
    known = backend is None or target in backend.value.targets
    return spec.architectures is not None and known


@dataclass(frozen=True)
class Gpus:
    """The GPUs of a kind of device.

    Attributes:
        targets: For each GPU, the targets whose code it runs, best first.
        problem: Why there are none.
    """

    targets: tuple[tuple[str, ...], ...] = ()
    problem: str = ""


def look_for_gpus(function: str) -> Gpus:
    """The function that the ``"module:function"`` of an `ExecutorSpec` names."""
    module, _, name = function.partition(":")
    try:
        return Gpus(tuple(map(tuple, getattr(import_module(module), name)())))
    except DeviceError as error:
        return Gpus(problem=f"no GPU was found: {error}")


def _not_installed(
    wanted: str, asked: str, installed: tuple[str, ...], at: Location | None
) -> Exception:
    package = _BROUGHT_BY.get(wanted)
    listed = ", ".join(f"`{name}`" for name in installed) or "none"
    what = f"there is no device `{wanted}`"
    if asked == AUTO:
        what = "there is no GPU backend and no simulator to run the kernel"
    return user_error(
        "WV0719",
        what,
        at=at,
        label=f"asks for device `{asked}`",
        notes=f"installed: {listed}",
        help=(
            *(
                (f"pip install {package}",)
                if package
                else did_you_mean(wanted, installed)
            ),
            "`wave plugins` lists devices and who brings them",
        ),
    )
