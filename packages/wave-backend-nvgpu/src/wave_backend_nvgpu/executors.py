"""Devices that run code for NVIDIA GPUs: a GPU by CUDA, and the emulator of PTX.

Each is a device of the runtime, which launches the artifact of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wave_backend_nvgpu.backend import NvgpuBackend
from wave_backend_nvgpu.compile.backend import compile_graph, compile_text
from wave_backend_nvgpu.compile.settings import Settings, settings_of
from wave_backend_nvgpu.emulation import (
    EMULATOR,
    ERRORS,
    EmulationResult,
    not_installed,
    result_of,
)
from wave_core.compile.options import WaveCompileOptions
from wave_core.executors.emulation import Emulator, poisoned, stopped
from wave_core.executors.machine_code import GpuExecutor, PerGraph
from wave_runtime import Artifact, DeviceError, LoadedKernel, device_names, open_device
from wave_runtime.cuda import open_cuda
from wave_runtime.gpu_array import GpuArray

if TYPE_CHECKING:
    from wave_core.executors import LaunchRequest
    from wave_runtime.devices import Device


class CudaExecutor(GpuExecutor):
    """Launches through the CUDA driver, on the GPU that the arguments are on."""

    def __init__(self, open_gpu: Callable[[int], Device] = open_cuda) -> None:
        """Nothing is compiled yet.

        Args:
            open_gpu: Opens the GPU of an ordinal.
        """
        super().__init__(_for_gpu, open_gpu)

    def place(self, array: object) -> GpuArray:
        """A copy of an array on the first GPU."""
        return GpuArray(open_cuda(), array)


class EmulatorExecutor:
    """Executes the PTX on the CPU, with hazards.

    It is the PTX that the assembler gets first. The setting ``checks`` turns the search
    for hazards off, which is faster.
    """

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._artifacts = PerGraph[Artifact]()

    def launch(self, request: LaunchRequest) -> EmulationResult:
        """Compile and execute; hazards are in the result.

        Raises:
            LaunchError: WV0708 without the emulator, or where it cannot load the code.
            LaunchRefused: where an argument is out of the code's reach.
            SimulationError: WV0902, WV0908, WV0912 where the execution cannot go on.
        """
        if EMULATOR not in device_names():
            raise not_installed()
        graph, settings = request.graph, request.settings
        artifact = self._artifacts.of(graph, settings, lambda: _text(request))
        hazards = bool(settings.checks)
        opened: Any = open_device(EMULATOR)
        device: Emulator = opened
        poison = poisoned(settings, artifact.manifest)
        device.configure(hazards=hazards, poison=poison)
        try:
            LoadedKernel(artifact, opened)(*request.arguments)
        except DeviceError as error:
            raise stopped(error, graph, ERRORS) from error
        return result_of(device, graph, artifact.code.decode(), hazards=hazards)


def settings_for(request: LaunchRequest) -> Settings:
    """The settings of the compiler, as compiling to a file takes them."""
    chosen = request.settings.compile_options
    if not isinstance(chosen, WaveCompileOptions):
        return Settings()
    backend = request.settings.backend
    return settings_of(
        chosen, backend.worker if isinstance(backend, NvgpuBackend) else None
    )


def _for_gpu(request: LaunchRequest, gpu: Device) -> Artifact:
    """Machine code, or PTX for a GPU that is newer than the target.

    The driver assembles PTX for every later GPU; machine code fits those of its own
    major version alone.
    """
    names: tuple[str, ...] | None = getattr(gpu, "machine_code", None)
    if names is not None and request.target.name not in names:
        return _text(request)
    settings, table = settings_for(request), request.settings.lowerings
    return compile_graph(request.graph, request.target, settings, table).artifact


def _text(request: LaunchRequest) -> Artifact:
    settings, table = settings_for(request), request.settings.lowerings
    return compile_text(request.graph, request.target, settings, table)
