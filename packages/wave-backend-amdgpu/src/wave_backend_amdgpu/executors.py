"""Devices that run machine code: a GPU by HIP or by IREE, the emulator.

Each is a device of the runtime, which launches the artifact of the kernel. Not run on
hardware by its authors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from wave_backend_amdgpu.backend import AmdgpuBackend
from wave_backend_amdgpu.compile.backend import (
    Probed,
    Settings,
    compile_graph,
    compile_probed,
    compile_vmfb,
    settings_of,
)
from wave_backend_amdgpu.emulation import (
    BOUNDS,
    EMULATOR,
    ERRORS,
    EmulationResult,
    check_chip,
    not_installed,
    open_emulator,
    result_of,
    strays_of,
)
from wave_backend_amdgpu.plugin import chips
from wave_core.compile.options import WaveCompileOptions
from wave_core.executors.emulation import poisoned, stopped
from wave_core.executors.machine_code import GpuExecutor, PerGraph, emitted_artifact
from wave_runtime import Artifact, DeviceError, LoadedKernel, device_names, open_device
from wave_runtime.gpu_array import GpuArray
from wave_runtime.hip import open_hip

if TYPE_CHECKING:
    from wave_core.diagnostics import Diagnostic
    from wave_core.executors import LaunchRequest
    from wave_runtime.devices import Device

T = TypeVar("T")


class HipExecutor(GpuExecutor):
    """Launches through the HIP driver, on the GPU that the arguments are on."""

    def __init__(self, open_gpu: Callable[[int], Device] = open_hip) -> None:
        """Nothing is compiled yet.

        Args:
            open_gpu: Opens the GPU of an ordinal.
        """
        super().__init__(_compiled, open_gpu)

    def place(self, array: object) -> GpuArray:
        """A copy of an array on the first GPU."""
        return GpuArray(open_hip(), array)


class IreeExecutor:
    """Calls a module through IREE's runtime."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._kernels = PerGraph[LoadedKernel]()

    def launch(self, request: LaunchRequest) -> object:
        """Call the module's function, and wait for its results.

        Raises:
            DeviceError: without a driver or a GPU.
            LaunchRefused: where an argument is out of the code's reach.
        """
        graph, target, table = request.graph, request.target, request.settings.lowerings

        def load() -> LoadedKernel:
            module = compile_vmfb(graph, target, settings_for(request), table)
            return LoadedKernel(module, open_device("iree"))

        self._kernels.of(graph, request.settings, load)(*request.arguments)
        return None


class EmulatorExecutor:
    """Executes the machine code on the CPU: hazards, counters, an estimate of cycles.

    Results, hazards and counters are those of the code that users get. Where nothing
    proves that accesses stay inside their memories, a build with probes runs before it,
    which keeps no writes and says whether they do. The setting ``checks`` turns the
    search off, which is faster.
    """

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._artifacts = PerGraph["Artifact"]()
        self._probed = PerGraph["Probed | None"]()

    def launch(self, request: LaunchRequest) -> EmulationResult:
        """Compile and execute; hazards are in the result.

        Raises:
            LaunchError: WV0708 without the emulator, or for a target that it does
                not know.
            LaunchRefused: where an argument is out of the code's reach.
            SimulationError: WV0902, WV0908, WV0912 where the execution cannot go on.
        """
        graph = request.graph
        if EMULATOR not in device_names():
            raise not_installed()
        check_chip(request.target, chips())
        make = partial(_with_lines, _artifact, request)
        artifact = self._artifacts.of(graph, request.settings, make)
        hazards = bool(request.settings.checks)
        try:
            strays = self._strays(request)
            device = open_emulator()
            poison = poisoned(request.settings, artifact.manifest)
            device.configure(hazards=hazards, poison=poison)
            LoadedKernel(artifact, device)(*request.arguments)
        except DeviceError as error:
            raise stopped(error, graph, ERRORS) from error
        return result_of(device, graph, strays, hazards=hazards)

    def _strays(self, request: LaunchRequest) -> tuple[Diagnostic, ...]:
        """The accesses that leave their memory."""
        if _is_anothers(request) or not request.settings.looks_for(BOUNDS):
            return ()
        make = partial(_with_lines, _probed, request)
        probed = self._probed.of(request.graph, request.settings, make)
        if probed is None:
            return ()
        device = open_emulator()
        device.configure(hazards=False, poison=frozenset(), keep=False)
        LoadedKernel(probed.artifact, device)(*request.arguments)
        return strays_of(device.reports(), request.graph, probed.probes)


def _is_anothers(request: LaunchRequest) -> bool:
    """Whether the options ask for a backend of another package."""
    backend = request.settings.backend
    return backend is not None and not isinstance(backend, AmdgpuBackend)


def settings_for(request: LaunchRequest) -> Settings:
    """The settings of the compiler, as compiling to a file takes them."""
    chosen = request.settings.compile_options
    if not isinstance(chosen, WaveCompileOptions):
        return Settings()
    backend = request.settings.backend
    worker = backend.worker if isinstance(backend, AmdgpuBackend) else None
    settings = settings_of(chosen, worker)
    return replace(settings, intermediates=False)


def _compiled(request: LaunchRequest, gpu: Device) -> Artifact:
    del gpu
    return _artifact(request, settings_for(request))


def _with_lines(
    make: Callable[[LaunchRequest, Settings], T], request: LaunchRequest
) -> T:
    """The result of ``make`` with the user's lines, which change no instruction."""
    settings = settings_for(request)
    code = replace(settings.code, debug=True)
    return make(request, replace(settings, code=code))


def _probed(request: LaunchRequest, settings: Settings) -> Probed | None:
    table = request.settings.lowerings
    return compile_probed(request.graph, request.target, settings, table)


def _artifact(request: LaunchRequest, settings: Settings) -> Artifact:
    if _is_anothers(request):
        return emitted_artifact(request)
    table = request.settings.lowerings
    return compile_graph(request.graph, request.target, settings, table).artifact
