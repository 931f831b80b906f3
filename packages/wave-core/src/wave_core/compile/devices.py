"""Chooses what runs a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean
from wave_core.plugin.executors import knows
from wave_runtime.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wave_core.compile.session import Session
    from wave_core.diagnostics import Location
    from wave_core.executors import ExecutorSpec
    from wave_core.targets import Target

AUTO = "auto"
LANES = "sim"

USUAL = "generic"
"""The target where no GPU is here: that of core, which the simulators run."""

_BROUGHT_BY = {
    "wave-sim-cpu": ("sim", "sim-logical"),
    "wave-backend-amdgpu": ("emulator", "hip", "iree"),
    "wave-backend-nvgpu": ("cuda", "emulator"),
}
"""Devices of packages that may not be installed, for messages."""


@dataclass(frozen=True)
class Device:
    """The device that runs a kernel.

    Attributes:
        spec: Its declaration.
        provider: The plugin that declares it.
        key: Its key among the executors of the session.
        reason: Why it was picked; empty where the user named it.
    """

    spec: ExecutorSpec
    provider: str
    key: str
    reason: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name


def find_device(
    session: Session, name: str, target: str, at: Location | None = None
) -> Device:
    """The device that ``device=name`` means for a kernel of ``target``.

    ``auto`` is the device of a GPU that runs code of the target, else a simulator. Of
    devices of one name it is that whose backend knows the target.

    Raises:
        UserError: WV0719 where it is not installed, or does not know the target.
    """
    plugins = session.plugins
    wanted, reason = (name, "") if name != AUTO else _pick(session, target)
    key = plugins.executor_key(wanted, target)
    if key is None:
        others = [row.value for row in plugins.executors.values()]
        if any(spec.name == wanted for spec in others):
            raise _of_other_targets(session, wanted, target, at)
        raise _not_installed(wanted, name, others, at)
    found = plugins.executors[key]
    return Device(found.value, found.provider.name, key, reason)


def _pick(session: Session, target: str) -> tuple[str, str]:
    """The device for a target, and why."""
    why = f"no installed package has a GPU device for target `{target}`"
    for spec in _of_gpus(session):
        if not knows(session.plugins.backends, spec, target):
            continue
        found = session.gpus(spec)
        if any(target in targets for targets in found.targets):
            return spec.name, f"a GPU of target `{target}` is here"
        best = ", ".join(targets[0] for targets in found.targets)
        why = found.problem or f"no GPU here is of target `{target}`: {best}"
    return LANES, why


def _of_gpus(session: Session) -> list[ExecutorSpec]:
    """The devices that are GPUs."""
    rows = session.plugins.executors.values()
    return [row.value for row in rows if row.value.architectures is not None]


@dataclass(frozen=True)
class PickedTarget:
    """The target that ``auto`` means here.

    Attributes:
        name: Of the target.
        reason: Why it was picked; empty where it is the usual one.
    """

    name: str
    reason: str = ""


def pick_target(session: Session, device: str = AUTO) -> PickedTarget:
    """The best target of a GPU that is here and that ``device`` runs, else `USUAL`.

    GPUs are looked at by the names of their devices, then in the order of the driver.
    """
    strangers: list[str] = []
    for spec in _of_gpus(session):
        for targets in session.gpus(spec).targets:
            for target in targets:
                if _can_run(session, spec, device, target):
                    return PickedTarget(target, f"a GPU of target `{target}` is here")
            strangers.append(targets[0])
    if not strangers:
        return PickedTarget(USUAL)
    return PickedTarget(
        USUAL,
        f"no installed target for device `{device}` fits the GPU here:"
        f" {', '.join(strangers)}",
    )


def settle_target(
    session: Session,
    target: str | Target,
    device: str = AUTO,
    at: Location | None = None,
) -> str | Target:
    """What ``target`` means here: that of a GPU for ``auto``, which is told.

    Raises:
        UserError: WV0719 for ``auto`` where ``device`` is a kind of GPU that is not
            here.
    """
    if target != AUTO:
        return target
    found = pick_target(session, device)
    if found.name == USUAL:
        _check_gpu(session, device, found.reason, at)
    if found.reason:
        session.announce(
            f"auto-target {found}",
            f"{found.reason}; kernels are compiled for target `{found.name}`"
            f" (say target={found.name!r} to choose it)",
        )
    return found.name


def _check_gpu(session: Session, device: str, reason: str, at: Location | None) -> None:
    """See that a device which only a GPU's target fits has one."""
    for spec in _of_gpus(session):
        if spec.name != device or knows(session.plugins.backends, spec, USUAL):
            continue
        raise user_error(
            "WV0719",
            f"device `{device}` has no GPU here that a kernel can run on",
            at=at,
            label=f"asks for device `{device}`",
            notes=session.gpus(spec).problem or reason,
            help=(
                "`wave doctor` says what is missing",
                f"device={LANES!r} runs every kernel without a GPU",
            ),
        )


def _can_run(session: Session, gpu: ExecutorSpec, device: str, target: str) -> bool:
    """Whether a target can be compiled for, and run on the device asked for."""
    plugins = session.plugins
    if target not in plugins.targets or not knows(plugins.backends, gpu, target):
        return False
    named = [
        row.value for row in plugins.executors.values() if row.value.name == device
    ]
    return not named or any(knows(plugins.backends, spec, target) for spec in named)


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


def _of_other_targets(
    session: Session, wanted: str, target: str, at: Location | None
) -> Exception:
    """The error for a device of several backends, none of which knows the target."""
    plugins = session.plugins
    notes = [
        f"that of {row.provider} runs {', '.join(sorted(backend.value.targets))}"
        for row in plugins.executors.values()
        for backend in plugins.backends.values()
        if row.value.name == wanted and row.value.backend == backend.value.name
    ]
    return user_error(
        "WV0719",
        f"no device `{wanted}` runs code of target `{target}`",
        at=at,
        label=f"asks for device `{wanted}`",
        notes=notes,
        help=(
            "choose one of these targets: `target=`, or `--target`",
            f"or a simulator, which runs every target: device={LANES!r}",
        ),
    )


def _not_installed(
    wanted: str, asked: str, others: Sequence[ExecutorSpec], at: Location | None
) -> Exception:
    installed = tuple(dict.fromkeys(spec.name for spec in others))
    listed = ", ".join(f"`{name}`" for name in installed) or "none"
    what = f"there is no device `{wanted}`"
    if asked == AUTO:
        what = "there is no GPU backend and no simulator to run the kernel"
    packages = [package for package, names in _BROUGHT_BY.items() if wanted in names]
    install = tuple(f"pip install {package}" for package in packages)
    return user_error(
        "WV0719",
        what,
        at=at,
        label=f"asks for device `{asked}`",
        notes=f"installed: {listed}",
        help=(
            *(install or _numbered(wanted, others) or did_you_mean(wanted, installed)),
            "`wave plugins` lists devices and who brings them",
        ),
    )


def _numbered(wanted: str, others: Sequence[ExecutorSpec]) -> tuple[str, ...]:
    """What to write for one of several GPUs."""
    name, _, _ = wanted.partition(":")
    if not any(row.name == name and row.architectures is not None for row in others):
        return ()
    found = "on the GPU that the arguments are on, or else on the first"
    return (f"write `{name}`, which launches {found}",)
