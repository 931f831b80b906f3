"""Chooses what runs a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.compile import codes
from wave_core.diagnostics import user_error
from wave_core.passes.options import did_you_mean

if TYPE_CHECKING:
    from wave_core.compile.session import Session
    from wave_core.diagnostics import Location
    from wave_core.executors import Executor, ExecutorSpec

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
    """What runs a kernel, and whether the user named it."""

    spec: ExecutorSpec
    provider: str
    chosen: bool

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name


def find_device(session: Session, name: str, at: Location | None = None) -> Device:
    """The device that ``device=name`` means.

    Raises:
        UserError: WV0719 where it is not installed.
    """
    table = session.plugins.executors
    wanted = LANES if name == AUTO else name
    found = table.get(wanted)
    if found is None:
        raise _not_installed(wanted, name, tuple(table), at)
    return Device(found.value, found.provider.name, chosen=name != AUTO)


def load_device(session: Session, device: Device) -> Executor:
    """What runs kernels on ``device``; imports it."""
    return session.plugins.load_executor(device.name)


def _not_installed(
    wanted: str, asked: str, installed: tuple[str, ...], at: Location | None
) -> Exception:
    package = _BROUGHT_BY.get(wanted)
    listed = ", ".join(f"`{name}`" for name in installed) or "none"
    what = f"there is no device `{wanted}`"
    if asked == AUTO:
        what = "there is no GPU backend and no simulator to run the kernel"
    return user_error(
        codes.NO_EXECUTOR,
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
