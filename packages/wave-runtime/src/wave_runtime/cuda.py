"""Launches on NVIDIA GPUs through the CUDA driver library, by ctypes."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wave_runtime.cuda_driver import MAP_BYTES, Card, Driver, find_library
from wave_runtime.cuda_targets import code_names, text_names
from wave_runtime.devices import ordinal_of
from wave_runtime.errors import DeviceError
from wave_runtime.tensor_maps import TensorMaps

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact
    from wave_runtime.devices import Buffer
    from wave_runtime.manifest import Manifest
    from wave_runtime.tensor_maps import TensorMap

_ELF = b"\x7fELF"

_SHARED_BYTES = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Source: cuda.h."""

_UNASKED = 48 << 10
"""Bytes of shared memory that a launch gets without asking. Source: CUDA C++
Programming Guide, compute capabilities."""

_MOST_MAPS = 1024
"""Encoded tensor maps that a kernel keeps. Units: maps of 128 bytes."""

_GIBIBYTE = 1 << 30


class _Arguments:
    """The arguments of one launch at a time: values, and where each of them is."""

    __slots__ = (
        "buffer",
        "buffers",
        "bytes",
        "call",
        "current",
        "fill",
        "found",
        "grid",
        "maps",
        "places",
        "seen",
        "stream",
        "words",
    )

    def __init__(self, pointers: int, words: int, maps: int) -> None:
        layout = struct.Struct(f"<{pointers}Q{4 * words}s")
        room = MAP_BYTES * (maps + 1) if maps else 0
        self.buffer = ctypes.create_string_buffer(max(1, layout.size + room))
        self.bytes = memoryview(self.buffer).cast("B")
        self.fill = layout.pack_into
        start = ctypes.addressof(self.buffer)
        offsets = [8 * i for i in range(pointers)]
        offsets += [8 * pointers + 4 * i for i in range(words)]
        first = -(-(start + layout.size) // MAP_BYTES) * MAP_BYTES - start
        self.maps = [first + MAP_BYTES * i for i in range(maps)]
        offsets += self.maps
        self.found = (ctypes.c_void_p * len(offsets))(*[start + at for at in offsets])
        self.places = ctypes.c_void_p(ctypes.addressof(self.found))
        self.current = ctypes.c_void_p()
        self.seen = ctypes.byref(self.current)
        self.buffers: tuple[Buffer, ...] | None = None
        self.words = b""
        self.grid: tuple[int, int, int] | None = None
        self.stream = 0
        self.call: tuple[Any, ...] = ()

    def hold(
        self, buffers: tuple[Buffer, ...], words: bytes, maps: Sequence[bytes]
    ) -> None:
        """Write values down, for a launch and for the next ones with the same."""
        self.buffers = None
        self.fill(self.bytes, 0, *[address for address, _ in buffers], words)
        for at, each in zip(self.maps, maps, strict=True):
            self.bytes[at : at + MAP_BYTES] = each
        self.buffers, self.words = buffers, words


class EncodedMaps:
    """The tensor maps of a kernel as the driver encodes them, each of them once."""

    def __init__(self, driver: Driver, context: int, manifest: Manifest) -> None:
        self._driver, self._context = driver, context
        self._maps = TensorMaps(manifest)
        self._known: dict[TensorMap, bytes] = {}

    def __len__(self) -> int:
        """How many maps a launch passes."""
        return len(self._maps)

    def of(self, buffers: Sequence[Buffer], words: bytes) -> list[bytes]:
        """The maps for the arguments of a launch.

        Raises:
            LaunchRefused: where a memory is not aligned.
            DeviceError: where the driver refuses a map.
        """
        if not len(self._maps):
            return []
        return [self._encoded(each) for each in self._maps.of(buffers, words)]

    def _encoded(self, tensor: TensorMap) -> bytes:
        found = self._known.get(tensor)
        if found is None:
            if len(self._known) >= _MOST_MAPS:
                self._known.clear()
            with self._driver.current(self._context):
                found = self._known[tensor] = self._driver.encode(tensor)
        return found


class CudaCode:
    """A kernel in a loaded module.

    Its parameters are the pointers, then each 32-bit word of the constants, then tensor
    maps.
    """

    def __init__(
        self, device: CudaDevice, module: int, function: int, artifact: Artifact
    ) -> None:
        """Take a loaded function."""
        manifest = artifact.manifest
        self._driver, self._device = device.driver, device
        self._module = module
        self._function = ctypes.c_void_p(function)
        self._context = device.context
        self._threads, self._shared = manifest.threads, manifest.lds_bytes
        self._name = manifest.name
        self._pointers = len(manifest.bindings)
        self._words = sum(row.words for row in manifest.constants)
        self._maps = EncodedMaps(device.driver, device.context, manifest)
        self._idle: list[_Arguments] = []
        # Functions that convert nothing: each argument is what C takes already.
        self._start = device.driver.library["cuLaunchKernel"]
        self._current = device.driver.library["cuCtxGetCurrent"]

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[Buffer],
        words: bytes,
        stream: int,
    ) -> None:
        """Queue the kernel on a stream.

        Raises:
            DeviceError: where the driver reports an error.
        """
        # Each launch has arguments of its own while the driver reads them: threads of
        # Python take turns inside of it.
        idle = self._idle
        try:
            own = idle.pop()
        except IndexError:
            own = _Arguments(self._pointers, self._words, len(self._maps))
        if own.buffers != buffers or own.words != words:
            own.hold(tuple(buffers), words, self._maps.of(buffers, words))
        if own.grid != grid or own.stream != stream:
            self._aim(own, grid, stream)
        self._current(own.seen)
        if own.current.value == self._context:
            status = self._start(*own.call)
        else:
            with self._driver.current(self._context):
                status = self._start(*own.call)
        idle.append(own)
        if status:
            raise self._failed(status, grid)

    def _aim(self, own: _Arguments, grid: tuple[int, int, int], stream: int) -> None:
        """Write down what launches of a grid on a stream tell the driver."""
        own.call = (
            self._function,
            *grid,
            self._threads,
            1,
            1,
            self._shared,
            ctypes.c_void_p(stream),
            own.places,
            None,
        )
        own.grid, own.stream = grid, stream

    def _failed(self, status: int, grid: tuple[int, int, int]) -> DeviceError:
        about = (
            f"`{self._name}`, {' x '.join(map(str, grid))} workgroups of"
            f" {self._threads} threads with {self._shared} bytes of shared memory"
        )
        return self._driver.error("cuLaunchKernel", status, about)

    def close(self) -> None:
        """Unload the module; launches must be done."""
        module, self._module = self._module, 0
        if module:
            with self._driver.current(self._context):
                self._driver.call("cuModuleUnload", module)


class CudaDevice:
    """One NVIDIA GPU.

    Attributes:
        driver: Its calls.
        card: What the driver says about it.
        ordinal: Which GPU.
        context: Its primary context, which torch uses too.
        memory: What its kernels reach.
        architecture: The best of its targets, such as ``sm_90a``.
        machine_code: The targets whose machine code it runs, best first.
        runs: All targets whose code it runs, as machine code or as PTX, best first.
        grid_limits: Workgroups on each axis at most.
    """

    name = "cuda"
    memory = "cuda"

    def __init__(self, library: Any, ordinal: int = 0) -> None:
        """Open a GPU.

        Raises:
            DeviceError: where there is none of that number.
        """
        self.driver = Driver(library)
        self.card = self.driver.card(ordinal)
        self.ordinal = ordinal
        self.context = self.driver.context(ordinal)
        self.machine_code = code_names(self.card.capability)
        self.runs = text_names(self.card.capability)
        self.architecture: str | None = self.runs[0]
        self.grid_limits = self.card.grid

    def cards(self) -> tuple[str, ...]:
        """Every GPU of the driver, in words."""
        return tuple(map(described, self.driver.cards()))

    def load(self, artifact: Artifact) -> CudaCode:
        """Load a cubin or PTX and find the kernel in it.

        Raises:
            DeviceError: where the GPU lacks what the kernel takes, or the driver
                refuses it.
        """
        self._check(artifact)
        name = artifact.manifest.name
        text = artifact.code if _is_machine_code(artifact) else artifact.code + b"\0"
        with self.driver.current(self.context):
            module = self.driver.load(text, name)
            try:
                function = self._function(module, artifact)
            except DeviceError:
                self.driver.call("cuModuleUnload", module)
                raise
        return CudaCode(self, module, function, artifact)

    def _check(self, artifact: Artifact) -> None:
        manifest, card = artifact.manifest, self.card
        here = f"cuda:{card.ordinal} ({card.title})"
        runs = self.machine_code
        if _is_machine_code(artifact) and manifest.target not in runs:
            raise DeviceError(
                f"`{manifest.name}` is machine code for {manifest.target}; {here} runs"
                f" that of {', '.join(runs)}: compile for one of these, or to PTX"
            )
        if manifest.lds_bytes > card.shared_bytes:
            raise DeviceError(
                f"`{manifest.name}` takes {manifest.lds_bytes} bytes of shared memory;"
                f" a workgroup on {here} has {card.shared_bytes} at most: compile it"
                " with smaller tiles or fewer stages"
            )
        if manifest.threads > card.threads:
            raise DeviceError(
                f"`{manifest.name}` has {manifest.threads} threads a workgroup; {here}"
                f" has {card.threads} at most: compile it for fewer waves"
            )

    def _function(self, module: int, artifact: Artifact) -> int:
        name, shared = artifact.manifest.name, artifact.manifest.lds_bytes
        found = ctypes.c_void_p()
        status = self.driver.library.cuModuleGetFunction(
            ctypes.byref(found), module, name.encode()
        )
        if status:
            raise self.driver.error("cuModuleGetFunction", status, f"`{name}`")
        if shared > _UNASKED:
            self.driver.call("cuFuncSetAttribute", found, _SHARED_BYTES, shared)
        return found.value or 0

    def allocate(self, size: int) -> int:
        """Device memory of ``size`` bytes; its address.

        Raises:
            DeviceError: where there is not enough.
        """
        with self.driver.current(self.context):
            return self.driver.number("cuMemAlloc_v2", max(size, 1))

    def free(self, address: int) -> None:
        """Give memory back."""
        with self.driver.current(self.context):
            self.driver.call("cuMemFree_v2", address)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes between the memories of CPU and GPU, and wait."""
        with self.driver.current(self.context):
            self.driver.call("cuMemcpy", target, source, size)

    def synchronize(self) -> None:
        """Wait for the device.

        Raises:
            DeviceError: what went wrong in a launch, too.
        """
        with self.driver.current(self.context):
            self.driver.call("cuCtxSynchronize")


def _is_machine_code(artifact: Artifact) -> bool:
    return artifact.code.startswith(_ELF)


def open_cuda(ordinal: int = 0) -> CudaDevice:
    """A GPU; the first by default.

    Raises:
        DeviceError: without a driver or a GPU.
    """
    return CudaDevice(find_library(), ordinal)


def open_device(which: str = "") -> CudaDevice:
    """The GPU of a number as text; the first by default.

    Raises:
        DeviceError: without a driver or a GPU, or where it is no number.
    """
    return open_cuda(ordinal_of("cuda", which))


def architectures() -> tuple[tuple[str, ...], ...]:
    """The targets that each GPU runs, best first.

    Raises:
        DeviceError: without a driver, or where it finds no GPU.
    """
    cards = Driver(find_library()).cards()
    return tuple(text_names(card.capability) for card in cards)


def described(card: Card) -> str:
    """A GPU in words."""
    return (
        f"{card.title} ({text_names(card.capability)[0]}, {card.processors} SMs,"
        f" {card.memory_bytes / _GIBIBYTE:.0f} GiB)"
    )
