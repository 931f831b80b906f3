"""The declaration of an executor, and what an executor does."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from wave_core.executors.request import LaunchRequest
    from wave_runtime.kernel import Repeat


@dataclass(frozen=True)
class ExecutorSpec:
    """Something that runs a lowered kernel: a simulator, an emulator, a GPU.

    Attributes:
        name: The name that ``device=`` takes; executors of several backends may share
            it, and the target says which is meant.
        target: ``"module:Class"``; imported when it is first used. The class is
            called without arguments and the result is an `Executor`.
        requires: Facts that have to hold where the executor takes over.
        summary: One line for ``wave plugins``.
        stop_after: The last phase or pass that the executor wants; all by default.
        backend: Whose machine code the executor runs. It is given the lowering rules
            of that backend, and the compile options.
        reads: The memories that it reads and writes: ``cpu``, ``cuda``, ``rocm``.
        strided: Whether it takes arrays that are not row-major.
        architectures: ``"module:function"`` that gives, for each GPU of this machine
            in order, the targets whose code it runs, best first, and raises the
            runtime's ``DeviceError`` where there are none; ``None`` for what is no
            GPU.
    """

    name: str
    target: str
    requires: AbstractSet[str] = frozenset()
    summary: str = ""
    stop_after: str | None = None
    backend: str | None = None
    reads: tuple[str, ...] = ("cpu",)
    strided: bool = True
    architectures: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "requires", frozenset(self.requires))


class RemoteArray(Protocol):
    """A copy of an array of the CPU where a device reads it."""

    def fetch(self, array: object) -> None:
        """Copy the elements back into ``array``, once all launches are done."""
        ...


@runtime_checkable
class PlacesArrays(Protocol):
    """A device that does not read the CPU's memory, besides `Executor`."""

    def place(self, array: object) -> RemoteArray:
        """Copy an array to where the device reads it; it can be an argument.

        Raises:
            DeviceError: of the runtime, where there is no such device or no room.
        """
        ...


class Executor(Protocol):
    """A device: runs kernels.

    The arguments are where the device reads them, and the kernel writes its outputs
    in place: nothing is copied.
    """

    def launch(self, request: LaunchRequest) -> object:
        """Run a kernel once.

        Returns:
            A report of the device's own kind: counters, findings.

        Raises:
            LaunchError: where the device cannot run it.
        """
        ...


@runtime_checkable
class RepeatsLaunches(Protocol):
    """A device that repeats launches with other addresses, besides `Executor`."""

    def repeat(self, request: LaunchRequest) -> Repeat:
        """How to do so, for a launch that it has done.

        Raises:
            RuntimeFailure: as for a launch.
        """
        ...
