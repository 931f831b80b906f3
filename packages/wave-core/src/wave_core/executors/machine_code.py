"""What executors of machine code share: code made once, launches on devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from wave_core.backends import Backend
from wave_runtime.artifact import MANIFEST, Artifact, code_file
from wave_runtime.kernel import LoadedKernel
from wave_runtime.manifest import Manifest

if TYPE_CHECKING:
    from wave_core.executors.request import LaunchRequest
    from wave_core.ir import Graph
    from wave_runtime.devices import Device
    from wave_runtime.kernel import Repeat

T = TypeVar("T")


class PerGraph(Generic[T]):
    """Results of lowered graphs, each made once while its graph lives.

    Nobody changes a graph between its launches.
    """

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._known: WeakKeyDictionary[Graph, tuple[object, T]] = WeakKeyDictionary()

    def of(self, graph: Graph, how: object, make: Callable[[], T]) -> T:
        """The result of ``make`` for ``graph``, made anew where ``how`` is another."""
        known = self._known.get(graph)
        if known is not None and known[0] == how:
            return known[1]
        made = make()
        self._known[graph] = (how, made)
        return made


CODE_OBJECT = "hsaco"
"""The form of AMD's code objects, which backends of its targets emit."""


def emitted_artifact(request: LaunchRequest) -> Artifact:
    """What the backend of a launch makes of its graph.

    Raises:
        UserError: WV06xx where the kernel cannot be compiled.
    """
    settings = request.settings
    backend, table = settings.backend, settings.lowerings
    assert isinstance(backend, Backend), "the device declares a backend"
    assert table is not None, "with its rules"
    options = settings.compile_options
    files = backend.emit(request.graph, request.target, options, table, CODE_OBJECT)
    manifest = Manifest.from_json(files[MANIFEST])
    return Artifact(manifest, files[code_file(manifest.form)])


class GpuExecutor:
    """Launches through the driver of a GPU, on that which the arguments are on."""

    def __init__(
        self,
        compiled: Callable[[LaunchRequest, Device], Artifact],
        open_gpu: Callable[[int], Device],
    ) -> None:
        """Nothing is compiled yet.

        Args:
            compiled: Makes the code of a request for a GPU.
            open_gpu: Opens the GPU of an ordinal.
        """
        self._kernels = PerGraph[LoadedKernel]()
        self._compiled = compiled
        self._open = open_gpu

    def launch(self, request: LaunchRequest) -> object:
        """Queue the kernel.

        Raises:
            DeviceError: without a driver or a GPU of the target.
            LaunchRefused: where an argument is out of the code's reach.
        """
        kernel = self._loaded(request)
        kernel(*request.arguments, stream=request.stream, seen=request.seen)
        return None

    def repeat(self, request: LaunchRequest) -> Repeat:
        """How to queue the kernel again.

        Raises:
            DeviceError, LaunchRefused: as `launch`.
        """
        return self._loaded(request).repeat(request.arguments)

    def _loaded(self, request: LaunchRequest) -> LoadedKernel:
        ordinal = request.ordinal or 0

        def load() -> LoadedKernel:
            gpu = self._open(ordinal)
            return LoadedKernel(self._compiled(request, gpu), gpu)

        return self._kernels.of(request.graph, (ordinal, request.settings), load)
