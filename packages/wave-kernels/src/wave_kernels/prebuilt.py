"""Prebuilt kernels: which are installed, and calls of them without a compiler.

`wave build-kernels` writes them into a wheel. `wave_kernels.functions` take them before
they compile anything; where no compiler is installed, `run` calls them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wave_kernels import __version__
from wave_runtime import (
    ArtifactError,
    Choice,
    DeviceError,
    Entry,
    Library,
    NoVariant,
    Runs,
    choose,
    library_folders,
    of_sizes,
    of_tensors,
    open_device,
)
from wave_runtime.arrays import view

if TYPE_CHECKING:
    from wave_runtime.devices import Device
    from wave_runtime.kernel import LoadedKernel, Repeat

PACKAGE = "wave-kernels"
COMPILE = "pip install 'wave-kernels[compile]'"


@cache
def sources_digest() -> str:
    """SHA-256 of what kernels are compiled from, which functions have a say in."""
    here = Path(__file__).parent
    found = sha256()
    for folder in ("definitions", "functions"):
        for path in sorted((here / folder).glob("*.py")):
            text = path.read_text("utf-8")
            found.update(f"{path.name}\0{len(text)}\0{text}".encode())
    return found.hexdigest()


@dataclass(frozen=True)
class PrebuiltParameter:
    """A parameter of a kernel: its name, and whether it is written."""

    name: str
    is_output: bool


@dataclass(frozen=True)
class PrebuiltKernel:
    """A kernel of a library, on a device.

    Attributes:
        loaded: What is called.
        choice: Why it is this one.
    """

    loaded: LoadedKernel
    choice: Choice

    @cached_property
    def parameters(self) -> tuple[PrebuiltParameter, ...]:
        """Its parameters, in the order of a call."""
        manifest = self.loaded.manifest
        written = {row.name for row in manifest.bindings if row.written}
        names = manifest.parameters
        return tuple(PrebuiltParameter(each, each in written) for each in names)

    def __call__(self, *arguments: Any) -> None:
        """Queue it on torch's current stream.

        Raises:
            LaunchRefused: where an argument does not fit.
        """
        self.loaded(*arguments)

    def repeat(self, *arguments: Any) -> Repeat:
        """How to queue it again with arguments that differ in their addresses alone.

        Raises:
            LaunchRefused: where an argument does not fit.
        """
        return self.loaded.repeat(arguments)


@dataclass(frozen=True)
class Prebuilt:
    """Libraries of this package's kernels.

    Attributes:
        libraries: Those that are taken.
        refused: Why others are not.
    """

    libraries: tuple[Library, ...] = ()
    refused: tuple[str, ...] = ()
    _devices: dict[str, Device] = field(
        default_factory=dict[str, "Device"], repr=False, compare=False
    )

    @classmethod
    def of_folders(cls, folders: Sequence[Path]) -> Prebuilt:
        """The libraries in folders, without the damaged, foreign and not trusted."""
        taken: list[Library] = []
        refused: list[str] = []
        for folder in folders:
            try:
                library = Library.open(folder)
                ours = PACKAGE, __version__, sources_digest()
                taken.append(library.made_from(*ours))
            except ArtifactError as error:
                refused.append(f"prebuilt kernels are refused: {error}")
        return cls(tuple(taken), tuple(refused))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All kernels, those of one library after another's."""
        return tuple(e for library in self.libraries for e in library.index.entries)

    @cached_property
    def _by_request(self) -> Mapping[str, Sequence[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.request, []).append(entry)
        return found

    def device(self, ordinal: int | None, kind: str = "") -> Device:
        """The GPU of an ordinal; of the ``kind`` that torch has by default.

        Raises:
            DeviceError: where there is none.
        """
        name = f"{kind or _kind_of_gpus()}:{ordinal or 0}"
        if name not in self._devices:
            self._devices[name] = open_device(name)
        return self._devices[name]

    def for_request(
        self, request: str, sizes: Mapping[str, int], what: str, ordinal: int | None
    ) -> PrebuiltKernel:
        """The kernel for what a function asks for.

        Args:
            request: What is computed, as libraries have it.
            sizes: The kernel's symbols.
            what: Its name, for messages.
            ordinal: Of the GPU.

        Raises:
            ArtifactError: where its code is damaged.
            DeviceError: where there is no GPU.
            NoVariant: where none fits.
        """
        device = self.device(ordinal)
        entries = self._by_request.get(request, ())
        return self._taken(
            choose(entries, of_sizes(sizes), Runs.of(device), f"`{what}`"), device
        )

    def for_call(
        self,
        function: str,
        arguments: Sequence[Any],
        options: Mapping[str, object],
        device: Device,
    ) -> PrebuiltKernel:
        """The kernel for a call, as `run` has it.

        Raises:
            ArtifactError: where its code is damaged.
            NoVariant: where none fits.
        """
        named = [each for each in self.entries if each.function == function]
        entries = [each for each in named if each.options == options]
        words = "".join(f", {name}={value!r}" for name, value in options.items())
        shapes = _tensors(arguments)
        listed = ", ".join(f"{dtype} {[*shape]}" for dtype, shape in shapes)
        what = f"`{function}`({listed}{words})"
        if named and not entries:
            ways = sorted({str(each.options) for each in named})
            reason = f"no prebuilt kernel is {what}: it has options {'; '.join(ways)}"
            raise NoVariant(reason, Choice(None, reason, {}))
        chosen = choose(entries, of_tensors(shapes), Runs.of(device), what)
        return self._taken(chosen, device)

    def _taken(self, choice: Choice, device: Device) -> PrebuiltKernel:
        entry = choice.entry
        if entry is None:
            raise NoVariant(choice.reason, choice)
        owner = next(
            library
            for library in self.libraries
            if any(each is entry for each in library.index.entries)
        )
        return PrebuiltKernel(owner.kernel(entry, device), choice)


@cache
def installed() -> Prebuilt:
    """The installed libraries; looked for once."""
    return Prebuilt.of_folders(tuple(library_folders().values()))


def run(function: str, *arguments: Any, **options: object) -> Choice:
    """Call a prebuilt kernel; no compiler is needed.

    Args:
        function: Its name, as `kernels` lists it.
        arguments: Of the kernel, in order, on a GPU: tensors, contiguous and of the
            shapes that are listed, numbers, and last the output, written in place.
        options: Which one of the function: exactly those that are listed with it.

    Returns:
        Which kernel ran, and why that one.

    Raises:
        ArtifactError: where its code is damaged.
        DeviceError: where there is no GPU.
        LaunchRefused: where an argument does not fit.
        NoVariant: where no kernel does this.
    """
    prebuilt = installed()
    if not prebuilt.libraries:
        why = "; ".join(prebuilt.refused) or "no prebuilt kernels are installed"
        raise NoVariant(f"{why}: `{COMPILE}` compiles them", Choice(None, why, {}))
    device = prebuilt.device(_ordinal(function, arguments))
    try:
        kernel = prebuilt.for_call(function, arguments, options, device)
    except NoVariant as error:
        raise NoVariant(f"{error}; `{COMPILE}` compiles it", error.choice) from None
    kernel(*arguments)
    return kernel.choice


def kernels() -> list[dict[str, object]]:
    """The installed prebuilt kernels, a row each: what to call them with."""
    return [row_of(entry) for entry in installed().entries]


def row_of(entry: Entry) -> dict[str, object]:
    """A kernel of a library, in words."""
    return {
        "function": entry.function,
        "options": entry.options,
        "target": entry.target,
        "tensors": [f"{row.dtype} [{', '.join(row.shape)}]" for row in entry.tensors],
        "sizes": entry.fixed,
        "tuned": entry.tuned,
    }


def _tensors(arguments: Sequence[Any]) -> list[tuple[str, tuple[int, ...]]]:
    """Types and shapes of arguments that are no numbers."""
    arrays = [a for a in arguments if not isinstance(a, bool | int | float)]
    views = [view(each) for each in arrays]
    return [(each.dtype, tuple(each.shape)) for each in views]


def _ordinal(function: str, arguments: Sequence[Any]) -> int | None:
    """The GPU that torch's tensors are on.

    Raises:
        DeviceError: where they are on none.
    """
    torch = sys.modules.get("torch")
    tensors = [a for a in arguments if torch and isinstance(a, torch.Tensor)]
    for each in tensors:
        if not each.is_cuda:
            raise DeviceError(
                f"prebuilt `{function}` runs on a GPU; an argument is on {each.device}:"
                f" move it there, or `{COMPILE} wave-sim-cpu`, which simulates"
            )
    return tensors[0].device.index if tensors else None


def _kind_of_gpus() -> str:
    """Of GPUs that torch calls ``cuda``: those of AMD have that name too."""
    torch = sys.modules.get("torch")
    return "hip" if torch is not None and torch.version.hip else "cuda"
