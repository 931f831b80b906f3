"""Runs modules (``.vmfb``) through IREE's runtime, on any of its drivers.

Its authors have run it on the CPU, with the driver ``local-task``, and on no GPU.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from wave_runtime.arrays import NAMES
from wave_runtime.errors import DeviceError
from wave_runtime.grid import GridExpression
from wave_runtime.kernarg import INTEGERS

if TYPE_CHECKING:
    from wave_runtime.artifact import Artifact
    from wave_runtime.devices import Buffer
    from wave_runtime.manifest import Manifest

_NUMPY_NAMES = {short: name for name, short in NAMES.items()} | {
    "index": "int64",
    "bool": "int8",
}
"""By the names of element types in manifests."""


def _runtime() -> Any:
    """IREE's runtime.

    Raises:
        DeviceError: where it is not installed.
    """
    try:
        import iree.runtime as found  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise DeviceError(
            "IREE's runtime is not installed: pip install 'wave-runtime[iree]'"
        ) from None
    return found


def function_names(module: bytes) -> tuple[str, ...]:
    """The functions of a module; needs no GPU.

    Raises:
        DeviceError: where it is no module.
    """
    runtime = _runtime()
    instance = runtime.VmInstance()
    try:
        loaded = runtime.VmModule.copy_buffer(instance, module)
    except (RuntimeError, ValueError) as error:
        raise DeviceError(f"IREE refused the module: {error}") from None
    return tuple(loaded.function_names)


class IreeDevice:
    """One driver of IREE; arguments are in memory of the CPU, and IREE copies them.

    Attributes:
        name: How it was opened.
        memory: Where arguments are.
        architecture: The module says what it runs on.
    """

    memory = "cpu"
    architecture = None

    def __init__(self, driver: str) -> None:
        """Open a driver: ``hip``, ``local-task`` for the CPU, ...

        Raises:
            DeviceError: where the driver or its device is missing.
        """
        self.name = f"iree:{driver}"
        runtime = _runtime()
        try:
            self._config = runtime.Config(driver)
        except (RuntimeError, ValueError, KeyError) as error:
            why = error.__cause__ or error  # IREE chains what its driver says
            raise DeviceError(f"IREE, driver {driver}: {why}") from None

    def load(self, artifact: Artifact) -> IreeCode:
        """Load a module.

        Raises:
            DeviceError: where the code is no module, or the function is missing.
        """
        runtime, config, name = _runtime(), self._config, artifact.manifest.name
        try:
            loaded = runtime.VmModule.copy_buffer(config.vm_instance, artifact.code)
            context = runtime.SystemContext(config=config)
            context.add_vm_module(loaded)
            function = context.modules[loaded.name][name]
        except (RuntimeError, ValueError, KeyError) as error:
            raise DeviceError(f"IREE refused the module: {error}") from None
        return IreeCode(function, artifact.manifest)

    def synchronize(self) -> None:
        """Launches are done when they return."""


def open_device(which: str = "") -> IreeDevice:
    """A driver of IREE by its name; that of AMD GPUs by default.

    Raises:
        DeviceError: where the driver or its device is missing.
    """
    return IreeDevice(which or "hip")


class IreeCode:
    """A function of a loaded module.

    It takes the kernel's tensors and the words of its constants, and returns the
    tensors that the kernel writes.
    """

    def __init__(self, function: Any, manifest: Manifest) -> None:
        """Parse the shapes of the bindings."""
        self._function = function
        self._rows = [
            (row, [GridExpression(text) for text in row.shape])
            for row in manifest.bindings
        ]
        self._constants = manifest.constants

    def launch(
        self,
        grid: tuple[int, int, int],
        buffers: Sequence[Buffer],
        words: bytes,
        stream: int,
    ) -> None:
        """Call the function, and write its results into the buffers.

        Raises:
            DeviceError: where the call fails.
        """
        del grid, stream  # The module computes its grid, and IREE has its own queue.
        values = dict(self._values(words))
        arrays = [
            _array(address, row.dtype, [extent(values) for extent in shape])
            for (row, shape), (address, _) in zip(self._rows, buffers, strict=True)
        ]
        numbers = struct.unpack(f"<{len(words) // 4}i", words)
        try:
            found = self._function(*arrays, *numbers)
        except (RuntimeError, ValueError) as error:
            raise DeviceError(f"IREE: {error}") from None
        results: list[Any] = [*found] if type(found) in {tuple, list} else [found]
        written = [place for place, (row, _) in enumerate(self._rows) if row.written]
        for place, result in zip(written, results, strict=True):
            arrays[place][...] = result.to_host()

    def _values(self, words: bytes) -> Iterator[tuple[str, int]]:
        """The integers among the constants."""
        place = 0
        for row in self._constants:
            size = 4 * row.words
            if row.dtype in INTEGERS:
                data = words[place : place + size]
                yield row.name, int.from_bytes(data, "little", signed=True)
            place += size


def _array(address: int, dtype: str, shape: Sequence[int]) -> Any:
    """Memory of the CPU as an array; the module takes truth values as bytes."""
    # IREE's runtime brings numpy along, which knows short floats by another library.
    numpy: Any = import_module("numpy")
    name = _NUMPY_NAMES[dtype]
    short = find_spec("ml_dtypes") is not None and import_module("ml_dtypes")
    kind = numpy.dtype(getattr(short, name, name))
    count = math.prod(shape) * kind.itemsize
    data: Any = bytearray()
    if count:
        data = (ctypes.c_char * count).from_address(address)
    return numpy.frombuffer(data, kind).reshape(shape)
