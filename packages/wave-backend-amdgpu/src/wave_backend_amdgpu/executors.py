"""Devices for ``wave run``: a GPU through HIP or IREE, the emulator of machine code.

Arrays are copied to the GPU and outputs back; for data that is there already, take the
artifact (``wave compile --emit hsaco``) and `wave_runtime.LoadedKernel`. Not run on
hardware by its authors.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast
from weakref import WeakKeyDictionary

from wave_backend_amdgpu.compile.backend import (
    Settings,
    compile_graph,
    compile_vmfb,
    settings_of,
)
from wave_backend_amdgpu.emulation import (
    check_chip,
    looks_for_hazards,
    not_installed,
    poisoned,
    result_of,
    stopped,
)
from wave_backend_amdgpu.plugin import chips
from wave_core.diagnostics import launch_error
from wave_runtime import DeviceError, GridExpression, device_names, open_device
from wave_runtime.hip import HipDevice, open_hip
from wave_runtime.iree_hal import IreeProgram
from wave_runtime.kernarg import scalar_packer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wave_backend_amdgpu.emulation import EmulationResult, Emulator
    from wave_core.backends import LoweringTable
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.ir import Graph
    from wave_core.targets import Target
    from wave_runtime import Artifact
    from wave_runtime.manifest import Manifest


T = TypeVar("T")

EMULATOR = "emulator"
"""The name of the emulator among the devices of the runtime."""


class _PerGraph(Generic[T]):
    """What is compiled of lowered graphs, once while the graph lives.

    Nobody changes a graph between its launches.
    """

    def __init__(
        self, make: Callable[[Graph, Target, Settings, LoweringTable | None], T]
    ) -> None:
        self._make = make
        self._known: WeakKeyDictionary[Graph, tuple[Settings, T]] = WeakKeyDictionary()

    def of(
        self,
        graph: Graph,
        target: Target,
        settings: Settings,
        table: LoweringTable | None,
    ) -> T:
        """What is made of ``graph`` with these settings."""
        known = self._known.get(graph)
        if known is not None and known[0] == settings:
            return known[1]
        made = self._make(graph, target, settings, table)
        self._known[graph] = (settings, made)
        return made


def _artifact(
    graph: Graph, target: Target, settings: Settings, table: LoweringTable | None
) -> Artifact:
    return compile_graph(graph, target, settings, table).artifact


def _program(
    graph: Graph, target: Target, settings: Settings, table: LoweringTable | None
) -> tuple[IreeProgram, Manifest]:
    """A module on its device, and what the code object says of the arguments."""
    program = IreeProgram(compile_vmfb(graph, target, settings, table))
    return program, _artifact(graph, target, settings, table).manifest


@dataclass(frozen=True)
class _Launch:
    """The arguments of a launch by name, and what the code takes beside arrays."""

    named: Mapping[str, Any]
    grid: tuple[int, int, int]
    words: bytes

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        arguments: Sequence[object],
        sizes: Mapping[str, int] | None,
    ) -> Self:
        """Match arguments and sizes with what the manifest lists."""
        named = dict(zip(manifest.parameters, arguments, strict=True))
        grid = _grid(manifest, named, sizes or {})
        return cls(named, grid, _words(manifest, named, sizes or {}))


class HipExecutor:
    """Launches through the HIP driver."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._artifacts = _PerGraph(_artifact)

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> object:
        """Compile, copy, launch, copy back.

        Raises:
            LaunchError: WV0708 without a driver or a GPU of the target.
        """
        graph, target = _given(lowered, options)
        try:
            device = open_hip()
            _check_architecture(device, target)
            artifact = self._artifacts.of(graph, target, *_how(options, target))
            manifest = artifact.manifest
            code = device.load(
                artifact.code, manifest.name, manifest.threads, manifest.lds_bytes
            )
            launch = _Launch.of(manifest, arguments, bindings)
            with _Copies(device, manifest, launch.named) as buffers:
                code.launch(launch.grid, buffers, launch.words, 0)
                device.synchronize()
        except DeviceError as error:
            raise _no_device("hip", error) from None
        return None


class IreeExecutor:
    """Calls a module through IREE's runtime."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._programs = _PerGraph(_program)

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> object:
        """Compile a module, call its function, copy the results.

        Raises:
            LaunchError: WV0708 without a driver or a GPU.
        """
        graph, target = _given(lowered, options)
        try:
            how = _how(options, target)
            program, manifest = self._programs.of(graph, target, *how)
            launch = _Launch.of(manifest, arguments, bindings)
            tensors = [launch.named[row.name] for row in manifest.bindings]
            words = struct.unpack(f"<{len(launch.words) // 4}i", launch.words)
            results = program(manifest.name, [*tensors, *words])
        except DeviceError as error:
            raise _no_device("iree", error) from None
        written = [launch.named[row.name] for row in manifest.bindings if row.written]
        for array, result in zip(written, results, strict=True):
            array[...] = result
        return None


class EmulatorExecutor:
    """Executes the machine code on the CPU: hazards, counters, an estimate of cycles.

    The option ``checks`` turns the search for hazards off, which is faster.
    """

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self._artifacts = _PerGraph(_artifact)

    def run(
        self,
        lowered: object,
        arguments: Sequence[object],
        bindings: Mapping[str, int] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> EmulationResult:
        """Compile and execute; hazards are in the result.

        Raises:
            LaunchError: WV0708 without the emulator, or for a target that it does
                not know.
            SimulationError: WV0902, WV0908, WV0912 where the execution cannot go on.
        """
        graph, target = _given(lowered, options)
        if EMULATOR not in device_names():
            raise not_installed()
        check_chip(target, chips())
        hazards = looks_for_hazards(options or {})
        settings, table = _how(options, target)
        # Lines of the user's program do not change the instructions.
        settings = replace(settings, code=replace(settings.code, debug=True))
        artifact = self._artifacts.of(graph, target, settings, table)
        manifest = artifact.manifest
        launch = _Launch.of(manifest, arguments, bindings)
        named = launch.named
        arrays = {row.name: _contiguous(named[row.name]) for row in manifest.bindings}
        try:
            device = cast("Any", open_device(EMULATOR))
            device.configure(hazards=hazards, poison=poisoned(options or {}, manifest))
            code = device.load(
                artifact.code, manifest.name, manifest.threads, manifest.lds_bytes
            )
            buffers = [(x.ctypes.data, x.nbytes) for x in arrays.values()]
            code.launch(launch.grid, buffers, launch.words, 0)
        except DeviceError as error:
            raise stopped(error, graph) from error
        for name, array in arrays.items():
            if array is not named[name]:
                named[name][...] = array
        return result_of(cast("Emulator", device).summary(), graph, hazards=hazards)


def _contiguous(array: Any) -> Any:
    """The array, or a row-major copy of it."""
    return array if array.flags.c_contiguous else array.copy(order="C")


class _Copies:
    """The arrays of a launch on the device, while it lasts."""

    def __init__(
        self, device: HipDevice, manifest: Manifest, named: Mapping[str, object]
    ) -> None:
        self._device = device
        self._rows = [(row, cast("Any", named[row.name])) for row in manifest.bindings]
        self._buffers: list[tuple[int, int]] = []

    def __enter__(self) -> list[tuple[int, int]]:
        try:
            for _, array in self._rows:
                pointer = self._device.allocate(array.nbytes)
                self._buffers.append((pointer, array.nbytes))
                self._device.copy(pointer, array.ctypes.data, array.nbytes)
        except DeviceError:
            # Without this, what fitted before the one that did not would stay.
            for pointer, _ in self._buffers:
                self._device.free(pointer)
            raise
        return self._buffers

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for (row, array), (pointer, _) in zip(self._rows, self._buffers, strict=False):
            if row.written and kind is None:
                self._device.copy(array.ctypes.data, pointer, array.nbytes)
            self._device.free(pointer)


def _given(
    lowered: object, options: Mapping[str, object] | None
) -> tuple[Graph, Target]:
    graph = cast("Graph", lowered)
    return graph, cast("Target", (options or {})["target"])


def _how(
    options: Mapping[str, object] | None, target: Target
) -> tuple[Settings, LoweringTable | None]:
    """Settings and lowering rules, as compiling to a file takes them."""
    given = options or {}
    chosen = cast("WaveCompileOptions | None", given.get("compile_options"))
    settings = Settings() if chosen is None else settings_of(chosen, target)
    return (
        replace(settings, intermediates=False),
        cast("LoweringTable | None", given.get("lowerings")),
    )


def _words(
    manifest: Manifest, named: Mapping[str, object], sizes: Mapping[str, int]
) -> bytes:
    data = b""
    for row in manifest.constants:
        value = named[row.name] if row.parameter else sizes[row.name]
        data += scalar_packer(row.dtype)(cast("float", value))
    return data


def _grid(
    manifest: Manifest, named: Mapping[str, object], sizes: Mapping[str, int]
) -> tuple[int, int, int]:
    numbers = {key: value for key, value in named.items() if isinstance(value, int)}
    counts = [GridExpression(t)({**numbers, **sizes}) for t in manifest.grid]
    counts += [1] * (3 - len(counts))
    return counts[0], counts[1], counts[2]


def _check_architecture(device: HipDevice, target: Target) -> None:
    if device.architecture != target.name:
        raise DeviceError(
            f"the GPU is {device.architecture}, the kernel for {target.name}"
        )


def _no_device(name: str, error: DeviceError) -> Exception:
    return launch_error(
        "WV0708",
        f"device `{name}` cannot run the kernel: {error}",
        help=(
            "device='sim' runs it on the CPU",
            "`wave compile --emit hsaco` needs no GPU",
        ),
    )
